"""All planes with one normal vector: what their intercept decides, and what it may be.

For a fixed ``w`` the model is a function of ``b`` and of the sides ``z`` alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from .totals import KnownTotals

#: Scores closer than this, relative to the largest, are one tied group; weights may be split inside it.
TIE_TOLERANCE = 1e-12
#: An interval of ``b`` that is empty by no more than this, relative to the largest score, is a point.
EMPTY_TOLERANCE = 1e-9
#: From this many rows on, only those that can matter are sorted.
WINDOW_ROWS = 2000


class Intercept(NamedTuple):
    """The best ``b`` for a given ``w``, the sides ``z`` it comes with, and its cost without ``½‖w‖²``."""

    b: float
    z: NDArray[np.int8]
    cost: float
    exact: bool  # False only where a large tied group was split greedily, or many could be


class HingeSum:
    """``Σ Cᵢ·max(0, 1 - yᵢ(fᵢ + b))`` as a function of ``b``, for fixed scores ``f`` of the labelled rows."""

    def __init__(self, scores: FloatArray, y: FloatArray, C: FloatArray) -> None:
        positive = y > 0
        # A positive row costs C·(p - b) for b < p, a negative one C·(b - q) for b > q.
        self._p, self._p_mass, self._p_moment = self._sorted(1.0 - scores[positive], C[positive])
        self._q, self._q_mass, self._q_moment = self._sorted(-1.0 - scores[~positive], C[~positive])

    @staticmethod
    def _sorted(breaks: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        order = np.argsort(breaks)
        breaks, mass = breaks[order], mass[order]
        return breaks, np.append(0.0, np.cumsum(mass)), np.append(0.0, np.cumsum(mass * breaks))

    def __call__(self, b: FloatArray) -> FloatArray:
        """Evaluate the sum at each of several ``b``."""
        i = np.searchsorted(self._p, b, side="right")
        j = np.searchsorted(self._q, b, side="left")
        above = (self._p_moment[-1] - self._p_moment[i]) - b * (self._p_mass[-1] - self._p_mass[i])
        below = b * self._q_mass[j] - self._q_moment[j]
        return np.asarray(above + below)

    def minimisers(self) -> tuple[float, float]:
        """The interval of minimisers; infinite at an end where only one class is labelled."""
        breaks = np.append(self._p, self._q)
        order = np.argsort(breaks)
        jumps = np.append(np.diff(self._p_mass), np.diff(self._q_mass))[order]
        breaks = np.concatenate([[-np.inf], breaks[order], [np.inf]])
        slope = np.append(0.0, np.cumsum(jumps)) - self._p_mass[-1]  # on [breaks[i], breaks[i+1]]
        flat = 1e-12 * (self._p_mass[-1] + self._q_mass[-1])
        first_rise = int(np.argmax(slope > flat)) if slope[-1] > flat else len(slope)
        first_flat = int(np.argmax(slope >= -flat))
        return float(breaks[first_flat]), float(breaks[first_rise])


class Line(NamedTuple):
    """Everything that is known about the planes with one normal vector, but for their intercept."""

    hinge: HingeSum
    scores: FloatArray  #: of the unlabelled rows
    side: NDArray[np.int8]
    totals: KnownTotals
    side_margin: float
    limits: tuple[float, float]  #: of the intercept, by the fixed sides
    slack: float  #: an interval that is empty by no more is a point

    @property
    def given(self) -> NDArray[np.int8]:
        """The sides with every free row negative, to be changed."""
        return (self.side > 0).astype(np.int8)

    def clip(self, ranked: FloatArray, limits: tuple[float, float]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The best b for each number of positives, by scores in descending order; and which can be had."""
        lower = np.append(-np.inf, self.side_margin - ranked)
        upper = np.append(-self.side_margin - ranked, np.inf)
        return _clip_to_intervals(self.hinge.minimisers(), lower, upper, limits, self.slack)


def _clip_to_intervals(
    minimisers: tuple[float, float],
    lower: FloatArray,
    upper: FloatArray,
    limits: tuple[float, float],
    slack: float,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """For each interval the minimiser nearest to its middle; and which intervals are not empty."""
    lower, upper = np.maximum(lower, limits[0]), np.minimum(upper, limits[1])
    reachable = lower <= upper + slack
    lower, upper = np.where(lower <= upper, lower, upper), np.where(lower <= upper, upper, lower)
    low = np.minimum(np.maximum(minimisers[0], lower), upper)
    high = np.maximum(np.minimum(minimisers[1], upper), lower)
    # Where a whole range of b is equally good its middle keeps points off the plane.
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (low + high)
    one_sided = np.where(np.isfinite(low), low + 1.0, np.where(np.isfinite(high), high - 1.0, 0.0))
    return np.where(np.isfinite(low) & np.isfinite(high), middle, one_sided), reachable
