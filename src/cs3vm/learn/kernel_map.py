r"""Kernels as feature maps: :math:`k(x, y) = \varphi(x)^\top\varphi(y)` in front of the same problem.

With landmark rows :math:`p_1, …, p_r` and the Cholesky factor L of their kernel matrix the map is
:math:`\varphi(x) = L^{-1} (k(p_1, x), …, k(p_r, x))^\top`. If the landmarks are the pivots of the kernel
matrix of all rows, at full numerical rank, then :math:`\varphi(x_i)^\top\varphi(x_j)` is that matrix to
:data:`TOLERANCE` and the map is *exact*. Fewer landmarks give Nyström's approximation: another kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from .._typing import FloatArray, RowArray
from ..exceptions import InvalidProblemError, Note
from .kernel import Kernel, blocks
from .landmarks import (
    PSD_TOLERANCE,
    TOLERANCE,
    Source,
    choose_landmarks,
    exact_seconds,
    landmark_seconds,
)

#: Rows up to which the exact map is used by default: working memory is about
#: 50·N² bytes, so 0.45 GB.
EXACT_LIMIT = 3000
#: Landmarks beyond that limit by default.
N_COMPONENTS = 300
#: Numbers of landmarks to fall back to where the time limit does not allow for more.
FEWER = (200, 100, 50, 25)
#: A map may take this share of the time limit, or so many seconds if that is more.
SHARE, LEAST_SECONDS = 0.5, 0.8


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
    cut
        Why there are fewer landmarks than usual; empty where there are not.
    """

    kernel: Kernel
    landmarks: FloatArray
    indices: RowArray
    factor: FloatArray
    exact: bool
    tolerance: float = TOLERANCE
    residual: float = 0.0
    cut: str = ""

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
def fit_kernel_map(
    kernel: Kernel,
    X: FloatArray,
    rows: RowArray,
    *,
    n_components: int | None = None,
    exact_limit: int = EXACT_LIMIT,
    random_state: int = 0,
    seconds: float = np.inf,
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
    seconds
        The time limit of the fit. A map that would take too much of it by our count of operations, which is
        the same on every machine, is not made: there are fewer landmarks, or an error if their number was
        given.
    """
    source, n = Source(kernel, X, rows), len(rows)
    cost = partial(landmark_seconds, n, X.shape[1])
    share = SHARE if n_components is None else 1.0
    allowed = max(LEAST_SECONDS, share * seconds)
    if n <= exact_limit and exact_seconds(n, X.shape[1]) <= allowed:
        order, factor = pivoted_cholesky(source.matrix(np.arange(n)), rows)
        if n_components is None or factor.shape[1] <= n_components:
            return _exact_map(source, order, factor)
    elif n > exact_limit and kernel.name == "precomputed" and n_components is None:
        size = 8 * n**2 / 2**30
        raise InvalidProblemError(
            f"the precomputed kernel matrix has {n} rows, more than "
            f"exact_kernel_limit={exact_limit}: its exact factor may take {size:.1f} GB. "
            "Raise exact_kernel_limit if you have that memory and time, or give n_components (a few hundred) "
            "for an approximation"
        )
    wanted = min(n_components or N_COMPONENTS, n)
    if n_components is not None and cost(wanted) > allowed:
        raise _unaffordable(wanted, n, cost(wanted), seconds)
    number = next((k for k in (wanted, *FEWER) if cost(k) <= allowed), FEWER[-1])
    made, features = _nystroem_map(
        source, choose_landmarks(source, min(number, n), np.random.default_rng(random_state))
    )
    if n_components is None and n <= exact_limit:
        made = replace(made, cut=f"the exact map takes about {exact_seconds(n, X.shape[1]):.1f} s")
    elif number < wanted:
        made = replace(made, cut=f"the usual {wanted} landmarks take about {cost(wanted):.1f} s")
    return made, features


def _unaffordable(number: int, n_rows: int, needed: float, seconds: float) -> InvalidProblemError:
    about = f"on {n_rows} rows needs about {needed:.0f} s, more than the time limit of {seconds:g} s"
    return InvalidProblemError(
        Note(
            f"n_components={number} {about}: lower it or raise time_limit",
            f"--components {number} {about}: lower it or raise --time-limit",
        )
    )


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
    rest = order[rank:]  # the rows of the pivots have no remainder
    remainder = np.abs(K[np.ix_(rest, rest)] - factor[rest] @ factor[rest].T)
    if remainder.max(initial=0.0) > PSD_TOLERANCE:
        i, j = np.unravel_index(int(np.argmax(remainder)), remainder.shape)
        raise _indefinite(
            f"no positive semidefinite matrix has its value for the rows {names[rest[i]]} and "
            f"{names[rest[j]]}, which is "
            f"off by at least {remainder[i, j]:.2g} of its largest possible value"
        )
    factor *= size[:, None]
    return order[:rank], factor


def _exact_map(source: Source, order: RowArray, factor: FloatArray) -> tuple[KernelMap, FloatArray]:
    triangle = np.tril(factor[order])
    residual, _ = _residuals(source, slice(None), factor)
    made = KernelMap(
        source.kernel, source.landmarks(order), source.rows[order], triangle, True, TOLERANCE, residual
    )
    return made, factor


def _nystroem_map(source: Source, chosen: RowArray) -> tuple[KernelMap, FloatArray]:
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


def _residuals(source: Source, i: Any, features: FloatArray) -> tuple[float, float]:
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


def _indefinite(what: str) -> InvalidProblemError:
    return InvalidProblemError(
        f"the kernel matrix is not positive semidefinite: {what}. Use a proper kernel (for poly coef0 >= 0); "
        "if the values were computed in single precision, compute them in double precision or add a little "
        "to the diagonal, such as K + 1e-6 * np.eye(len(K))"
    )
