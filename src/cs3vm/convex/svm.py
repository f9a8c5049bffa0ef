r"""The convex core: an SVM in which some unlabelled rows are held on a side.

.. math:: \min_{w,b}\ \tfrac12\|w\|^2 + \sum_i C_i\max\{0, 1-y_i(w^\top x_i+b)\}
          \quad\text{s.t.}\quad \sigma_j(w^\top u_j+b)\ge\varepsilon

With no held row this is P1. Solved by a primal-dual interior-point method whose linear system has only
d+1 unknowns, or, with ‖w‖₁ or ‖w‖_∞ instead of ½‖w‖², as a linear programme; any multipliers give a lower
bound that holds in floating point.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._typing import FloatArray, RowArray, SignArray
from ..model.problem import Problem
from ..model.result import Result, answer
from ..model.row_order import in_order
from ..model.status import Status
from .feasibility import any_answer
from .interior_point import InteriorPoint
from .linear_program import linear_svm

UNIT_ROUNDOFF = 2.0**-53


class ConvexSolution(NamedTuple):
    """A plane, its multipliers (labelled rows; held rows, signed by their side) and a valid lower bound."""

    w: FloatArray
    b: float
    alpha: FloatArray
    beta: FloatArray
    bound: float


#: The SVM of each problem that is alive, with its own fixed sides held. Everybody asks for it: the baselines,
#: the heuristic's first start, the root of every search and every lower bound.
_KEPT: WeakKeyDictionary[Problem, ConvexSolution] = WeakKeyDictionary()


def solve_convex(problem: Problem, side: SignArray | None = None) -> ConvexSolution:
    """The SVM with the given sides held; with the problem's own, which is the default, it is solved once."""
    if side is not None:
        return _solve(problem, side)
    if problem not in _KEPT:
        _KEPT[problem] = _solve_in_order(problem)
    return _KEPT[problem]


def _solve_in_order(problem: Problem) -> ConvexSolution:
    """The same plane, to the last digit, however the rows are ordered."""
    ordered = in_order(problem)
    if ordered.problem is problem:
        return _solve(problem, problem.side)
    solution = solve_convex(ordered.problem)
    alpha, beta = np.empty_like(solution.alpha), np.empty_like(solution.beta)
    alpha[ordered.labelled], beta[ordered.rows] = solution.alpha, solution.beta
    return solution._replace(alpha=alpha, beta=beta)


def root_bound(problem: Problem) -> float:
    """The value below which no point lies, before any search: the SVM's, and what must be miscounted."""
    return with_miscount(problem, solve_convex(problem).bound)


def with_miscount(problem: Problem, svm_bound: float) -> float:
    """A bound on the objective from one on the SVM's value: the fixed sides may force a miscount."""
    return (max(0.0, svm_bound) + problem.least_price) * (1.0 - 2.0**-50)


def _solve(problem: Problem, side: SignArray) -> ConvexSolution:
    """Solve the SVM with held rows, which enter lazily: most of them are never active."""
    core = _interior_point if problem.norm == "l2" else linear_svm
    held = np.flatnonzero(side)
    new = rows = np.zeros(0, dtype=np.intp)
    for _ in range(30):
        rows = np.append(rows, new)
        w, b, alpha, beta = core(problem, rows, side)
        signed = side[held] * problem.scores(w, b)[held] - problem.side_margin
        scale = 1.0 + float(np.abs(signed).max(initial=0.0))
        violated = held[signed < -1e-9 * scale]
        new = np.setdiff1d(violated, rows, assume_unique=True)
        if len(new) == 0:
            break
        worst_first = np.argsort((side * problem.scores(w, b))[new])
        new = new[worst_first[: 60 + 3 * problem.d]]
    full_beta = np.zeros(problem.m)
    full_beta[rows] = side[rows] * beta
    bound = dual_bound(problem, alpha, full_beta, problem.svm_value(w, b))
    return ConvexSolution(w, b, alpha, full_beta, bound)


def first_answer(problem: Problem) -> Result | None:
    """The better of the SVM's direction and the trivial point; where both fail, a longer normal, or any."""
    svm, bound = solve_convex(problem), root_bound(problem)
    found = [answer(problem, w, Status.FEASIBLE, lower_bound=bound) for w in (svm.w, np.zeros(problem.d))]
    # With a side margin a longer w leaves fewer rows in the strip.
    for length in 10.0 ** np.arange(1, 9) if found == [None, None] else ():
        longer = answer(problem, length * svm.w, Status.FEASIBLE, lower_bound=bound)
        if longer is not None and longer.violation <= 1e-6 * problem.side_margin:
            return longer
    if found == [None, None] and problem.side_margin > 0.0:
        return any_answer(problem)
    return min((r for r in found if r is not None), key=lambda r: r.objective, default=None)


def dual_bound(problem: Problem, alpha: FloatArray, beta: FloatArray, upper: float) -> float:
    """A lower bound on :meth:`Problem.svm_value` over the held sides, valid in floating point.

    ``alpha`` are multipliers of the labelled rows, ``beta`` those of held rows, signed by their side. With
    ``v = Σ c x`` the bound ``D = Σα + εΣ|β| - price*(v) - B·|Σ c| - r`` is valid where the value is at most
    ``upper``: B bounds ``|b|`` there and r the rounding. The smaller of D and ``upper`` is valid everywhere.
    """
    alpha = np.clip(alpha, 0.0, problem.C)
    if problem.norm == "l2":  # for the others Σ c = 0 is dearer than it is worth
        alpha, beta = balanced(problem, alpha, beta)
    support = np.flatnonzero(beta)
    labelled, held = alpha * problem.y, beta[support]
    v = labelled @ problem.X + held @ problem.U[support]
    linear = float(alpha.sum()) + problem.side_margin * float(np.abs(held).sum())
    imbalance = abs(float(labelled.sum() + held.sum()))
    B = problem.intercept_bound(upper)
    norms = problem.dual_norms(problem.X), problem.dual_norms(problem.U[support])
    mass = float(alpha.sum() + np.abs(held).sum())
    spread = float(alpha @ norms[0] + np.abs(held) @ norms[1])
    conjugate, slope, size = _conjugate(problem, v, upper)
    p = (int(np.count_nonzero(alpha)) + len(support) + problem.d + 4) * UNIT_ROUNDOFF
    rounding = p / (1.0 - p) * (linear + slope * (size + spread) + B * mass)
    return min(linear - conjugate - B * imbalance - rounding, upper)


def balanced(problem: Problem, alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Let one multiplier absorb what rounding left of Σ c, where it has room: B may be large."""
    alpha, beta = alpha.copy(), beta.copy()
    total = float(problem.y @ alpha + beta.sum())
    for j in np.flatnonzero(beta):
        if (beta[j] - total) * beta[j] > 0:
            beta[j] -= total
            return alpha, beta
    room = alpha - problem.y * total
    inside = np.flatnonzero((alpha > 0) & (alpha < problem.C) & (room >= 0) & (room <= problem.C))
    if len(inside):
        alpha[inside[0]] = room[inside[0]]
    return alpha, beta


def _conjugate(problem: Problem, v: FloatArray, upper: float) -> tuple[float, float, float]:
    """``price*(v) = max v·w - price(w)`` where the price is at most ``upper``, its slope, and ‖v‖*.

    It is ½‖v‖² for ½‖w‖², and for ‖w‖ itself nothing as long as ‖v‖* ≤ 1.
    """
    size = float(problem.dual_norms(v[None, :])[0])
    if problem.norm == "l2":
        return 0.5 * size * size, size, size
    longest = problem.reach(upper)
    return longest * max(0.0, size - 1.0), longest, size


def _interior_point(
    problem: Problem, rows: RowArray, side: SignArray
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    points, rotation = _reduce_columns(np.vstack([problem.X, problem.U[rows]]))
    sigma = np.append(problem.y, side[rows].astype(float))
    A = np.column_stack([points, np.ones(len(points))]) * sigma[:, None]
    p = np.append(np.ones(problem.n), np.full(len(rows), problem.side_margin))
    v, alpha = InteriorPoint(A, p, problem.C).solve()
    w = v[:-1] if rotation is None else rotation @ v[:-1]
    return w, float(v[-1]), alpha[: problem.n], alpha[problem.n :]


def _reduce_columns(points: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Rotate into the span of the rows where there are fewer rows than columns: w lies in it."""
    if points.shape[0] >= points.shape[1]:
        return points, None
    rotation, triangle = np.linalg.qr(points.T)
    return np.ascontiguousarray(triangle.T), rotation
