"""The two searches: with a margin the total is met wherever it is met without one."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem, solve
from cs3vm.engine.heuristic.improve import improve
from tests.engine.heuristic.test_corners import rare_events


def wide_kernel(seed: int, margin: float) -> Problem:
    """An exact Laplacian kernel by its Cholesky factor: as many columns as rows, half of them zeros."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(340, 3))
    K = np.exp(-np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2))
    features = np.linalg.cholesky(K + 1e-9 * np.eye(340))
    y = np.where(rows[:, 0] + rng.normal(size=340) > 0, 1.0, -1.0)
    return Problem(features[:40], y[:40], features[40:], 120, side_margin=margin)


def test_a_wide_margin_with_a_kernel_does_not_give_up_the_total():
    result = improve(wide_kernel(0, 1e-2), time_limit=600.0, work_limit=2e8)
    assert result.count == 120
    assert result.violation <= 1e-6
    # far below what it costs to call all rows negative
    assert result.objective < 60.0


@pytest.mark.parametrize("seed", [0, 1])
def test_without_a_margin_it_is_no_worse_than_with_one(seed: int):
    """Every plane of the problem with a margin is one of that without."""
    flat, proper = (
        solve(rare_events(seed, side_margin=margin), "direct", time_limit=600.0, work_limit=2e8)
        for margin in (0.0, 1e-3)
    )
    assert flat.objective <= proper.objective * (1 + 1e-6)


def test_a_second_search_goes_on_from_what_is_known():
    problem = rare_events(0)
    first = improve(problem, time_limit=600.0, work_limit=3e7)
    second = improve(problem, [first.coef], time_limit=600.0, work_limit=3e7, again=True)
    assert second.objective <= first.objective * (1 + 1e-9)
