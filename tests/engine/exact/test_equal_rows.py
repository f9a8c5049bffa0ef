"""Equal rows of all kinds, with weights, fixed sides and totals: the optimum is that of brute force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cs3vm import Problem, Status, verify
from cs3vm.engine.core import relaxation
from cs3vm.model.totals import Total, Totals
from cs3vm.solvers.bnb_ import solve
from tests.engine.exact.test_tree import check
from tests.oracle import brute_force

MARGINS = (1e-3, 0.1, 1.0)


def repeated(rng: np.random.Generator, m: int, kind: int = 0) -> Problem:
    """A few kinds of rows, each several times: with weights, fixed sides and totals that may overlap."""
    n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    some = rng.integers(-2, 3, (int(rng.integers(1, 5)), d)).astype(float)
    U = some[rng.integers(len(some), size=m)]
    U[U == 0.0] *= rng.choice([-1.0, 1.0], int(np.sum(U == 0.0)))  # there are two zeros, and they are equal
    weights = [np.ones(m), rng.integers(1, 5, m).astype(float), rng.uniform(0.1, 3.0, m)][kind % 3]
    side = np.where(rng.random(m) < 0.25, rng.choice([-1, 1], m), 0) if rng.random() < 0.3 else np.zeros(m)
    total = float(weights[rng.random(m) < 0.5].sum())
    problem = Problem(
        rng.normal(size=(n, d)),
        np.where(rng.random(n) < 0.6, 1, -1),
        U,
        total,
        weights=weights,
        side=side,
        C=10.0 ** rng.uniform(-1, 1),
        count_penalty=10.0 ** rng.uniform(-1, 1),
        side_margin=float(rng.choice(MARGINS)),
    )
    if kind < 3:
        return problem
    totals = []
    for _ in range(int(rng.integers(1, 4))):
        rows = np.flatnonzero(rng.random(m) < 0.7)
        low = float(weights[rows][rng.random(len(rows)) < 0.5].sum())
        totals.append(Total(rows, low, low if rng.random() < 0.5 else np.inf))
    return replace(problem, n_positive=Totals(totals))


@pytest.mark.parametrize("kind", range(6))
def test_against_brute_force(kind: int) -> None:
    rng = np.random.default_rng([kind, 17])
    for _ in range(15):
        problem = repeated(rng, int(rng.integers(3, 8)), kind)
        optimum = brute_force(problem)
        result = solve(problem, time_limit=600.0)
        if np.isinf(optimum):
            assert result.status is Status.INFEASIBLE
            continue
        check(problem, result, optimum)
        assert result.problem is problem
        assert len(result.z) == problem.m
        if not np.any(problem.side):
            for row in np.unique(problem.U, axis=0):
                assert len(np.unique(result.z[np.all(row == problem.U, axis=1)])) == 1


def test_rows_on_the_plane_are_counted_each_for_itself() -> None:
    """Two equal rows, one positive: with ε = 0 a plane through them meets the total, with ε > 0 none does."""
    split = Problem([[1.0], [-1.0]], [1, -1], [[0.0], [0.0]], 1)
    assert solve(split).eta == (0.0, 0.0)
    assert sum(solve(replace(split, side_margin=0.1)).eta) == 1.0


@pytest.mark.parametrize("seed", [1, 4, 6, 9])
def test_proofs_are_about_the_given_rows(seed: int, tmp_path: Path) -> None:
    problem = repeated(np.random.default_rng(seed), 14, kind=1)
    best = solve(problem, proof=tmp_path / "proof", time_limit=600.0)
    assert best.extras["proof"]
    assert verify(problem, tmp_path / "proof")


# -- what is found out about a row holds for those that equal it ------------------------------------
@pytest.mark.parametrize("rows", [np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((5, 1)), np.zeros((4, 0))])
def test_all_rows_in_one_circle(rows):
    first, twin = relaxation._equal(rows)
    m = len(rows)
    np.testing.assert_array_equal(first, np.zeros(m))
    np.testing.assert_array_equal(twin, (np.arange(m) + 1) % max(m, 1))


def test_circles_of_equal_rows() -> None:
    rows = np.array([[1.0], [2.0], [1.0], [-0.0], [0.0], [1.0], [3.0]])
    first, twin = relaxation._equal(rows)
    assert first.tolist() == [0, 1, 0, 3, 3, 0, 6]
    assert twin.tolist() == [2, 1, 5, 4, 3, 0, 6]


def each_by_itself(rows):
    return np.arange(len(rows)), np.arange(len(rows))


def crowd(seed: int, kinds: int, most: int, margin: float, several: bool = False, d: int = 3) -> Problem:
    """Noise, and every unlabelled row up to so many times: most nodes are closed by groups."""
    rng = np.random.default_rng(seed)
    X, some = rng.normal(size=(16, d)), rng.normal(size=(kinds, d))
    U = some[np.repeat(np.arange(kinds), rng.integers(1, most + 1, kinds))]
    U = U[rng.permutation(len(U))]
    weights = [np.ones(len(U)), rng.integers(1, 4, len(U)).astype(float)][seed % 2]
    total: float | Totals = float(weights.sum() // 4)
    if several:
        half = len(U) // 2
        parts = [np.arange(half), np.arange(half // 2, len(U))]  # equal rows have different totals
        total = Totals([Total(rows, float(weights[rows].sum() // 4)) for rows in parts])
    y = np.where(rng.random(16) < 0.7, 1, -1)
    return Problem(X, y, U, total, weights=weights, side_margin=margin)


@pytest.mark.parametrize("several", [False, True], ids=["one total", "two totals"])
@pytest.mark.parametrize("margin", [0.0, 1e-3, 0.2])
def test_the_optimum_of_every_row_by_itself(margin, several, monkeypatch):
    problems = [crowd(seed, 18, 5, margin, several) for seed in range(6)]
    found = [solve(problem, time_limit=600.0, boxes=False) for problem in problems]
    monkeypatch.setattr(relaxation, "_equal", each_by_itself)
    for problem, result in zip(problems, found, strict=True):
        expected = solve(problem, time_limit=600.0, boxes=False)
        check(problem, result, expected.objective)
        assert expected.status is Status.OPTIMAL
    assert sum(result.extras["group_closed"] for result in found) > 0


@pytest.mark.parametrize("margin", [0.0, 1e-3])
def test_a_node_costs_as_much_as_with_one_row_of_each_kind(margin, monkeypatch):
    problem = crowd(0, 40, 8, margin, d=6)
    once = solve(problem, node_limit=50, time_limit=600.0)
    monkeypatch.setattr(relaxation, "_equal", each_by_itself)
    often = solve(problem, node_limit=50, time_limit=600.0)
    assert once.extras["pivots"] < 0.5 * often.extras["pivots"]
    assert once.extras["flips"] < often.extras["flips"]
    assert once.extras["pairs"] < 0.2 * often.extras["pairs"]
