"""Log-odds shifted until their probabilities add up to what is known.

A score says how rows compare; a total says how many there are. Of all probabilities that meet the totals, the
shifted ones are nearest to the unshifted ones (in Kullback-Leibler divergence), and the shifts are the
multipliers of that problem: a convex dual with one variable per total, solved by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp, softmax

from .._typing import BoolArray, FloatArray, RowArray

#: Newton steps at most; a dozen are usual.
STEPS = 100
#: A total is met if it is missed by no more than this part of the weight that it counts.
TOLERANCE = 1e-12
#: A price of the squared shifts, as a part of the weight. Only where totals contradict each other, so that no
#: shifts meet all of them, is it worth mentioning: it shares out what is missed.
RIDGE, SHARING = 1e-14, 1e-3
#: Totals that are missed by more than this part of the weight contradict each other.
CONTRADICTION = 1e-6
#: The longest step, and how far a shift may go beyond the scores: e^-40 is below all rounding.
LONGEST, FARTHEST = 10.0, 40.0
#: How often totals that overlap are met in turns, the part of the weight that one may be missed by then, and
#: the part of what was missed before that shows that they contradict each other.
SWEEPS, MET, STUCK = 100, 1e-9, 0.98
#: The shift of a class that no row has: finite, so that files can hold it.
NEVER = -2000.0


class Shifted(NamedTuple):
    """Probabilities that meet totals."""

    probabilities: FloatArray
    shifts: FloatArray  #: what is added to the log-odds of the rows of each total
    missed: FloatArray  #: by how much each sum is too high; 0 unless the totals contradict each other


def shift_to_totals(scores: FloatArray, weights: FloatArray, members: Any, low: Any, high: Any) -> Shifted:
    r"""Probabilities :math:`p_j = \sigma(s_j + \sum_{g \ni j} \beta_g)` whose sums lie in every interval.

    Parameters
    ----------
    scores
        Log-odds of the rows, as far as anybody knows them.
    weights
        How much each row counts.
    members
        Which rows (columns) each total (row) counts: a sparse or dense matrix of 0 and 1. Totals may overlap.
    low
        The least weight of positives in each total.
    high
        The most; the same where the total is known exactly. There the sum is met; in an interval the shift
        is 0 unless the sum would lie outside.
    """
    scores, weights = np.asarray(scores, dtype=float), np.asarray(weights, dtype=float)
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    if not (isinstance(members, np.ndarray) and len(members) == 1):  # one row is faster as it is
        members = csr_array(members, dtype=float)
    nobody, everybody = _settled(weights, members, low, high)
    free = ~(nobody | everybody)
    certain = members @ (weights * everybody)
    inner = members[:, free]
    whole = np.maximum(members @ weights, 1e-300)
    for ridge in (RIDGE, SHARING):
        shifts = _solve_dual(scores[free], weights[free], inner, low - certain, high - certain, ridge)
        p = everybody.astype(float)
        p[free] = expit(scores[free] + inner.T @ shifts)
        counts = members @ (weights * p)
        missed = np.maximum(counts - high, 0.0) - np.maximum(low - counts, 0.0)
        if np.all(np.abs(missed) <= CONTRADICTION * whole):
            break
    return Shifted(p, shifts, missed)


def shift_to_total(scores: FloatArray, weights: FloatArray, total: float) -> Shifted:
    """The same for one total that counts all rows.

    Where it leaves no choice the shift says so, too, for the sake of new rows.
    """
    found = shift_to_totals(scores, weights, np.ones((1, len(scores))), [total], [total])
    if not np.any((found.probabilities > 0) & (found.probabilities < 1)):
        return found._replace(shifts=np.array([NEVER if total <= 0 else -NEVER]))
    return found


def _settled(
    weights: FloatArray, members: Any, low: FloatArray, high: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Rows of totals that leave no choice: all of them negative, or positive. No finite shift says that."""
    whole = members @ weights
    slack = 1e-9 * whole
    none, every = high <= slack, low >= whole - slack
    nobody = members[none].sum(axis=0) > 0
    return nobody, (members[every & ~none].sum(axis=0) > 0) & ~nobody


def _solve_dual(
    scores: FloatArray, weights: FloatArray, members: Any, low: FloatArray, high: FloatArray, ridge: float
) -> FloatArray:
    """The shifts: zero inside an interval, and else of the sign that moves the sum to its nearer end."""
    whole = members @ weights
    if not np.any(whole > 0):
        return np.zeros(len(low))
    price = ridge * whole
    kink = low < high  # there the dual has one at 0, which a step may reach but not cross

    def value(shifts: FloatArray) -> float:
        paid = np.where(shifts > 0, low, high) @ shifts
        return float(
            weights @ np.logaddexp(0.0, scores + members.T @ shifts) - paid + 0.5 * price @ shifts**2
        )

    def slopes(shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(scores + members.T @ shifts)
        counts = members @ (weights * p)
        over, under = np.maximum(counts - high, 0.0), np.maximum(low - counts, 0.0)
        slope = np.where(shifts > 0, counts - low, np.where(shifts < 0, counts - high, over - under))
        curvature = (members * (weights * p * (1.0 - p))) @ members.T
        dense = curvature if isinstance(curvature, np.ndarray) else curvature.toarray()
        return slope + price * shifts, dense + np.diag(price)

    def keep_side(shifts: FloatArray, moved: FloatArray, slope: FloatArray) -> FloatArray:
        side = np.where(shifts != 0, np.sign(shifts), -np.sign(slope))
        return np.where(kink & (moved * side < 0), 0.0, moved)

    farthest = FARTHEST + float(np.abs(scores).max())
    return _newton(value, slopes, keep_side, np.maximum(whole, 1e-300), farthest)


def _newton(
    value: Callable[[FloatArray], float],
    slopes: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    keep_side: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    whole: FloatArray,
    farthest: float,
) -> FloatArray:
    """Minimise a convex function by damped steps, in the variables whose slope is not settled."""
    shifts = np.zeros(len(whole))
    now, rounding = value(shifts), 1e-15 * farthest * float(whole.sum())
    for _ in range(STEPS):
        slope, curvature = slopes(shifts)
        if np.all(np.abs(slope) <= TOLERANCE * whole):
            break
        step = np.zeros(len(whole))
        moving = np.flatnonzero((shifts != 0) | (slope != 0))
        block = curvature[np.ix_(moving, moving)] + 1e-14 * np.diag(whole[moving])
        step[moving] = -np.linalg.solve(block, slope[moving])
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
        for _ in range(40):
            moved = keep_side(shifts, np.clip(shifts + step, -farthest, farthest), slope)
            then = value(moved)
            # near the minimum all differences are rounding, and a full step is right
            if then <= now + 1e-4 * float(slope @ (moved - shifts)) + rounding:
                break
            step *= 0.5
        else:
            break
        shifts, now = moved, then
    return shifts


def shift_classes_to_totals(
    scores: FloatArray, weights: FloatArray, rows: Sequence[RowArray], table: FloatArray, met: float = MET
) -> tuple[FloatArray, FloatArray]:
    """The same by group: probabilities whose sums over the rows of each total are what it says of each class.

    The shifts come with them: of each total (row) and class (column).

    Totals that overlap are met in turns until all are, or as nearly as can be where they contradict each
    other. Rows in no total stay as they are.

    Parameters
    ----------
    scores
        Log-odds of the rows, a column per class.
    weights
        How much each row counts.
    rows
        Which rows each total counts.
    table
        Classes by totals.
    met
        The part of the weight that a total may be missed by.
    """
    shifted, before_that = np.array(scores, dtype=float), np.inf
    shifts = np.zeros(table.T.shape)
    for _ in range(SWEEPS):
        missed = 0.0
        for g, own in enumerate(rows):
            if len(own) == 0:
                continue
            found = shift_classes(shifted[own], weights[own], table[:, g])
            before = softmax(shifted[own], axis=1)
            missed = max(missed, float(np.abs(weights[own] @ (before - found.probabilities)).max()))
            shifted[own] += found.shifts
            shifts[g] += found.shifts
        if missed <= met * float(weights.sum()) or missed > STUCK * before_that:
            break
        before_that = missed
    return np.asarray(softmax(shifted, axis=1)), shifts


def shift_classes(scores: FloatArray, weights: FloatArray, totals: FloatArray) -> Shifted:
    """Probabilities of several classes, a column each: every row sums to 1, and every class to its total.

    Parameters
    ----------
    scores
        Log-odds of the rows, a column per class; only differences within a row matter.
    weights
        How much each row counts.
    totals
        Of each class; they add up to the weight of all rows.
    """
    seen = np.flatnonzero(totals > 1e-9 * float(np.sum(totals)))  # the others have probability 0
    chosen, wanted, whole = scores[:, seen], totals[seen], float(weights.sum())

    def value(shifts: FloatArray) -> float:
        return float(weights @ logsumexp(chosen + np.append(shifts, 0.0), axis=1) - wanted[:-1] @ shifts)

    def slopes(shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = softmax(chosen + np.append(shifts, 0.0), axis=1)[:, :-1]
        weighted = weights[:, None] * p
        return weighted.sum(axis=0) - wanted[:-1], np.diag(weighted.sum(axis=0)) - weighted.T @ p

    farthest = FARTHEST + 2.0 * float(np.abs(chosen).max(initial=0.0))
    inner = np.append(
        _newton(value, slopes, lambda _, moved, __: moved, np.full(len(seen) - 1, whole), farthest), 0.0
    )
    p, shifts = np.zeros(scores.shape), np.full(len(totals), NEVER)
    p[:, seen], shifts[seen] = softmax(chosen + inner, axis=1), inner
    return Shifted(p, shifts, weights @ p - totals)
