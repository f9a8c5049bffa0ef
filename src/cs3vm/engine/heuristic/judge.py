"""The value of a plane's normal vector, fast: the same rule as ``best_intercept``, compiled.

The searches judge ten candidates for every one they keep. They use this evaluator, which returns only the
cost, the intercept and the count; whatever becomes the incumbent is judged again by
:meth:`cs3vm.Problem.best_intercept`.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IntArray, RowArray
from ...model.line import EMPTY_TOLERANCE, TIE_TOLERANCE
from ...model.problem import Problem
from ...model.ranks import affordable, descending, ranked_values
from ...model.window import Part
from ..jit import strict_kernel
from .bins import Breaks, CompiledWindow, minimiser

#: From this many unlabelled rows on, only the scores between the two best intercepts are sorted.
WINDOW_ROWS = 2000
#: The same with several totals.
SEVERAL_WINDOW_ROWS = 1000


class Judgement(NamedTuple):
    """Cost without ``½‖w‖²``, the intercept, and the total of positives it stands for."""

    cost: float
    b: float
    total: float


class Ranking:
    """Judges score vectors of one problem by rank."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.positive, self.negative = np.flatnonzero(problem.y > 0), np.flatnonzero(problem.y < 0)
        self.C_positive, self.C_negative = problem.C[self.positive], problem.C[self.negative]
        self.equal_C = bool(np.all(problem.C[0] == problem.C))
        self.unit = bool(np.all(problem.weights == 1.0))
        self.fixed_up, self.fixed_down = np.flatnonzero(problem.side > 0), np.flatnonzero(problem.side < 0)
        self.any_fixed = len(self.fixed_up) + len(self.fixed_down) > 0
        self.free = np.flatnonzero(problem.side == 0) if self.any_fixed else np.arange(0)
        self.weights = problem.weights[self.free] if self.any_fixed else problem.weights
        self.base = float(problem.weights[self.fixed_up].sum())
        self.several = not problem.one_total
        if self.several:
            self.unit = False  # sides are not told by a number of rows
            self.fixed_counts = problem.totals.counts(problem.side > 0)
        else:
            self.target = float(problem.totals.low[0]) - self.base

    def judge(self, labelled: FloatArray, unlabelled: FloatArray) -> Judgement:
        """Judge the scores ``X·w`` and ``U·w``; infinite cost if no intercept fits."""
        problem, margin = self.problem, self.problem.side_margin
        top = max(unlabelled.max(), -unlabelled.min()) if len(unlabelled) else 0.0
        slack = EMPTY_TOLERANCE * (1.0 + top)
        if margin > 0.0:  # large scores must not blur a margin
            slack = min(slack, 1e-6 * margin)
        low, high, scores = -np.inf, np.inf, unlabelled
        if self.any_fixed:
            low = margin - float(np.min(unlabelled[self.fixed_up], initial=np.inf))
            high = -margin - float(np.max(unlabelled[self.fixed_down], initial=-np.inf))
            if low > high:
                if low - high > slack:
                    return Judgement(np.inf, 0.0, 0.0)
                low = high = 0.5 * (low + high)
            scores = unlabelled[self.free]
        breaks = Breaks(
            *self._ascending(1.0 - labelled[self.positive], self.C_positive),
            *self._ascending(-1.0 - labelled[self.negative], self.C_negative),
        )
        first = 0
        if self.unit and len(scores) > WINDOW_ROWS and margin == 0.0:
            first, scores = self._window(scores, breaks)
        if self.several:
            return self._judge_several(unlabelled, (low, high), breaks, slack)
        if self.unit:
            ordered, weights = np.sort(-scores), self.weights
        else:
            order = descending(scores)
            ordered, weights = -scores[order], self.weights[order]
        prices = np.empty(len(ordered) + 1)
        _prices_of_one(weights, float(first), self.target, problem.count_penalty, prices)
        cost, b, number = _cheapest(ordered, prices, low, high, breaks, margin, slack)
        return Judgement(cost, b, self.base + first + float(weights[:number].sum()))

    def _judge_several(
        self, unlabelled: FloatArray, limits: tuple[float, float], breaks: Breaks, slack: float
    ) -> Judgement:
        if len(unlabelled) <= SEVERAL_WINDOW_ROWS:
            rows = self.free if self.any_fixed else np.arange(len(unlabelled))
            return self._judge_part(unlabelled, breaks, slack, Part(rows, self.fixed_counts, limits))
        problem = self.problem
        window = CompiledWindow(
            breaks,
            unlabelled,
            (float(unlabelled.min()), float(unlabelled.max())),
            problem.side,
            problem.totals,
            self.fixed_counts,
            limits,
            problem.side_margin,
        )
        return window.search(partial(self._judge_part, unlabelled, breaks, slack))

    def _judge_part(self, unlabelled: FloatArray, breaks: Breaks, slack: float, part: Part) -> Judgement:
        problem, totals = self.problem, self.problem.totals
        rows, scores = part.rows, unlabelled[part.rows]
        if len(rows) and float(np.ptp(scores)) > TIE_TOLERANCE * (1.0 + abs(float(scores[0]))):
            rows = rows[descending(scores)]
        prices = np.empty(len(rows) + 1)
        _prices_of_several(
            rows,
            totals.weights,
            totals.of_row.start,
            totals.of_row.total,
            totals.low,
            totals.high,
            totals.penalty,
            part.counts.copy(),
            prices,
        )
        cost, b, _ = _cheapest(-unlabelled[rows], prices, *part.limits, breaks, problem.side_margin, slack)
        return Judgement(cost, b, np.nan)  # sides are told by the best intercept

    def _ascending(self, breaks: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.equal_C:
            breaks.sort()
            return breaks, mass
        order = np.argsort(breaks)
        return breaks[order], mass[order]

    def _window(self, scores: FloatArray, breaks: Breaks) -> tuple[int, FloatArray]:
        """How many scores lie above, and those between the τ-quantile and the labels' favourite intercept.

        The hinge sum falls towards the favourite and the miscount rises away from the quantile, so the
        best intercept lies between the two, and no more rows beyond the quantile than the hinge sum can pay.
        """
        count = min(max(round(self.target), 0), len(scores))
        rank = len(scores) - count
        places = [i for i in (rank - 1, rank) if 0 <= i < len(scores)]
        around = ranked_values(scores, places)
        favourite = minimiser(breaks)
        lo, hi = min(-favourite, float(around.min())), max(-favourite, float(around.max()))
        gain = min(_hinges(breaks, -float(s)) for s in around) - _hinges(breaks, favourite)
        ends = affordable(rank, gain, self.problem.count_penalty, abs(count - self.target), len(scores))
        if not self.any_fixed and ends[1] - ends[0] < 0.1 * len(scores):
            lowest, highest = ranked_values(scores, ends)
            lo, hi = max(lo, float(lowest)), min(hi, float(highest))
        above = scores > hi
        inside = scores[~above & (scores >= lo)]
        return int(np.count_nonzero(above)), inside


@strict_kernel
def _hinges(breaks: Breaks, b: float) -> float:
    """``Σ pc·(p-b)₊ + Σ qc·(b-q)₊``."""
    p, pc, q, qc = breaks
    total = 0.0
    for i in range(len(p)):
        total += pc[i] * max(0.0, p[i] - b)
    for j in range(len(q)):
        total += qc[j] * max(0.0, b - q[j])
    return total


@strict_kernel
def _prices_of_one(
    weights: FloatArray, first: float, target: float, penalty: float, prices: FloatArray
) -> None:
    """What the total costs when the first 0, 1, … rows of a ranking are positive."""
    count = first
    for c in range(prices.shape[0]):
        if c > 0:
            count += weights[c - 1]
        prices[c] = penalty * abs(count - target)


@strict_kernel
def _prices_of_several(
    order: RowArray,
    weights: FloatArray,
    start: IntArray,
    total: IntArray,
    low: FloatArray,
    high: FloatArray,
    penalty: FloatArray,
    counts: FloatArray,
    prices: FloatArray,
) -> None:
    """The same for several totals, whose counts begin as given."""
    price = 0.0
    for g in range(len(low)):
        price += penalty[g] * max(0.0, low[g] - counts[g], counts[g] - high[g])
    prices[0] = price
    for c in range(len(order)):
        j = order[c]
        for t in range(start[j], start[j + 1]):
            g = total[t]
            before = max(0.0, low[g] - counts[g], counts[g] - high[g])
            counts[g] += weights[j]
            price += penalty[g] * (max(0.0, low[g] - counts[g], counts[g] - high[g]) - before)
        prices[c + 1] = price


@strict_kernel
def _cheapest(
    ordered: FloatArray,
    prices: FloatArray,
    low: float,
    high: float,
    breaks: Breaks,
    margin: float,
    slack: float,
) -> tuple[float, float, int]:
    """The cheapest number of positives for scores in descending order, given as their negatives."""
    p, pc, q, qc = breaks
    favourite = minimiser(breaks)
    m = len(ordered)
    p_mass, p_moment = 0.0, 0.0
    for i in range(len(p)):
        p_mass += pc[i]
        p_moment += pc[i] * p[i]
    q_mass, q_moment = 0.0, 0.0
    i, j = 0, 0
    best, best_b, number = np.inf, 0.0, 0
    for c in range(m + 1):
        lo = max(low, margin + ordered[c - 1]) if c > 0 else low
        hi = min(high, ordered[c] - margin) if c < m else high
        if lo > hi + slack:
            continue
        b = min(max(favourite, lo), hi) if lo <= hi else 0.5 * (lo + hi)
        while i < len(p) and p[i] <= b:
            p_mass -= pc[i]
            p_moment -= pc[i] * p[i]
            i += 1
        while j < len(q) and q[j] < b:
            q_mass += qc[j]
            q_moment += qc[j] * q[j]
            j += 1
        cost = p_moment - b * p_mass + b * q_mass - q_moment + prices[c]
        if cost < best:
            best, best_b, number = cost, b, c
    return best, best_b, number
