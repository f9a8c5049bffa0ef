"""What a fitted classifier says about how far its labels, and those that it was given, can be relied on."""

from __future__ import annotations

from pathlib import Path

from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, LabelArray
from ..methods.certain import SHARE, WORK
from .bias import LEVEL, Bias, look_at_bias
from .certainty import RESAMPLES, Certainty, look_for_certainty
from .fit import Fit


class CertaintyMixin:
    """The part of the classifier that is about certainty; it has a fit."""

    fit_: Fit

    def bias(self, level: float = LEVEL) -> Bias:
        """How the labelled rows differ from the unlabelled ones, and whether by class only; print it.

        ``level`` is how often the test of "biased by class only" may find a difference where there is none;
        see :mod:`cs3vm.learn.shift`.
        """
        check_is_fitted(self)
        return look_at_bias(self.fit_, level=level)

    def certainty(
        self,
        share: float = SHARE,
        n_resamples: int = RESAMPLES,
        *,
        work_limit: float = WORK,
        proof: str | Path | None = None,
    ) -> Certainty:
        """Which labels are certain, by proof, and which are stable when labels are drawn again; print it.

        A label is certain if it is the same in every answer whose objective is below (1 + ``share``) times
        that of this one: a theorem, for two classes and the 2-norm. It takes some seconds, once.

        Parameters
        ----------
        share
            How far above the objective other answers are looked at.
        n_resamples
            How often the labelled rows are drawn again, each within its class; 0 leaves it out.
        work_limit
            Of the proof: stop after so many numbers touched. More work decides more rows.
        proof
            Write what is proven to this file: ``cs3vm.verify(clf.result_.problem, file)`` checks it.
        """
        check_is_fitted(self)
        return look_for_certainty(self.fit_, share, n_resamples, work_limit=work_limit, proof=proof)

    @property
    def certain_(self) -> LabelArray:
        """For every row "certain", "changes" or "not known", or "given"; see :meth:`certainty`."""
        return self.certainty(n_resamples=0).rows

    @property
    def stability_(self) -> FloatArray:
        """For every row the share of draws of the labelled rows in which it keeps its label; no proof."""
        return self.certainty().stability
