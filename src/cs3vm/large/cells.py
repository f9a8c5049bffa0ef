"""Cells: rows with the same value in every column of groups, which the same totals count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import IntArray, LabelArray
from ..exceptions import InvalidProblemError
from ..learn.margins import coded_columns, plain
from ..learn.unlabelled import kind
from .pieces import Piece

#: More combinations of groups than this are no groups.
MOST_CELLS = 20_000

#: The value of each column of groups; None where it is missing.
Key = tuple[Any, ...]


def coded(column: LabelArray) -> tuple[list[Any], IntArray]:
    """The values that occur, in any order, and that of each row as an index into them; -1 where missing."""
    if column.dtype.kind in "biuSU" and len(column):
        values, codes = np.unique(column, return_inverse=True)
        return values.tolist(), codes.astype(np.int64).ravel()
    try:
        from pandas import factorize
    except ImportError:
        return coded_columns({"": column})[""]
    codes, values = factorize(column)
    return [plain(value) for value in values], codes.astype(np.int64)


def cells_of(piece: Piece, columns: Sequence[str]) -> tuple[list[Key], IntArray]:
    """The cells that occur in a piece, and that of each row as an index into them."""
    cell, keys = np.zeros(len(piece), dtype=np.int64), [()] if len(piece) else []
    for name in columns:
        if len(piece) == 0:
            return [], cell
        if name not in piece.groups:
            what = f"the column of groups {name!r}" if name else "the groups"
            raise InvalidProblemError(f"{what} is missing in {piece.where or 'the rows'}")
        values, codes = coded(piece.groups[name])
        values = [*values, None]  # the last one, where the code is -1
        pair = cell * len(values) + codes % len(values)
        found, cell = np.unique(pair, return_inverse=True)
        keys = [(*keys[p // len(values)], values[p % len(values)]) for p in found.tolist()]
        if len(keys) > MOST_CELLS:
            raise InvalidProblemError(
                f"the columns of groups {', '.join(map(repr, columns))} have more than {MOST_CELLS} "
                "combinations: totals by group need groups of many rows"
            )
    return keys, cell.astype(np.int64).ravel()


def sort_key(key: Key) -> tuple[tuple[str, Any], ...]:
    """An order of cells whose values may be of different kinds."""
    return tuple(("", 0) if value is None else (kind(value), value) for value in key)


@dataclass(eq=False)
class Cells:
    """All cells of a table, in an order that depends on nothing else."""

    columns: tuple[str, ...]
    keys: list[Key]

    @cached_property
    def index(self) -> dict[Key, int]:
        """The number of each cell."""
        return {key: number for number, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, piece: Piece) -> IntArray:
        """The cell of each row of a piece; -1 for one that the first pass has not seen."""
        keys, cell = cells_of(piece, self.columns)
        numbers = np.array([self.index.get(key, -1) for key in keys], dtype=np.int64)
        return numbers[cell] if len(keys) else cell
