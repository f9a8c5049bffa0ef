"""Sums that do not depend on the order of their terms, so that pieces may be cut anywhere.

A number is added as two integers, to a pair of integers for numbers of its size. Of a term at most its last
five binary digits are cut off; the sum of what is left is exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .._typing import FloatArray, IntArray
from ..engine.passes import add_exactly

#: Numbers between 2^(16k - 1023) and 2^(16k - 1007) are of size k.
SIZES = 128
#: What makes numbers of a size at most 2^30; the tiniest, below 10^-300, count as 0.
_EXPONENT = 30 - (16 * (np.arange(SIZES) + 1) - 1023)
_SCALE = np.where(_EXPONENT < 1000, np.ldexp(1.0, np.minimum(_EXPONENT, 1000)), 0.0)
#: Rows that are added at once stay in the processor's cache.
BLOCK = 4096


class ExactSums:
    """A sum for each cell and column."""

    def __init__(self, n_cells: int, n_columns: int) -> None:
        self.parts: IntArray = np.zeros((n_cells, n_columns, SIZES, 2), dtype=np.int64)

    def add(self, values: FloatArray, cells: IntArray) -> None:
        """Add rows of values, each to its cell; cells below 0 do not count."""
        for start in range(0, len(values), BLOCK):
            block = np.ascontiguousarray(values[start : start + BLOCK], dtype=np.float64)
            add_exactly(block, block.view(np.int64), cells[start : start + BLOCK], _SCALE, self.parts)

    def __iadd__(self, other: ExactSums) -> ExactSums:
        self.parts += other.parts
        return self

    def exact(self, cell: int, column: int) -> Fraction:
        """One of the sums."""
        total = Fraction(0)
        for size in np.flatnonzero(self.parts[cell, column].any(axis=1)).tolist():
            high, low = self.parts[cell, column, size].tolist()
            total += Fraction((high << 32) + low) * Fraction(2) ** int(-32 - _EXPONENT[size])
        return total

    def values(self) -> FloatArray:
        """All sums, rounded once."""
        n_cells, n_columns = self.parts.shape[:2]
        sums = [[float(self.exact(c, j)) for j in range(n_columns)] for c in range(n_cells)]
        return np.array(sums, dtype=float).reshape(n_cells, n_columns)
