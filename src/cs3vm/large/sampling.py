"""Rows drawn by a hash of the seed and their number, so that the draw does not depend on the pieces.

The rows with the lowest hashes are a random sample. Those of a table are among those of its pieces, so
samples of pieces can be merged in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import IntArray, RowArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def row_hashes(numbers: IntArray, seed: int) -> NDArray[np.uint64]:
    """A random-looking number for each row number (splitmix64 of both)."""
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed], dtype=np.int64).astype(np.uint64) * _STEP)
        return _mixed((np.asarray(numbers, dtype=np.uint64) + np.uint64(1)) * _STEP ^ start)


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return z ^ (z >> np.uint64(31))


@dataclass(eq=False)
class Rows:
    """Some rows of a table with all that is known about them."""

    number: IntArray  #: in the whole table
    hash: NDArray[np.uint64]
    cell: IntArray
    X: NDArray[Any]
    weight: NDArray[np.float64]
    label: NDArray[Any]  #: objects, as given

    def __len__(self) -> int:
        return len(self.number)

    def take(self, places: RowArray | NDArray[np.bool_]) -> Rows:
        """Some of them."""
        return Rows(*(getattr(self, field.name)[places] for field in fields(self)))

    def joined(self, other: Rows) -> Rows:
        """Both."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return Rows(*(np.concatenate(pair) for pair in pairs))

    def in_order(self) -> Rows:
        """By their numbers."""
        return self.take(np.argsort(self.number, kind="stable"))


def lowest(hashes: NDArray[np.uint64], number: int) -> RowArray:
    """The places of the lowest hashes; hashes of different rows hardly ever agree."""
    if len(hashes) <= number:
        return np.arange(len(hashes))
    return np.asarray(np.argpartition(hashes, number)[:number])


def lowest_by(hashes: NDArray[np.uint64], strata: IntArray, n_strata: int, number: int) -> IntArray:
    """The places of the lowest hashes of each stratum."""
    if n_strata <= 16:  # partitions are faster than a sort
        places = [np.flatnonzero(strata == s) for s in range(n_strata)]
        return np.concatenate([own[lowest(hashes[own], number)] for own in places])
    order = np.lexsort((hashes, strata))
    ranked = strata[order]
    return np.asarray(order[np.arange(len(order)) - np.searchsorted(ranked, ranked) < number])


def drawn_places(
    hashes: NDArray[np.uint64], cells: IntArray, number: int, by_cell: int, below: int | None = None
) -> RowArray:
    """The places of the lowest hashes, and of at least ``by_cell`` of every cell, if it has so many.

    Where it is known that enough hashes lie ``below`` a number, the others need not be looked at.
    """
    promising = np.arange(len(hashes)) if below is None else np.flatnonzero(hashes < np.uint64(below))
    kept = promising[lowest(hashes[promising], number)]
    if len(kept) == len(hashes) or by_cell == 0:
        return np.sort(kept)
    return np.union1d(kept, lowest_by(hashes, cells, int(cells.max()) + 1, by_cell))


def sample(rows: Rows, number: int, by_cell: int) -> Rows:
    """The rows with the lowest hashes, and of every cell at least ``by_cell``, if it has so many."""
    return rows if len(rows) <= number else rows.take(drawn_places(rows.hash, rows.cell, number, by_cell))
