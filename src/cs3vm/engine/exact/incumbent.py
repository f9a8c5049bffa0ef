"""The best point found so far, and the ways to find a better one from a plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...convex.svm import solve_convex
from ...model.problem import Problem
from ...model.result import Result, answer, as_given
from ...model.status import Status

#: Rows this close to their margin are meant to meet it.
NEAR_MARGIN = 1e-6
#: So much longer than just enough are planes tried: the last digit of a score may still be missing.
LONGER = (1.0 + 1e-15, 1.0 + 1e-14, 1.0 + 1e-13)
#: A plane has the value that its sides promise if it comes this close.
EXPECTED_TOLERANCE = 1e-7


class Incumbent:
    """Keeps the best result; every candidate is evaluated exactly, by rank, on the user's data."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.best: Result | None = None

    @property
    def value(self) -> float:
        """Objective of the best point; infinite if there is none."""
        return float("inf") if self.best is None else self.best.objective

    def offer(self, result: Result | None) -> bool:
        """Keep this result if it is better."""
        if result is None or not result.found or not result.objective < self.value:
            return False
        self.best = result
        return True

    def offer_plane(self, w: FloatArray) -> bool:
        """Keep this plane with its best intercept if it is better."""
        if not np.all(np.isfinite(w)):
            return False
        result = answer(self.problem, w, Status.FEASIBLE)
        better = self.offer(result)
        return (result is not None and self._lengthen(result)) or better

    def _lengthen(self, result: Result) -> bool:
        """Keep the plane scaled so that rows which miss their margin by rounding only meet it, if better.

        A miss of δ costs C·δ, scaling costs δ‖w‖²: where C is large against ‖w‖² it makes the difference.
        """
        problem = self.problem
        assert result.coef is not None
        slack = 1.0 - problem.y * (problem.X @ result.coef + result.intercept)
        missed = np.where((slack > 0.0) & (slack < NEAR_MARGIN), slack, 0.0)
        if not np.any(missed) or result.objective - float(problem.C @ missed) > self.value:
            return False
        enough = result.coef / (1.0 - float(missed.max()))
        return any(self.offer(answer(problem, enough * more, Status.FEASIBLE)) for more in LONGER)

    def offer_sides(
        self, z: NDArray[np.int8], plane: tuple[FloatArray, float] | None, expected: float
    ) -> None:
        """Offer the given plane; if it misses the value that its sides promise, a more careful one."""
        if plane is not None:
            self.offer_plane(plane[0])
            self.offer_as_given(*plane, z)
        if self.value > expected * (1.0 + EXPECTED_TOLERANCE):
            solution = solve_convex(self.problem, (2 * (z > 0) - 1).astype(np.int8))
            self.offer_plane(solution.w)
            self.offer_as_given(solution.w, solution.b, z)

    def offer_as_given(self, w: FloatArray, b: float, z: NDArray[np.int8]) -> bool:
        """Keep the plane with exactly these sides: a tie of unequal weights may need it."""
        return self.offer(as_given(self.problem, w, b, z, Status.FEASIBLE))
