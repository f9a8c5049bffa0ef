"""Equal rows as one row: the same problem, and answers for the rows that were given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cs3vm import Problem, Status, verify
from cs3vm.model.equal_rows import join_equal_rows
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
    rng, joined = np.random.default_rng([kind, 17]), 0
    for _ in range(15):
        problem = repeated(rng, int(rng.integers(3, 8)), kind)
        optimum = brute_force(problem)
        result = solve(problem, time_limit=600.0)
        joined += result.extras.get("engine_rows", problem.m) < problem.m
        if np.isinf(optimum):
            assert result.status is Status.INFEASIBLE
            continue
        check(problem, result, optimum)
        assert result.problem is problem
        assert len(result.z) == problem.m
        if not np.any(problem.side):
            for row in np.unique(problem.U, axis=0):
                assert len(np.unique(result.z[np.all(row == problem.U, axis=1)])) == 1
    assert joined > 3


@pytest.mark.parametrize("kind", range(6))
def test_every_labeling_costs_the_same(kind: int) -> None:
    rng = np.random.default_rng([kind, 18])
    for _ in range(20):
        problem = repeated(rng, 30, kind)
        joined = join_equal_rows(problem)
        assert joined is not None
        assert joined.problem.m == len(joined.first) < problem.m
        assert np.array_equal(problem.U[joined.first][joined.of_row], problem.U)
        assert np.array_equal(joined.problem.side[joined.of_row], problem.side)
        w, b = rng.normal(size=problem.d), float(rng.normal())
        z = rng.integers(0, 2, joined.problem.m).astype(np.int8)
        value = problem.objective(w, b, z[joined.of_row])
        assert joined.problem.objective(w, b, z) == pytest.approx(value, rel=1e-12)
        assert np.all(joined.problem.totals.rounding >= problem.totals.rounding)
        for g in range(len(problem.totals)):
            assert set(joined.of_row[problem.totals.rows[g]]) == set(joined.problem.totals.rows[g])


def test_rows_that_may_lie_on_the_plane_are_not_joined() -> None:
    """Two equal rows, one positive: with ε = 0 a plane through them meets the total."""
    split = Problem([[1.0], [-1.0]], [1, -1], [[0.0], [0.0]], 1)
    assert join_equal_rows(split) is None
    assert solve(split).eta == (0.0, 0.0)
    proper = replace(split, side_margin=0.1)
    assert join_equal_rows(proper) is not None
    assert sum(solve(proper).eta) == 1.0


def test_few_equal_rows_are_left_alone() -> None:
    U = np.vstack([np.arange(40.0)[:, None], [[3.0]]])
    assert join_equal_rows(Problem([[1.0], [-1.0]], [1, -1], U, 7, side_margin=0.1)) is None


def test_starts_and_limits_are_those_of_the_given_rows() -> None:
    problem = repeated(np.random.default_rng(3), 12)
    best = solve(problem, time_limit=600.0)
    again = solve(problem, start=best, time_limit=600.0)
    assert again.objective == pytest.approx(best.objective, rel=1e-9)
    assert not solve(problem, start=best, cutoff=0.9 * best.objective, time_limit=600.0).found
    assert len(solve(problem, start=best.coef, node_limit=1, time_limit=600.0).z) == problem.m


@pytest.mark.parametrize("seed", [1, 4, 6, 9])
def test_proofs_are_about_the_given_rows(seed: int, tmp_path: Path) -> None:
    problem = repeated(np.random.default_rng(seed), 14, kind=1)
    best = solve(problem, proof=tmp_path / "proof", time_limit=600.0)
    assert best.extras["proof"]
    assert best.extras["engine_rows"] < problem.m
    assert verify(problem, tmp_path / "proof")
