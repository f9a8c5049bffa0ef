"""The second oracle against brute force, and the engine against it where brute force cannot go."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem, Status
from cs3vm.solvers.bnb_ import solve
from tests.oracle import brute_force
from tests.oracle_cells import cells_optimum, faces

BATCHES, BATCH_SIZE = 10, 40


def flat_problem(rng: np.random.Generator, m: int, d: int | None = None) -> Problem:
    """One or two features, with equal and collinear rows, weights, fixed sides and margins."""
    d = int(rng.integers(1, 3)) if d is None else d
    n = int(rng.integers(1, 8))
    kind = rng.integers(4)
    points = rng.normal(size=(n + m, d))
    if kind == 1:
        points = rng.integers(-2, 3, (n + m, d)).astype(float)
    elif kind == 2:
        points = np.round(points, 1)
    elif kind == 3 and d == 2:
        points[:, 1] = 2.0 * points[:, 0] - 1.0  # on a line, up to rounding
    if rng.random() < 0.3:
        points[n + rng.integers(m, size=2)] = points[n + rng.integers(m)]
    y = np.where(rng.random(n) < 0.6, 1, -1)
    weights = rng.integers(1, 6, m).astype(float) if rng.random() < 0.4 else np.ones(m)
    side = np.where(rng.random(m) < 0.15, rng.choice([-1, 1], m), 0) if rng.random() < 0.3 else None
    return Problem(
        points[:n],
        y,
        points[n:],
        int(rng.integers(0, int(weights.sum()) + 1)),
        weights=weights,
        side=side,
        C=10.0 ** rng.uniform(-1, 1),
        count_penalty=10.0 ** rng.uniform(-1, 1),
        side_margin=0.0 if rng.random() < 0.6 else float(rng.choice([0.01, 0.3, 1.0])),
    )


@pytest.mark.parametrize("batch", range(BATCHES))
def test_cells_agree_with_brute_force(batch: int) -> None:
    rng = np.random.default_rng([batch, 12])
    compared = 0
    for _ in range(BATCH_SIZE):
        problem = flat_problem(rng, int(rng.integers(1, 8)))
        try:
            expected, found = brute_force(problem), cells_optimum(problem)
        except ArithmeticError:
            continue
        compared += 1
        assert found == pytest.approx(expected, rel=1e-6, abs=3e-8)
    assert compared > BATCH_SIZE // 2


def test_number_of_cells() -> None:
    """m rows in general position: m² - m + 2 cells; on a line or with one feature 2m."""
    rng = np.random.default_rng(0)
    for m in (3, 5, 10, 25):
        rows = sorted(map(tuple, rng.integers(-(10**9), 10**9, (m, 2)).tolist()))
        assert len({face for face, _ in faces(rows, cells_only=True)}) == m * m - m + 2
        line = [(i, 3 * i) for i in range(m)]
        assert len({face for face, _ in faces(line, cells_only=True)}) == 2 * m
        assert len({face for face, _ in faces([(i,) for i in range(m)], cells_only=True)}) == 2 * m


@pytest.mark.parametrize("seed", range(40))
def test_engine_against_the_cells(seed: int) -> None:
    rng = np.random.default_rng([seed, 60])
    problem = flat_problem(rng, int(rng.integers(20, 61)), d=2 if seed % 4 else 1)
    result = solve(problem, time_limit=120.0)
    if result.status is Status.INFEASIBLE:
        assert cells_optimum(problem) == np.inf
        return
    assert result.status is Status.OPTIMAL
    error = 1e-6 * result.objective + 3e-8
    known = result.objective + 10 * error  # a point that was found: only faces below it matter
    assert abs(cells_optimum(problem, known) - result.objective) <= error
