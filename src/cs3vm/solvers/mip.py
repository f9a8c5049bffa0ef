"""What the MIQP backends share: bounds for the model P3 and turning a backend's answer into a Result."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from .._typing import FloatArray
from ..convex.feasibility import fits
from ..convex.svm import solve_convex
from ..exceptions import InvalidProblemError
from ..model.norms import DUAL_METRIC, steepest
from ..model.problem import Problem
from ..model.result import Result, answer
from ..model.status import Status

#: How the sides are linked to the plane: eq. (validM), per-point bounds, indicator constraints, or a number.
BigM = Literal["paper", "tight", "indicator"] | float
#: Backends keep constraints to a tolerance only; a bound above our objective by more is broken.
CLAIM_TOLERANCE = 1e-6
#: A backend's bound holds to its tolerances only: it is reported lower by this, relative.
BOUND_MARGIN = 1e-7
#: Added to each per-point bound.
ROOM = 1e-6
#: The largest value of a feature, and C and the count penalty, between which the bounds of HiGHS and SCIP on
#: linear models held. Measured: beyond, both take optimal weights or prices for zero, and claim too much.
SAFE_FEATURES, SAFE_PRICES = (1e-5, 1e6), (1e-5, np.inf)
#: Beyond this many rows a backend's sides are not polished: that would take longer than it is worth.
POLISH_ROWS = 5000

logger = logging.getLogger(__name__)


class Bounds(NamedTuple):
    """Valid for some optimum: ``-low ≤ w·u + b ≤ high``, ``|w_k| ≤ w``, ``|b| ≤ b``."""

    w: float
    b: float
    low: FloatArray
    high: FloatArray


def known_value(problem: Problem, first: Result | None, start: Result | None, cutoff: float | None) -> float:
    """The smallest objective value known to be reachable, or of interest."""
    values = [result.objective for result in (first, start) if result is not None and result.found]
    if cutoff is not None:
        values.append(cutoff)
    worst = 2.0 * float(problem.C.sum()) + problem.count_penalty * problem.total_weight
    return float(min(values, default=1e6 * (1.0 + worst)))  # with no point known: far above any sensible one


def bounds(problem: Problem, big_m: BigM, value: float) -> Bounds:
    """Bounds for all variables from the ``value`` of a feasible point (Lemma 1)."""
    slack = 1.0 + 1e-9  # bounds are computed in floating point
    w, b = problem.reach(value), problem.intercept_bound(value)
    if big_m == "paper":
        fixed = bool(np.any(problem.side)) or problem.side_margin > 0
        low = high = np.full(problem.m, problem.big_m(value) if fixed else problem.paper_big_m)
    elif isinstance(big_m, int | float) and not isinstance(big_m, bool) and 0 < big_m < np.inf:
        low = high = np.full(problem.m, float(big_m))
    elif big_m in ("tight", "indicator"):
        low, high = _tight(problem, value)
    else:
        raise InvalidProblemError(
            f"big_m must be 'paper', 'tight', 'indicator' or a positive number, got {big_m!r}"
        )
    return Bounds(w * slack, b * slack, low * slack, high * slack)


def _tight(problem: Problem, value: float) -> tuple[FloatArray, FloatArray]:
    """Per-point bounds on the level set.

    A positive row x has ``w·x + b ≥ 1 - hinge`` with ``C·hinge ≤ value - price(w)``, so
    ``-(w·u + b) ≤ -1 + (value - price(w))/C + ‖w‖·‖x - u‖*``; mirrored for negative rows. Lemma 1, with the
    origin moved to the mean, serves where a class is missing.
    """
    centre = np.vstack([problem.X, problem.U]).mean(axis=0)
    distance = problem.dual_norms(problem.U - centre)
    radius = max(distance.max(initial=0.0), problem.dual_norms(problem.X - centre).max())
    general = np.asarray(problem.reach(value) * (distance + radius) + max(1.0, problem.side_margin))

    def farthest(rows: NDArray[np.bool_]) -> FloatArray:
        if not rows.any():
            return general
        apart = cdist(problem.U, problem.X[rows], metric=DUAL_METRIC[problem.norm])
        bound = steepest(problem.norm, value, problem.C[rows], apart) - 1.0
        return np.asarray(np.minimum(general, bound.min(axis=1)))

    # Room for the backends' tolerances: a bound equal to the margin leaves a point and no interval.
    low, high = (np.maximum(farthest(problem.y == s), 0.0) + ROOM for s in (1, -1))
    return low, high


def unsafe_scale(problem: Problem) -> str | None:
    """What lies outside the scale on which the bounds of linear models hold; None if nothing does."""
    if problem.norm == "l2":
        return None
    sizes = np.maximum(np.abs(problem.X).max(axis=0), np.abs(problem.U).max(axis=0, initial=0.0))
    prices = np.append(problem.C, problem.count_penalty)
    for name, values, (low, high) in (
        ("features", sizes[sizes > 0], SAFE_FEATURES),
        ("prices (C, count_penalty)", prices, SAFE_PRICES),
    ):
        if np.any((values < low) | (values > high)):
            return f"{name} from {values.min():.1g} to {values.max():.1g}"
    return None


def best_answer(
    problem: Problem, w: FloatArray, z: NDArray[np.int8], known: Iterable[Result | None]
) -> Result | None:
    """The best of the backend's plane by rank, its sides polished, and what was known before."""
    planes = [w] if len(w) else []
    if len(w) and problem.m <= POLISH_ROWS:
        planes.append(solve_convex(problem, (2 * z - 1).astype(np.int8)).w)
    candidates = [answer(problem, plane, Status.FEASIBLE) for plane in planes]
    found = [c for c in [*known, *candidates] if c is not None and c.found]
    return min(found, key=lambda c: c.objective, default=None)


def finish(
    problem: Problem,
    best: Result | None,
    status: Status,
    bound: float,
    svm_bound: float,
    cutoff: float | None,
    gap: float,
    **fields: Any,
) -> Result:
    """Judge the backend's claim by our own evaluation and build the Result."""
    if cutoff is not None:
        bound = min(bound, cutoff)  # the bounds of the model hold below the cutoff only
    unsafe = unsafe_scale(problem)
    if unsafe is not None:
        logger.warning("%s are beyond the solver's tolerances, its bound is ignored: scale the rows", unsafe)
        bound, status = 0.0, Status.FEASIBLE if status is Status.OPTIMAL else status
    if best is not None and bound > best.objective * (1.0 + CLAIM_TOLERANCE) + 1e-9:
        logger.warning("the solver's bound %g exceeds the objective %g: ignored", bound, best.objective)
        bound, status = 0.0, Status.FEASIBLE
    bound = max(svm_bound, bound)
    if cutoff is not None and (best is None or best.objective >= cutoff):
        best = None
        if status is Status.OPTIMAL:  # the whole space was searched
            status, bound = Status.CUTOFF, cutoff
    if best is None:
        complete = Status.TIME_LIMIT if fits(problem) else Status.INFEASIBLE  # else its tolerances have won
        no_point = {Status.OPTIMAL: complete, Status.FEASIBLE: Status.TIME_LIMIT}
        return Result(problem, no_point.get(status, status), lower_bound=bound, **fields)
    result = Result(problem, status, best.coef, best.intercept, best.z, lower_bound=bound, **fields)
    if result.gap <= gap:
        return replace(result, status=Status.OPTIMAL)
    if status is Status.OPTIMAL:  # its claim does not survive our evaluation
        return replace(result, status=Status.FEASIBLE)
    return result
