r"""P1 with ‖w‖₁ or ‖w‖_∞: a linear programme, and the rows that make a norm linear.

.. math:: \min_{w,b}\ \|w\| + \sum_i C_i\max\{0, 1-y_i(w^\top x_i+b)\}
          \quad\text{s.t.}\quad \sigma_j(w^\top u_j+b)\ge\varepsilon
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._typing import FloatArray
from ..model.norms import Norm, unused
from ..model.problem import Problem

#: The tightest tolerances that HiGHS takes, then its own: on badly scaled data only those are reached.
TOLERANCES = (1e-10, 1e-7)

logger = logging.getLogger(__name__)


class Epigraph(NamedTuple):
    """``‖w‖`` as linear rows: the smallest ``Σa`` with ``of_w @ w + of_a @ a ≤ 0``."""

    of_w: Any  # sparse matrices
    of_a: Any


def epigraph(norm: Norm, d: int) -> Epigraph:
    """The rows ``±w_k ≤ a_k`` (l1) or ``±w_k ≤ a`` (max)."""
    eye = sparse.eye_array(d, format="csr")
    own = eye if norm == "l1" else sparse.csr_array(np.ones((d, 1)))
    of_w, of_a = sparse.vstack([eye, -eye], format="csr"), -sparse.vstack([own, own], format="csr")
    return Epigraph(of_w, of_a)


def linear_svm(
    problem: Problem, rows: NDArray[np.intp], side: NDArray[np.int8]
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """The plane of the SVM with these unlabelled rows held on their sides, and the multipliers of all rows.

    Sides that cannot be held together (possible with a margin only) are left out: what remains is a
    relaxation, so its multipliers still give a valid bound.
    """
    solution = _solve(problem, rows, side)
    if solution is None and len(rows):
        w, b, alpha, _ = linear_svm(problem, rows[:0], side)
        return w, b, alpha, np.zeros(len(rows))
    if solution is None:  # P1 always has a solution: the trivial one is always at hand
        logger.warning("HiGHS found no solution of the linear SVM: the trivial plane is used")
        return np.zeros(problem.d), 0.0, np.zeros(problem.n), np.zeros(0)
    w, b, multipliers = solution
    return w, b, multipliers[: problem.n], multipliers[problem.n :]


def _solve(
    problem: Problem, rows: NDArray[np.intp], side: NDArray[np.int8]
) -> tuple[FloatArray, float, FloatArray] | None:
    """Variables (w, b, ξ, a), rows: labelled, held, norm."""
    from scipy.optimize import linprog  # takes a moment to load

    n, d = problem.n, problem.d
    norm = epigraph(problem.norm, d)
    sigma = np.append(problem.y, side[rows].astype(float))
    points = np.vstack([problem.X, problem.U[rows]])
    plane = sparse.csr_array(-np.column_stack([points, np.ones(len(points))]) * sigma[:, None])
    slack = -sparse.eye_array(len(points), n, format="csr")
    intercept = sparse.csr_array((norm.of_w.shape[0], 1))
    matrix = sparse.block_array(
        [[plane, slack, None], [sparse.hstack([norm.of_w, intercept]), None, norm.of_a]], format="csr"
    )
    right = np.concatenate([-np.ones(n), np.full(len(rows), -problem.side_margin), np.zeros(2 * d)])
    cost = np.concatenate([np.zeros(d + 1), problem.C, np.ones(norm.of_a.shape[1])])
    bounds = np.column_stack([np.full(len(cost), -np.inf), np.full(len(cost), np.inf)])
    bounds[d + 1 :, 0] = 0.0
    for tolerance in TOLERANCES:
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        found = linprog(cost, A_ub=matrix, b_ub=right, bounds=bounds, method="highs", options=options)
        if found.status == 0:
            w = found.x[:d]
            multipliers = -found.ineqlin.marginals[: len(points)]
            return np.where(unused(w), 0.0, w), float(found.x[d]), np.maximum(0.0, multipliers)
    return None
