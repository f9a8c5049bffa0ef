"""The SVM of very many labelled rows, in rounds on the few that matter."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray
from ...convex.svm import dual_bound
from ...model.problem import Problem
from ..core.quadratic import FINE, solve_rows

#: Rows near the margin that enter one by one.
CLOSE_ROWS = 8000
#: Rounds at most, and the steps tried in each.
ROUNDS, STEPS = 8, (1.0, 0.7, 0.4, 0.2, 0.1)


def solve_large_svm(problem: Problem, rows: FloatArray) -> tuple[FloatArray, float]:
    """The normal vector and a safe lower bound; ``rows`` are ``y·(x, 1)``.

    Rows far inside their margin cost nothing and rows far outside are linear, so these enter as one row
    with the sum of their prices. A round that no far row disagrees with is optimal for all of them; a line
    search keeps the others from overshooting. The bound is valid after any round.
    """
    sample = np.arange(0, problem.n, max(1, problem.n // CLOSE_ROWS))
    price = problem.C[sample] * float(problem.C.sum() / problem.C[sample].sum())
    v, _ = solve_rows(rows[sample], np.ones(len(sample)), price, 1e-4)
    slack = 1.0 - rows @ v
    for _ in range(ROUNDS):
        close = np.argpartition(np.abs(slack), CLOSE_ROWS)[:CLOSE_ROWS]
        far = slack > 0.0
        far[close] = False
        mass = float(problem.C[far].sum())
        A, C = rows[close], problem.C[close]
        if mass > 0.0:
            A, C = np.vstack([A, (problem.C * far) @ rows / mass]), np.append(C, mass)
        end, multipliers = solve_rows(A, np.ones(len(A)), C, FINE)
        end_slack = 1.0 - rows @ end
        changed = (slack > 0.0) != (end_slack > 0.0)
        changed[close] = False
        t = (
            1.0
            if not changed.any()
            else min(STEPS, key=lambda t: _value(problem, v, end, slack, end_slack, t))
        )
        v, slack = v + t * (end - v), slack + t * (end_slack - slack)
        if not changed.any():
            break
    alpha = np.zeros(problem.n)
    alpha[close] = multipliers[:CLOSE_ROWS]
    if mass > 0.0:
        alpha[far] = problem.C[far] * (multipliers[-1] / mass)
    value = problem.svm_value(v[:-1], float(v[-1]))
    return v[:-1], dual_bound(problem, alpha, np.zeros(problem.m), value)


def _value(
    problem: Problem, v: FloatArray, end: FloatArray, slack: FloatArray, end_slack: FloatArray, t: float
) -> float:
    """The SVM's value on the way from ``v`` to ``end``."""
    w = v[:-1] + t * (end[:-1] - v[:-1])
    return 0.5 * float(w @ w) + float(problem.C @ np.maximum(0.0, slack + t * (end_slack - slack)))
