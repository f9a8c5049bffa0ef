"""The group bound: rows that cannot all flip close nodes, and never one that holds the optimum."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.convex.svm import solve_convex
from cs3vm.engine.core.arrays import D_MIN, GROUP_SIGN
from cs3vm.engine.core.relaxation import Relaxation
from cs3vm.engine.exact.blocks import STAYS
from cs3vm.engine.exact.crew import Options
from cs3vm.engine.exact.incumbent import Incumbent
from cs3vm.engine.exact.tree import Tree
from cs3vm.engine.heuristic.improve import improve
from cs3vm.model.result import Result
from cs3vm.solvers.bnb_ import solve
from tests.engine.exact.test_tree import check
from tests.oracle import brute_force, brute_force_in_the_plane, svm_with_sides


def biased_problem(rng: np.random.Generator, n: int, m: int, d: int) -> Problem:
    """Labels from one end of the data: the SVM's count is far from the wanted one and many rows must flip."""
    points = rng.normal(size=(n + m, d)) * 10.0 ** rng.uniform(-1, 1)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    points[:n] += np.std(points) * (0.5 * y[:, None] + rng.normal(size=d))
    weights = rng.integers(1, 4, m) if rng.random() < 0.4 else np.ones(m)
    return Problem(
        points[:n],
        y,
        points[n:],
        float(rng.integers(1, int(weights.sum()) // 2)),
        weights=weights,
        C=10.0 ** rng.uniform(-1, 1),
        count_penalty=10.0 ** rng.uniform(-1, 1),
    )


def hard_problem(seed: int, count_penalty: float = 1.0) -> Problem:
    """Noise: thousands of nodes, many of which groups close."""
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(30, 6)), rng.normal(size=(70, 6))
    return Problem(X, np.where(rng.random(30) < 0.7, 1, -1), U, 20, count_penalty=count_penalty)


@pytest.mark.parametrize("batch", range(4))
def test_against_all_lines(batch: int) -> None:
    rng = np.random.default_rng([batch, 41])
    for _ in range(12):
        problem = biased_problem(rng, int(rng.integers(4, 20)), int(rng.integers(10, 24)), 2)
        result = solve(problem, joint=bool(rng.random() < 0.5), time_limit=600.0)
        check(problem, result, brute_force_in_the_plane(problem))


def test_the_oracle_in_the_plane_is_brute_force() -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        problem = biased_problem(rng, 6, 6, 2)
        assert brute_force_in_the_plane(problem) == pytest.approx(brute_force(problem), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("node_limit", [1, 10, 30])
def test_no_group_can_flip_below_the_cutoff(node_limit: int, times: int) -> None:
    """What the engine's groups and blocks at some node claim, checked row by row with another solver."""
    problem = hard_problem(0)
    problem = replace(problem, U=np.repeat(problem.U, times, axis=0), weights=None, side=None)
    tree = stopped_tree(problem, node_limit)
    groups = groups_of(tree)
    assert len(groups) > 0
    for members, stay in groups:
        if node_limit == 1 and stay == 1:  # at the root; later it may be left of a block
            assert len(np.unique(problem.U[members], axis=0)) == len(members)  # of equal rows one
        assert_so_many_stay(tree, members, stay)


def new_tree(problem: Problem, start: Result, **options: Any) -> Tree:
    """A search that begins with the heuristic's answer."""
    incumbent = Incumbent(problem)
    incumbent.offer(start)
    options = Options(np.inf, joint=False, **options)
    tree = Tree(problem, incumbent, options, 0.0, Relaxation(problem), 0.0, solve_convex(problem))
    tree.update_limits()
    return tree


def stopped_tree(problem: Problem, node_limit: int) -> Tree:
    """A search that has ended at some node."""
    tree = new_tree(problem, improve(problem, time_limit=600.0), node_limit=node_limit)
    assert tree.run() == "nodes"
    return tree


def groups_of(tree: Tree) -> list[tuple[np.ndarray, int]]:
    """The rows of each group of the last node that are still free to flip, and how many of them stay."""
    node = tree.relaxation.node
    number, more = node.group % STAYS, node.group // STAYS
    groups = []
    for g in range(1, int(number.max()) + 1):
        members = np.flatnonzero(number == g)
        stay = (
            1 + int(more[members].max(initial=0)) - int(np.sum(node.side[members] == node.info[GROUP_SIGN]))
        )
        if stay > 0 and len(members) > 0:
            groups.append((members[node.side[members] == 0], stay))
    return groups


def forced_value(tree: Tree, rows: np.ndarray, left: Sequence[int]) -> float:
    """The SVM value at the last node with these rows forced over but for some, by another solver."""
    sides = tree.relaxation.node.side.copy()
    sides[rows] = -tree.relaxation.node.info[GROUP_SIGN]
    sides[list(left)] = 0
    return svm_with_sides(tree.problem, sides)


def assert_so_many_stay(tree: Tree, rows: np.ndarray, stay: int) -> None:
    """Forcing all of the rows over but one fewer than must stay costs the cutoff, whichever these are."""
    level = tree.limits.cutoff - tree.problem.count_penalty * tree.relaxation.node.out[D_MIN]
    for left in itertools.combinations(rows, min(stay - 1, len(rows))):
        assert forced_value(tree, rows, left) >= level * (1.0 - 1e-6)


def test_groups_close_nodes_and_change_nothing_else() -> None:
    problem = hard_problem(1)
    start = improve(problem, time_limit=600.0)
    options = {"start": start, "time_limit": 600.0}
    first, second = (solve(problem, **options) for _ in range(2))
    assert first.is_optimal
    assert first.extras["group_closed"] > 0
    assert (first.n_nodes, first.extras["group_closed"]) == (second.n_nodes, second.extras["group_closed"])
    reference = solve(problem, cutoff=first.objective * 0.999, time_limit=600.0)
    assert not reference.found
