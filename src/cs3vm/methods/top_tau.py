"""The honest baseline: score with the SVM, call the τ highest positive."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..convex.svm import first_answer, root_bound, solve_convex
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Status


def top_tau(problem: Problem, **_: Any) -> Result:
    """Keep the SVM's direction and move the plane until the count is as near to τ as it can be."""
    began = time.perf_counter()
    plane = solve_convex(problem)
    bound = root_bound(problem)
    # A miscount dearer than any hinge loss makes the best intercept the one with the best count.
    spread = (
        1.0
        + float(np.abs(problem.scores(plane.w)).max(initial=0.0))
        + float(np.abs(problem.X @ plane.w).max())
    )
    strict = replace(problem, count_penalty=1e6 * spread * float(problem.C.sum()))
    best = strict.best_intercept(plane.w)
    if best is None:
        found = first_answer(problem)  # this direction allows no intercept
        return found or Result(problem, Status.TIME_LIMIT, lower_bound=bound)
    return Result(
        problem,
        Status.FEASIBLE,
        plane.w.copy(),
        best.b,
        best.z,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )
