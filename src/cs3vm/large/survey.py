"""The first pass: labelled rows, a sample of the others, what they weigh, sums of the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, LabelArray, RowArray
from ..exceptions import InvalidProblemError
from ..learn.unlabelled import SKLEARN_MARK, find_unlabeled
from .cells import Cells, Key, cells_of, sort_key
from .exact_sums import ExactSums
from .pieces import Piece
from .sampling import Rows, drawn_places, row_hashes, sample

#: More labelled rows than this are not kept in memory.
MOST_LABELLED = 1_000_000


class Asked(NamedTuple):
    """What the first pass must know; it is the same for every piece."""

    columns: tuple[str, ...]  #: of groups that totals are by
    mark: Any  #: the value of an unlabelled row, besides missing ones
    seed: int
    n_sample: int  #: rows that are drawn
    by_cell: int  #: rows that are drawn from each cell at least; 0 where there are no groups
    n_rows: int | None  #: in the whole table, if that is known
    sums: bool = True  #: whether means and deviations are wanted


@dataclass(eq=False)
class Survey:
    """What the first pass found; ``cell`` of rows is an index into ``keys``."""

    asked: Asked
    keys: list[Key]
    labelled: Rows
    drawn: Rows  #: of the unlabelled rows that count
    weights: ExactSums  #: of the unlabelled rows, by cell
    counts: IntArray  #: how many there are, by cell
    sums: ExactSums  #: of each column, weighted: values and their squares
    whole: ExactSums  #: weight of all rows
    lowest: FloatArray  #: of each column
    highest: FloatArray
    n_rows: int
    n_missing: int  #: rows whose label is missing
    n_marked: int  #: rows with the mark
    whole_weights: bool  #: whether all weights are integers
    unweighted: bool  #: whether there are none
    largest: float  #: the largest weight

    def combine(self, other: Survey) -> Survey:
        """What both pieces have; this one is changed."""
        place = {key: i for i, key in enumerate(self.keys)}
        for key in other.keys:
            place.setdefault(key, len(place))
        new = np.array([place[key] for key in other.keys], dtype=np.int64)
        parts = np.zeros((len(place), *self.weights.parts.shape[1:]), dtype=np.int64)
        counts = np.zeros(len(place), dtype=np.int64)
        parts[: len(self.keys)], counts[: len(self.keys)] = self.weights.parts, self.counts
        parts[new] += other.weights.parts
        counts[new] += other.counts
        self.weights.parts, self.counts, self.keys = parts, counts, list(place)
        for rows in (other.labelled, other.drawn):
            rows.cell = new[rows.cell] if len(new) else rows.cell
        self.labelled = self.labelled.joined(other.labelled)
        check_labelled(len(self.labelled))
        self.drawn = sample(self.drawn.joined(other.drawn), self.asked.n_sample, self.asked.by_cell)
        self.sums += other.sums
        self.whole += other.whole
        self.lowest = np.minimum(self.lowest, other.lowest)
        self.highest = np.maximum(self.highest, other.highest)
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        self.n_marked += other.n_marked
        self.whole_weights = self.whole_weights and other.whole_weights
        self.unweighted = self.unweighted and other.unweighted
        self.largest = max(self.largest, other.largest)
        return self

    def finished(self) -> Survey:
        """The same with cells and rows in an order that does not depend on the pieces."""
        order = sorted(range(len(self.keys)), key=lambda i: sort_key(self.keys[i]))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        self.keys = [self.keys[i] for i in order]
        self.weights.parts, self.counts = self.weights.parts[order], self.counts[order]
        for rows in (self.labelled, self.drawn):
            rows.cell = rank[rows.cell] if len(rank) else rows.cell
        self.labelled, self.drawn = self.labelled.in_order(), self.drawn.in_order()
        return self

    @property
    def cells(self) -> Cells:
        """The cells of the table."""
        return Cells(self.asked.columns, self.keys)


def check_labelled(number: int) -> None:
    """Refuse more labelled rows than are kept in memory."""
    if number > MOST_LABELLED:
        raise InvalidProblemError(
            f"there are more than {MOST_LABELLED} labelled rows, which are all kept in memory: leave the "
            "labels of some of them out, or name the value that marks unlabelled rows (unlabeled=)"
        )


@dataclass(frozen=True, eq=False)
class Surveyor:
    """Looks at one piece."""

    asked: Asked

    def __call__(self, piece: Piece) -> Survey:
        """What the piece has."""
        asked = self.asked
        check_finite(piece)
        keys, cell = cells_of(piece, asked.columns)
        weight = read_weights(piece)
        missing, marked = missing_labels(piece, asked.mark)
        counts, no_label = weight > 0.0, missing | marked
        numbers = piece.first_row + np.arange(len(piece), dtype=np.int64)
        hashes = row_hashes(numbers, asked.seed)

        def rows(places: RowArray) -> Rows:
            label = np.full(len(places), None)
            if piece.labels is not None:
                label[:] = piece.labels[places].tolist()
            return Rows(numbers[places], hashes[places], cell[places], piece.X[places], weight[places], label)

        unlabelled = no_label & counts
        free = np.flatnonzero(unlabelled)
        drawn = drawn_places(hashes[free], cell[free], asked.n_sample, asked.by_cell, self._below())
        weights, own = ExactSums(len(keys), 1), np.where(unlabelled, cell, -1)
        weights.add(weight[:, None], own)
        check_labelled(int(np.count_nonzero(~no_label & counts)))
        low, high = _range(piece, counts)
        sums, whole = self._sums(piece, weight)
        return Survey(
            asked,
            keys,
            rows(np.flatnonzero(~no_label & counts)),
            rows(free[drawn]),
            weights,
            np.bincount(cell[unlabelled], minlength=len(keys)).astype(np.int64),
            sums,
            whole,
            low,
            high,
            len(piece),
            int(np.count_nonzero(missing)),
            int(np.count_nonzero(marked)),
            bool(np.all(weight == np.round(weight))),
            piece.weights is None,
            float(weight.max(initial=0.0)),
        )

    def _below(self) -> int | None:
        """The lowest hashes of all rows lie below this, unless most rows are labelled or do not count."""
        asked = self.asked
        if asked.n_rows is None or asked.n_rows <= 4 * asked.n_sample:
            return None
        return int(2.0**64 * (2.0 * asked.n_sample / asked.n_rows))

    def _sums(self, piece: Piece, weight: FloatArray) -> tuple[ExactSums, ExactSums]:
        """Weighted sums of the columns and of their squares, and the weight of all rows."""
        sums, whole = ExactSums(2, piece.X.shape[1] if self.asked.sums else 0), ExactSums(1, 1)
        cells = np.where(weight > 0.0, 0, -1)
        whole.add(weight[:, None], cells)
        for start in range(0, len(piece) if self.asked.sums else 0, 4096):
            part = slice(start, start + 4096)
            rows, own = piece.X[part].astype(np.float64), cells[part]
            weighted = rows if piece.weights is None else rows * weight[part, None]
            sums.add(weighted, own)
            sums.add(weighted * rows, np.where(own < 0, own, 1))
        return sums, whole


def _range(piece: Piece, counts: BoolArray) -> tuple[FloatArray, FloatArray]:
    rows = piece.X if counts.all() else piece.X[counts]
    if len(rows) == 0:
        return np.full(piece.X.shape[1], np.inf), np.full(piece.X.shape[1], -np.inf)
    return rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)


def read_weights(piece: Piece) -> FloatArray:
    """One non-negative weight per row."""
    if piece.weights is None:
        return np.ones(len(piece))
    weight = np.asarray(piece.weights, dtype=np.float64)
    wrong = ~(np.isfinite(weight) & (weight >= 0.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidProblemError(
            f"sample_weight must be zero or positive; row {piece.first_row + row}{_in(piece)} has "
            f"{weight[row]}. Use 0 to leave a row out"
        )
    return weight


def missing_labels(piece: Piece, mark: Any) -> tuple[BoolArray, BoolArray]:
    """Which rows have no label because it is missing, and because of the mark."""
    if piece.labels is None:
        return np.ones(len(piece), dtype=bool), np.zeros(len(piece), dtype=bool)
    missing = _missing(piece.labels)
    marked = np.zeros(len(piece), dtype=bool)
    if mark is None or (mark == SKLEARN_MARK and piece.labels.dtype.kind in "bU"):
        return missing, marked
    known = np.flatnonzero(~missing)
    marked[known] = find_unlabeled(piece.labels[known], unlabeled=mark)
    return missing, marked


def _missing(labels: LabelArray) -> BoolArray:
    """None, NaN, NaT and pandas' NA; by pandas where it is there, which is faster for objects."""
    if labels.dtype == object:
        try:
            from pandas import isna
        except ImportError:
            return find_unlabeled(labels)
        return np.asarray(isna(labels), dtype=bool)
    return find_unlabeled(labels)


def check_finite(piece: Piece) -> None:
    """Refuse NaN and infinity, and say where they are."""
    with np.errstate(all="ignore"):
        if np.isfinite(piece.X.sum()):  # the usual case, at the price of one sum
            return
    bad = ~np.isfinite(piece.X)
    if bad.any():
        row, column = (int(i[0]) for i in np.nonzero(bad))
        raise InvalidProblemError(
            f"X contains NaN or infinity{_in(piece)}: {int(bad.sum())} values, the first in row "
            f"{piece.first_row + row}, column {column}. Impute them or drop the rows; only labels may be "
            "missing"
        )


def _in(piece: Piece) -> str:
    return f" in {piece.where}" if piece.where else ""
