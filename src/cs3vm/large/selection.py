"""From what a pass counted to the best intercept: rows near the plane decide, the others are constants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from ..engine.passes import HALF
from ..model.intercept import best_intercept
from ..model.line import HingeSum
from ..model.totals import KnownTotals
from .order_statistic import EDGES, Counted, Near, Threshold, Weighing, above, at_or_above

#: Margins that are tried one after the other where the margin is automatic, as parts of the first.
LADDER = (1.0, 0.1, 0.01, 1e-3, 1e-4)
#: A wider margin may cost so much, in units of the smallest price of a total.
WORTH = 0.01
#: Another bin is worth a pass if it can be better by more than this, relative.
BETTER = 1e-9


class Counts(NamedTuple):
    """The totals as bound to all rows: what the price of counts is."""

    low: FloatArray
    high: FloatArray
    penalty: FloatArray
    start: IntArray  #: the totals of cell c are ``total[start[c] : start[c + 1]]``
    total: IntArray
    weighing: Weighing

    @property
    def members(self) -> FloatArray:
        """1 where a total (row) counts a cell (column)."""
        found = np.zeros((len(self.low), len(self.start) - 1))
        found[self.total, np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))] = 1.0
        return found

    def of_groups(self, near: Near, which: BoolArray) -> IntArray:
        """The integers that some of the groups add to each total."""
        sums = np.zeros((len(self.low), 2), dtype=np.int64)
        cells, weights = near.cell[which], near.weight[which]
        for c in np.unique(cells).tolist():
            sums[self.total[self.start[c] : self.start[c + 1]]] += weights[cells == c].sum(axis=0)
        return sums

    def by_total(self, by_cell: IntArray) -> FloatArray:
        """The weights of the totals from the integers of the cells."""
        sums = np.zeros((len(self.low), 2), dtype=np.int64)
        cells = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        np.add.at(sums, self.total, by_cell[cells])
        return self.weighing.values(sums)

    def bound(self, near: Near, less: FloatArray) -> KnownTotals:
        """The totals of the near groups alone, and two rows that none of them counts."""
        places = [np.zeros(0, dtype=np.intp)] * len(self.low)
        for c in np.unique(near.cell).tolist():
            own = np.flatnonzero(near.cell == c)
            for g in self.total[self.start[c] : self.start[c + 1]].tolist():
                places[g] = np.append(places[g], own)
        return KnownTotals(
            np.append(self.weighing.values(near.weight), np.ones(2)),
            self.low - less,
            self.high - less,
            self.penalty,
            ("",) * len(self.low),
            tuple(np.sort(rows) for rows in places),
        )


class Chosen(NamedTuple):
    """The best intercept of a plane as far as one pass can tell."""

    at: float  #: the threshold that near scores are relative to
    b: float  #: to be added to scores
    cost: float  #: hinge sum and price of the totals
    counts: FloatArray  #: weight of positives in each total
    margin: float  #: that no row is nearer to the plane than
    proven: bool  #: whether no other row can matter
    near: Near
    beyond: FloatArray  #: (cells, 2): weight of the other rows below and above
    next: Threshold  #: a better guess, if it is not


def choose(
    counted: Counted,
    threshold: Threshold,
    hinge: HingeSum,
    counts: Counts,
    margins: tuple[float, ...],
    most: int,
) -> Chosen:
    """The best intercept among the rows that are near, and whether it is the best of all.

    Parameters
    ----------
    counted
        What the pass brought back for this plane and threshold.
    hinge
        That of the labelled rows, whose scores have the threshold subtracted, too.
    margins
        How far rows must stay off the plane; of several, the widest that costs nothing more.
    most
        Groups that a pass keeps.
    """
    near, weighing = counted.near, counts.weighing
    beyond = _beyond(counted, weighing)
    sums: IntArray = above(counted.bins)
    outside: IntArray = sums[:, int(HALF)] - counts.of_groups(near, at_or_above(near))
    constant = weighing.values(outside)
    totals = counts.bound(near, constant)
    scores = np.append(near.score, [near.complete, -near.complete])
    side = np.zeros(len(scores), dtype=np.int8)
    side[-2:] = (1, -1)
    if near.complete == np.inf:
        scores, side, totals = scores[:-2], side[:-2], _without_ends(totals)
    best, margin, least = None, margins[0], np.inf
    for wide in reversed(margins):  # the narrowest first: it costs least
        found = best_intercept(hinge, scores, side, totals, wide)
        if found is None or not np.isfinite(found.cost):
            continue
        worth = WORTH * float(counts.penalty.min(initial=1.0))
        least = min(least, found.cost)
        if found.cost <= least + worth:
            best, margin = found, wide
    limit = np.inf if best is None else best.cost
    first, last, middle = _bins_that_matter(weighing.values(sums), hinge, counts, limit)
    inside = EDGES[first] > -near.complete and EDGES[last + 1] < near.complete
    proven = best is not None and (near.complete == np.inf or last < first or bool(inside))
    guess = _next_guess(threshold, first, last, middle, counted, margins[0], most)
    if best is None:
        return Chosen(
            threshold.at, -threshold.at, np.inf, np.zeros(len(counts.low)), margin, False, near, beyond, guess
        )
    positive = best.z[: len(near.score)] > 0
    met = weighing.values(outside + counts.of_groups(near, positive))
    return Chosen(threshold.at, best.b - threshold.at, best.cost, met, margin, proven, near, beyond, guess)


def _beyond(counted: Counted, weighing: Weighing) -> FloatArray:
    """The weight of the rows that are not near, of each cell and side of the threshold."""
    left = counted.sides.copy()
    np.subtract.at(left, (counted.near.cell, at_or_above(counted.near).astype(np.intp)), counted.near.weight)
    return weighing.values(left)


def _without_ends(totals: KnownTotals) -> KnownTotals:
    return KnownTotals(
        totals.weights[:-2], totals.low, totals.high, totals.penalty, totals.names, totals.rows
    )


def _bins_that_matter(
    counts_above: FloatArray, hinge: HingeSum, counts: Counts, best: float
) -> tuple[int, int, int]:
    """The first and the last bin that may hold a better intercept, and the most promising one."""
    short = counts.penalty @ np.maximum(0.0, counts.low[:, None] - counts_above)
    over = counts.penalty @ np.maximum(0.0, counts_above - counts.high[:, None])
    far = 2.0 * float(EDGES[-2])
    edges = np.clip(EDGES, -far, far)
    at_edges = hinge(-edges) + short + over
    favourite = 0.5 * sum(np.clip(hinge.minimisers(), -far, far))
    bound = hinge(np.clip(favourite, -edges[1:], -edges[:-1])) + short[:-1] + over[1:]
    limit = min(best, float(at_edges.min()) if not np.isfinite(best) else np.inf)
    kept = np.flatnonzero(bound < limit - BETTER * (1.0 + abs(limit)))
    middle = int(np.argmin(bound))
    if len(kept) == 0:
        return middle, middle - 1, middle
    return int(kept[0]), int(kept[-1]), middle


def _next_guess(
    threshold: Threshold,
    first: int,
    last: int,
    middle: int,
    counted: Counted,
    margin: float,
    most: int,
) -> Threshold:
    """The middle of what matters, and a radius with about half as many rows as can be kept.

    Bins count weights; rows are taken to weigh the same. The strip of the margin must fit in.
    """
    far = 2.0 * float(EDGES[-2])
    edges = np.clip(EDGES, -far, far)
    centre = 0.5 * float(edges[min(first, middle)] + edges[max(last, middle) + 1])
    weight = counted.bins[:, :, 0].max(axis=0, initial=0)
    unit = max(1.0, float(counted.near.weight[:, 0].sum()) / max(1, int(counted.near.number.sum())))
    distance = np.maximum(np.abs(edges[:-1] - centre), np.abs(edges[1:] - centre))
    order = np.argsort(distance, kind="stable")
    inside = int(np.searchsorted(np.cumsum(weight[order]), 0.5 * most * unit, side="right"))
    if inside == len(order):
        return Threshold(threshold.at + centre, np.inf)
    radius = max(float(distance[order[max(0, inside - 1)]]), 4.0 * margin)
    return Threshold(threshold.at + centre, radius)
