"""Blocks: of several groups together more rows stay than one of each, and as many as is claimed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from cs3vm import Problem, Totals
from cs3vm.engine.core.arrays import BLOCK_NUMBERS, CLOSING, LEAST_PRICE
from cs3vm.engine.exact.blocks import CONFLICTS, hitting_set, unite_groups
from cs3vm.engine.heuristic.improve import improve
from tests.engine.exact.test_groups import (
    assert_so_many_stay,
    forced_value,
    groups_of,
    hard_problem,
    new_tree,
    stopped_tree,
)


@pytest.mark.parametrize("batch", range(3))
def test_the_fewest_rows_that_hit_all_conflicts(batch: int) -> None:
    rng = np.random.default_rng(batch)
    block = np.zeros(BLOCK_NUMBERS, dtype=np.int64)
    for _ in range(60):
        n_rows, n = int(rng.integers(2, 9)), int(rng.integers(1, 12))
        conflicts = [1 + int(rng.integers(2**n_rows - 1)) for _ in range(n)]
        block[CONFLICTS : CONFLICTS + n] = conflicts
        hits = [rows for rows in range(2**n_rows) if all(rows & conflict for conflict in conflicts)]
        fewest = min(rows.bit_count() for rows in hits)
        for most in range(1, n_rows + 1):
            found = hitting_set(block, n, most)
            assert (found in hits and found.bit_count() <= most) if most >= fewest else found == 0


def test_so_many_rows_of_a_block_stay() -> None:
    """Every set of rows that would be too many to flip costs the cutoff, and no smaller number does.

    Checked with another solver at nodes of several searches.
    """
    gained = exhausted = 0
    for seed, penalty in itertools.product(range(4), (1.0, 100.0)):
        tree = stopped_tree(hard_problem(seed, penalty), 20)
        r = tree.relaxation
        node, before = r.node, groups_of(tree)
        node.mark[:] = node.group
        level = tree.limits.cutoff - float(node.out[LEAST_PRICE])
        start = float(sum(stay for _, stay in before))
        arrays = (r.rows, r.box, r.base, r.spare, r.tmp, node, tree.limits)
        weight = unite_groups(*arrays, start, np.inf, level)
        node.group[:] = node.mark
        after = groups_of(tree)
        assert {j for rows, _ in after for j in rows} == {j for rows, _ in before for j in rows}
        assert sum(stay for _, stay in after) == weight >= start
        gained += int(weight - start)
        inherited = {tuple(rows) for rows, stay in before if stay > 1}
        for rows, stay in after:
            assert_so_many_stay(tree, rows, stay)
            if 1 < stay < len(rows) and tuple(rows) not in inherited:  # as many as are left can flip
                values = (forced_value(tree, rows, left) for left in itertools.combinations(rows, stay))
                assert any(value < level * (1.0 + 1e-6) for value in values)
                exhausted += 1
    assert gained > 3
    assert exhausted > 1


def variant(name: str, seed: int) -> Problem:
    """A problem whose search takes hundreds of nodes."""
    rng = np.random.default_rng(seed)
    m = 60
    X, U = rng.normal(size=(30, 6)), rng.normal(size=(m, 6))
    problem = Problem(X, np.where(rng.random(30) < 0.7, 1, -1), U, 18)
    if name == "margin":
        return replace(problem, side_margin=1e-3)
    if name == "totals":
        halves = Totals.by_group(np.arange(m) % 2, {0: 8, 1: 11})
        return replace(problem, n_positive=halves)
    if name == "weights":
        weights = np.repeat([1.0, 2.0], m // 2)
        return replace(problem, weights=weights, n_positive=28)
    if name == "equal rows":
        return replace(problem, U=np.repeat(problem.U[: m // 2], 2, axis=0))
    return problem


@pytest.mark.parametrize("name", ["plain", "margin", "totals", "weights", "equal rows"])
def test_blocks_close_nodes_and_change_no_optimum(name: str) -> None:
    closed = stays = fewer = 0
    for seed in range(6):
        problem = variant(name, seed)
        start = improve(problem, time_limit=600.0)
        with_blocks, without = new_tree(problem, start), new_tree(problem, start)
        without.relaxation.node.out[CLOSING] = -1e9  # never enough
        assert {with_blocks.run(), without.run()} <= {"done", "gap"}
        assert with_blocks.incumbent.value == pytest.approx(without.incumbent.value, rel=2e-6)
        counters = with_blocks.counters()
        closed += counters["block_closed"]
        stays += counters["block_stays"]
        fewer += without.n_nodes - with_blocks.n_nodes
        assert without.counters()["block_tests"] == 0
    assert closed > 0
    assert stays > 0
    assert fewer > 0
