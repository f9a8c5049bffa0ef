"""The probabilities of a fit: scores of its planes, as steep as hidden labels say, shifted to the totals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidProblemError, Note
from .comparing import hide_labels
from .fit import Fit
from .planes import Planes, both_sides, plane_scores, score_rows
from .probabilities import Calibration, Slope, calibrate, learn_slope, spread
from .row_probabilities import row_probabilities

#: How much steeper probabilities are in the mean score of several planes than in that of one. Chosen as the
#: prior of the slope was, on samples that no study here uses (half of the paper's sets with up to 420 rows,
#: seed 300): a mean log loss of .520, as with 1.3; .522 with 1, and .526 by the score of one plane.
STEADIER = 1.15


@dataclass(frozen=True, eq=False)
class Probabilities:
    """What a fit says about the class of each row, and of new ones."""

    slope: Slope
    own: Calibration  #: of the planes' scores, which gave the rows of the fit their labels
    rule: Calibration  #: of the scores that classify new rows: the same, or a student's
    unlabelled: FloatArray  #: of the unlabelled rows that count, a column per class
    rows: FloatArray  #: of all rows: given labels are certain

    @property
    def notes(self) -> list[Note]:
        """What a reader should know about them."""
        return self.slope.notes


def estimate_probabilities(fit: Fit, *, hide: bool = True) -> Probabilities:
    """The probabilities of a fit; computed once.

    Parameters
    ----------
    fit
        The answer.
    hide
        Whether labels may be hidden to learn how steep probabilities are, if nobody has done so yet. It takes
        about as long as the fit; else they are cautious.
    """
    if fit.problem.m == 0:
        raise InvalidProblemError(
            "there are no unlabelled rows, so no total tells how many there are of each class, and "
            "probabilities have nothing to add up to: give unlabelled rows and their total"
        )
    found = fit.probable.get(hide)
    if found is None:
        found = fit.probable[hide] = _estimate(fit, hide)
    return found


def _estimate(fit: Fit, hide: bool) -> Probabilities:
    slope = _slope(fit, hide)
    scores = plane_scores(fit.results) - (0.0 if fit.assignment is None else fit.assignment.prices)
    by_class = class_scores(fit, scores)
    unlabelled = _steadied(fit, by_class, slope)
    # new rows belong to no group, but there are as many of each class among them
    totals = fit.problem.weights @ unlabelled
    own = rule = _calibrate(fit, by_class, slope.value, totals)
    if fit.has_student:
        taught = class_scores(fit, _scores_by(fit, fit.predictor, fit.unlabelled, of_student=True))
        rule = _calibrate(fit, taught, slope.value, totals)
    rows = np.eye(len(fit.classes))[fit.codes]
    rows[fit.unlabelled] = unlabelled
    left_out = (fit.labels.codes < 0) & (fit.weight == 0)
    if left_out.any():
        rows[left_out] = own.probabilities(class_scores(fit, _scores_by(fit, fit.planes, left_out)))
    return Probabilities(slope, own, rule, unlabelled, rows)


def _steadied(fit: Fit, by_class: FloatArray, slope: Slope) -> FloatArray:
    """Probabilities of the unlabelled rows by the mean score of the fit and of those that missed some labels.

    One plane hangs on the labels that happened to be given; the mean of several hangs on them less, and where
    they disagree it is small, which is cautious. The others were made to learn the slope: they cost nothing.
    """
    weights = fit.problem.weights
    _, folds = fit.held_out.get(fit.method, (1, ()))
    others = [fold.scores for fold in folds if len(fold.scores) == fit.problem.m]  # else of a sample
    if slope.why_cautious or not others:
        return shifted_probabilities(fit, by_class, slope.value)
    mean = np.mean([one / spread(one, weights) for one in (by_class, *others)], axis=0)
    return row_probabilities(fit, mean, STEADIER * slope.value)


def shifted_probabilities(fit: Fit, by_class: FloatArray, slope: float) -> FloatArray:
    """Probabilities of the unlabelled rows that meet all totals, from scores with a column per class."""
    return row_probabilities(fit, by_class, slope / spread(by_class, fit.problem.weights))


def _slope(fit: Fit, hide: bool) -> Slope:
    why_not = hide_labels(fit) if hide else ""
    if why_not:
        return Slope(why_cautious=why_not)
    n_repeats, folds = fit.held_out.get(fit.method, (1, ()))
    return learn_slope(folds, n_repeats)


def _calibrate(fit: Fit, by_class: FloatArray, slope: float, totals: FloatArray) -> Calibration:
    """Shift to one total per class; slopes are for scores with a standard deviation of 1."""
    weights = fit.problem.weights
    return calibrate(by_class, weights, totals, slope / spread(by_class, weights))


def class_scores(fit: Fit, scores: FloatArray) -> FloatArray:
    """A column per class, from one per plane."""
    return scores if fit.labels.positive is None else both_sides(scores[:, 0], fit.labels.positive)


def _scores_by(fit: Fit, planes: Planes, rows: BoolArray, *, of_student: bool = False) -> FloatArray:
    """The scores of some rows of the fit, with the thresholds of their groups."""
    scores = score_rows(fit.rows[rows], planes, fit.scaling, fit.kernel_map)
    if fit.group_columns is None:
        return scores
    normals = fit.student_planes[0] if of_student else np.array([result.coef for result in fit.results])
    return scores + fit.group_columns.shift(np.flatnonzero(rows), normals)
