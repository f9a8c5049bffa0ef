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
from ..model.totals import KnownTotals
from .steeper import best_gap, steepness


def top_tau(problem: Problem, **_: Any) -> Result:
    """Keep the SVM's direction and move the plane until the count is as near to τ as it can be.

    With several totals one plane cannot meet each: what is paid for their misses is least.
    With a ``side_margin`` it is as much steeper as the margin between the τ highest and the rest needs.
    """
    began = time.perf_counter()
    w, bound = solve_convex(problem).w.copy(), root_bound(problem)
    if problem.side_margin > 0 and problem.m > 0:
        w *= steepness(problem, best_gap(problem, w))
    # A miscount dearer than any hinge loss makes the best intercept the one with the best count.
    spread = 1.0 + float(np.abs(problem.scores(w)).max(initial=0.0)) + float(np.abs(problem.X @ w).max())
    dear = 1e6 * spread * float(problem.C.sum())
    best = problem.best_intercept(w, _dearer(problem.totals, dear))
    if best is None:
        found = first_answer(problem)  # this direction allows no intercept
        return found or Result(problem, Status.TIME_LIMIT, lower_bound=bound)
    return Result(
        problem,
        Status.FEASIBLE,
        w,
        best.b,
        best.z,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


def _dearer(totals: KnownTotals, price: float) -> KnownTotals:
    """The same totals with the cheapest miss at this price, and the others as much dearer than it."""
    return replace(totals, penalty=price * totals.penalty / totals.penalty.min(initial=np.inf))
