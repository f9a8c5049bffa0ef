"""Rows of a large matrix in another order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from .._typing import FloatArray, RowArray

#: From so many numbers on, two threads share the work.
MANY = 2_000_000
THREADS = 2


def take_rows(matrix: FloatArray, rows: RowArray) -> FloatArray:
    """These rows, as a matrix that nobody changes, so that it need not be copied."""
    if rows.size * matrix.shape[1] < MANY:
        taken = matrix[rows]
    else:
        taken = np.empty((len(rows), matrix.shape[1]))
        ends = np.linspace(0, len(rows), THREADS + 1).astype(int)
        parts = [slice(a, b) for a, b in pairwise(ends)]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda part: np.take(matrix, rows[part], 0, out=taken[part], mode="clip"), parts))
    taken.flags.writeable = False
    return taken
