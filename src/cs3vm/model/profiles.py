"""Profiles: rows that are equal in every feature, which no plane can tell apart."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IntArray

#: A strip of this half-width, in units of the labelled margin, is never noticed.
WIDEST = 1e-3


def profiles(rows: FloatArray) -> IntArray:
    """A number for each row, the same for equal rows and only for them.

    The bits of a row are multiplied by odd constants and added up, in integers: that two different rows
    of a million have the same sum has a probability of about 10⁻⁷, and then all rows are compared.
    """
    values = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # -0 is 0
    drawn = np.random.default_rng(0).integers(1, 2**62, size=(values.shape[1],))
    bits = values.view(np.uint64)
    mixed = np.zeros(len(values), dtype=np.uint64)
    for j, factor in enumerate(drawn.tolist()):
        column = bits[:, j]
        high = column ^ (column >> np.uint64(29))  # small whole numbers differ in their high bits only
        mixed += high * np.uint64(2 * factor + 1)
        mixed ^= mixed >> np.uint64(32)
    _, first, numbers = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(values, values[first[numbers]]):
        return np.asarray(np.unique(values, axis=0, return_inverse=True)[1].ravel(), dtype=np.int64)
    return np.asarray(numbers, dtype=np.int64)


def automatic_margin(n_profiles: int) -> float:
    """A margin that costs next to nothing: of m' rows, a strip of half-width 1/m' holds about one."""
    return min(WIDEST, 1.0 / n_profiles) if n_profiles else 0.0
