"""Pair values in portions: in an order that covers all, and bounds that hold whatever part is known."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.engine.exact import pair_values, tree
from cs3vm.engine.exact.pair_values import merging_blocks
from cs3vm.solvers.bnb_ import solve
from tests.engine.exact.test_groups import biased_problem


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 8, 9, 16, 23, 64, 100])
def test_every_pair_comes_once_and_small_blocks_first(rows: int) -> None:
    pairs = [(a, b) for a, first, last in merging_blocks(rows, 8) for b in range(first, last)]
    assert len(pairs) == len(set(pairs)) == rows * (rows - 1) // 2
    assert all(b < a for a, b in pairs)
    apart = [max((a ^ b).bit_length(), 3) for a, b in pairs]
    assert apart == sorted(apart)


@pytest.mark.parametrize("block", [2, 5, 64])
@pytest.mark.parametrize("seed", range(4))
def test_a_part_of_the_pairs_bounds_the_optimum(
    seed: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped early, gone on with later, or all at once: the bound holds, and the answer is the same."""
    problem = biased_problem(np.random.default_rng([seed, 3]), 12, 40, 3)
    best = solve(problem, joint=False, time_limit=600.0)
    assert best.is_optimal
    monkeypatch.setattr(pair_values, "_BLOCK", block)
    roots = []
    for work, portion in ((0.0, np.inf), (0.0, 1.01), (3e4, 1.01), (1e12, 1.01)):
        monkeypatch.setattr(tree, "_PAIR_WORK", work)
        monkeypatch.setattr(tree, "_PORTION", portion)
        found = solve(problem, time_limit=600.0)
        assert found.objective == pytest.approx(best.objective, rel=2e-6)
        roots.append(solve(problem, node_limit=1, time_limit=600.0))
        assert roots[-1].lower_bound <= best.objective * (1.0 + 1e-9)
    assert roots[0].lower_bound <= roots[-1].lower_bound
    assert roots[-1].extras["pairs"] >= roots[0].extras["pairs"]


def test_pairs_go_on_while_the_tree_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(30, 6)), rng.normal(size=(70, 6))
    problem = Problem(X, np.where(rng.random(30) < 0.7, 1, -1), U, 20)
    monkeypatch.setattr(tree, "_PAIR_WORK", 0.0)
    monkeypatch.setattr(pair_values, "_BLOCK", 4)
    early = solve(problem, node_limit=1, time_limit=600.0)
    late = solve(problem, node_limit=300, time_limit=600.0)
    assert early.extras["pairs"] == 0
    assert late.extras["pairs"] > 0


def test_the_root_alone_never_claims_too_much() -> None:
    """Groups and the graph raise the bound of the root: against the optimum, with weights and fixed sides."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        problem = biased_problem(rng, int(rng.integers(4, 12)), int(rng.integers(10, 40)), 3)
        side = np.where(rng.random(problem.m) < 0.1, rng.choice([-1, 1], problem.m), 0)
        problem = problem.with_side(side) if rng.random() < 0.5 else problem
        best = solve(problem, time_limit=600.0)
        root = solve(problem, node_limit=1, time_limit=600.0)
        assert root.lower_bound <= best.objective * (1.0 + 1e-9)
        assert root.extras["root_bound"] <= best.objective * (1.0 + 1e-9)
