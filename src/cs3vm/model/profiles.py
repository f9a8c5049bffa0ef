"""Profiles: rows that are equal in every feature, which no plane can tell apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IntArray

#: A strip of this half-width, in units of the labelled margin, is never noticed.
WIDEST = 1e-3
#: Rows that stay in the processor's cache while column after column is read.
BLOCK = 4096


def fingerprints(columns: Sequence[FloatArray], n_rows: int) -> NDArray[np.uint64]:
    """A number for each row, from its values alone: equal for equal rows, wherever they stand.

    The bits of a row are multiplied by odd constants and added up, in integers: that two different rows
    of a million have the same sum has a probability of about 10⁻⁷.
    """
    key = np.zeros(n_rows, dtype=np.uint64)
    factors = np.random.default_rng(0).integers(1, 2**63, len(columns), dtype=np.uint64)
    for start in range(0, n_rows, BLOCK):
        part = key[start : start + BLOCK]
        for column, factor in zip(columns, factors, strict=True):
            bits = (column[start : start + BLOCK] + 0.0).view(np.uint64)  # there is one zero only
            bits ^= bits >> np.uint64(32)  # the low bits of most numbers are zeros
            part += bits * (factor | np.uint64(1))
            part ^= part >> np.uint64(29)
    return key


def profiles(rows: FloatArray) -> IntArray:
    """A number for each row, the same for equal rows and only for them."""
    values = np.ascontiguousarray(rows, dtype=np.float64)
    mixed = fingerprints(list(values.T), len(values))
    _, first, numbers = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(values, values[first[numbers]]):
        return np.asarray(np.unique(values, axis=0, return_inverse=True)[1].ravel(), dtype=np.int64)
    return np.asarray(numbers, dtype=np.int64)


def automatic_margin(n_profiles: int) -> float:
    """A margin that costs next to nothing: of m' rows, a strip of half-width 1/m' holds about one."""
    return min(WIDEST, 1.0 / n_profiles) if n_profiles else 0.0
