"""The best intercept for given normal vectors, exactly, over all rows of a table in pieces.

A pass puts the scores into bins, which get finer and finer towards a guessed threshold, and keeps the groups
of equal scores nearest to it. In a bin the price of the totals is at least that of their shortfall at its
lower end and of their excess at its upper end, and the hinge sum is convex. So the best intercept among the
kept scores is the best of all if no bin beyond them can hold a better one; else the guess is improved and
there is another pass. Weights are added as integers: what comes out does not depend on the pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import BoolArray, FloatArray, IntArray
from ..engine.passes import BINS, HALF, LOWEST, STEP_BITS, add_to_bins
from .cells import Cells
from .pieces import Piece
from .plane_scores import PlaneScores
from .survey import missing_labels, read_weights

#: Groups of equal scores that are kept on both sides of the guess together.
NEAREST = 30_000


def _edges() -> FloatArray:
    """The lower end of each bin, and the upper end of the last."""
    first = (1023 + LOWEST) << STEP_BITS
    patterns = (first + np.arange(1, int(HALF), dtype=np.int64)) << (52 - STEP_BITS)
    positive = patterns.view(np.float64)
    return np.concatenate([[-np.inf], -positive[::-1], [0.0], positive, [np.inf]])


EDGES = _edges()


class Weighing(NamedTuple):
    """Weights as two integers, a multiple of a unit, so that sums are exact; the second below 2^32."""

    unweighted: bool
    exponent: int  #: the unit of the second integer is 2 to this power

    @classmethod
    def of(cls, unweighted: bool, largest: float) -> Weighing:
        """For weights up to ``largest``: the first integer stays below 2^30."""
        if unweighted:
            return cls(True, 0)
        return cls(False, int(np.frexp(largest)[1]) - 62)

    def parts(self, weights: FloatArray) -> IntArray:
        """Two integers for each weight; none where every weight is 1."""
        if self.unweighted:
            return np.zeros((0, 2), dtype=np.int64)
        scaled = np.ldexp(weights, -self.exponent - 32)
        high = np.floor(scaled)
        return np.column_stack([high, np.floor((scaled - high) * 2.0**32)]).astype(np.int64)

    def values(self, parts: IntArray) -> FloatArray:
        """The weights that (sums of) two integers in the last axis stand for."""
        if self.unweighted:
            return parts[..., 0].astype(float)
        return np.asarray(np.ldexp(parts[..., 0] * 2.0**32 + parts[..., 1], self.exponent))


@dataclass(eq=False)
class Near:
    """The groups of rows with equal score and cell that are nearest to a guessed threshold, by score."""

    score: FloatArray  #: minus the threshold
    cell: IntArray
    weight: IntArray  #: two integers for each
    number: IntArray  #: rows in the group
    first: IntArray  #: the lowest row number of the group
    X: NDArray[Any]  #: that row
    complete: float  #: all groups with a smaller distance are there

    def kept(self, places: Any, complete: float) -> Near:
        """Some of them."""
        return Near(
            self.score[places],
            self.cell[places],
            self.weight[places],
            self.number[places],
            self.first[places],
            self.X[places],
            complete,
        )

    def nearest(self, most: int) -> Near:
        """At most so many groups; none that is no longer complete."""
        distance = np.abs(self.score)
        complete = self.complete
        if len(distance) > most:
            complete = min(complete, float(np.partition(distance, most)[most]))
        if complete == np.inf:
            return self
        inside = distance < complete
        return self if inside.all() and complete == self.complete else self.kept(inside, complete)

    def joined(self, other: Near, most: int) -> Near:
        """The nearest of both."""
        both = Near(
            np.concatenate([self.score, other.score]),
            np.concatenate([self.cell, other.cell]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.number, other.number]),
            np.concatenate([self.first, other.first]),
            np.concatenate([self.X, other.X]),
            min(self.complete, other.complete),
        )
        return both.grouped().nearest(most)

    def grouped(self) -> Near:
        """Rows, or groups, of equal score and cell as one group, in ascending order."""
        if len(self.score) == 0:
            return self
        order = np.lexsort((self.first, self.cell, self.score))
        score, cell = self.score[order], self.cell[order]
        new = np.append(True, (score[1:] != score[:-1]) | (cell[1:] != cell[:-1]))
        starts, chosen = np.flatnonzero(new), order[new]
        return Near(
            score[new],
            cell[new],
            np.add.reduceat(self.weight[order], starts, axis=0),
            np.add.reduceat(self.number[order], starts),
            self.first[chosen],
            self.X[chosen],
            self.complete,
        )


class Counted(NamedTuple):
    """What one pass knows about one plane."""

    bins: IntArray  #: (totals, bins, 2)
    sides: IntArray  #: (cells, 2, 2): of rows below the threshold, and of the others
    near: Near


class Threshold(NamedTuple):
    """A guess for one plane: where the scores are cut, and how far from it rows are kept."""

    at: float
    radius: float


@dataclass(frozen=True, eq=False)
class Reader:
    """What every pass after the first one needs to know about the rows of a piece."""

    cells: Cells
    mark: Any
    weighing: Weighing

    def __call__(self, piece: Piece) -> tuple[IntArray, FloatArray]:
        """The cell of each unlabelled row that counts, -1 for the others; and the weights."""
        weight = read_weights(piece)
        missing, marked = missing_labels(piece, self.mark)
        return np.where((missing | marked) & (weight > 0.0), self.cells.of(piece), -1), weight


@dataclass(frozen=True, eq=False)
class Counter:
    """Counts one piece: for each plane the bins of the scores and the rows nearest to its threshold."""

    reader: Reader
    scores: PlaneScores
    thresholds: tuple[Threshold, ...]
    start: IntArray  #: the totals of cell c are ``total[start[c] : start[c + 1]]``
    total: IntArray
    n_totals: int
    most: int = NEAREST

    def __call__(self, piece: Piece) -> list[Counted]:
        """What the piece has."""
        cell, weight = self.reader(piece)
        parts, own = self.reader.weighing.parts(weight), cell >= 0
        scores = self.scores(piece.X)
        numbers = piece.first_row + np.arange(len(piece), dtype=np.int64)
        found = []
        for score, threshold in zip(scores, self.thresholds, strict=True):
            score -= threshold.at
            score += 0.0  # there is one zero only
            bins = np.zeros((self.n_totals, BINS, 2), dtype=np.int64)
            sides = np.zeros((len(self.start) - 1, 2, 2), dtype=np.int64)
            add_to_bins(score.view(np.int64), cell, self.start, self.total, parts, bins, sides)
            inside = np.flatnonzero(own & (np.abs(score) < threshold.radius))
            near = Near(
                score[inside],
                cell[inside],
                parts[inside] if len(parts) else _ones(len(inside)),
                np.ones(len(inside), dtype=np.int64),
                numbers[inside],
                piece.X[inside],
                threshold.radius,
            )
            found.append(Counted(bins, sides, near.grouped().nearest(self.most)))
        return found

    def combine(self, one: list[Counted], other: list[Counted]) -> list[Counted]:
        """What both have; the sums of the first are changed."""
        joined = []
        for a, b in zip(one, other, strict=True):
            np.add(a.bins, b.bins, out=a.bins)
            np.add(a.sides, b.sides, out=a.sides)
            joined.append(a._replace(near=a.near.joined(b.near, self.most)))
        return joined


def _ones(number: int) -> IntArray:
    parts = np.zeros((number, 2), dtype=np.int64)
    parts[:, 0] = 1
    return parts


def above(bins: IntArray) -> IntArray:
    """The integers of the rows in bin k and above, for k = 0, …, :data:`~cs3vm.engine.passes.BINS`."""
    sums = np.zeros((bins.shape[0], bins.shape[1] + 1, 2), dtype=np.int64)
    sums[:, :-1] = np.cumsum(bins[:, ::-1], axis=1)[:, ::-1]
    return sums


def at_or_above(near: Near) -> BoolArray:
    """Which groups are counted by the bins from the threshold on."""
    return np.asarray(near.score >= 0.0)
