"""The window of rows that can decide about the intercept, compiled; see :mod:`cs3vm.model.window`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IntArray, RowArray, SignArray
from ...model.totals import KnownTotals
from ...model.window import Part, Window, number_of_bins
from ..jit import strict_kernel


class Breaks(NamedTuple):
    """Where the hinges of the labelled rows bend as functions of b, ascending, and the rows' prices."""

    positive: FloatArray
    positive_price: FloatArray
    negative: FloatArray
    negative_price: FloatArray


class CompiledWindow(Window):
    """Bounds on the cost by bins of the scores."""

    def __init__(
        self,
        breaks: Breaks,
        scores: FloatArray,
        ends: tuple[float, float],
        side: SignArray,
        totals: KnownTotals,
        counts: FloatArray,
        limits: tuple[float, float],
        side_margin: float,
    ) -> None:
        """``ends`` are the lowest and the highest score, ``counts`` those of the rows that are not free."""
        self.scores, self.limits, self.side_margin = scores, limits, side_margin
        self.bins, width = number_of_bins(len(scores), len(totals), *ends)
        self.start = counts
        self.number = np.empty(len(scores), dtype=np.int32)
        self.binned = np.zeros((self.bins, len(totals)))
        of_row = totals.of_row
        fill(scores, side, ends[0], 1.0 / width, totals.weights, *of_row, self.number, self.binned)
        self.bound = np.empty(self.bins)
        self.at_an_edge = bound_bins(
            self.binned,
            counts.copy(),
            totals.low,
            totals.high,
            totals.penalty,
            ends[0],
            width,
            limits,
            breaks,
            minimiser(breaks),
            self.bound,
        )

    def part(self, first: int, last: int) -> Part:
        """The rows of these bins."""
        rows = np.empty(len(self.scores), dtype=np.intp)
        number, low, high = pick(self.scores, self.number, first, last, rows)
        limits = max(self.limits[0], self.side_margin - low), min(self.limits[1], -self.side_margin - high)
        counts = self.start + self.binned[last + 1 :].sum(axis=0)
        return Part(rows[:number], counts, limits)


@strict_kernel
def fill(
    scores: FloatArray,
    side: SignArray,
    lowest: float,
    per_unit: float,
    weights: FloatArray,
    start: IntArray,
    total: IntArray,
    number: RowArray,
    binned: FloatArray,
) -> None:
    """The bin of each row, -1 if it is not free; and the weight of each total in each bin."""
    last = binned.shape[0] - 1
    for j in range(len(scores)):
        if side[j] != 0:
            number[j] = -1
            continue
        k = min(int((scores[j] - lowest) * per_unit), last)
        number[j] = k
        for t in range(start[j], start[j + 1]):
            binned[k, total[t]] += weights[j]


@strict_kernel
def bound_bins(
    binned: FloatArray,
    counts: FloatArray,
    low: FloatArray,
    high: FloatArray,
    penalty: FloatArray,
    lowest: float,
    width: float,
    limits: tuple[float, float],
    breaks: Breaks,
    favourite: float,
    bound: FloatArray,
) -> float:
    """A bound on the cost of an intercept in each bin, and the least cost at an edge of one.

    From the highest bin down the intercept rises; ``counts`` begin with those of no free row.
    """
    p, pc, q, qc = breaks
    p_mass, p_moment = 0.0, 0.0
    for i in range(len(p)):
        p_mass += pc[i]
        p_moment += pc[i] * p[i]
    q_mass, q_moment = 0.0, 0.0
    i, j = 0, 0
    best, excess = np.inf, 0.0
    for k in range(binned.shape[0], -1, -1):
        edge = -(lowest + width * k)
        short, over = 0.0, 0.0
        for g in range(len(low)):
            if k < binned.shape[0]:
                counts[g] += binned[k, g]
            short += penalty[g] * max(0.0, low[g] - counts[g])
            over += penalty[g] * max(0.0, counts[g] - high[g])
        for turn in range(2):  # where the hinge sum is least in the bin above this edge, and at the edge
            b = min(max(favourite, edge - width), edge) if turn == 0 else edge
            while i < len(p) and p[i] <= b:
                p_mass -= pc[i]
                p_moment -= pc[i] * p[i]
                i += 1
            while j < len(q) and q[j] < b:
                q_mass += qc[j]
                q_moment += qc[j] * q[j]
                j += 1
            hinge = p_moment - b * p_mass + b * q_mass - q_moment
            if turn == 1 and limits[0] <= b <= limits[1]:
                best = min(best, hinge + short + over)
            if turn == 0 and k < binned.shape[0]:
                bound[k] = hinge + short + excess
        excess = over
    return best


@strict_kernel
def pick(
    scores: FloatArray, number: RowArray, first: int, last: int, rows: RowArray
) -> tuple[int, float, float]:
    """List the rows of some bins; how many they are, the lowest score above and the highest below them."""
    size = 0
    above, below = np.inf, -np.inf
    for j in range(len(scores)):
        k = number[j]
        if k > last:
            above = min(above, scores[j])
        elif k >= first:
            rows[size] = j
            size += 1
        elif k >= 0:
            below = max(below, scores[j])
    return size, above, below


@strict_kernel
def minimiser(breaks: Breaks) -> float:
    """A minimiser of ``Σ pc·(p-b)₊ + Σ qc·(b-q)₊``: the middle of the flat part, where there is one."""
    p, pc, q, qc = breaks
    slope, rise = 0.0, 0.0
    for i in range(len(pc)):
        slope -= pc[i]
        rise += pc[i]
    for j in range(len(qc)):
        rise += qc[j]
    flat = 1e-12 * max(1.0, rise)
    if slope >= -flat:
        return float(q[0] - 1.0)
    i, j = 0, 0
    start, seen = 0.0, False
    while i < len(p) or j < len(q):
        if j == len(q) or (i < len(p) and p[i] <= q[j]):
            at = p[i]
            slope += pc[i]
            i += 1
        else:
            at = q[j]
            slope += qc[j]
            j += 1
        if not seen and slope >= -flat:
            start, seen = at, True
        if seen and slope > flat:
            return float(0.5 * (start + at))
    return start + 1.0
