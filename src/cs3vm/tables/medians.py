"""Medians of columns of a table in pieces, exactly: a few passes narrow down where they are.

Numbers are sorted by their bits. Of the values whose first bits are known already a pass counts how many have
which next 16 bits; or, where there are few different ones, how many there are of each, which ends the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from .encoding import numbers_of
from .frames import FramePiece

#: Bits that a pass brings.
BITS = 16
#: So many different values are counted one by one.
MOST_DISTINCT = 1000
_SIGN = np.uint64(1 << 63)

Keys = NDArray[np.uint64]


def sortable(values: FloatArray) -> Keys:
    """Whole numbers in the order of the numbers; NaN must not be among them."""
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def number_of(key: int) -> float:
    """The number that has this key."""
    whole = key ^ (1 << 63) if key >> 63 else key ^ ((1 << 64) - 1)
    return float(np.array([whole], dtype=np.uint64).view(np.float64)[0])


class Query(NamedTuple):
    """The value of a column that has so many values before it, of those that begin with some bits."""

    column: str
    rank: int  #: among the values that begin with the prefix
    prefix: int = 0
    known: int = 0  #: bits of the prefix


@dataclass(eq=False)
class Counted:
    """What a pass found for a query."""

    bins: IntArray
    keys: Keys  #: the different values, if they are few
    counts: IntArray
    few: bool = True

    def combine(self, other: Counted) -> Counted:
        """Both; this one is changed."""
        self.bins = self.bins + other.bins
        if not (self.few and other.few):
            return self._many()
        keys, places = np.unique(np.append(self.keys, other.keys), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, places, np.append(self.counts, other.counts))
        self.keys, self.counts = keys, counts
        return self if len(keys) <= MOST_DISTINCT else self._many()

    def _many(self) -> Counted:
        self.few, self.keys, self.counts = False, self.keys[:0], self.counts[:0]
        return self


@dataclass(frozen=True)
class CountBins:
    """Counts the values of a piece."""

    queries: tuple[Query, ...]

    def __call__(self, piece: FramePiece) -> list[Counted]:
        """One for each query."""
        found, of = [], {}
        for query in self.queries:
            if query.column not in of:
                values = numbers_of(piece.table, query.column)
                of[query.column] = sortable(values[~np.isnan(values)])
            found.append(_count(of[query.column], query))
        return found

    def combine(self, one: list[Counted], other: list[Counted]) -> list[Counted]:
        """Both."""
        return [a.combine(b) for a, b in zip(one, other, strict=True)]


def _count(keys: Keys, query: Query) -> Counted:
    if query.known:
        keys = keys[keys >> np.uint64(64 - query.known) == np.uint64(query.prefix)]
    place = (keys >> np.uint64(64 - BITS - query.known)) & np.uint64((1 << BITS) - 1)
    bins = np.bincount(place.astype(np.int64), minlength=1 << BITS).astype(np.int64)
    distinct, counts = np.unique(keys, return_counts=True)
    counted = Counted(bins, distinct, counts.astype(np.int64))
    return counted if len(distinct) <= MOST_DISTINCT else counted._many()


def _next(query: Query, counted: Counted) -> float | Query:
    """The value, or where to go on looking for it."""
    if counted.few:
        return number_of(int(counted.keys[np.searchsorted(np.cumsum(counted.counts), query.rank, "right")]))
    before = np.cumsum(counted.bins)
    place = int(np.searchsorted(before, query.rank, "right"))
    rank = query.rank - int(before[place - 1] if place else 0)
    prefix, known = (query.prefix << BITS) | place, query.known + BITS
    return number_of(prefix) if known == 64 else Query(query.column, rank, prefix, known)


def _different(queries: Iterable[Query]) -> list[Query]:
    """Those that look at different values."""
    return list(dict.fromkeys(query._replace(rank=0) for query in queries))


def medians(
    n_values: dict[str, int], run: Callable[[Callable[[FramePiece], Any], Callable[[Any, Any], Any]], Any]
) -> dict[str, float]:
    """The median of each column.

    Parameters
    ----------
    n_values
        How many values each column has.
    run
        One pass over all rows: what a function of pieces gives, combined.
    """
    middle = {name: ((n - 1) // 2, n // 2) for name, n in n_values.items()}
    states: dict[tuple[str, int], float | Query] = {
        (name, rank): Query(name, rank) for name, ranks in middle.items() for rank in ranks
    }
    while True:
        open_ = {key: state for key, state in states.items() if isinstance(state, Query)}
        if not open_:
            break
        places = {query: i for i, query in enumerate(_different(open_.values()))}
        count = CountBins(tuple(places))
        found = run(count, count.combine)
        for key, query in open_.items():
            states[key] = _next(query, found[places[query._replace(rank=0)]])
    values = {key: float(state) for key, state in states.items() if not isinstance(state, Query)}
    # as numpy does: the mean of the two in the middle
    return {name: float(np.mean([values[name, rank] for rank in ranks])) for name, ranks in middle.items()}
