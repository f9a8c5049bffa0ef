"""P1: the support vector machine on the labelled rows alone, and what it says about the others."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._typing import BoolArray
from ..convex.svm import first_answer, root_bound, solve_convex
from ..model.problem import Problem
from ..model.result import Result, answer
from ..model.status import DEFAULT_GAP, Status, relative_gap
from .steeper import with_margin


def svm(problem: Problem, *, gap: float = DEFAULT_GAP, **_: Any) -> Result:
    """Solve P1 and count the unlabelled rows by the side they lie on.

    Rows on the plane follow the paper's rule for the SVM: all positive if the rows strictly on the positive
    side are at most τ, else all negative; with several totals each row by its own. Fixed sides are held.
    With a ``side_margin`` the plane has the same sides and is as much steeper as the margin needs.
    """
    began = time.perf_counter()
    plane = solve_convex(problem)
    bound = root_bound(problem)
    on_plane = problem.on_plane(plane.w, plane.b)
    z = (problem.scores(plane.w, plane.b) > 0) & ~on_plane
    z |= on_plane & ~_exceeded(problem, z)
    sides = np.where(problem.side == 0, z, problem.side > 0).astype(np.int8)
    w, b = plane.w.copy(), plane.b
    if problem.side_margin > 0:
        kept = with_margin(problem, w, b, sides)
        if kept is None:  # no plane of this direction has these sides
            found = answer(problem, w, Status.FEASIBLE, lower_bound=bound) or first_answer(problem)
            return found or Result(problem, Status.TIME_LIMIT, lower_bound=bound)  # none found proves nothing
        w, b = kept
    proven = relative_gap(problem.objective(w, b, sides), bound) <= gap
    return Result(
        problem,
        Status.OPTIMAL if proven else Status.FEASIBLE,
        w,
        b,
        sides,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


def _exceeded(problem: Problem, z: BoolArray) -> BoolArray:
    """Which rows are in a total that the positive rows already exceed."""
    totals, rows = problem.totals, np.zeros(problem.m, dtype=bool)
    for g in np.flatnonzero(totals.counts(z) > totals.high):
        rows[totals.rows[g]] = True
    return rows
