"""Continuation on a smooth count.

Each unlabelled point counts by a sigmoid of its score; L-BFGS follows the minimum while the sigmoid
steepens. Features enter in units of their standard deviation, which is the only preconditioning it needs.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ..._typing import FloatArray
from .incumbent import RANKING, Plane, Search

#: Widths of the sigmoid, in standard deviations of the scores.
WIDTHS = (0.5, 0.2, 0.08, 0.03, 0.01)
#: Rounding of the hinge's corner, one per width.
CORNERS = (0.5, 0.25, 0.1, 0.05, 0.02)


def continuation(search: Search, plane: Plane, iterations: int = 25) -> Plane:
    """Follow the smooth problem from a plane; return the best plane met, by the true objective."""
    problem = search.problem
    if problem.m == 0:
        return plane
    scale = feature_scale(search)
    best = plane
    x = np.append(plane.w / scale, plane.b)
    spread = float(plane.unlabelled.std())
    if spread == 0.0:
        return plane
    for width, corner in zip(WIDTHS, CORNERS, strict=True):
        if search.expired:
            break
        smooth = _SmoothProblem(search, scale, width * spread, corner)
        x = minimize(smooth, x, jac=True, method="L-BFGS-B", options={"maxiter": iterations, "maxcor": 8}).x
        candidate = search.plane(x[:-1] * scale)
        spread = max(float(candidate.unlabelled.std()), 1e-3 * spread)
        if candidate.value < best.value:
            best = candidate
    return best


def feature_scale(search: Search) -> FloatArray:
    """One over the standard deviation of each feature, estimated on some rows; 1 where it is constant."""
    U = search.problem.U
    deviation = U[:: max(1, len(U) // 20_000)].std(axis=0)
    largest = float(deviation.max(initial=0.0))
    return np.asarray(1.0 / np.where(deviation > 1e-9 * largest, deviation, max(largest, 1.0)))


class _SmoothProblem:
    """Value and gradient of the smooth objective in scaled variables ``(w / scale, b)``."""

    def __init__(self, search: Search, scale: FloatArray, width: float, corner: float) -> None:
        self.search, self.scale, self.width, self.corner = search, scale, width, corner

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        problem, corner = self.search.problem, self.corner
        w, b = x[:-1] * self.scale, float(x[-1])
        self.search.spend((problem.n + problem.m) * (2 * problem.d + RANKING))
        slack = 1.0 - problem.y * (problem.X @ w + b)
        ramp = np.clip(slack / corner + 0.5, 0.0, 1.0)  # derivative of the rounded hinge
        hinge = np.where(ramp < 1.0, 0.5 * corner * ramp * ramp, slack)
        share = expit((problem.U @ w + b) / self.width)
        price, slope = self._price(share)
        pull = slope * share * (1.0 - share) / self.width
        push = problem.C * problem.y * ramp
        value = 0.5 * float(w @ w) + float(problem.C @ hinge) + price
        gradient = w + pull @ problem.U - push @ problem.X
        return value, np.append(gradient * self.scale, float(pull.sum() - push.sum()))

    def _price(self, share: FloatArray) -> tuple[float, FloatArray]:
        """The smooth price of the totals when rows count by these shares, and its slope by each share."""
        totals = self.search.problem.totals
        price, slope = 0.0, np.zeros(len(share))
        for g, rows in enumerate(totals.rows):
            every = totals.of_all[g]
            weights = totals.weights if every else totals.weights[rows]
            count = float(weights @ (share if every else share[rows]))
            excess = max(0.0, count - float(totals.high[g])) - max(0.0, float(totals.low[g]) - count)
            size = float(np.sqrt(excess * excess + 1.0))
            price += float(totals.penalty[g]) * size
            slope[slice(None) if every else rows] += float(totals.penalty[g]) * excess / size * weights
        return price, slope
