"""Kernels: functions of two rows, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from .._typing import FloatArray
from ..exceptions import InvalidProblemError

KernelFunction = Callable[[FloatArray, FloatArray], ArrayLike]

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


def blocks(n_rows: int, width: int) -> list[slice]:
    """Slices of the rows such that a block has about :data:`BLOCK` values."""
    step = max(1, BLOCK // max(1, width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


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
