"""Probabilities from scores: how steep, learnt from hidden labels, and shifted until the totals are met.

The probability of a class is proportional to exp(slope · score + shift). The totals settle the shifts (see
:mod:`cs3vm.learn.shifting`), hidden labels the slope: it is good if it gives labels that were hidden a high
probability, where each class counts as much as its known share. Few labels say little about it, so they only
correct a cautious one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from .._typing import FloatArray, IntArray
from ..exceptions import Note
from .shifting import shift_classes, shift_to_total

#: Before any label is seen the slope is this, for scores with a standard deviation of 1, and its logarithm
#: has this standard deviation. Chosen with the next on samples that no study here uses (half of the paper's
#: sets with up to 340 rows, seed 300): log loss .531 with the recommended kernel and .578 without a kernel. A
#: slope of 1, or more or less freedom, costs up to .013.
CAUTIOUS, SPREAD = 0.7, 0.8
#: What one hidden row tells, as a part of what an independent one would: rows hidden together share a fit.
WORTH = 0.5
#: The slopes that are tried.
SLOPES = CAUTIOUS * np.exp(np.linspace(-4.0, 4.0, 33))
#: With fewer hidden rows of some class than this, nothing is learnt from them.
FEWEST = 2


class HeldOut(NamedTuple):
    """What a model that did not see some labels says about their rows and about the unlabelled ones."""

    scores: FloatArray  #: of the unlabelled rows, a column per class
    weights: FloatArray  #: of the unlabelled rows
    totals: FloatArray  #: of the classes among them
    hidden: FloatArray  #: scores of the rows whose label was hidden
    codes: IntArray  #: their classes
    weight: FloatArray  #: their weights


class Slope(NamedTuple):
    """How steep probabilities are in scores with a standard deviation of 1, and what that rests on."""

    value: float = CAUTIOUS
    why_cautious: str = ""  #: empty if hidden labels were asked
    error: float = SPREAD  #: the standard deviation of its logarithm, given what labels told

    @property
    def notes(self) -> list[Note]:
        """That the slope is a guess, where it is."""
        if not self.why_cautious:
            return []
        start = "probabilities are cautious, nearer to the known shares than they might be"
        return [Note(f"{start}: {self.why_cautious}")]


class Calibration(NamedTuple):
    """From scores to probabilities."""

    slope: float  #: of the scores as they are
    shifts: FloatArray  #: one for each class

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """The probability of each class (column) for rows with these scores; rows add up to 1."""
        return np.asarray(softmax(self.slope * scores + self.shifts, axis=1))


def calibrate(scores: FloatArray, weights: FloatArray, totals: FloatArray, slope: float) -> Calibration:
    """The shifts with which probabilities of these rows add up to the totals.

    Parameters
    ----------
    scores
        Of the rows that the totals count, a column per class.
    weights
        Of these rows.
    totals
        One per class; they add up to the weights.
    slope
        Of the scores as they are.
    """
    if scores.shape[1] > 2:
        return Calibration(slope, shift_classes(slope * scores, weights, totals).shifts)
    odds = slope * (scores[:, 1] - scores[:, 0])
    return Calibration(slope, np.append(0.0, shift_to_total(odds, weights, float(totals[1])).shifts))


def spread(scores: FloatArray, weights: FloatArray) -> float:
    """The unit of scores: the standard deviation of what the classes are told apart by."""
    apart = scores - scores.mean(axis=1, keepdims=True)
    if scores.shape[1] == 2:
        apart = 2.0 * apart[:, 1:]
    around = apart - np.average(apart, axis=0, weights=weights)
    unit = float(np.sqrt(np.average(np.mean(around**2, axis=1), weights=weights)))
    return unit if unit > 1e-12 else 1.0


def learn_slope(folds: Sequence[HeldOut], n_repeats: int = 1) -> Slope:
    """The slope that fits hidden labels best, as far as they can tell, and else a cautious one.

    ``n_repeats`` is how often every label was hidden.
    """
    if not folds:
        return Slope(why_cautious="no label was hidden to learn more")
    totals = folds[0].totals
    counts = sum(np.bincount(fold.codes, minlength=len(totals)) for fold in folds)
    if np.any((counts < FEWEST) & (totals > 0)):
        return Slope(why_cautious="too few labels to learn more")
    told, sizes = _told(folds)
    sizes = sizes / n_repeats
    shares = np.where(sizes > 0, totals, 0.0) / float(totals[sizes > 0].sum())
    worth = WORTH / float(
        np.sum(shares[sizes > 0] ** 2 / sizes[sizes > 0])
    )  # in labels like the unlabelled rows
    before = -0.5 * (np.log(SLOPES / CAUTIOUS) / SPREAD) ** 2
    likely = worth * (told @ shares) + before
    best = float(SLOPES[np.argmax(likely)])
    weights = np.exp(likely - likely.max())
    return Slope(best, "", float(np.sqrt(np.average(np.log(SLOPES / best) ** 2, weights=weights))))


def _told(folds: Sequence[HeldOut]) -> tuple[FloatArray, FloatArray]:
    """The mean log-probability of hidden rows by slope and class, and how many rows each class has."""
    n_classes = len(folds[0].totals)
    told = np.zeros((len(SLOPES), n_classes))
    mass, squares = np.zeros(n_classes), np.zeros(n_classes)
    for fold in folds:
        unit, rows = spread(fold.scores, fold.weights), np.arange(len(fold.codes))
        for i, slope in enumerate(SLOPES):
            rule = calibrate(fold.scores, fold.weights, fold.totals, float(slope) / unit)
            own = np.log(np.maximum(rule.probabilities(fold.hidden)[rows, fold.codes], 1e-12))
            told[i] += np.bincount(fold.codes, fold.weight * own, n_classes)
        mass += np.bincount(fold.codes, fold.weight, n_classes)
        squares += np.bincount(fold.codes, fold.weight**2, n_classes)
    return told / np.maximum(mass, 1e-300), mass**2 / np.maximum(squares, 1e-300)
