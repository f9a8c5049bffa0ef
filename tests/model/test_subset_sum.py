"""The nearest subset sum against all subsets, and in no time where weights are large."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from cs3vm import Problem, solve
from cs3vm.model import subset_sum
from cs3vm.model.subset_sum import nearest_subset


def nearest(weights: np.ndarray, target: float) -> float:
    """How near any subset comes."""
    subsets = chain.from_iterable(combinations(weights, k) for k in range(len(weights) + 1))
    return min(abs(sum(subset) - target) for subset in subsets)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("quick", [0, 12])
def test_the_nearest_of_all_subsets(seed, quick, monkeypatch):
    monkeypatch.setattr(subset_sum, "SUBSET_QUICK_LIMIT", quick)  # 0: by the table
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 40, rng.integers(1, 9)).astype(float)
    target = float(rng.uniform(-3, weights.sum() + 3))
    chosen, exact = nearest_subset(weights, target)
    assert exact
    assert len(set(chosen.tolist())) == len(chosen)
    assert abs(weights[chosen].sum() - target) == pytest.approx(nearest(weights, target), abs=1e-9)


def test_large_integer_weights_are_no_walk_through_all_sums(monkeypatch):
    """Each distance from the target was looked at, a shift of a million bits each time."""
    monkeypatch.setattr(subset_sum, "SUBSET_QUICK_LIMIT", 0)
    weights = np.array([300001.0, 400003.0, 250007.0, 123457.0, 654321.0])
    chosen, exact = nearest_subset(weights, 950000.0)
    assert exact
    assert abs(weights[chosen].sum() - 950000.0) == nearest(weights, 950000.0)


def test_a_fit_with_such_weights_ends():
    weights = [300001, 400003, 250007, 123457, 654321]
    problem = Problem([[3.0], [1.0]], [1, -1], np.full((5, 1), 2.0), 700001, weights=weights)
    assert solve(problem, time_limit=20).is_optimal
