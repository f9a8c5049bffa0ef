"""Reading a vector of labels: which rows have none, and what kind of values the others are."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._typing import BoolArray, LabelArray
from ..exceptions import InvalidProblemError

#: scikit-learn's mark of an unlabelled row.
SKLEARN_MARK = -1


def as_vector(y: Any) -> LabelArray:
    """``y`` as a one-dimensional array in which missing values are still recognisable."""
    if y is None:
        raise InvalidProblemError("the fit requires y to be passed, but the target y is None")
    if isinstance(y, list | tuple):  # numpy would turn ["a", nan] into the strings "a" and "nan"
        y = np.array(y, dtype=object)
    dtype, is_column = getattr(y, "dtype", None), getattr(y, "ndim", 1) == 1
    if hasattr(y, "to_numpy") and is_column and not isinstance(dtype, np.dtype):
        y = _as_objects(y)
    return np.asarray(column_or_1d(y, warn=True))


def _as_objects(y: Any) -> LabelArray:
    """A column of a type that numpy does not have: True and 1 stay so beside a missing value."""
    listed = getattr(y, "to_list", None) or getattr(y, "tolist", None)  # to_numpy differs between libraries
    values = y.to_numpy() if listed is None else listed()
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def find_unlabeled(
    y: LabelArray, *, unlabeled: Any = None, has_total: bool = False, names: Sequence[Any] | None = None
) -> BoolArray:
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


def all_unlabelled_error(n_rows: int) -> InvalidProblemError:
    """The error for a fit without any label."""
    return InvalidProblemError(
        f"y has no labels: all {n_rows} rows are unlabelled. Label at least one row, better some of each "
        "class"
    )


def _missing(y: LabelArray) -> BoolArray:
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


def same_type(vector: LabelArray, rows: BoolArray) -> LabelArray:
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


def declared_categories(y: Any) -> LabelArray | None:
    """Categories of a pandas categorical, which name a class even where no row has it."""
    categories = getattr(getattr(y, "dtype", None), "categories", None)
    if categories is None or not hasattr(categories, "to_numpy"):
        return None
    return np.asarray(categories.to_numpy())
