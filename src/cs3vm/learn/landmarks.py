"""The values of a kernel among the rows of a fit, the choice of landmarks, and what a map of them costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from .._typing import FloatArray, RowArray
from ..exceptions import InvalidProblemError
from .kernel import Kernel

#: A row is represented exactly when at most this part of its ``k(x, x)`` is missing. A smaller value
#: takes in pivots that are mostly rounding; see the page on kernels for the measurement.
TOLERANCE = 1e-10
#: A larger remainder of ``k(x, y) / √(k(x, x)·k(y, y))`` is no rounding: the kernel is indefinite.
PSD_TOLERANCE = 1e-8
#: Landmarks are chosen from a random sample of this many rows, or ten times their number.
SAMPLE_ROWS = 3000
#: Landmarks that are drawn at once.
DRAWS = 64


@dataclass(frozen=True, eq=False)
class Source:
    """The kernel values among the rows of a fit, computed when they are asked for."""

    kernel: Kernel
    X: FloatArray
    rows: RowArray

    def values(self, i: Any, j: Any) -> FloatArray:
        """The kernel of the i-th with the j-th of the rows."""
        if self.kernel.name == "precomputed":
            return np.asarray(self.X[np.ix_(self.rows[i], self.rows[j])])
        return self.kernel(self.X[self.rows[i]], self.X[self.rows[j]])

    def diagonal(self, i: Any) -> FloatArray:
        """The kernel of each of these rows with itself."""
        if self.kernel.name == "precomputed":
            return np.asarray(self.X[self.rows[i], self.rows[i]])
        return self.kernel.diagonal(self.X[self.rows[i]])

    def matrix(self, i: RowArray) -> FloatArray:
        """The symmetric kernel matrix of these rows."""
        K = self.values(i, i)
        difference = np.abs(K - K.T)
        scale = float(np.abs(K).max(initial=0.0))
        if difference.max(initial=0.0) > PSD_TOLERANCE * scale:
            a, b = np.unravel_index(int(np.argmax(difference)), K.shape)
            raise InvalidProblemError(
                f"the kernel matrix is not symmetric: rows {self.rows[i[a]]} and {self.rows[i[b]]} have the "
                f"values {K[a, b]:.6g} and {K[b, a]:.6g}. A kernel must not depend on the order of its "
                "arguments; K = (K + K.T) / 2 makes a matrix symmetric"
            )
        return 0.5 * (K + K.T)

    def landmarks(self, i: RowArray) -> FloatArray:
        """These rows, or no columns of them if the kernel is precomputed."""
        chosen = self.rows[i]
        return np.empty((len(i), 0)) if self.kernel.name == "precomputed" else self.X[chosen]


# -- the choice ----------------------------------------------------------------------------------------
def choose_landmarks(source: Source, number: int, rng: np.random.Generator) -> RowArray:
    """Landmarks by randomly pivoted Cholesky on a random sample, several at once.

    Each is drawn in proportion to what the earlier ones leave of the rows' ``k(x, x)``. (Measured on five
    sets and two kernels: a little less is lost than with uniform draws; the largest remainder each time,
    as in the exact map, loses half as much again; k-means centres are better for "rbf", worse for
    "laplacian".) A block is drawn from what was left before it, and a draw is kept with the probability by
    which its row's share has shrunk since: the distribution is that of single draws.
    """
    n = len(source.rows)
    sample = np.sort(rng.choice(n, sample_size(n, number), replace=False))
    size = np.sqrt(np.maximum(source.diagonal(sample), 0.0))
    size[size == 0] = np.inf  # such a row has no features
    left = (size < np.inf).astype(float)
    factor = np.zeros((number, len(sample)))
    chosen = np.zeros(0, dtype=np.intp)
    while len(chosen) < number and left.sum() > TOLERANCE * len(left):
        k = len(chosen)
        drawn = rng.choice(len(left), min(DRAWS, number - k), p=left / left.sum())
        columns = source.values(sample[drawn], sample) / size / size[drawn][:, None]
        columns -= factor[:k, drawn].T @ factor[:k]
        products = columns[:, drawn]
        kept = _accept(products, left[drawn], rng)
        left[drawn[np.diagonal(products) <= TOLERANCE]] = 0.0  # nothing but rounding is left of these
        triangle = cholesky(products[np.ix_(kept, kept)], lower=True)
        new = solve_triangular(triangle, columns[kept], lower=True)
        factor[k : k + len(kept)] = new
        chosen = np.append(chosen, drawn[kept])
        left = np.maximum(left - np.einsum("ij,ij->j", new, new), 0.0)
        left[chosen] = 0.0
    return sample[chosen]


def sample_size(n_rows: int, number: int) -> int:
    """How many rows so many landmarks are chosen from."""
    return min(n_rows, max(SAMPLE_ROWS, 10 * number))


def _accept(products: FloatArray, before: FloatArray, rng: np.random.Generator) -> RowArray:
    """Which draws are kept; ``before`` is what was left of their rows when they were drawn."""
    remainder, chance, kept = products.copy(), rng.random(len(before)), []
    for i in range(len(before)):
        pivot = remainder[i, i]
        if pivot > TOLERANCE and chance[i] * before[i] <= pivot:
            kept.append(i)
            column = remainder[:, i] / np.sqrt(pivot)
            remainder -= np.outer(column, column)
    return np.array(kept, dtype=np.intp)


# -- the cost ------------------------------------------------------------------------------------------
#: Seconds on an ordinary processor, one thread: a kernel value, and for each feature; a pair of operations of
#: a pivoted factor, of a triangular system, of a matrix product. They decide before the work begins whether a
#: map is affordable, so that the decision is the same on every machine.
VALUE, FEATURE, FACTOR, SOLVE, PRODUCT = 2e-8, 1.2e-9, 1.2e-10, 1.1e-10, 6e-11


def exact_seconds(n_rows: int, n_features: int) -> float:
    """What the exact map of so many rows takes, about."""
    return n_rows**2 * (VALUE + FEATURE * n_features) + n_rows**3 / 3 * FACTOR


def landmark_seconds(n_rows: int, n_features: int, number: int) -> float:
    """What a map by so many landmarks takes, about."""
    sample = sample_size(n_rows, number)
    values = (n_rows + sample) * number * (VALUE + FEATURE * n_features)
    return values + number**2 * (sample * PRODUCT + number / 3 * FACTOR + n_rows * SOLVE)
