"""Centring and rescaling of features, and mapping a hyperplane back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._typing import FloatArray
from ..exceptions import UnknownNameError
from .sparse_rows import scaled

#: The paper's range [-v, v] for a coordinate that is still large after centring.
PAPER_RANGE = 100.0
#: Of a column with more distinct values, ranks are interpolated between about this many.
MAX_KNOTS = 1000


@dataclass(frozen=True, eq=False)
class Scaling:
    """The map ``x ↦ (x - shift)·factor``, coordinate by coordinate."""

    shift: FloatArray
    factor: FloatArray

    def transform(self, X: Any) -> Any:
        """Scale the rows of X; sparse ones stay so, and have no shift."""
        if issparse(X):
            return scaled(X, self.factor)
        return np.asarray((X - self.shift) * self.factor)

    def to_original(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """The same hyperplane for unscaled rows."""
        original = w * self.factor
        return original, float(b - original @ self.shift)


#: Means and deviations keep so many binary digits.
ROUNDING = 30


@dataclass(frozen=True, eq=False)
class RankScaling:
    """Each value by its rank, then mean 0 and standard deviation 1: no outlier, no skew is left.

    A column maps ``values`` (ascending) to ``positions``, linearly in between; beyond them it is constant.
    It is not linear, so only a kernel can use it: a plane of ranks is no plane in the user's units.
    """

    values: tuple[FloatArray, ...]
    positions: tuple[FloatArray, ...]

    def transform(self, X: FloatArray) -> FloatArray:
        """Scale the rows of X."""
        scaled = np.empty(X.shape)
        for j, (values, positions) in enumerate(zip(self.values, self.positions, strict=True)):
            scaled[:, j] = np.interp(X[:, j], values, positions)
        return scaled


def rank_scaling(X: FloatArray, weights: FloatArray | None = None) -> RankScaling:
    """Mid-ranks of the values, ties sharing one; of very many values only :data:`MAX_KNOTS` are kept."""
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    columns = [_rank_column(column, weights) for column in X.T]
    return RankScaling(tuple(values for values, _ in columns), tuple(ranks for _, ranks in columns))


def _rank_column(column: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, index = np.unique(column, return_inverse=True)
    mass = np.bincount(index, weights=weights)
    ranks = np.cumsum(mass) - 0.5 * mass
    mean = np.average(ranks, weights=mass)
    deviation = np.sqrt(np.average((ranks - mean) ** 2, weights=mass))
    positions = (ranks - mean) / deviation if len(values) > 1 else np.zeros(1)
    if len(values) > MAX_KNOTS:
        wanted = np.linspace(positions[0], positions[-1], MAX_KNOTS)
        keep = np.unique(np.searchsorted(positions, wanted).clip(0, len(values) - 1))
        values, positions = values[keep], positions[keep]
    return values, positions


def paper_scaling(X: FloatArray) -> Scaling:
    """Centre each coordinate at its mid-range; stretch to [-100, 100] only those that reach beyond it."""
    low, high = X.min(axis=0), X.max(axis=0)
    half_width = 0.5 * (high - low)
    factor = np.where(half_width > PAPER_RANGE, PAPER_RANGE / np.maximum(half_width, PAPER_RANGE), 1.0)
    return Scaling(0.5 * low + 0.5 * high, factor)


def zscore_scaling(X: FloatArray, weights: FloatArray | None = None) -> Scaling:
    """Mean 0 and standard deviation 1; a constant coordinate stays 0."""
    share = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    mean = share @ X
    squares = X - mean
    squares *= squares
    deviation = np.sqrt(share @ squares)
    return zscore_of(mean, deviation, np.maximum(X.max(axis=0), -X.min(axis=0)))


def zscore_of(mean: FloatArray, deviation: FloatArray, largest: FloatArray) -> Scaling:
    """The same for columns with these means, standard deviations and largest absolute values."""
    constant = deviation <= 1e-12 * (1e-300 + largest)
    unit = np.where(constant, 1.0, deviation)
    return Scaling(
        np.where(constant, mean, rounded(mean, unit)), np.where(constant, 0.0, 1.0 / rounded(unit, unit))
    )


def rounded(values: FloatArray, unit: FloatArray) -> FloatArray:
    """Values to nine digits of the unit: sums depend on the order of rows in their last ones, and all
    that follows would."""
    grid = 2.0 ** (np.floor(np.log2(unit)) - ROUNDING)
    return np.asarray(np.round(values / grid) * grid)


def no_scaling(X: FloatArray) -> Scaling:
    """Leave the features as they are."""
    return Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))


def sparse_scaling(name: str | None, X: Any, weights: FloatArray | None = None) -> Scaling:
    """Sparse columns are not centred, which would fill them, nor made equally wide.

    Words are best left as they are: divided by their deviations, rare ones drown all others. So "zscore" is
    one factor for all columns, by which the stored values have a mean square of 1, so that ones stay ones.
    "paper" only reduces columns.
    """
    scaling = no_scaling(X)
    if name == "zscore":
        weights = np.ones(X.shape[0]) if weights is None else weights
        squares, stored = float(weights @ (X * X).sum(axis=1)), float(weights @ np.diff(X.indptr))
        unit = np.sqrt(np.array(squares / stored if squares > 0 else 1.0))
        return Scaling(scaling.shift, scaling.factor / rounded(unit, unit))
    if name == "paper":
        largest = abs(X).max(axis=0).toarray().ravel()
        return Scaling(scaling.shift, PAPER_RANGE / np.maximum(largest, PAPER_RANGE))
    return scaling


def make_scaling(name: str | None, X: Any, weights: FloatArray | None = None) -> Scaling | RankScaling:
    """Return the scaling of that name: ``"paper"``, ``"zscore"``, ``"rank"`` or None."""
    if issparse(X):
        return sparse_scaling(name, X, weights)
    if name is None:
        return no_scaling(X)
    if name == "paper":
        return paper_scaling(X)
    if name == "zscore":
        return zscore_scaling(X, weights)
    if name == "rank":
        return rank_scaling(X, weights)
    raise UnknownNameError(f"unknown scaling {name!r}: choose 'paper', 'zscore', 'rank' or None")
