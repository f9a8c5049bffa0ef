"""Only the rows that can decide are sorted: the best intercept is that of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem, Total, Totals
from cs3vm.engine.heuristic import judge
from cs3vm.model import intercept_of_several


def problem_with(rng: np.random.Generator, shape: str) -> Problem:
    m, n, d = int(rng.integers(50, 600)), int(rng.integers(2, 20)), 3
    U, X = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    if shape == "rounded":
        U = np.round(U, 1)
    if shape == "few values":
        U, X = np.round(U), np.round(X)
    if shape == "two clusters":
        U[: m // 3] += 50.0
    weights = np.ones(m) if rng.random() < 0.5 else rng.integers(1, 9, m) / 4.0
    groups = rng.integers(0, int(rng.choice([1, 2, 7])), m)
    totals = []
    for g in np.unique(groups):
        own = np.flatnonzero(groups == g)
        low = np.floor(0.8 * weights[own].sum() * rng.random())
        totals.append(Total(own, low, low + float(rng.choice([0, 3]))))
    if rng.random() < 0.5:
        totals.append(Total(None, np.floor(0.3 * weights.sum()), penalty=2.0))
    side = np.zeros(m, dtype=int)
    if rng.random() < 0.3:
        side[rng.integers(0, m, 2)] = rng.choice([-1, 1], 2)
    margin = float(rng.choice([0.0, 1.0 / m, 1e-3, 0.05]))
    return Problem(
        X, rng.choice([-1, 1], n), U, Totals(totals), weights=weights, side=side, side_margin=margin
    )


@pytest.mark.parametrize("shape", ["normal", "rounded", "few values", "two clusters"])
@pytest.mark.parametrize("seed", range(25))
def test_a_window_changes_nothing(seed, shape, monkeypatch):
    rng = np.random.default_rng(seed)
    problem = problem_with(rng, shape)
    ranking = judge.Ranking(problem)
    for w in (rng.normal(size=3), 9.0 * rng.normal(size=3), np.eye(3)[0], np.zeros(3)):
        found, judged = [], []
        for rows in (0, 10**6):
            monkeypatch.setattr(intercept_of_several, "WINDOW_ROWS", rows)
            monkeypatch.setattr(judge, "SEVERAL_WINDOW_ROWS", rows)
            found.append(problem.best_intercept(w))
            judged.append(ranking.judge(problem.X @ w, problem.U @ w))
        assert (found[0] is None) == (found[1] is None)
        assert judged[0].cost == pytest.approx(judged[1].cost, rel=1e-9, abs=1e-9)
        if found[0] is not None:
            assert found[0].cost == pytest.approx(found[1].cost, rel=1e-9, abs=1e-9)
            assert 0.5 * w @ w + found[0].cost == pytest.approx(
                problem.objective(w, found[0].b, found[0].z), rel=1e-9
            )
            assert problem.violation(w, found[0].b, found[0].z) <= 1e-7


@pytest.mark.parametrize("seed", range(30))
def test_scores_that_all_tie_are_not_sorted(monkeypatch, seed):
    problem = problem_with(np.random.default_rng([seed, 9]), "normal")
    w = np.zeros(problem.d)
    every = problem.best_intercept(w)
    monkeypatch.setattr(intercept_of_several, "WINDOW_ROWS", 10)
    few = problem.best_intercept(w)
    assert (few is None) == (every is None)
    if few is not None and every is not None:
        assert few.exact == every.exact
        assert few.cost == pytest.approx(every.cost, rel=1e-12)
        assert problem.violation(w, few.b, few.z) <= 1e-9
        assert problem.objective(w, few.b, few.z) == pytest.approx(few.cost, rel=1e-12)
