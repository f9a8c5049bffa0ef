r"""Kernels as feature maps: :math:`k(x, y) = \varphi(x)^\top\varphi(y)` in front of the same problem.

With landmark rows :math:`p_1, …, p_r` and the Cholesky factor L of their kernel matrix the map is
:math:`\varphi(x) = L^{-1} (k(p_1, x), …, k(p_r, x))^\top`. If the landmarks are the pivots of the kernel
matrix of all rows, at full numerical rank, then :math:`\varphi(x_i)^\top\varphi(x_j)` is that matrix to
:data:`TOLERANCE` and the map is *exact*. Fewer landmarks give Nyström's approximation: another kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist

from .._typing import FloatArray, RowArray
from ..exceptions import InvalidProblemError

KernelFunction = Callable[[FloatArray, FloatArray], ArrayLike]

#: A row is represented exactly when at most this part of its ``k(x, x)`` is missing. A smaller value
#: takes in pivots that are mostly rounding; see the page on kernels for the measurement.
TOLERANCE = 1e-10
#: A larger remainder of ``k(x, y) / √(k(x, x)·k(y, y))`` is no rounding: the kernel is indefinite.
PSD_TOLERANCE = 1e-8
#: Rows up to which the exact map is used by default: working memory is about
#: 50·N² bytes, so 0.45 GB.
EXACT_LIMIT = 3000
#: Landmarks beyond that limit by default.
N_COMPONENTS = 300
#: Landmarks are chosen from a random sample of this many rows, or ten times their number.
SAMPLE_ROWS = 3000
#: Kernel values in one block: 4 MB, which stay in the cache.
BLOCK = 500_000


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel with its parameters, as in scikit-learn: ``kernel(A, B)`` is the matrix of all pairs.

    ``"rbf"``: exp(-gamma·‖x-y‖²), ``"laplacian"``: exp(-gamma·‖x-y‖₁), ``"poly"``:
    (gamma·x·y + coef0)^degree, ``"precomputed"``: the rows hold the values, and ``"callable"``: ``function``.
    """

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    function: KernelFunction | None = None

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """The value of every pair of rows."""
        if self.function is not None:
            return _called(self.function, A, B)
        if self.name == "poly":
            return self._power(A @ B.T)
        values = cdist(A, B, "sqeuclidean" if self.name == "rbf" else "cityblock")
        values *= -self.gamma
        return np.asarray(np.exp(values, out=values))

    def diagonal(self, A: FloatArray) -> FloatArray:
        """``k(x, x)`` of every row."""
        if self.function is not None:
            parts = [np.diagonal(self(A[i : i + 64], A[i : i + 64])) for i in range(0, len(A), 64)]
            return np.concatenate(parts)
        if self.name == "poly":
            return self._power(np.einsum("ij,ij->i", A, A))
        return np.ones(len(A))

    def _power(self, products: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            values = (self.gamma * products + self.coef0) ** self.degree
        if not np.isfinite(values).all():
            raise InvalidProblemError(
                f"the kernel {self} has values beyond 1e308: lower degree or gamma, or standardize the rows"
            )
        return np.asarray(values)

    def scores(self, X: FloatArray, landmarks: FloatArray, coefficients: FloatArray) -> FloatArray:
        """``Σ aᵢ k(pᵢ, x)`` of each row, block by block; one column for each column of coefficients."""
        values = np.empty((len(X), *coefficients.shape[1:]))
        for part in blocks(len(X), len(landmarks)):
            values[part] = self(X[part], landmarks) @ coefficients
        return values

    def __str__(self) -> str:
        if self.name == "poly":
            return f"poly, gamma={self.gamma:.4g}, degree={self.degree}, coef0={self.coef0:.4g}"
        if self.name in ("rbf", "laplacian"):
            return f"{self.name}, gamma={self.gamma:.4g}"
        return self.name


@dataclass(frozen=True, eq=False)
class KernelMap:
    """The feature map of a kernel: what is needed to map new rows.

    Attributes
    ----------
    kernel
        The kernel and its parameters.
    landmarks
        The landmark rows in scaled units; without columns for a precomputed kernel.
    indices
        Their row numbers in ``fit``.
    factor
        The lower triangular Cholesky factor of their kernel matrix, (rank, rank).
    exact
        Whether the map reproduces the kernel on all rows of the fit, to the tolerance.
    tolerance
        The part of ``k(x, x)`` that may be missing in any row for the map to be exact.
    residual
        The part that is missing on average over the rows of the fit.
    """

    kernel: Kernel
    landmarks: FloatArray
    indices: RowArray
    factor: FloatArray
    exact: bool
    tolerance: float = TOLERANCE
    residual: float = 0.0

    @property
    def rank(self) -> int:
        """Number of landmarks, which is that of the mapped features."""
        return len(self.factor)

    def similarities(self, X: FloatArray) -> FloatArray:
        """The kernel of each scaled row with each landmark."""
        if self.kernel.name == "precomputed":
            return X[:, self.indices]
        return self.kernel(X, self.landmarks)

    def transform(self, X: FloatArray) -> FloatArray:
        """The features φ(x) of scaled rows; memory: the result and one block."""
        features = np.empty((len(X), self.rank))
        for part in blocks(len(X), self.rank):
            features[part] = _solve_rows(self.factor, self.similarities(X[part]))
        return features

    def to_landmarks(self, w: FloatArray) -> FloatArray:
        """The coefficients a with ``w·φ(x) = Σ aᵢ k(pᵢ, x)``."""
        return np.asarray(solve_triangular(self.factor, w, lower=True, trans="T"))

    def scores(self, X: FloatArray, coefficients: FloatArray) -> FloatArray:
        """``Σ aᵢ k(pᵢ, x)`` of scaled rows; a matrix of coefficients has a column for each function."""
        if self.kernel.name == "precomputed":
            return self.similarities(X) @ coefficients
        return self.kernel.scores(X, self.landmarks, coefficients)

    def describe(self) -> dict[str, Any]:
        """Plain values and a text for results, reports and files."""
        return {
            "kernel": str(self.kernel),
            "exact": self.exact,
            "landmarks": self.rank,
            "tolerance": self.tolerance,
            "residual": self.residual,
            "text": str(self),
        }

    def __str__(self) -> str:
        if self.exact:
            return f"kernel {self.kernel}; exact, rank {self.rank}"
        kept = 100 * (1 - self.residual)
        return f"kernel {self.kernel}; approximated by {self.rank} landmarks, which keep {kept:.1f} % of it"


# -- building ------------------------------------------------------------------------------------------
def make_kernel(
    kernel: str | KernelFunction, gamma: str | float, degree: int, coef0: float, X: FloatArray, weight: Any
) -> Kernel:
    """The kernel with ``gamma`` as a number: "scale" is 1/(d·variance of the scaled rows), "auto" is 1/d."""
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if kernel == "precomputed":
        return Kernel(kernel)
    if gamma == "scale":
        mean = np.average(X, axis=0, weights=weight).mean()
        variance = float(np.average((X - mean) ** 2, axis=0, weights=weight).mean())
        gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    elif gamma == "auto":
        gamma = 1.0 / X.shape[1]
    return Kernel(kernel, float(gamma), int(degree), float(coef0))


def fit_kernel_map(
    kernel: Kernel,
    X: FloatArray,
    rows: RowArray,
    *,
    n_components: int | None = None,
    exact_limit: int = EXACT_LIMIT,
    random_state: int = 0,
) -> tuple[KernelMap, FloatArray]:
    """The map learnt from some rows of X, and the features of these rows, in their order.

    Parameters
    ----------
    X
        Scaled rows, or the square kernel matrix if the kernel is precomputed.
    rows
        The numbers of the rows to learn from.
    n_components
        The most landmarks to use. Default: no limit up to ``exact_limit`` rows, :data:`N_COMPONENTS` beyond.
    exact_limit
        The most rows for which their whole kernel matrix is computed.
    random_state
        Seed of the choice of landmarks.
    """
    source = _Source(kernel, X, rows)
    if len(rows) <= exact_limit:
        order, factor = pivoted_cholesky(source.matrix(np.arange(len(rows))), rows)
        if n_components is None or factor.shape[1] <= n_components:
            return _exact_map(source, order, factor)
    elif kernel.name == "precomputed" and n_components is None:
        size = 8 * len(rows) ** 2 / 2**30
        raise InvalidProblemError(
            f"the precomputed kernel matrix has {len(rows)} rows, more than "
            f"exact_kernel_limit={exact_limit}: its exact factor may take {size:.1f} GB. "
            "Raise exact_kernel_limit if you have that memory and time, or give n_components (a few hundred) "
            "for an approximation"
        )
    wanted = min(n_components or N_COMPONENTS, len(rows))
    return _nystroem_map(source, source.choose(wanted, np.random.default_rng(random_state)))


def pivoted_cholesky(K: FloatArray, names: RowArray) -> tuple[RowArray, FloatArray]:
    """The order of the pivots and the factor F with ``K = F·Fᵀ``, rows in the order of K, at full rank.

    K is scaled to a unit diagonal first, so that the tolerance holds for each row by its own measure.
    ``names`` are the numbers of the rows in an error message.
    """
    diagonal = np.diagonal(K)
    if diagonal.min(initial=0.0) < 0:
        worst = int(np.argmin(diagonal))
        raise _indefinite(f"row {names[worst]} has the negative value {diagonal[worst]:.4g} with itself")
    size = np.sqrt(diagonal)
    size[size == 0] = 1.0
    K = K / size[:, None] / size
    packed, pivots, rank, _ = dpstrf(K, tol=TOLERANCE, lower=1)
    order = (pivots - 1).astype(np.intp)
    factor = np.empty((len(K), rank))
    factor[order] = np.tril(packed)[:, :rank]
    remainder = np.abs(K - factor @ factor.T)
    if remainder.max(initial=0.0) > PSD_TOLERANCE:
        i, j = np.unravel_index(int(np.argmax(remainder)), K.shape)
        raise _indefinite(
            f"no positive semidefinite matrix has its value for the rows {names[i]} and {names[j]}, which is "
            f"off by at least {remainder[i, j]:.2g} of its largest possible value"
        )
    factor *= size[:, None]
    return order[:rank], factor


def blocks(n_rows: int, width: int) -> list[slice]:
    """Slices of the rows such that a block has about :data:`BLOCK` values."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


@dataclass(frozen=True, eq=False)
class _Source:
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
        chosen = self.rows[i]
        return np.empty((len(i), 0)) if self.kernel.name == "precomputed" else self.X[chosen]

    def choose(self, number: int, rng: np.random.Generator) -> RowArray:
        """Landmarks by randomly pivoted Cholesky on a random sample.

        Each is drawn in proportion to what the earlier ones leave of the rows' ``k(x, x)``. (Measured on five
        sets and two kernels: a little less is lost than with uniform draws; the largest remainder each time,
        as in the exact map, loses half as much again; k-means centres are better for "rbf", worse for
        "laplacian".)
        """
        n = len(self.rows)
        sample = np.sort(rng.choice(n, min(n, max(SAMPLE_ROWS, 10 * number)), replace=False))
        size = np.sqrt(np.maximum(self.diagonal(sample), 0.0))
        size[size == 0] = np.inf  # such a row has no features
        left = (size < np.inf).astype(float)
        factor = np.zeros((number, len(sample)))
        chosen: list[int] = []
        while len(chosen) < number and left.sum() > TOLERANCE * len(left):
            k, pivot = len(chosen), int(rng.choice(len(left), p=left / left.sum()))
            column = self.values(sample[[pivot]], sample)[0] / size / size[pivot]
            column -= factor[:k, pivot] @ factor[:k]
            factor[k] = column / np.sqrt(max(float(column[pivot]), TOLERANCE))
            left = np.maximum(left - factor[k] ** 2, 0.0)
            left[[*chosen, pivot]] = 0.0
            chosen.append(pivot)
        return sample[chosen]


def _exact_map(source: _Source, order: RowArray, factor: FloatArray) -> tuple[KernelMap, FloatArray]:
    triangle = np.tril(factor[order])
    residual, _ = _residuals(source, slice(None), factor)
    made = KernelMap(
        source.kernel, source.landmarks(order), source.rows[order], triangle, True, TOLERANCE, residual
    )
    return made, factor


def _nystroem_map(source: _Source, chosen: RowArray) -> tuple[KernelMap, FloatArray]:
    order, factor = pivoted_cholesky(source.matrix(chosen), source.rows[chosen])
    chosen, triangle = chosen[order], np.tril(factor[order])
    n = len(source.rows)
    features, lost, worst = np.empty((n, len(chosen))), 0.0, 0.0
    for part in blocks(n, len(chosen)):
        here = np.arange(part.start, part.stop)
        features[part] = _solve_rows(triangle, source.values(here, chosen))
        mean, largest = _residuals(source, here, features[part])
        lost, worst = lost + mean * len(here) / n, max(worst, largest)
    exact = worst <= 10 * TOLERANCE  # rounding in the triangular system adds to the tolerance
    made = KernelMap(
        source.kernel, source.landmarks(chosen), source.rows[chosen], triangle, exact, TOLERANCE, lost
    )
    return made, features


def _residuals(source: _Source, i: Any, features: FloatArray) -> tuple[float, float]:
    """The mean and the largest part of ``k(x, x)`` that the features lack."""
    diagonal = source.diagonal(i)
    kept = np.einsum("ij,ij->i", features, features)
    part = (diagonal - kept) / np.where(diagonal > 0, diagonal, 1.0)
    if part.min(initial=0.0) < -PSD_TOLERANCE:
        row = source.rows[i][int(np.argmin(part))]
        raise _indefinite(f"row {row} has a smaller value with itself than the other rows imply")
    return max(0.0, float(part.mean())), float(part.max(initial=0.0))


def _solve_rows(triangle: FloatArray, values: FloatArray) -> FloatArray:
    """The rows of ``values·L⁻ᵀ``."""
    solved = solve_triangular(triangle, values.T, lower=True, overwrite_b=True, check_finite=False)
    return np.asarray(solved.T)


def _called(function: KernelFunction, A: FloatArray, B: FloatArray) -> FloatArray:
    """The values of a user's function, checked."""
    try:
        values = np.array(function(A, B), dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidProblemError(
            f"the kernel function failed ({error}): it is called with two arrays of rows, k(A, B), and must "
            "return the matrix of the values of all pairs"
        ) from error
    if values.shape != (len(A), len(B)):
        raise InvalidProblemError(
            f"the kernel function returned the shape {values.shape} for {len(A)} and {len(B)} rows: "
            f"it must return a matrix of shape ({len(A)}, {len(B)})"
        )
    if not np.isfinite(values).all():
        raise InvalidProblemError("the kernel function returned NaN or infinity: both are not allowed")
    return values


def _indefinite(what: str) -> InvalidProblemError:
    return InvalidProblemError(
        f"the kernel matrix is not positive semidefinite: {what}. Use a proper kernel (for poly coef0 >= 0); "
        "if the values were computed in single precision, compute them in double precision or add a little "
        "to the diagonal, such as K + 1e-6 * np.eye(len(K))"
    )
