"""The best intercept for a given normal vector: exact, by rank, in O(N log N).

For a fixed ``w`` the model is a function of ``b`` and of the sides ``z`` alone. Sort the unlabelled scores
``s = w·u`` in descending order. A count of the first ``c`` points is reached exactly for ``b`` in
``[ε - s_c, -ε - s_{c+1}]``, and the hinge sum is convex in ``b``: clip its minimiser to each interval and
take the best ``c``. Points are counted by rank and never by the sign of ``w·u + b``, so rounding cannot
misjudge a point that lies on the hyperplane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from .intercept_of_several import for_several_totals
from .line import EMPTY_TOLERANCE, TIE_TOLERANCE, WINDOW_ROWS, HingeSum, Intercept, Line
from .ranks import affordable, descending, is_constant, ranked_values
from .subset_sum import nearest_subset
from .totals import KnownTotals


def best_intercept(
    hinge: HingeSum,
    scores: FloatArray,
    side: NDArray[np.int8],
    totals: KnownTotals,
    side_margin: float,
) -> Intercept | None:
    """Return the cheapest ``(b, z)`` for the unlabelled ``scores``, or None if the fixed sides allow none."""
    slack = EMPTY_TOLERANCE * (1.0 + float(np.max(np.abs(scores), initial=0.0)))
    if side_margin > 0.0:  # large scores must not blur a margin
        slack = min(slack, 1e-6 * side_margin)
    limits = _limits_of_fixed_sides(scores, side, side_margin, slack)
    if limits is None:
        return None
    line = Line(hinge, scores, side, totals, side_margin, limits, slack)
    if len(totals) == 1 and totals.of_all[0] and totals.low[0] == totals.high[0]:
        return _for_one_total(line)
    return for_several_totals(line)


def _for_one_total(line: Line) -> Intercept | None:
    hinge, scores, side, totals = line.hinge, line.scores, line.side, line.totals
    weights, n_positive, count_penalty = totals.weights, float(totals.low[0]), float(totals.penalty[0])
    free = np.flatnonzero(side == 0)
    target = n_positive - float(weights[side > 0].sum())
    unit = bool(np.all(weights == 1.0))
    above, last = 0, len(free)
    if unit and line.side_margin == 0.0 and len(free) > WINDOW_ROWS:
        if is_constant(scores if len(free) == len(scores) else scores[free]):
            return _for_equal_scores(line, free, target)
        order, above = _ranked_window(scores, free, target, hinge, line.limits, count_penalty)
    else:
        order = free[descending(scores[free])]
    b, reachable = line.clip(scores[order], line.limits)
    counts = above + np.append(0.0, np.cumsum(weights[order]))
    reachable[0] &= above == 0  # the ends of a window are not the ends of the ranking
    reachable[-1] &= above + len(order) == last
    cost = hinge(b) + count_penalty * np.abs(counts - target)
    cost[~reachable] = np.inf
    c = int(np.argmin(cost))
    best: Intercept | None = None
    if np.isfinite(cost[c]):
        z = line.given
        if above and len(free) == len(scores):
            z[scores > scores[order[0]]] = 1
        elif above:
            z[free[scores[free] > scores[order[0]]]] = 1
        z[order[:c]] = 1
        best = Intercept(float(b[c]), z, float(cost[c]), True)
    if line.side_margin == 0.0 and not unit:
        split = _split_tied_group(scores, weights, order, counts, target)
        if split is not None and line.limits[0] - line.slack <= split.b <= line.limits[1] + line.slack:
            best = _better(best, split, line)
    return best


def _for_equal_scores(line: Line, free: NDArray[np.intp], target: float) -> Intercept | None:
    """No free row positive, all of them, or all on the plane: as many positive then as the total wants."""
    score = line.scores[free[:1]]
    b, reachable = line.clip(np.repeat(score, 2), line.limits)
    nearest = int(np.clip(np.ceil(target - 0.5), 1, len(free) - 1))
    counts = np.array([0, nearest, len(free)])
    cost = line.hinge(b) + float(line.totals.penalty[0]) * np.abs(counts - target)
    cost[~reachable] = np.inf
    c = int(np.argmin(cost))
    if not np.isfinite(cost[c]):
        return None
    z = line.given
    z[free[: counts[c]]] = 1
    return Intercept(float(b[c]), z, float(cost[c]), True)


def _ranked_window(
    scores: FloatArray,
    free: NDArray[np.intp],
    target: float,
    hinge: HingeSum,
    limits: tuple[float, float],
    price: float,
) -> tuple[NDArray[np.intp], int]:
    """The free rows that may lie on either side, in descending order of score, and how many rank above them.

    The hinge sum falls towards its minimisers and the miscount towards the τ-quantile, so the best ``b``
    lies between the two (each moved inside the limits), and near enough to the quantile for the hinge sum to
    pay for the miscount. One more row at each end closes the outer intervals.
    """
    s = scores if len(free) == len(scores) else scores[free]
    minimisers = hinge.minimisers()
    count = min(max(round(target), 0), len(s))
    rank = len(s) - count
    places = [i for i in (rank - 1, rank) if 0 <= i < len(s)]
    around = ranked_values(s, places)
    q0, q1 = np.clip((-around.max(), -around.min()), *limits)
    f0, f1 = np.clip(minimisers, *limits)
    low, high = (min(f1, q0), q1) if f1 < q0 else (q0, max(f0, q1))
    if limits == (-np.inf, np.inf):
        least = hinge(np.clip(minimisers, low, high))
        gain = float(hinge(np.array([q0, q1])).min() - least.min())
        ends = affordable(rank, gain, price, abs(count - target), len(s))
        if ends[1] - ends[0] < 0.1 * len(s):
            lowest, highest = ranked_values(s, ends)
            low, high = max(low, -float(highest)), min(high, -float(lowest))
    above, below = s > -low, s < -high
    keep = ~(above | below)
    if above.any():
        keep |= s == np.min(s, where=above, initial=np.inf)
    if below.any():
        keep |= s == np.max(s, where=below, initial=-np.inf)
    kept = np.flatnonzero(keep)
    order = free[kept[descending(s[kept])]]
    return order, int(np.count_nonzero(s > scores[order[0]]))


def _limits_of_fixed_sides(
    scores: FloatArray, side: NDArray[np.int8], margin: float, slack: float
) -> tuple[float, float] | None:
    low = margin - float(np.min(scores[side > 0], initial=np.inf))
    high = -margin - float(np.max(scores[side < 0], initial=-np.inf))
    if low <= high:
        return low, high
    return (0.5 * (low + high),) * 2 if low - high <= slack else None


class _Split(NamedTuple):
    b: float
    positive: NDArray[np.intp]
    exact: bool


def _split_tied_group(
    scores: FloatArray,
    weights: FloatArray,
    order: NDArray[np.intp],
    counts: FloatArray,
    target: float,
) -> _Split | None:
    """Split the tied group in which the target lies so that its count comes nearest to the target."""
    if not 0.0 < target < counts[-1]:
        return None
    s = scores[order]
    tied = s[:-1] - s[1:] <= TIE_TOLERANCE * (1.0 + float(np.max(np.abs(s))))
    middle = int(np.searchsorted(counts, target, side="left")) - 1  # the point that crosses the target
    gaps = np.flatnonzero(~tied)
    start = int(gaps[gaps < middle].max(initial=-1)) + 1
    stop = int(gaps[gaps >= middle].min(initial=len(s) - 1)) + 1
    if stop - start < 2:
        return None
    chosen, exact = nearest_subset(weights[order[start:stop]], target - counts[start])
    positive = np.append(order[:start], order[start:stop][chosen])
    return _Split(-0.5 * float(s[start] + s[stop - 1]), positive, exact)


def _better(best: Intercept | None, split: _Split, line: Line) -> Intercept:
    z = line.given
    z[split.positive] = 1
    cost = float(line.hinge(np.array([split.b]))[0]) + line.totals.price(line.totals.counts(z))
    if best is not None and best.cost <= cost:
        return best if split.exact else best._replace(exact=False)
    return Intercept(split.b, z, cost, split.exact)
