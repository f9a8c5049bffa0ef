"""What a fitted classifier says about numbers: probabilities that add up to the totals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from .by_group import REPLICATES, totals_by
from .calibrating import estimate_probabilities
from .fit import Fit
from .group_totals import LEVEL, GroupTotals
from .planes import both_sides

#: Said where they are asked for in vain.
NO_PROBABILITIES = (
    "predict_proba needs a fit with unlabelled rows and their total, to which the probabilities add up"
)


def _has_total(self: ProbabilityMixin) -> bool:
    return "fit_" in self.__dict__ and self.fit_.problem.m > 0


class ProbabilityMixin:
    """The part of the classifier that is about probabilities; it has a fit, and scores new rows."""

    fit_: Fit
    decision_function: Any

    @available_if(_has_total)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, groups: Any = None) -> FloatArray:
        """The probability of each class, a column each, by the scores that also ``predict``.

        Over the unlabelled rows of ``fit`` each column adds up to the total of its class. How steep they are
        is learnt by hiding labels when they are first asked for, which takes about as long as the fit; see
        :mod:`cs3vm.learn.probabilities`. Without unlabelled rows there are none. With ``group_intercepts``
        the threshold is that of the row's group, without ``groups`` the mean one.
        """
        check_is_fitted(self)
        values = self.decision_function(X, groups)
        scores = values if values.ndim == 2 else both_sides(values, 1)
        return estimate_probabilities(self.fit_).rule.probabilities(scores)

    @property
    def probabilities_(self) -> FloatArray:
        """The probability of each class for every row of ``fit``; that of a given label is 1.

        Over the unlabelled rows each column adds up to the total of its class.
        """
        check_is_fitted(self)
        if self.fit_.problem.m == 0:
            return np.asarray(np.eye(len(self.fit_.classes))[self.fit_.codes])
        return estimate_probabilities(self.fit_).rows

    def totals_by(self, groups: Any, *, level: float = LEVEL, n_replicates: int = REPLICATES) -> GroupTotals:
        """How many unlabelled rows of the positive class, or of each of several, each group has; print it.

        The estimate is the sum of the probabilities in the group; beside it is what the labels of the answer
        say, which is worse as a rule: near the plane they all fall on one side. The interval comes from
        drawing the labelled rows again within their class (with weights, by the rule of Rao and Wu for
        replicate weights), so it holds if labels are biased by class only, and if the features tell what
        there is to tell about the groups. It takes a few seconds.

        Parameters
        ----------
        groups
            One value per row of ``fit``, labelled or not; missing values are a group of their own.
        level
            How often the interval is to hold the truth.
        n_replicates
            How often labels are drawn again; 0 leaves intervals out.
        """
        check_is_fitted(self)
        return totals_by(self.fit_, groups, level=level, n_replicates=n_replicates)
