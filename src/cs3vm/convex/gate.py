"""The gate: whatever produced a result, it passes here before it leaves.

A claim is a theorem. "Optimal" needs a point whose sides fit its plane and a proven bound that meets its
value; "infeasible" needs a certificate; a point needs sides that its plane can have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..model.problem import PLANE_TOLERANCE, Problem
from ..model.result import Result, answer
from ..model.status import DEFAULT_GAP, Status
from .feasibility import fits

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
    repaired = answer(problem, w, result.status) if np.all(np.isfinite(w)) else None
    if repaired is None or repaired.violation > allowed_violation(problem, w, repaired.intercept):
        return replace(result, coef=None, intercept=float("nan"), z=None)
    return replace(result, coef=repaired.coef, intercept=repaired.intercept, z=repaired.z)
