"""The gate: whatever produced a result, it passes here before it leaves.

A claim is a theorem. "Optimal" needs a point whose sides fit its plane and a proven bound that meets its
value; "infeasible" needs a certificate; a point needs sides that its plane can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..model.problem import PLANE_TOLERANCE, Problem
from ..model.result import Result, answer
from ..model.status import DEFAULT_GAP, Status
from .feasibility import any_answer, fits

#: With a side margin, rows may miss it by this share.
MARGIN_TOLERANCE = 1e-3


def checked(result: Result, gap: float = DEFAULT_GAP) -> Result:
    """The result with a point that is one, and with a status that its point and its bound support."""
    result = _with_a_point_that_fits(result)
    if result.found and result.gap <= gap:
        return result if result.is_optimal else replace(result, status=Status.OPTIMAL)
    if result.found and result.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.CUTOFF):
        return replace(result, status=Status.FEASIBLE)
    if result.found or result.status not in (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE):
        return result
    # a search that ended without a point proves nothing by that
    return replace(result, status=Status.TIME_LIMIT if fits(result.problem) else Status.INFEASIBLE)


def allowed_violation(problem: Problem, w: np.ndarray, b: float) -> float:
    """How far a row may lie on the wrong side of the plane for its side to be a matter of rounding."""
    rounding = PLANE_TOLERANCE * (1.0 + float(np.max(np.abs(problem.scores(w, b)), initial=0.0)))
    return min(rounding, MARGIN_TOLERANCE * problem.side_margin) if problem.side_margin > 0.0 else rounding


def _with_a_point_that_fits(result: Result) -> Result:
    """Its own point; or its plane with the best sides there are; or none."""
    if result.coef is None or result.z is None:
        return result
    w, problem = result.coef, result.problem
    finite = bool(np.all(np.isfinite(w))) and bool(np.isfinite(result.intercept))
    if finite and result.violation <= allowed_violation(problem, w, result.intercept):
        return result
    for other in _repaired(result) if finite else ():
        if other.coef is not None and other.violation <= allowed_violation(
            problem, other.coef, other.intercept
        ):
            return replace(result, coef=other.coef, intercept=other.intercept, z=other.z)
    return replace(result, coef=None, intercept=float("nan"), z=None)


def _repaired(result: Result) -> Iterator[Result]:
    """Points near one whose sides do not fit: lengthened to meet its margin, with the best sides, or any."""
    problem, w = result.problem, np.asarray(result.coef)
    if 0.0 < result.violation < 0.01 * problem.side_margin:
        longer = 1.0 + 2.0 * result.violation / problem.side_margin
        yield replace(result, coef=longer * w, intercept=longer * result.intercept)
    by_rank = answer(problem, w, result.status)
    if by_rank is not None:
        yield by_rank
    anything = any_answer(problem) if problem.side_margin > 0.0 else None
    if anything is not None:
        yield anything
