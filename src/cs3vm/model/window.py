"""Which rows can decide about the intercept, where there are many and several totals.

Scores are put into bins of equal width, and each total is counted by bins. In a bin the price of the totals
is at least that of their shortfall at its lower end and of their excess at its upper end, and the hinge sum
is convex: bins whose bound lies above a value that is attained cannot hold the best intercept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from .._typing import BoolArray, FloatArray, RowArray
from .totals import KnownTotals

#: At most so many bins; fewer where there are many totals for few rows.
MOST_BINS, LEAST_BINS = 1024, 64


class Hinges(Protocol):
    """The hinge sum as a function of the intercept."""

    def __call__(self, b: FloatArray) -> FloatArray:
        """Evaluate it at each of several intercepts."""

    def minimisers(self) -> tuple[float, float]:
        """The interval of minimisers."""


class Costly(Protocol):
    """Something that was found, and what it costs."""

    @property
    def cost(self) -> float:
        """What it costs."""


class Part(NamedTuple):
    """Free rows between which an intercept is looked for."""

    rows: RowArray
    counts: FloatArray  #: of each total, with every row above them positive
    limits: tuple[float, float]  #: of the intercept: beyond them it passes other rows
    above: BoolArray | None = None  #: which rows are above them; None where nobody asks


Found = TypeVar("Found", bound=Costly | None)


def number_of_bins(n_rows: int, n_totals: int, lowest: float, highest: float) -> tuple[int, float]:
    """How many bins there are, and how wide they are; one if all scores are the same."""
    bins = min(max(n_rows // max(n_totals, 1), LEAST_BINS), MOST_BINS)
    width = (highest - lowest) / bins
    flat = not width > 1e-12 * (1.0 + max(abs(lowest), abs(highest)))
    return (1, max(highest - lowest, 1.0)) if flat else (bins, width)


class Window:
    """Bounds on the cost by bins of the scores."""

    def __init__(
        self,
        hinge: Hinges,
        scores: FloatArray,
        free: BoolArray | None,
        totals: KnownTotals,
        counts: FloatArray,
        limits: tuple[float, float],
        side_margin: float,
    ) -> None:
        """``counts`` are those of the rows that are not free."""
        self.scores, self.free, self.limits, self.side_margin = scores, free, limits, side_margin
        lowest, highest = float(scores.min()), float(scores.max())
        self.bins, width = number_of_bins(len(scores), len(totals), lowest, highest)
        self.number = np.minimum((scores - lowest) * (1.0 / width), self.bins - 1.0).astype(np.int64)
        self.above = self._counted_above(totals) + counts[:, None]
        # edge k is the lower end of bin k; beyond the last bin nothing is positive
        short = totals.penalty @ np.maximum(0.0, totals.low[:, None] - self.above)
        over = totals.penalty @ np.maximum(0.0, self.above - totals.high[:, None])
        edges: FloatArray = -(lowest + width * np.arange(self.bins + 1.0))  # as intercepts, descending
        allowed = (edges >= limits[0]) & (edges <= limits[1])
        #: the least cost at an edge; with a side margin rows near it may forbid it
        self.at_an_edge = float(np.min((hinge(edges) + short + over)[allowed], initial=np.inf))
        middle = 0.5 * sum(np.clip(hinge.minimisers(), edges[-1], edges[0]))
        self.bound = hinge(np.clip(middle, edges[1:], edges[:-1])) + short[:-1] + over[1:]

    def search(self, look: Callable[[Part], Found]) -> Found:
        """What ``look`` finds among the rows that can decide; None is what cannot be had at any price."""
        first, last = self._bins(self.at_an_edge)
        while True:
            found = look(self.part(first, last))
            if self.side_margin == 0.0:  # an edge can be had
                return found
            wider = self._bins(np.inf if found is None else found.cost)
            if wider[0] >= first and wider[1] <= last:
                return found
            first, last = min(first, wider[0]), max(last, wider[1])

    def _bins(self, value: float) -> tuple[int, int]:
        """The first and the last bin that may hold an intercept of at most this cost, and one more each."""
        kept = np.flatnonzero(self.bound <= value * (1.0 + 1e-9))
        if len(kept) == 0 or not np.isfinite(value):
            return 0, self.bins - 1
        return max(0, int(kept[0]) - 1), min(self.bins - 1, int(kept[-1]) + 1)

    def part(self, first: int, last: int) -> Part:
        """The rows of these bins."""
        above, below = self.number > last, self.number < first
        inside = ~(above | below)
        if self.free is not None:
            above, below, inside = above & self.free, below & self.free, inside & self.free
        low = self.side_margin - float(np.min(self.scores[above], initial=np.inf))
        high = -self.side_margin - float(np.max(self.scores[below], initial=-np.inf))
        limits = max(self.limits[0], low), min(self.limits[1], high)
        return Part(np.flatnonzero(inside), self.above[:, last + 1], limits, above)

    def _counted_above(self, totals: KnownTotals) -> FloatArray:
        """Weight of the free rows of each total in bin k and above, for each k, and none."""
        rows, total = totals.pairs
        weights = totals.weights[rows]
        if self.free is not None:
            weights = np.where(self.free[rows], weights, 0.0)
        size = len(totals) * self.bins
        binned = np.bincount(total * self.bins + self.number[rows], weights, minlength=size)
        above = np.zeros((len(totals), self.bins + 1))
        above[:, :-1] = np.cumsum(binned.reshape(len(totals), self.bins)[:, ::-1], axis=1)[:, ::-1]
        return above
