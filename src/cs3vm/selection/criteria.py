"""How good a candidate seems, judged without more labels: the criteria of :class:`cs3vm.CS3VMSearch`.

A candidate (a kernel, a price C, ...) is fitted once to all labels and, for some criteria, once for each
fold of labels held out. For every criterion more is better; π(c) is the known share of class c among the
unlabelled rows.

``"recall"``
    Count-corrected cross-validation: Σ π(c)·r(c) over the classes c, with r(c) the share of the held-out
    labels of class c that are found. The mix of held-out labels is biased, but labels of one class may well
    be like other rows of that class; then this estimates the accuracy on the unlabelled rows. A class with
    no label to hold out is left out, of the shares too.

``"auc"``
    Its version by decision values, which learns from labels of a single class too. Unlabelled rows are a
    mixture of known shares. So a random row of class c is expected to have a higher score for c than a share
    ρ = ½·π(c) + (1 - π(c))·AUC of them: every held-out label gives an estimate (ρ - ½·π(c)) / (1 - π(c)) of
    the AUC, and their mean is the criterion.

``"stability"``
    Of the transduction under resampled labels: the mean over all pairs of fits of (a - a₀) / (1 - a₀)
    (Cohen's κ), where a is the share of unlabelled rows on which the two agree, and a₀ = Σ π(c)² what the
    totals alone make of it.

``"density"``
    At the plane: minus the share of unlabelled rows whose margin (the highest less the second highest score)
    is at most :data:`NEAR` times the root mean square of the margins.

``"separation"``
    Of all unlabelled rows rather than of those near the plane: the share of the variance of their scores that
    lies between the classes of the transduction; 1 if the scores are alike within each class.

``"consensus"``
    The share of unlabelled rows on which the transduction agrees with that of another candidate, on average
    over the others. It depends on the grid: a candidate is trusted if many others say much the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import rankdata

from .._typing import FloatArray, IntArray, LabelArray
from ..exceptions import InvalidProblemError, UnknownNameError

#: Rows are near the plane below this share of the root mean square margin.
NEAR = 0.3
#: Values closer than this are equal: sums in another order must not decide.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Scored:
    """One fit: classes of the unlabelled rows (as numbers) and their scores, one column per class."""

    codes: IntArray
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class HeldOut(Scored):
    """A fit without some labels, and what it says about those."""

    truth: IntArray
    predicted: IntArray
    truth_scores: FloatArray  #: score of each held-out row for its own class
    truth_weights: FloatArray


#: Names of earlier releases, for one more: ``Fit`` now is the object behind a classifier.
Fit, Refit = Scored, HeldOut


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the fits of one candidate say."""

    full: Scored
    refits: tuple[HeldOut, ...]
    shares: FloatArray  #: π, the known share of each class among the unlabelled rows
    weights: FloatArray  #: of the unlabelled rows


#: The value of one candidate (more is better), given the evidence on it and on all candidates.
Criterion = Callable[[Evidence, Sequence[Evidence]], float]


def recall(candidate: Evidence, everyone: Sequence[Evidence] = ()) -> float:
    """Recalls of held-out labels, weighted with the known shares of the classes."""
    truth, weight = _pooled(candidate, lambda r: r.truth), _pooled(candidate, lambda r: r.truth_weights)
    found, k = _pooled(candidate, lambda r: r.predicted == r.truth), len(candidate.shares)
    held_out = np.bincount(truth, weight, k)
    right = np.bincount(truth, weight * found, k)
    judged = held_out > 0
    shares = candidate.shares[judged]
    if shares.sum() == 0:  # only classes that no unlabelled row has
        return float(right.sum() / held_out.sum())
    return float(shares @ (right[judged] / held_out[judged]) / shares.sum())


def auc(candidate: Evidence, everyone: Sequence[Evidence] = ()) -> float:
    """The chance that a row of a class has a higher score for it than one of another, by held-out labels."""
    above = _pooled(candidate, lambda refit: _shares_below(refit, candidate.weights))
    truth, weight = _pooled(candidate, lambda r: r.truth), _pooled(candidate, lambda r: r.truth_weights)
    share = candidate.shares[truth]
    mixed = share < 1  # a class that all unlabelled rows have is compared with nothing
    if not mixed.any():
        return 0.5
    each = (above[mixed] - 0.5 * share[mixed]) / (1.0 - share[mixed])
    return float(np.average(each, weights=weight[mixed]))


def stability(candidate: Evidence, everyone: Sequence[Evidence] = ()) -> float:
    """Mean κ of the transductions of all pairs of fits."""
    _check_refits(candidate)
    fits = (candidate.full, *candidate.refits)
    agreement = np.mean([_agreement(a, b, candidate.weights) for a, b in combinations(fits, 2)])
    by_chance = float(candidate.shares @ candidate.shares)
    return float((agreement - by_chance) / (1.0 - by_chance)) if by_chance < 1 else 1.0


def density(candidate: Evidence, everyone: Sequence[Evidence] = ()) -> float:
    """Minus the share of unlabelled rows near the plane, by the spread of their margins."""
    two_highest = np.partition(candidate.full.scores, -2, axis=1)[:, -2:]
    margin, weight = two_highest[:, 1] - two_highest[:, 0], candidate.weights
    spread = np.sqrt(np.average(margin**2, weights=weight))
    return -float(np.average(margin <= NEAR * spread, weights=weight))  # all rows, if the scores are constant


def separation(candidate: Evidence, everyone: Sequence[Evidence] = ()) -> float:
    """The share of the variance of the unlabelled scores that lies between the classes given to them."""
    codes, weight, scores = candidate.full.codes, candidate.weights, candidate.full.scores
    centred = scores - np.average(scores, axis=0, weights=weight)
    total = float(weight @ np.square(centred).sum(axis=1))
    if total <= TIE**2 * float(weight @ np.square(scores).sum(axis=1)):
        return 0.0  # constant scores, up to rounding
    members = weight * (codes == np.arange(len(candidate.shares))[:, None])
    sums, sizes = members @ centred, np.maximum(members.sum(axis=1), np.finfo(float).tiny)
    return float(np.sum(np.square(sums).sum(axis=1) / sizes) / total)


def consensus(candidate: Evidence, everyone: Sequence[Evidence] = ()) -> float:
    """Mean agreement with the transductions of the other candidates."""
    others = [other for other in everyone if other is not candidate]
    if not others:
        return 1.0
    return float(np.mean([_agreement(candidate.full, other.full, candidate.weights) for other in others]))


CRITERIA: Mapping[str, Criterion] = {
    "recall": recall,
    "auc": auc,
    "stability": stability,
    "density": density,
    "separation": separation,
    "consensus": consensus,
}


#: These ask what happens without some of the labels; the others need one fit per candidate.
HOLDING_OUT = frozenset({"recall", "auc", "stability"})


def evaluate(criterion: str | Criterion, everyone: Sequence[Evidence]) -> FloatArray:
    """The value of every candidate; more is better.

    Parameters
    ----------
    criterion
        A name in :data:`CRITERIA`, several joined by ``+``, or a function of the evidence on one
        candidate and on all of them.
    everyone
        The evidence on all candidates.
    """
    if callable(criterion):
        return np.array([float(criterion(one, everyone)) for one in everyone])
    parts = [CRITERIA[name] for name in names_in(criterion)]
    return combine([np.array([part(one, everyone) for one in everyone]) for part in parts])


def combine(values: Sequence[FloatArray]) -> FloatArray:
    """Several criteria as one: the mean over them of the rank of each candidate, from 0 to 1 for the best."""
    if len(values) == 1:
        return values[0]
    return np.asarray(np.mean([rankdata(np.round(v / TIE)) / len(v) for v in values], axis=0))


def ranking(values: FloatArray, second: FloatArray) -> IntArray:
    """1 for the best candidate; ties by the second value, then by their order; NaN comes last."""
    first, then = (np.where(np.isnan(v), -np.inf, np.round(v / TIE)) for v in (values, second))
    order = np.lexsort((np.arange(len(values)), -then, -first))
    return np.argsort(order) + 1


def names_in(criterion: str) -> list[str]:
    """The criteria that a name or a sum of names speaks of."""
    names = [name.strip() for name in criterion.split("+")]
    for name in names:
        if name not in CRITERIA:
            raise UnknownNameError(
                f"unknown criterion {name!r}: choose {', '.join(map(repr, CRITERIA))}, several of them "
                "joined by '+', or a function of the evidence"
            )
    return names


def _agreement(a: Scored, b: Scored, weights: FloatArray) -> float:
    return float(np.average(a.codes == b.codes, weights=weights))


def _shares_below(refit: HeldOut, weights: FloatArray) -> FloatArray:
    """The share of unlabelled rows with a lower score for its class than each held-out row; ties are half."""
    below = np.empty(len(refit.truth))
    for c in np.unique(refit.truth):
        order = np.argsort(refit.scores[:, c])
        ranked, cumulated = refit.scores[order, c], np.append(0.0, np.cumsum(weights[order]))
        mine = refit.truth == c
        sides = [np.searchsorted(ranked, refit.truth_scores[mine], side) for side in ("left", "right")]
        below[mine] = sum(cumulated[side] for side in sides) / (2.0 * cumulated[-1])
    return below


def _pooled(candidate: Evidence, of: Callable[[HeldOut], LabelArray]) -> LabelArray:
    _check_refits(candidate)
    return np.concatenate([of(refit) for refit in candidate.refits])


def _check_refits(candidate: Evidence) -> None:
    if not candidate.refits:
        raise InvalidProblemError(
            "no label can be held out, because no class has two labels of positive weight: label more rows, "
            f"or choose a criterion that holds out none: {', '.join(sorted(set(CRITERIA) - HOLDING_OUT))}"
        )
