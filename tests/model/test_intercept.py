from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.model.line import HingeSum
from cs3vm.model.subset_sum import nearest_subset


def best_by_enumeration(problem: Problem, w: np.ndarray) -> float:
    """The cheapest (b, z) over all breakpoints of b, their midpoints, and all sides on the plane."""
    s, margin = problem.scores(w), problem.side_margin
    breaks = np.concatenate([margin - s, -margin - s, 1 - problem.X @ w, -1 - problem.X @ w, [-100, 100]])
    breaks = np.unique(breaks)
    best = np.inf
    for b in np.append(breaks, (breaks[1:] + breaks[:-1]) / 2):
        f = s + b
        positive = (f >= margin - 1e-9) & (problem.side >= 0)
        negative = (f <= -margin + 1e-9) & (problem.side <= 0)
        if np.any(~positive & ~negative):
            continue
        either = np.flatnonzero(positive & negative)
        z = (positive & ~negative).astype(np.int8)
        for mask in range(2 ** len(either)):
            z[either] = [mask >> i & 1 for i in range(len(either))]
            best = min(best, problem.objective(w, b, z))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_best_intercept_equals_enumeration_with_ties_weights_sides_and_margin(seed):
    rng = np.random.default_rng(seed)
    infeasible = 0
    for _ in range(40):
        n, m = rng.integers(1, 5), int(rng.integers(0, 7))
        weights = rng.integers(1, 4, m) if rng.random() < 0.5 else rng.uniform(0.5, 2, m)
        problem = Problem(
            rng.integers(-2, 3, (n, 2)),
            rng.choice([-1, 1], n),
            rng.integers(-2, 3, (m, 2)),
            float(np.floor(weights.sum() * rng.random())),
            weights=weights,
            side=rng.choice([0, 0, 0, 1, -1], m),
            side_margin=rng.choice([0, 0.3]),
        )
        w = rng.integers(-1, 2, 2).astype(float)
        found, expected = problem.best_intercept(w), best_by_enumeration(problem, w)
        if found is None:
            infeasible += 1
            assert expected == np.inf
        else:
            assert found.exact
            assert problem.objective(w, found.b, found.z) == pytest.approx(expected, abs=1e-9)
            assert 0.5 * w @ w + found.cost == pytest.approx(expected, abs=1e-9)
            assert problem.violation(w, found.b, found.z) <= 1e-9
    assert infeasible < 40


def test_duplicated_points_on_the_plane_are_split_to_meet_the_count():
    problem = Problem([[1.0], [-1.0]], [1, -1], np.zeros((7, 1)), 3)
    found = problem.best_intercept(np.array([1.0]))
    assert found.b == 0.0
    assert found.z.sum() == 3


def test_weighted_tie_is_split_by_subset_sum_not_by_order():
    problem = Problem([[1.0], [-1.0]], [1, -1], np.zeros((4, 1)), 7, weights=[5, 4, 3, 9])
    found = problem.best_intercept(np.array([1.0]))
    assert problem.count(found.z) == 7  # 4 + 3, which no prefix in the given order reaches


def test_large_fractional_tie_is_flagged_as_inexact():
    rng = np.random.default_rng(0)
    problem = Problem([[1.0], [-1.0]], [1, -1], np.zeros((40, 1)), 17, weights=rng.uniform(0.5, 1.5, 40))
    found = problem.best_intercept(np.array([1.0]))
    assert not found.exact
    assert abs(problem.count(found.z) - 17) < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_nearest_subset_matches_enumeration(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        weights = rng.integers(1, 20, rng.integers(1, 9)).astype(float)
        target = rng.uniform(-2, weights.sum() + 2)
        chosen, exact = nearest_subset(weights, target)
        sums = [
            weights[[bool(mask >> i & 1) for i in range(len(weights))]].sum()
            for mask in range(2 ** len(weights))
        ]
        assert exact
        assert abs(weights[chosen].sum() - target) == pytest.approx(min(abs(s - target) for s in sums))


def test_hinge_sum_and_its_minimisers():
    f, y, C = np.array([0.0, 0.0, 2.0]), np.array([1.0, -1.0, -1.0]), np.array([1.0, 2.0, 1.0])
    hinge = HingeSum(f, y, C)
    grid = np.linspace(-6, 6, 241)
    direct = [float(C @ np.maximum(0, 1 - y * (f + b))) for b in grid]
    np.testing.assert_allclose(hinge(grid), direct, atol=1e-12)
    low, high = hinge.minimisers()
    assert low <= grid[np.argmin(direct)] <= high


def test_one_class_has_an_unbounded_range_of_minimisers():
    assert HingeSum(np.zeros(1), np.ones(1), np.ones(1)).minimisers() == (1.0, np.inf)
    assert HingeSum(np.zeros(1), -np.ones(1), np.ones(1)).minimisers() == (-np.inf, -1.0)
