"""What a fitted classifier says about new rows: scores and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, LabelArray
from ..exceptions import InvalidProblemError
from .fit import Fit
from .kernel_map import KernelMap
from .planes import Planes, score_rows
from .rows import read_rows
from .scaling import RankScaling, Scaling
from .unlabelled import as_vector, find_unlabeled


class PredictionMixin:
    """The part of the classifier that classifies new rows; it has a fit, and its planes as attributes."""

    fit_: Fit
    classes_: LabelArray
    pos_label_: Any
    coef_: FloatArray
    dual_coef_: FloatArray
    intercept_: FloatArray
    scaling_: Scaling | RankScaling
    kernel_map_: KernelMap | None

    @property
    def _sign(self) -> float:
        """Of the planes: scikit-learn wants a positive value to mean ``classes_[1]``."""
        return -1.0 if self.fit_.labels.positive == 0 else 1.0

    def _values(self, X: FloatArray, groups: Any) -> FloatArray:
        """The score of each row for each plane; without a student it follows a change of the attributes."""
        if self.fit_.has_student:
            planes = Planes(*(self._sign * part for part in self.fit_.predictor))
        else:
            planes = Planes(self.coef_ if self.kernel_map_ is None else self.dual_coef_, self.intercept_)
        values = score_rows(X, planes, self.scaling_, self.kernel_map_)
        return values if groups is None else values + self._sign * self.fit_.shifts(groups, X.shape[0])

    def decision_function(self, X: Any, groups: Any = None) -> FloatArray:
        """``coef_ · x + intercept_`` of each row, or its kernel form; above 0 means ``classes_[1]``.

        Where a student predicts (see ``predictor``) it is the student's score.
        With several classes, one column per class; the highest value is the class that is predicted.
        With ``group_intercepts`` the threshold is that of the row's group, without ``groups`` the mean one.
        """
        check_is_fitted(self)
        values = self._values(read_rows(self, X, reset=False), groups)
        return values if len(self.classes_) > 2 else values[:, 0]

    def predict(self, X: Any, groups: Any = None) -> LabelArray:
        """The class of each row, by the plane or the student; of two, one on the plane is ``pos_label_``."""
        check_is_fitted(self)
        values = self._values(read_rows(self, X, reset=False), groups)
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[values.argmax(axis=1)])
        greater = values[:, 0] >= 0 if self.pos_label_ == self.classes_[1] else values[:, 0] > 0
        return np.asarray(self.classes_[greater.astype(np.intp)])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on labelled rows."""
        y = as_vector(y)
        missing = find_unlabeled(y)
        if missing.any():
            raise InvalidProblemError(
                f"y has no label in {int(missing.sum())} rows, the first in row {int(np.argmax(missing))}: "
                "a score needs the true label of every row"
            )
        y = np.array(y.tolist()) if y.dtype == object else y
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]
