"""Which rows can decide about the intercept, where there are many and several totals.

Scores are put into bins of equal width, and each total is counted by bins. In a bin the price of the totals
is at least that of their shortfall at its lower end and of their excess at its upper end, and the hinge sum
is convex: bins whose bound lies above the value at some edge cannot hold the best intercept.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .._typing import BoolArray, FloatArray
from .totals import KnownTotals

BINS = 1024
#: From so many scores on, about so many of them tell where a rank lies, up to so many places.
MANY, SAMPLE, SPARE = 100_000, 4096, 160


def ranked_values(scores: FloatArray, places: list[int]) -> FloatArray:
    """The values at these neighbouring places of the ascending order, exactly.

    Of many scores a few thousand tell between which two values they lie, so that only those are ordered.
    """
    if len(scores) < MANY:
        return np.partition(scores, places)[places]
    few = np.sort(scores[:: len(scores) // SAMPLE])
    share = len(few) / len(scores)
    low = few[max(0, int(share * places[0]) - SPARE)]
    high = few[min(len(few) - 1, int(share * places[-1]) + SPARE)]
    below = int(np.count_nonzero(scores < low))
    inside = scores[(scores >= low) & (scores <= high)]
    if not below <= places[0] <= places[-1] < below + len(inside):
        return np.partition(scores, places)[places]
    within = [place - below for place in places]
    return np.asarray(np.partition(inside, within)[within])


def affordable(rank: int, gain: float, price: float, miss: float, n_scores: int) -> list[int]:
    """Between which places of the ascending order the best intercept lies.

    At the ``rank`` that meets the total, but for a ``miss``, the hinge sum is above its minimum by ``gain``:
    whoever misses the total by more than that pays for has nothing to win.
    """
    rows = int(min(n_scores, np.ceil(gain / price + 2.0 * miss))) + 2
    return [max(0, rank - 1 - rows), min(n_scores - 1, rank + rows)]


class Hinges(Protocol):
    """The hinge sum as a function of the intercept."""

    def __call__(self, b: FloatArray) -> FloatArray:
        """Evaluate it at each of several intercepts."""

    def minimisers(self) -> tuple[float, float]:
        """The interval of minimisers."""


class Window:
    """The free rows between which the best intercept lies, the counts above them, and limits of b."""

    def __init__(
        self,
        hinge: Hinges,
        scores: FloatArray,
        free: BoolArray | None,
        totals: KnownTotals,
        counts: FloatArray,
        limits: tuple[float, float],
    ) -> None:
        """``counts`` are those of the rows that are not free."""
        lowest, highest = float(scores.min()), float(scores.max())
        width = (highest - lowest) / BINS
        if not width > 1e-12 * (1.0 + max(abs(lowest), abs(highest))):
            self.inside = np.ones(len(scores), dtype=bool) if free is None else free
            self.counts, self.limits = counts, limits
            return
        number = np.minimum((scores - lowest) * (1.0 / width), BINS - 1.0).astype(np.int64)
        above = _counted_above(totals, number, free) + counts[:, None]
        # edge k is the lower end of bin k; beyond the last bin nothing is positive
        short = totals.penalty @ np.maximum(0.0, totals.low[:, None] - above)
        over = totals.penalty @ np.maximum(0.0, above - totals.high[:, None])
        edges: FloatArray = -(lowest + width * np.arange(BINS + 1.0))  # as intercepts, descending
        allowed = (edges >= limits[0]) & (edges <= limits[1])
        best = float(np.min((hinge(edges) + short + over)[allowed], initial=np.inf))
        favourite = np.clip(
            0.5 * sum(np.clip(hinge.minimisers(), edges[-1], edges[0])), edges[1:], edges[:-1]
        )
        kept = np.flatnonzero(hinge(favourite) + short[:-1] + over[1:] <= best * (1.0 + 1e-9))
        first = max(0, int(kept.min(initial=BINS - 1)) - 1)
        last = min(BINS - 1, int(kept.max(initial=0)) + 1)
        if not np.isfinite(best) or len(kept) == 0:
            first, last = 0, BINS - 1
        self.inside = (number >= first) & (number <= last)
        if free is not None:
            self.inside &= free
        self.counts = above[:, last + 1]
        low = limits[0] if last == BINS - 1 else max(limits[0], float(edges[last + 1]))
        high = limits[1] if first == 0 else min(limits[1], float(edges[first]))
        self.limits = (low, high)


def _counted_above(totals: KnownTotals, number: np.ndarray, free: BoolArray | None) -> FloatArray:
    """Weight of the rows of each total in bin k and above, for k = 0, …, BINS."""
    rows, total = totals.pairs
    place = total * BINS + number[rows]
    weights = totals.weights[rows]
    if free is not None:
        weights = np.where(free[rows], weights, 0.0)
    binned = np.bincount(place, weights, minlength=len(totals) * BINS).reshape(len(totals), BINS)
    above = np.zeros((len(totals), BINS + 1))
    above[:, :-1] = np.cumsum(binned[:, ::-1], axis=1)[:, ::-1]
    return above
