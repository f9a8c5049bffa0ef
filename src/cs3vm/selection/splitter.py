"""Cross-validation for data with unlabelled rows and a known total."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import check_random_state

from .._typing import BoolArray, LabelArray, RowArray
from ..exceptions import InvalidProblemError
from ..learn.changed_totals import Part
from ..learn.margins import check_length, read_margins
from ..learn.rows import read_weights
from ..learn.unlabelled import SKLEARN_MARK, as_vector, find_unlabeled


class LabeledKFold(BaseCrossValidator):  # type: ignore[misc]
    """Stratified folds over the labelled rows; every training set also has the unlabelled ones.

    Test sets hold labelled rows only, so any score can be computed. Held-out rows are left out of the
    training set altogether: the total of the unlabelled rows stays what it is.

    Parameters
    ----------
    n_splits
        Number of folds, at least 2. Each class needs that many labelled rows for a fold of its own.
    shuffle
        Whether to shuffle the labelled rows before splitting.
    random_state
        Seed of the shuffling and of the choice of unlabelled rows.
    unlabeled
        A value of ``y`` that marks an unlabelled row. Missing values always do; so does -1 if ``y`` has
        exactly two other values; beside more it must be named here.
    keep
        Share of the unlabelled rows in each training set, drawn anew for each; less than 1 is faster.

    Notes
    -----
    With ``keep=1`` the total is the same in every training set: pass ``n_positive`` as it is. With less,
    pass ``positive_rate``, which holds for any share of the rows, or compute the total of each training
    set with :meth:`n_positive`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV, cross_val_score
    >>> from cs3vm import CS3VMClassifier, LabeledKFold
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-2, 1, (30, 2)), rng.normal(2, 1, (30, 2))])
    >>> y = np.full(60, np.nan)
    >>> y[:6], y[30:36] = 0, 1
    >>> clf, cv = CS3VMClassifier("direct", time_limit=5), LabeledKFold(3)
    >>> cross_val_score(clf, X, y, cv=cv, params={"n_positive": 24}).tolist()
    [1.0, 1.0, 1.0]
    >>> search = GridSearchCV(clf, {"C": [0.1, 1.0]}, cv=cv).fit(X, y, n_positive=24)
    >>> cv = LabeledKFold(3, keep=0.5, random_state=0)
    >>> cross_val_score(clf, X, y, cv=cv, params={"positive_rate": 0.5}).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
        unlabeled: Any = None,
        keep: float = 1.0,
    ) -> None:
        if not _is_of_kind(n_splits, Integral) or n_splits < 2:
            raise InvalidProblemError(f"n_splits must be an integer of at least 2, got {n_splits!r}")
        if not _is_of_kind(keep, Real) or not 0 < keep <= 1:
            raise InvalidProblemError(f"keep must be a share above 0 and at most 1, got {keep!r}")
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled
        self.keep = keep

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[RowArray, RowArray]]:
        """Yield the row numbers of each training and test set, both ascending.

        Parameters
        ----------
        X
            Not looked at.
        y
            One label per row; missing where the row is unlabelled.
        groups
            Not looked at; scikit-learn passes it, and the fit may have totals by group.
        """
        vector = as_vector(y)
        mask = self._unlabelled(vector)
        labelled, unlabelled = np.flatnonzero(~mask), np.flatnonzero(mask)
        if len(labelled) < self.n_splits:
            raise InvalidProblemError(
                f"y has {len(labelled)} labelled rows, too few for {self.n_splits} folds: lower n_splits"
            )
        random = check_random_state(self.random_state)
        seed = random if self.shuffle else None
        folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=seed)
        codes = np.unique(vector[labelled].astype(str), return_inverse=True)[1]
        for train, test in folds.split(np.zeros(len(labelled)), codes):
            yield np.sort(np.append(labelled[train], self._draw(unlabelled, random))), labelled[test]

    def _unlabelled(self, y: LabelArray) -> BoolArray:
        """Which rows are unlabelled; -1 stands for it beside two other values, beside one it is a class."""
        distinct = set() if y.dtype.kind in "bU" else set(y.tolist())
        mask = find_unlabeled(y, unlabeled=self.unlabeled, has_total=len(distinct) == 3)
        if self.unlabeled is None and len(distinct) > 3 and SKLEARN_MARK in distinct and not mask.any():
            raise InvalidProblemError(
                f"ambiguous -1: y has {len(distinct)} values, -1 among them, and none is missing. If -1 "
                "marks the unlabelled rows, say LabeledKFold(unlabeled=-1); if it is a class, give it "
                "another name"
            )
        return mask

    def _draw(self, unlabelled: RowArray, random: np.random.RandomState) -> RowArray:
        if self.keep == 1 or len(unlabelled) == 0:
            return unlabelled
        size = max(1, round(self.keep * len(unlabelled)))
        return np.asarray(random.choice(unlabelled, size=size, replace=False))

    def n_positive(
        self,
        train: ArrayLike,
        y: Any,
        n_positive: Any,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
    ) -> Any:
        """The total for one training set: ``n_positive`` times the share of the unlabelled weight kept.

        It is rounded to the nearest integer, unless some weight is not an integer; the ends of an interval
        are not. The totals of several classes, a mapping, are rounded so that they still add up. Totals by
        group have the share of each group.

        Parameters
        ----------
        train
            Row numbers of the training set, from :meth:`split`.
        y
            All labels.
        n_positive
            The total of all unlabelled rows.
        sample_weight
            Weights of all rows.
        groups
            The groups of all rows, or several columns of them, if ``n_positive`` has totals by group.
        """
        vector = as_vector(y)
        mask = self._unlabelled(vector)
        weight = read_weights(sample_weight, len(vector))
        kept = np.zeros(len(vector), dtype=bool)
        kept[np.asarray(train)] = True
        total = float(weight[mask].sum())
        if total == 0:
            raise InvalidProblemError(
                "y has no unlabelled row of positive weight that n_positive could count"
            )
        part = Part(np.where(mask, weight, 0.0), kept)
        given = None if groups is None else read_margins(n_positive, None, groups)
        if given is None:
            return part.of_total(n_positive)
        check_length(given, len(vector))
        return part.of_margins(given)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return int(self.n_splits)


def _is_of_kind(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
