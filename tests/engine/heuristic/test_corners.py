"""Starts through rows with which many others agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cs3vm import Problem
from cs3vm.engine.heuristic.corners import Corners
from cs3vm.engine.heuristic.improve import improve
from cs3vm.engine.heuristic.incumbent import Search
from cs3vm.model.budget import Budget
from tests.oracle import brute_force


def rare_events(seed: int, m: int = 300, d: int = 12, **options: float) -> Problem:
    """Columns that are mostly zero, as in tables of rare events; labels depend on a few of them."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((m + 40, d)) < 0.08).astype(float)
    y = np.where(rows[:, :3].any(axis=1), 1, -1)
    y[:2] = 1, -1
    return Problem(rows[:40], y[:40], rows[40:], m // 2, **options)


def corners(problem: Problem) -> Corners:
    return Corners(Search(problem, Budget()), np.random.default_rng(0))


def test_rows_that_agree_with_the_corner_lie_on_the_plane():
    problem = rare_events(0)
    plane = corners(problem).through(np.zeros(problem.d))
    assert plane.w.any()
    agree = ~problem.U[:, plane.w != 0.0].any(axis=1)
    assert agree.sum() > 100
    assert np.abs(plane.unlabelled[agree] + plane.b).max() < 1e-9
    assert plane.value < problem.trivial.cost


def test_the_best_corner_is_a_point_of_the_problem_and_the_heuristic_is_no_worse():
    for seed in range(3):
        problem = rare_events(seed)
        best = corners(problem).best(2)
        assert best[0].value <= best[1].value
        w = best[0].w
        assert np.isclose(0.5 * w @ w + problem.best_intercept(w).cost, best[0].value)
        assert improve(problem, time_limit=600.0, patience=3).objective <= best[0].value * (1.0 + 1e-9)


def test_no_corner_is_better_than_the_optimum():
    for seed in range(20):
        rng = np.random.default_rng([seed, 3])
        rows = rng.integers(0, 2, size=(12, 3)).astype(float)
        problem = Problem(rows[:5], np.array([1, -1, 1, 1, -1]), rows[5:], int(rng.integers(0, 8)))
        optimum = brute_force(problem)
        assert all(plane.value >= optimum - 1e-6 for plane in corners(problem).best(5))


def test_continuous_columns_and_a_forbidden_strip_have_none():
    rng = np.random.default_rng(1)
    continuous = Problem(rng.normal(size=(10, 3)), np.array([1, -1] * 5), rng.normal(size=(50, 3)), 20)
    assert corners(continuous).best(3) == []
    assert corners(rare_events(0, side_margin=0.01)).best(3) == []
    assert corners(rare_events(0)).exist


def test_without_unlabelled_rows_there_is_none():
    assert not corners(Problem(np.eye(2), np.array([1, -1]), np.zeros((0, 2)), 0)).exist


def test_scattered_planes_are_points_of_the_problem_best_first():
    for seed in range(10):
        rng = np.random.default_rng([seed, 4])
        rows = rng.integers(0, 2, size=(12, 3)).astype(float)
        problem = Problem(rows[:5], np.array([1, -1, 1, 1, -1]), rows[5:], int(rng.integers(0, 8)))
        planes = corners(problem).scattered(0.1)
        values = [plane.value for plane in planes]
        assert values == sorted(set(values))
        assert values[0] >= brute_force(problem) - 1e-6
        for plane in planes:
            exact = problem.best_intercept(plane.w)
            assert np.isclose(0.5 * plane.w @ plane.w + exact.cost, plane.value)


def test_planes_by_few_columns_leave_out_no_pair_of_columns():
    problem = rare_events(0)
    search = corners(problem)
    planes = search.by_few_columns()
    used = {tuple(np.flatnonzero(plane.w)) for plane in planes}
    assert max(map(len, used)) <= 3
    values = [plane.value for plane in planes]
    assert values == sorted(set(values))
    # each pair of columns by hand, through the row of zeros, which is the most frequent one
    for pair in combinations(range(problem.d), 2):
        alone = search._plane_by(np.array(pair), np.zeros(problem.d), problem.C)
        assert np.isclose(values, alone.value, rtol=1e-5).any()
    for plane in planes[:20]:
        exact = problem.best_intercept(plane.w)
        assert np.isclose(0.5 * plane.w @ plane.w + exact.cost, plane.value)
