"""Fixed rules with a margin: the sides stay, the plane gets steeper."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem, solve


def drawn(seed, margin):
    rng = np.random.default_rng(seed)
    n, m = 10, 40
    U = rng.normal(size=(m, 2)) if seed % 2 else rng.integers(-2, 3, (m, 2)).astype(float)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    y[:2] = -1, 1
    return Problem(X, y, U, int(rng.integers(0, m + 1)), side_margin=margin)


@pytest.mark.parametrize("seed", range(12))
def test_the_count_is_as_near_as_the_scores_allow(seed):
    free, strict = solve(drawn(seed, 0.0), "top_tau"), solve(drawn(seed, 0.01), "top_tau")
    problem = strict.problem
    assert strict.violation <= 1e-9
    scores = np.sort(problem.scores(free.coef))[::-1]
    cuts = np.flatnonzero(np.append(np.append(np.inf, scores[:-1] - scores[1:]), np.inf) > 1e-8)
    assert abs(strict.count - problem.n_positive) == np.abs(cuts - problem.n_positive).min()


@pytest.mark.parametrize("seed", range(12))
def test_the_svm_keeps_its_sides(seed):
    free, strict = solve(drawn(seed, 0.0), "svm"), solve(drawn(seed, 0.01), "svm")
    assert strict.violation <= 1e-9
    np.testing.assert_array_equal(free.z, strict.z)
