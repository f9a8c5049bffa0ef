"""Many rows: not all flips are evaluated, and the bound holds whichever are."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.engine.exact import tree
from cs3vm.solvers.bnb_ import solve
from tests.oracle import svm_with_sides


def on_a_line(seed: int, m: int = 2100) -> Problem:
    """One feature: the sides of a plane are those of a threshold, so few labelings have a good count."""
    rng = np.random.default_rng(seed)
    X, U = rng.normal(1.0, 1.0, (12, 1)), rng.normal(0.0, 1.0, (m, 1))
    y = np.where(X[:, 0] + rng.normal(0.0, 0.5, 12) > 0.5, 1, -1)
    y[:2] = 1, -1
    return Problem(X, y, U, int(rng.integers(m // 8, m // 4)))


@cache
def best_threshold(seed: int) -> float:
    """The optimum over thresholds near the total and w = b = 0, where every row may be on either side."""
    problem = on_a_line(seed)
    order, best = np.argsort(problem.U[:, 0]), float(problem.n)
    svm = svm_with_sides(problem, np.zeros(problem.m, dtype=int))
    tau = int(problem.n_positive)
    for missed in range(int(best - svm) + 2):
        for count in {tau - missed, tau + missed}:
            for direction in (1, -1):
                positive = order[::-1][:count] if direction > 0 else order[:count]
                side = np.full(problem.m, -1)
                side[positive] = 1
                edge = order[::-direction][[count - 1, count]]  # the others follow from these two
                near = np.zeros(problem.m, dtype=int)
                near[edge] = side[edge]
                if svm + missed < best:
                    best = min(best, svm_with_sides(problem, near) + missed)
    return best


@pytest.mark.parametrize("work", [4e9, 3e5, 0.0])
@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold_whichever_flips_are_evaluated(
    seed: int, work: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = on_a_line(seed)
    optimum = best_threshold(seed)
    monkeypatch.setattr(tree, "_ROOT_FLIPS", work)
    monkeypatch.setattr(tree, "_NODE_FLIPS", work)
    found = solve(problem, node_limit=15, time_limit=600.0)
    assert found.lower_bound <= optimum * (1.0 + 1e-6)
    assert found.objective >= optimum * (1.0 - 1e-6)
    if work == 0.0:
        assert found.extras["flips"] == 0
    elif work > 1e9:
        assert found.lower_bound > svm_with_sides(problem, np.zeros(problem.m, dtype=int)) + 1e-6
