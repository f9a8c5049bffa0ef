"""The best intercept for a given normal vector: exact, by rank, in O(N log N).

For a fixed ``w`` the model is a function of ``b`` and of the sides ``z`` alone. Sort the unlabelled scores
``s = w·u`` in descending order. A count of the first ``c`` points is reached exactly for ``b`` in
``[ε - s_c, -ε - s_{c+1}]``, and the hinge sum is convex in ``b``: clip its minimiser to each interval and
take the best ``c``. Points are counted by rank and never by the sign of ``w·u + b``, so rounding cannot
misjudge a point that lies on the hyperplane.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from .ranks import affordable, descending, ranked_values
from .splitting import split
from .subset_sum import nearest_subset
from .totals import KnownTotals
from .window import Part, Window

#: Scores closer than this, relative to the largest, are one tied group; weights may be split inside it.
TIE_TOLERANCE = 1e-12
#: An interval of ``b`` that is empty by no more than this, relative to the largest score, is a point.
EMPTY_TOLERANCE = 1e-9
#: From this many rows of equal weight on, only those that can matter are sorted.
WINDOW_ROWS = 2000
#: With several totals, how many runs of tied rows are tried.
SPLITS = 5


class Intercept(NamedTuple):
    """The best ``b`` for a given ``w``, the sides ``z`` it comes with, and its cost without ``½‖w‖²``."""

    b: float
    z: NDArray[np.int8]
    cost: float
    exact: bool  # False only where a large tied group was split greedily, or many could be


class HingeSum:
    """``Σ Cᵢ·max(0, 1 - yᵢ(fᵢ + b))`` as a function of ``b``, for fixed scores ``f`` of the labelled rows."""

    def __init__(self, scores: FloatArray, y: FloatArray, C: FloatArray) -> None:
        positive = y > 0
        # A positive row costs C·(p - b) for b < p, a negative one C·(b - q) for b > q.
        self._p, self._p_mass, self._p_moment = self._sorted(1.0 - scores[positive], C[positive])
        self._q, self._q_mass, self._q_moment = self._sorted(-1.0 - scores[~positive], C[~positive])

    @staticmethod
    def _sorted(breaks: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        order = np.argsort(breaks)
        breaks, mass = breaks[order], mass[order]
        return breaks, np.append(0.0, np.cumsum(mass)), np.append(0.0, np.cumsum(mass * breaks))

    def __call__(self, b: FloatArray) -> FloatArray:
        """Evaluate the sum at each of several ``b``."""
        i = np.searchsorted(self._p, b, side="right")
        j = np.searchsorted(self._q, b, side="left")
        above = (self._p_moment[-1] - self._p_moment[i]) - b * (self._p_mass[-1] - self._p_mass[i])
        below = b * self._q_mass[j] - self._q_moment[j]
        return np.asarray(above + below)

    def minimisers(self) -> tuple[float, float]:
        """The interval of minimisers; infinite at an end where only one class is labelled."""
        breaks = np.append(self._p, self._q)
        order = np.argsort(breaks)
        jumps = np.append(np.diff(self._p_mass), np.diff(self._q_mass))[order]
        breaks = np.concatenate([[-np.inf], breaks[order], [np.inf]])
        slope = np.append(0.0, np.cumsum(jumps)) - self._p_mass[-1]  # on [breaks[i], breaks[i+1]]
        flat = 1e-12 * (self._p_mass[-1] + self._q_mass[-1])
        first_rise = int(np.argmax(slope > flat)) if slope[-1] > flat else len(slope)
        first_flat = int(np.argmax(slope >= -flat))
        return float(breaks[first_flat]), float(breaks[first_rise])


class Line(NamedTuple):
    """Everything that is known about the planes with one normal vector, but for their intercept."""

    hinge: HingeSum
    scores: FloatArray  #: of the unlabelled rows
    side: NDArray[np.int8]
    totals: KnownTotals
    side_margin: float
    limits: tuple[float, float]  #: of the intercept, by the fixed sides
    slack: float  #: an interval that is empty by no more is a point

    @property
    def given(self) -> NDArray[np.int8]:
        """The sides with every free row negative, to be changed."""
        return (self.side > 0).astype(np.int8)

    def clip(self, ranked: FloatArray, limits: tuple[float, float]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The best b for each number of positives, by scores in descending order; and which can be had."""
        lower = np.append(-np.inf, self.side_margin - ranked)
        upper = np.append(-self.side_margin - ranked, np.inf)
        return _clip_to_intervals(self.hinge.minimisers(), lower, upper, limits, self.slack)


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
    return _for_several(line)


def _for_several(line: Line) -> Intercept | None:
    """The same for intervals and several totals: along the ranking, the price of each changes row by row."""
    free, counts = line.side == 0, line.totals.counts(line.side > 0)
    rows = np.flatnonzero(free)
    if len(rows) <= WINDOW_ROWS:
        return _among(line, Part(rows, counts, line.limits))
    window = Window(
        line.hinge,
        line.scores,
        None if len(rows) == len(free) else free,
        line.totals,
        counts,
        line.limits,
        line.side_margin,
    )
    return window.search(partial(_among, line))


def _among(line: Line, part: Part) -> Intercept | None:
    """The best intercept between some of the rows."""
    hinge, totals = line.hinge, line.totals
    order = part.rows[descending(line.scores[part.rows])]
    ranked = line.scores[order]
    short, over = prices = prices_along(totals, part.counts, order)
    b, reachable = line.clip(ranked, part.limits)
    cost = np.where(reachable, hinge(b) + short + over, np.inf)
    c = int(np.argmin(cost))
    best: Intercept | None = None
    if np.isfinite(cost[c]):
        z = _given(line, part)
        z[order[:c]] = 1
        price = totals.price(totals.counts(z))
        best = Intercept(float(b[c]), z, float(hinge(b[c : c + 1])[0]) + price, True)
    if line.side_margin > 0.0 or len(order) < 2:
        return best
    return _with_a_split(best, line, part, order, prices)


def _given(line: Line, part: Part) -> NDArray[np.int8]:
    """The sides with every row above a part positive, and those below it negative."""
    z = line.given
    if part.above is not None:
        z[part.above] = 1
    return z


def prices_along(
    totals: KnownTotals, start: FloatArray, order: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """What shortfall and excess cost when the first 0, 1, … rows of the ranking are positive, too.

    ``start`` are the counts without them.
    """
    of_row = totals.of_row
    number = of_row.start[order + 1] - of_row.start[order]
    place = np.repeat(np.arange(len(order)), number)
    first = np.append(0, np.cumsum(number))[:-1]
    total = of_row.total[np.repeat(of_row.start[order] - first, number) + np.arange(len(place))]
    by_total = np.argsort(total, kind="stable")
    place, total = place[by_total], total[by_total]
    size = np.bincount(total, minlength=len(totals))
    steps = totals.weights[order][place]
    count = np.cumsum(steps)
    begin = np.append(0, np.cumsum(size))[:-1]
    count += np.repeat(start - np.append(0.0, count)[begin], size)
    price = totals.penalty[total]
    short, over = (
        np.append(constant, constant + np.cumsum(np.bincount(place, jump, minlength=len(order))))
        for constant, jump in (
            (
                float(totals.penalty @ np.maximum(0.0, totals.low - start)),
                price * _rise(np.maximum(0.0, totals.low[total] - count), totals.low - start, total, begin),
            ),
            (
                float(totals.penalty @ np.maximum(0.0, start - totals.high)),
                price * _rise(np.maximum(0.0, count - totals.high[total]), start - totals.high, total, begin),
            ),
        )
    )
    return np.maximum(short, 0.0), np.maximum(over, 0.0)


def _rise(
    miss: FloatArray, before: FloatArray, total: NDArray[np.int64], begin: NDArray[np.intp]
) -> FloatArray:
    """By how much each row changes the miss of its total; ``before`` is the miss with no row."""
    previous = np.append(0.0, miss[:-1]) if len(miss) else miss
    first = begin[np.bincount(total, minlength=len(begin)) > 0]
    previous[first] = np.maximum(0.0, before[total[first]])
    return np.asarray(miss - previous)


def _with_a_split(
    best: Intercept | None,
    line: Line,
    part: Part,
    order: NDArray[np.intp],
    prices: tuple[FloatArray, FloatArray],
) -> Intercept | None:
    """Rows that tie may be on either side of a plane through them: split the runs that promise most."""
    hinge, totals, ranked = line.hinge, line.totals, line.scores[order]
    tied = ranked[:-1] - ranked[1:] <= TIE_TOLERANCE * (1.0 + float(np.max(np.abs(ranked))))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
    start, stop = edges[::2], edges[1::2] + 1
    b = -0.5 * (ranked[start] + ranked[stop - 1])
    promise = hinge(b) + prices[0][stop] + prices[1][start]
    promise[(b < part.limits[0] - line.slack) | (b > part.limits[1] + line.slack)] = np.inf
    promising = np.argsort(promise, kind="stable")
    unsure = float(np.min(promise[promising[SPLITS:]], initial=np.inf))
    for run in promising[:SPLITS]:
        if not promise[run] < (np.inf if best is None else best.cost):
            break
        z = _given(line, part)
        z[order[: start[run]]] = 1
        rows, exact = split(totals, z, order[start[run] : stop[run]])
        z[rows] = 1
        cost = float(hinge(b[run : run + 1])[0]) + totals.price(totals.counts(z))
        if not exact:
            unsure = min(unsure, float(promise[run]))
        if best is None or cost < best.cost:
            best = Intercept(float(b[run]), z, cost, True)
    return best if best is None else best._replace(exact=unsure >= best.cost * (1.0 - 1e-12))


def _for_one_total(line: Line) -> Intercept | None:
    hinge, scores, side, totals = line.hinge, line.scores, line.side, line.totals
    weights, n_positive, count_penalty = totals.weights, float(totals.low[0]), float(totals.penalty[0])
    free = np.flatnonzero(side == 0)
    target = n_positive - float(weights[side > 0].sum())
    unit = bool(np.all(weights == 1.0))
    above, last = 0, len(free)
    if unit and line.side_margin == 0.0 and len(free) > WINDOW_ROWS:
        if _is_constant(scores if len(free) == len(scores) else scores[free]):
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


def _is_constant(scores: FloatArray) -> bool:
    """Whether all are the same; that they are not is usually seen at once."""
    return bool(scores[0] == scores[-1] and np.all(scores == scores[0]))


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


def _clip_to_intervals(
    minimisers: tuple[float, float],
    lower: FloatArray,
    upper: FloatArray,
    limits: tuple[float, float],
    slack: float,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """For each interval the minimiser nearest to its middle; and which intervals are not empty."""
    lower, upper = np.maximum(lower, limits[0]), np.minimum(upper, limits[1])
    reachable = lower <= upper + slack
    lower, upper = np.where(lower <= upper, lower, upper), np.where(lower <= upper, upper, lower)
    low = np.minimum(np.maximum(minimisers[0], lower), upper)
    high = np.maximum(np.minimum(minimisers[1], upper), lower)
    # Where a whole range of b is equally good its middle keeps points off the plane.
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (low + high)
    one_sided = np.where(np.isfinite(low), low + 1.0, np.where(np.isfinite(high), high - 1.0, 0.0))
    return np.where(np.isfinite(low) & np.isfinite(high), middle, one_sided), reachable


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
