"""The last pass, what the plane gives on all rows; and rows that it cannot tell apart, but a total divides.

Equal rows have equal scores, so a proper plane can miss a total by less than the weight of one group of them.
As in memory (:mod:`cs3vm.learn.undecided`), the group nearest to the plane on the side that has too many is
divided, at most one for each total. Which of its rows change sides is drawn by their hashes: those below a
threshold, which two passes find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray
from .order_statistic import Reader
from .pieces import Piece
from .plane_scores import PlaneScores
from .rounds import Judge, Judged, Passes
from .sampling import Rows, lowest_by, row_hashes

#: Rows that are drawn from each cell on each side at least.
BY_STRATUM = 20
#: Bits of a hash that the first of two passes counts by.
HASH_BITS = 16


class Plane(NamedTuple):
    """A plane that scores rows of any piece."""

    scores: PlaneScores  #: of one plane
    at: float  #: a threshold near the plane, subtracted first
    b: float  #: added to the scores

    def distances(self, piece: Piece) -> tuple[FloatArray, FloatArray]:
        """Scores of the rows, and the same relative to the threshold."""
        (scores,) = self.scores(piece.X)
        return scores + self.b, scores - self.at + 0.0


class Division(NamedTuple):
    """A group of rows of equal score that a total divides: those with a low hash change sides."""

    score: float  #: relative to the threshold of the plane
    cells: tuple[int, ...]  #: of the total
    to_positive: bool
    part: float  #: of its weight that changes sides
    below: int = 0  #: the hashes of those rows lie below


def divisions(judge: Judge, best: Judged) -> list[Division]:
    """The groups that have to be divided, the total missed most first."""
    chosen, counts = best.chosen, judge.counts
    near, now = chosen.near, chosen.counts.copy()
    distance = near.score + (chosen.b + chosen.at)
    weight = counts.weighing.values(near.weight)
    positive = distance >= 0.0
    found: list[Division] = []
    used = np.zeros(len(near.score), dtype=bool)
    first = np.maximum(0.0, np.maximum(counts.low - now, now - counts.high))
    of = judge.table.totals_of_cells
    for g in np.argsort(-first, kind="stable").tolist():
        missing = max(0.0, counts.low[g] - now[g]) - max(0.0, now[g] - counts.high[g])
        if first[g] <= 0.0 or missing == 0.0:
            continue
        cells = [c for c, own in enumerate(of) if g in own]
        movable = np.flatnonzero(np.isin(near.cell, cells) & (positive == (missing < 0.0)) & ~used)
        if len(movable) == 0:
            continue
        nearest = movable[np.argmin(np.abs(distance[movable]))]
        group = movable[near.score[movable] == near.score[nearest]]
        if near.number[group].sum() < 2 or weight[group].sum() <= abs(missing):
            continue
        moved = np.zeros(len(now))
        for i in group.tolist():
            moved[of[near.cell[i]]] += weight[i] if missing > 0.0 else -weight[i]
        part = _best_part(now, moved, counts.low, counts.high, counts.penalty)
        if 0.0 < part < 1.0:
            own = tuple(sorted({int(c) for c in near.cell[group]}))
            found.append(Division(float(near.score[nearest]), own, missing > 0.0, part))
            used[group] = True
            now += part * moved
    return found


def _best_part(
    now: FloatArray, moved: FloatArray, low: FloatArray, high: FloatArray, penalty: FloatArray
) -> float:
    """Which part of a group has to change sides for all totals together to be missed least."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.concatenate([(low - now) / moved, (high - now) / moved, [0.0, 1.0]])
    parts = np.unique(np.clip(ends[np.isfinite(ends)], 0.0, 1.0))
    counts = now + parts[:, None] * moved
    prices = np.maximum(0.0, np.maximum(low - counts, counts - high)) @ penalty
    return float(parts[int(np.argmin(prices))])


# -- which rows of a divided group ---------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class HashCounter:
    """Weights of the rows of divided groups by the first bits of their hashes, or the rows themselves."""

    reader: Reader
    plane: Plane
    divided: tuple[Division, ...]
    seed: int
    bins: tuple[int, ...] = ()  #: of each group: the rows of this one are wanted

    def __call__(self, piece: Piece) -> list[IntArray]:
        """For each group an array of integers."""
        cell, weight = self.reader(piece)
        parts = self.reader.weighing.parts(weight)
        _, scores = self.plane.distances(piece)
        found = []
        for i, division in enumerate(self.divided):
            rows = np.flatnonzero(in_group(division, scores, cell))
            hashes = row_hashes(piece.first_row + rows, self.seed)
            own = parts[rows] if len(parts) else np.ones((len(rows), 1), dtype=np.int64) * (1, 0)
            place = (hashes >> np.uint64(64 - HASH_BITS)).astype(np.int64)
            if self.bins:
                inside = place == self.bins[i]
                found.append(np.column_stack([hashes.view(np.int64), own])[inside])
            else:
                sums = np.zeros((1 << HASH_BITS, 2), dtype=np.int64)
                np.add.at(sums, place, own)
                found.append(sums)
        return found

    def combine(self, one: list[IntArray], other: list[IntArray]) -> list[IntArray]:
        """Sums, or all rows."""
        if self.bins:
            return [np.concatenate(pair) for pair in zip(one, other, strict=True)]
        return [a + b for a, b in zip(one, other, strict=True)]


def in_group(division: Division, scores: FloatArray, cell: IntArray) -> BoolArray:
    """Which rows belong to a divided group."""
    return np.asarray((scores == division.score) & np.isin(cell, division.cells))


def draw_rows(
    passes: Passes, reader: Reader, plane: Plane, divided: list[Division], seed: int
) -> list[Division]:
    """Settle which rows change sides: as many as come nearest to the part of the weight that has to."""
    if not divided:
        return []
    counter = HashCounter(reader, plane, tuple(divided), seed)
    sums = [reader.weighing.values(part) for part in passes.run("ties", counter, counter.combine)]
    before = [np.append(0.0, np.cumsum(part)) for part in sums]
    wanted = [division.part * total[-1] for division, total in zip(divided, before, strict=True)]
    bins = tuple(
        int(np.clip(np.searchsorted(total, goal, side="right") - 1, 0, len(total) - 2))
        for total, goal in zip(before, wanted, strict=True)
    )
    counter = HashCounter(reader, plane, tuple(divided), seed, bins)
    found = passes.run("ties", counter, counter.combine)
    settled = []
    for division, rows, place, total, goal in zip(divided, found, bins, before, wanted, strict=True):
        hashes = rows[:, 0].view(np.uint64)
        order = np.argsort(hashes, kind="stable")
        counts = total[place] + np.append(0.0, np.cumsum(reader.weighing.values(rows[order, 1:])))
        number = int(np.argmin(np.abs(counts - goal)))
        below = int(hashes[order[number]]) if number < len(order) else (place + 1) << (64 - HASH_BITS)
        settled.append(division._replace(below=below))
    return settled


def divide(
    divided: tuple[Division, ...],
    positive: BoolArray,
    scores: FloatArray,
    cell: IntArray,
    first_row: int,
    seed: int,
) -> tuple[BoolArray, BoolArray]:
    """Which rows of a piece are positive once groups are divided, and which are in such a group.

    ``scores`` are relative to the threshold of the plane.
    """
    undecided = np.zeros(len(positive), dtype=bool)
    for division in divided:
        rows = np.flatnonzero(in_group(division, scores, cell))
        hashes = row_hashes(first_row + rows, seed)
        changed = hashes < np.uint64(division.below) if division.below < 2**64 else slice(None)
        positive[rows[changed]] = division.to_positive
        undecided[rows] = True
    return positive, undecided


# -- the last pass -------------------------------------------------------------------------------------
@dataclass(eq=False)
class Outcome:
    """What the plane gives on all rows, by cell and side."""

    weight: IntArray  #: (cells, 2, 2): two integers for the negative and the positive side
    labelled: IntArray  #: (cells, 2): of the rows that are labelled positive, after groups were divided
    nearest: float  #: the smallest distance of a row to the plane
    drawn: Rows  #: some of each cell and side


@dataclass(frozen=True, eq=False)
class Summer:
    """Adds up one piece."""

    reader: Reader
    plane: Plane
    divided: tuple[Division, ...]
    seed: int

    def __call__(self, piece: Piece) -> Outcome:
        """What the piece has."""
        cell, weight = self.reader(piece)
        own = np.flatnonzero(cell >= 0)
        everywhere, relative = self.plane.distances(piece)
        positive, _ = divide(self.divided, everywhere >= 0.0, relative, cell, piece.first_row, self.seed)
        distance = everywhere[own]
        stratum = 2 * cell[own] + (distance >= 0.0)
        n_cells = len(self.reader.cells)
        n_strata = 2 * n_cells
        parts = self.reader.weighing.parts(weight)
        sums = self._sums(stratum, parts[own] if len(parts) else parts, n_strata)
        own_positive = own[positive[own]]
        labelled = self._sums(cell[own_positive], parts[own_positive] if len(parts) else parts, n_cells)
        numbers = piece.first_row + own
        hashes = row_hashes(numbers, self.seed)
        places = lowest_by(hashes, stratum, n_strata, BY_STRATUM)
        chosen = own[places]
        drawn = Rows(
            numbers[places],
            hashes[places],
            cell[chosen],
            piece.X[chosen],
            weight[chosen],
            np.full(len(chosen), None),
        )
        return Outcome(
            sums.reshape(-1, 2, 2),
            labelled,
            float(np.abs(distance).min(initial=np.inf)),
            drawn,
        )

    @staticmethod
    def _sums(places: IntArray, parts: IntArray, number: int) -> IntArray:
        """The integers of the rows at each of so many places."""
        sums = np.zeros((number, 2), dtype=np.int64)
        if len(parts):
            np.add.at(sums, places, parts)
        else:
            sums[:, 0] = np.bincount(places, minlength=number)
        return sums

    def combine(self, one: Outcome, other: Outcome) -> Outcome:
        """Both."""
        drawn = one.drawn.joined(other.drawn)
        if len(drawn):
            side = self.plane.scores(drawn.X)[0] + self.plane.b >= 0.0
            strata = 2 * drawn.cell + side
            drawn = drawn.take(lowest_by(drawn.hash, strata, 2 * len(self.reader.cells), BY_STRATUM))
        return Outcome(
            one.weight + other.weight,
            one.labelled + other.labelled,
            min(one.nearest, other.nearest),
            drawn,
        )
