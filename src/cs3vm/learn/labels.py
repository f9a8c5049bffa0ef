"""Reading labels, weights and totals: which rows are unlabelled, which class is which, and what τ is."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._typing import FloatArray
from ..exceptions import InvalidProblemError

#: scikit-learn's mark of an unlabelled row.
SKLEARN_MARK = -1


class Labels(NamedTuple):
    """The two classes, which of them is positive, and the sign of every row (0: unlabelled)."""

    classes: NDArray[Any]
    positive: int  # index into classes
    signs: NDArray[np.int8]

    def decode(self, signs: NDArray[Any]) -> NDArray[Any]:
        """The class label of each sign."""
        is_positive = np.asarray(signs) > 0
        return np.asarray(self.classes[np.where(is_positive, self.positive, 1 - self.positive)])


def read_labels(
    y: Any,
    *,
    unlabeled: Any = None,
    pos_label: Any = None,
    has_total: bool = False,
    names: Sequence[Any] | None = None,
) -> Labels:
    """Find the unlabelled rows of ``y`` and encode the classes of the others.

    Parameters
    ----------
    y
        Labels, one per row.
    unlabeled
        The value that marks an unlabelled row, besides missing values.
    pos_label
        The positive class. Default: the greater of the two.
    has_total
        Whether a total is known, so that -1 beside two other values marks unlabelled rows.
    names
        Both classes, where each has a total: -1 marks unlabelled rows unless it is one of them.
    """
    vector = as_vector(y)
    mask = find_unlabeled(vector, unlabeled=unlabeled, has_total=has_total, names=names)
    if mask.all():
        raise all_unlabelled_error(len(vector))
    labelled = same_type(vector, ~mask)
    declared = declared_categories(y) if names is None else np.array(names)
    classes = _two_classes(labelled, bool(mask.any()), pos_label, declared)
    positive = _index_of(pos_label, classes)
    signs = np.zeros(len(vector), dtype=np.int8)
    signs[~mask] = np.where(labelled == classes[positive], 1, -1)
    return Labels(classes, positive, signs)


def as_vector(y: Any) -> NDArray[Any]:
    """``y`` as a one-dimensional array in which missing values are still recognisable."""
    if y is None:
        raise InvalidProblemError("the fit requires y to be passed, but the target y is None")
    if isinstance(y, list | tuple):  # numpy would turn ["a", nan] into the strings "a" and "nan"
        y = np.array(y, dtype=object)
    if hasattr(y, "to_numpy") and getattr(y, "ndim", 1) == 1 and not isinstance(y.dtype, np.dtype):
        y = y.to_numpy(dtype=object)  # pandas' own types keep True and 1 beside a missing value
    return np.asarray(column_or_1d(y, warn=True))


def all_unlabelled_error(n_rows: int) -> InvalidProblemError:
    """The error for a fit without any label."""
    return InvalidProblemError(
        f"y has no labels: all {n_rows} rows are unlabelled. Label at least one row, better some of each "
        "class"
    )


def find_unlabeled(
    y: NDArray[Any], *, unlabeled: Any = None, has_total: bool = False, names: Sequence[Any] | None = None
) -> NDArray[np.bool_]:
    """Which rows are unlabelled: missing values, the given mark, or -1 where only that can be meant.

    ``names`` are all classes, where they are known.
    """
    mask = _missing(y)
    if unlabeled is not None and not is_missing(unlabeled):
        mark = str(unlabeled) if y.dtype.kind == "U" else unlabeled  # numpy made text of the marks too
        mask[~mask] = np.asarray(y[~mask] == mark)
        return mask
    if mask.any() or not has_total or y.dtype.kind in "bU":
        return mask
    distinct = set(y.tolist())
    if SKLEARN_MARK not in distinct:
        return mask
    if names is not None:
        return mask if SKLEARN_MARK in names else np.asarray(y == SKLEARN_MARK)
    if len(distinct) == 2:
        other = next(iter(distinct - {SKLEARN_MARK}))
        raise InvalidProblemError(
            f"ambiguous -1: y has the two values -1 and {other!r}, none is missing, and a total is given. "
            "If -1 marks the unlabelled rows, say unlabeled=-1; if it is a class, mark the unlabelled rows "
            "with NaN, or leave out the total for a fully labelled fit"
        )
    return np.asarray(y == SKLEARN_MARK) if len(distinct) in (1, 3) else mask


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """One non-negative weight per row, not all zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.shape != (n_rows,):
        raise InvalidProblemError(
            f"sample_weight must have one value per row: got shape {weight.shape} for {n_rows} rows"
        )
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise InvalidProblemError(
            f"sample_weight must not be negative; row {row} has {weight[row]}. Use 0 to leave a row out"
        )
    if not weight.any():
        raise InvalidProblemError("all sample weights are zero: no row is left to learn from")
    return np.array(weight)


def read_total(n_positive: Any, positive_rate: Any, weights: FloatArray) -> Any:
    """τ for unlabelled rows of these weights, from a total or a share; never guessed."""
    if n_positive is not None and positive_rate is not None:
        raise InvalidProblemError("give n_positive or positive_rate, not both")
    if len(weights) == 0:
        if positive_rate is None and (n_positive is None or n_positive == 0):
            return 0
        raise nothing_unlabelled_error("positive_rate" if n_positive is None else "n_positive")
    if positive_rate is not None:
        return total_from_rate(positive_rate, weights)
    if n_positive is None:
        raise InvalidProblemError(
            f"{len(weights)} rows are unlabelled, but their total is missing: give n_positive, the known "
            "number of positives among them, or positive_rate, their share; it is never guessed"
        )
    return n_positive


def nothing_unlabelled_error(name: str) -> InvalidProblemError:
    """The error for a total or share of no rows."""
    return InvalidProblemError(
        f"{name} is given, but no row is unlabelled: mark unlabelled rows with NaN or None, "
        f"or name their mark with unlabeled=..., or leave {name} out"
    )


def total_from_rate(positive_rate: Any, weights: FloatArray) -> float:
    """The share of the total weight: to the nearest integer where all weights are integers."""
    if (
        isinstance(positive_rate, bool)
        or not isinstance(positive_rate, Real)
        or not 0 <= float(positive_rate) <= 1
    ):
        raise InvalidProblemError(
            f"positive_rate must be a number between 0 and 1, got {positive_rate!r}: "
            "it is the share of positives among the unlabelled rows (for a total use n_positive)"
        )
    return nearest_total(float(positive_rate) * float(weights.sum()), weights)


def nearest_total(total: float, weights: FloatArray) -> float:
    """``total`` rounded half up where all weights are integers, unchanged otherwise."""
    if np.all(weights == np.round(weights)):
        return float(np.floor(total + 0.5))
    return min(total, float(weights.sum()))


# -- classes ---------------------------------------------------------------------------------------
def _missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype != object:
        return np.zeros(len(y), dtype=bool)
    return np.fromiter((is_missing(v) for v in y), dtype=bool, count=len(y))


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA (whose comparisons have no truth value)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def kind(value: Any) -> str:
    """What kind of name a class has."""
    if isinstance(value, bool | np.bool_):
        return "true/false"
    if isinstance(value, Real):
        return "numbers"
    return "text" if isinstance(value, str) else type(value).__name__


def same_type(vector: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[Any]:
    """The labelled values, as an array of one proper type."""
    values = vector[rows]
    if values.dtype == object:
        seen = {kind(v) for v in values}
        if len(seen) > 1:
            raise InvalidProblemError(
                f"y mixes {' and '.join(sorted(seen))}: use labels of one type, and NaN or None otherwise"
            )
        values = np.array(values.tolist())
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = int(np.flatnonzero(rows)[np.argmax(np.isinf(values))])
        raise InvalidProblemError(f"y contains infinity in row {row}: use NaN for an unlabelled row")
    check_classification_targets(values)
    return values


def _two_classes(
    labelled: NDArray[Any], any_unlabeled: bool, pos_label: Any, declared: NDArray[Any] | None
) -> NDArray[Any]:
    classes = np.unique(labelled)
    if len(classes) > 2:
        shown = ", ".join(repr(c) for c in classes[:5].tolist()) + (", ..." if len(classes) > 5 else "")
        hint = "the unlabelled rows, say unlabeled=<that value> and give their total"
        raise InvalidProblemError(
            f"y has {len(classes)} classes: {shown}. Give one total for each of them, such as "
            f"n_positive={{{classes[0].item()!r}: 120, {classes[1].item()!r}: 300, ...}}, or one share each "
            f"(positive_rate). If one of them marks {hint}"
        )
    if len(classes) == 2:
        return classes
    if not any_unlabeled:
        raise one_class_error(classes[0])
    return _with_the_other_class(classes, pos_label, declared)


def one_class_error(label: Any) -> InvalidProblemError:
    """The error for labels of one class with no unlabelled rows."""
    return InvalidProblemError(
        f"only one class is present ({_plain(label)!r}) and no row is unlabelled, so there is nothing to "
        "separate: add rows of the other class, or unlabelled rows (NaN) and their total n_positive"
    )


def _with_the_other_class(seen: NDArray[Any], pos_label: Any, declared: NDArray[Any] | None) -> NDArray[Any]:
    """Both classes where only one is labelled: the other must have a name to be predicted."""
    label = _plain(seen[0])
    if pos_label is not None and pos_label != label:
        if kind(pos_label) != kind(label):
            raise InvalidProblemError(
                f"pos_label is {pos_label!r} ({kind(pos_label)}), but the labelled class is {label!r} "
                f"({kind(label)}): name the positive class by a value of the same type"
            )
        other: Any = pos_label
    elif declared is not None and len(declared) == 2 and label in declared.tolist():
        other = next(c for c in declared.tolist() if c != label)
    elif isinstance(label, bool):
        other = not label
    elif label in (0, 1, -1):
        other = {0: 1, 1: 0, -1: 1}[int(label)]
    else:
        raise InvalidProblemError(
            f"only the class {label!r} is labelled, so the other class has no name. If the other one is the "
            "positive class, name it with pos_label; otherwise use labels 1 and 0 (or True and False), or a "
            "pandas categorical with both categories"
        )
    return np.unique(np.array([label, other]))


def declared_categories(y: Any) -> NDArray[Any] | None:
    """Categories of a pandas categorical, which name a class even where no row has it."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    return None if categories is None else np.asarray(categories)


def _index_of(pos_label: Any, classes: NDArray[Any]) -> int:
    if pos_label is None:
        return 1
    names = classes.tolist()
    if pos_label not in names:
        raise InvalidProblemError(
            f"pos_label is {pos_label!r}, but the classes are {names[0]!r} and {names[1]!r}"
        )
    return int(names.index(pos_label))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
