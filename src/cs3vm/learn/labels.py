"""Reading labels: which rows are unlabelled, which classes there are, and the class of each row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray, LabelArray, RowArray, SignArray
from ..exceptions import InvalidProblemError
from .class_totals import ClassTotals, check_names
from .unlabelled import (
    SKLEARN_MARK,
    all_unlabelled_error,
    as_vector,
    declared_categories,
    find_unlabeled,
    kind,
    same_type,
)


class Labels(NamedTuple):
    """The classes, sorted, and the class of every row as an index into them (-1: unlabelled).

    Of two classes one is positive and has a plane. Of several each has one, against the rest.
    """

    classes: LabelArray
    positive: int | None  #: the class that the total counts, as an index; None with several classes
    codes: IntArray

    @property
    def is_several(self) -> bool:
        """Whether there are more than two classes."""
        return self.positive is None

    @property
    def plane_classes(self) -> tuple[int, ...]:
        """The classes that have a plane."""
        return tuple(range(len(self.classes))) if self.positive is None else (self.positive,)

    @property
    def signs(self) -> SignArray:
        """Of two classes: +1 for the positive one, -1 for the other, 0 for unlabelled rows."""
        known = np.where(self.codes == self.positive, 1, -1)
        return np.where(self.codes < 0, 0, known).astype(np.int8)

    def targets(self, rows: RowArray) -> list[FloatArray]:
        """For each plane +1 where one of these labelled rows has its class, and -1 elsewhere."""
        return [np.where(self.codes[rows] == c, 1.0, -1.0) for c in self.plane_classes]

    def decode(self, codes: IntArray) -> LabelArray:
        """The class label of each code."""
        return np.asarray(self.classes[codes])


def read_labels(
    y: Any,
    *,
    unlabeled: Any = None,
    pos_label: Any = None,
    has_total: bool = False,
    totals: ClassTotals | None = None,
) -> Labels:
    """Find the unlabelled rows of ``y`` and number the classes of the others.

    Parameters
    ----------
    y
        Labels, one per row.
    unlabeled
        The value that marks an unlabelled row, besides missing values.
    pos_label
        The positive one of two classes. Default: the greater of the two.
    has_total
        Whether a total is known, so that -1 beside two other values marks unlabelled rows.
    totals
        A number for each class: -1 marks unlabelled rows unless it is one of them.
    """
    vector = as_vector(y)
    names = None if totals is None else list(totals.values)
    known = has_total or totals is not None
    mask = find_unlabeled(vector, unlabeled=unlabeled, has_total=known, names=names)
    several = len(names) > 2 if names else not known and not mask.any() and _several_values(vector, unlabeled)
    if several and pos_label is not None:
        raise InvalidProblemError(
            f"pos_label is {pos_label!r}, but there are more than two classes, each with its own total: "
            "leave pos_label out"
        )
    if mask.all():
        raise all_unlabelled_error(len(vector))
    labelled, declared = same_type(vector, ~mask), declared_categories(y)
    if several:
        classes = _several_classes(labelled, totals, declared)
    else:
        declared = declared if names is None else np.array(names)
        classes = _two_classes(labelled, bool(mask.any()), pos_label, declared)
        if totals is not None:
            check_names(totals, np.unique(labelled))
    codes = np.full(len(vector), -1, dtype=np.int64)
    codes[~mask] = np.searchsorted(classes, labelled)
    return Labels(classes, None if several else _index_of(pos_label, classes), codes)


def _several_values(vector: LabelArray, unlabeled: Any) -> bool:
    """Whether fully labelled rows have more than two classes."""
    distinct = set(vector.tolist())
    if len(distinct) > 2 and vector.dtype.kind not in "bU" and SKLEARN_MARK in distinct and unlabeled is None:
        raise InvalidProblemError(
            f"ambiguous -1: y has {len(distinct)} values, -1 among them, and no total is given. If one of "
            "them marks the unlabelled rows, say unlabeled=<that value> and give their total (n_positive or "
            "positive_rate); if -1 is a class like the others, give it another name"
        )
    return len(distinct) > 2


def _several_classes(
    labelled: LabelArray, totals: ClassTotals | None, declared: LabelArray | None
) -> LabelArray:
    classes = np.unique(labelled)
    if totals is None:
        return classes
    check_names(totals, classes, declared)
    unseen = [name for name in totals.values if name not in classes.tolist()]
    # without a new one the classes keep the type that they have in y
    return np.unique(np.array([*classes.tolist(), *unseen])) if unseen else classes


def _two_classes(
    labelled: LabelArray, any_unlabeled: bool, pos_label: Any, declared: LabelArray | None
) -> LabelArray:
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
        f"only one class is present ({_python_value(label)!r}) and no row is unlabelled, so there is nothing "
        "to separate: add rows of the other class, or unlabelled rows (NaN) and their total n_positive"
    )


def _with_the_other_class(seen: LabelArray, pos_label: Any, declared: LabelArray | None) -> LabelArray:
    """Both classes where only one is labelled: the other must have a name to be predicted."""
    label = _python_value(seen[0])
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


def _index_of(pos_label: Any, classes: LabelArray) -> int:
    if pos_label is None:
        return 1
    names = classes.tolist()
    if pos_label not in names:
        raise InvalidProblemError(
            f"pos_label is {pos_label!r}, but the classes are {names[0]!r} and {names[1]!r}"
        )
    return int(names.index(pos_label))


def _python_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
