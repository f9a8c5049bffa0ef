"""Valid bounds for the variables of a MIP model, from the value of a point that is known.

The paper's big-M is :meth:`cs3vm.Problem.big_m` (Lemma 1, eqs. validM and BigM 2); here is the choice between
it, one bound per row, and none at all.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import BoolArray, FloatArray
from ..exceptions import InvalidProblemError
from ..model.norms import DUAL_METRIC, steepest
from ..model.problem import Problem

#: How the sides are linked to the plane: eq. (validM), per-point bounds, indicator constraints, or a number.
BigM = Literal["paper", "tight", "indicator"] | float
#: Added to each per-point bound.
ROOM = 1e-6


class Bounds(NamedTuple):
    """Valid for some optimum: ``-low ≤ w·u + b ≤ high``, ``|w_k| ≤ w``, ``|b| ≤ b``."""

    w: float
    b: float
    low: FloatArray
    high: FloatArray


def variable_bounds(problem: Problem, big_m: BigM, value: float) -> Bounds:
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


def as_number(problem: Problem, big_m: BigM, value: float) -> BigM:
    """The paper's big-M as the number that it is for this problem; other choices stay as they are."""
    return float(variable_bounds(problem, big_m, value).low[0]) if big_m == "paper" and problem.m else big_m


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

    def farthest(rows: BoolArray) -> FloatArray:
        if not rows.any():
            return general
        apart = cdist(problem.U, problem.X[rows], metric=DUAL_METRIC[problem.norm])
        bound = steepest(problem.norm, value, problem.C[rows], apart) - 1.0
        return np.asarray(np.minimum(general, bound.min(axis=1)))

    # Room for the backends' tolerances: a bound equal to the margin leaves a point and no interval.
    low, high = (np.maximum(farthest(problem.y == s), 0.0) + ROOM for s in (1, -1))
    return low, high
