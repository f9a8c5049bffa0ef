"""Reading labels of several classes: which rows are unlabelled, and the class of the others as a number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidProblemError
from .class_totals import ClassTotals, check_names
from .labels import (
    SKLEARN_MARK,
    all_unlabelled_error,
    as_vector,
    declared_categories,
    find_unlabeled,
    same_type,
)


class Codes(NamedTuple):
    """The classes, sorted, and the class of every row as an index into them (-1: unlabelled)."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]

    def decode(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """The class label of each code."""
        return np.asarray(self.classes[codes])


def has_several_classes(y: Any, totals: ClassTotals | None, *, unlabeled: Any, has_total: bool) -> bool:
    """Whether a fit is one of several classes: more than two totals, or no total and more than two labels."""
    if totals is not None:
        return len(totals.values) > 2
    if has_total:
        return False
    vector = as_vector(y)
    mask = find_unlabeled(vector, unlabeled=unlabeled)
    if mask.any():
        return False
    distinct = set(vector.tolist())
    if len(distinct) > 2 and vector.dtype.kind not in "bU" and SKLEARN_MARK in distinct and unlabeled is None:
        raise InvalidProblemError(
            f"ambiguous -1: y has {len(distinct)} values, -1 among them, and no total is given. If one of "
            "them marks the unlabelled rows, say unlabeled=<that value> and give their total (n_positive or "
            "positive_rate); if -1 is a class like the others, give it another name"
        )
    return len(distinct) > 2


def read_codes(y: Any, totals: ClassTotals | None, *, unlabeled: Any = None, pos_label: Any = None) -> Codes:
    """Find the unlabelled rows of ``y``, and number the classes of the others and of the totals."""
    if pos_label is not None:
        raise InvalidProblemError(
            f"pos_label is {pos_label!r}, but there are more than two classes, each with its own total: "
            "leave pos_label out"
        )
    vector = as_vector(y)
    names = None if totals is None else list(totals.values)
    mask = find_unlabeled(vector, unlabeled=unlabeled, has_total=totals is not None, names=names)
    if mask.all():
        raise all_unlabelled_error(len(vector))
    labelled = same_type(vector, ~mask)
    classes = np.unique(labelled)
    if totals is not None:
        check_names(totals, classes, declared_categories(y))
        unseen = [name for name in totals.values if name not in classes.tolist()]
        if unseen:  # otherwise the classes keep the type that they have in y
            classes = np.unique(np.array([*classes.tolist(), *unseen]))
    codes = np.full(len(vector), -1, dtype=np.int64)
    codes[~mask] = np.searchsorted(classes, labelled)
    return Codes(classes, codes)
