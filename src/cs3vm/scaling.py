"""Centring and rescaling of features, and mapping a hyperplane back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .exceptions import UnknownNameError
from .intercept import FloatArray

#: The paper's range [-v, v] for a coordinate that is still large after centring.
PAPER_RANGE = 100.0


@dataclass(frozen=True, eq=False)
class Scaling:
    """The map ``x ↦ (x - shift)·factor``, coordinate by coordinate."""

    shift: FloatArray
    factor: FloatArray

    def transform(self, X: FloatArray) -> FloatArray:
        """Scale the rows of X."""
        return np.asarray((X - self.shift) * self.factor)

    def to_original(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """The same hyperplane for unscaled rows."""
        original = w * self.factor
        return original, float(b - original @ self.shift)


def paper_scaling(X: FloatArray) -> Scaling:
    """Centre each coordinate at its mid-range; stretch to [-100, 100] only those that reach beyond it."""
    low, high = X.min(axis=0), X.max(axis=0)
    half_width = 0.5 * (high - low)
    factor = np.where(half_width > PAPER_RANGE, PAPER_RANGE / np.maximum(half_width, PAPER_RANGE), 1.0)
    return Scaling(0.5 * low + 0.5 * high, factor)


def zscore_scaling(X: FloatArray, weights: FloatArray | None = None) -> Scaling:
    """Mean 0 and standard deviation 1; a constant coordinate stays 0."""
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    constant = deviation <= 1e-12 * (1e-300 + np.abs(X).max(axis=0))
    return Scaling(mean, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, deviation)))


def no_scaling(X: FloatArray) -> Scaling:
    """Leave the features as they are."""
    return Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))


def make_scaling(name: str | None, X: FloatArray, weights: FloatArray | None = None) -> Scaling:
    """Return the scaling of that name: ``"paper"``, ``"zscore"`` or None."""
    if name is None:
        return no_scaling(X)
    if name == "paper":
        return paper_scaling(X)
    if name == "zscore":
        return zscore_scaling(X, weights)
    raise UnknownNameError(f"unknown scaling {name!r}: choose 'paper', 'zscore' or None")
