"""What one pass does with the rows of a piece, compiled: scores, bins and exact sums.

Nothing here may depend on where a table is cut into pieces. Scores are sums in the order of the columns, row
by row, in plain IEEE arithmetic: products of a linear-algebra library differ in their last digits with the
number of rows. Everything that is added up over rows is an integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray
from .jit import integer, strict_kernel

#: Rows that stay in the processor's cache while several planes look at them.
BLOCK = 512
#: Bins of a positive or negative score: :data:`STEPS` for each power of two from 2^:data:`LOWEST` on.
STEP_BITS = 6
STEPS = 1 << STEP_BITS
LOWEST, HIGHEST = -60, 40
HALF = integer((HIGHEST - LOWEST) * STEPS)
BINS = int(2 * HALF)
_SHIFT = integer(52 - STEP_BITS)
_FIRST = integer((1023 + LOWEST) << STEP_BITS)
_MAGNITUDE = integer(2**63 - 1)


@strict_kernel
def add_scores(X: NDArray[Any], shift: FloatArray, planes: FloatArray, scores: FloatArray) -> None:
    """Set ``scores[t, i] = Σ_j planes[t, j]·(X[i, j] - shift[j])``, summed in the order of the columns.

    Eight rows at a time keep the processor busy; each has a sum of its own.
    """
    n, d = X.shape
    for block in range(0, n, BLOCK):
        end = min(n, block + BLOCK)
        for t in range(planes.shape[0]):
            i = block
            while i + 8 <= end:
                s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for j in range(d):
                    w, m = planes[t, j], shift[j]
                    s0 += w * (X[i, j] - m)
                    s1 += w * (X[i + 1, j] - m)
                    s2 += w * (X[i + 2, j] - m)
                    s3 += w * (X[i + 3, j] - m)
                    s4 += w * (X[i + 4, j] - m)
                    s5 += w * (X[i + 5, j] - m)
                    s6 += w * (X[i + 6, j] - m)
                    s7 += w * (X[i + 7, j] - m)
                scores[t, i], scores[t, i + 1], scores[t, i + 2], scores[t, i + 3] = s0, s1, s2, s3
                scores[t, i + 4], scores[t, i + 5], scores[t, i + 6], scores[t, i + 7] = s4, s5, s6, s7
                i += 8
            while i < end:
                s = 0.0
                for j in range(d):
                    s += planes[t, j] * (X[i, j] - shift[j])
                scores[t, i] = s
                i += 1


@strict_kernel
def add_to_bins(
    bits: IntArray,
    cells: IntArray,
    start: IntArray,
    total: IntArray,
    weights: IntArray,
    bins: IntArray,
    sides: IntArray,
) -> None:
    """Add the weight of each row to the bin of its score, in every total of its cell, and to its side.

    Parameters
    ----------
    bits
        The scores as bit patterns.
    cells
        The cell of each row; negative for rows that do not count.
    start, total
        The totals of cell c are ``total[start[c] : start[c + 1]]``.
    weights
        Two integers per row, or no rows where every weight is 1.
    bins
        (totals, bins, 2); only the first of two is used where every weight is 1.
    sides
        (cells, 2, 2): of scores below 0, and of the others.
    """
    for i in range(len(bits)):
        c = cells[i]
        if c >= 0:
            place = bin_of(bits[i])
            side = 1 if bits[i] >= 0 else 0
            if len(weights):
                sides[c, side, 0] += weights[i, 0]
                sides[c, side, 1] += weights[i, 1]
            else:
                sides[c, side, 0] += 1
            for k in range(start[c], start[c + 1]):
                if len(weights):
                    bins[total[k], place, 0] += weights[i, 0]
                    bins[total[k], place, 1] += weights[i, 1]
                else:
                    bins[total[k], place, 0] += 1


@strict_kernel
def bin_of(pattern: int) -> int:
    """The bin of a score, by its bit pattern: finer and finer towards 0, in ascending order."""
    place = ((pattern & _MAGNITUDE) >> _SHIFT) - _FIRST
    place = min(max(place, 0), HALF - 1)
    return HALF + place if pattern >= 0 else HALF - 1 - place


@strict_kernel
def add_exactly(
    values: FloatArray, bits: IntArray, cells: IntArray, scale: FloatArray, sums: IntArray
) -> None:
    """Add ``values[i, j]`` to ``sums[cells[i], j]`` as integers, by the size of the value.

    ``sums`` has the shape (cells, columns, sizes, 2); ``scale`` makes values of a size numbers below 2^30.
    What is cut off a value is below 2^-47 of it. Cells below 0 do not count.
    """
    for i in range(values.shape[0]):
        c = cells[i]
        if c >= 0:
            for j in range(values.shape[1]):
                size = (bits[i, j] >> 56) & 127
                v = values[i, j] * scale[size]
                high = int(v)
                sums[c, j, size, 0] += high
                sums[c, j, size, 1] += int((v - high) * 4294967296.0)


def warm_up_passes() -> None:
    """Call every kernel once, for both kinds of numbers."""
    shift, planes, scores = np.zeros(1), np.ones((1, 1)), np.zeros((1, 9))
    for kind in (np.float32, np.float64):
        add_scores(np.ones((9, 1), dtype=kind), shift, planes, scores)
    nobody = np.full(9, -1, dtype=np.int64)
    add_to_bins(
        scores[0].view(np.int64),
        nobody,
        np.zeros(1, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        np.zeros((0, 2), dtype=np.int64),
        np.zeros((1, 1, 2), dtype=np.int64),
        np.zeros((1, 2, 2), dtype=np.int64),
    )
    one = np.ones((1, 1))
    add_exactly(one, one.view(np.int64), nobody[:1], np.ones(128), np.zeros((1, 1, 128, 2), dtype=np.int64))
