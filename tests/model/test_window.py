"""Values at given ranks of very many scores."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.engine.heuristic.judge import Ranking
from cs3vm.model.window import MANY, SAMPLE, ranked_values


@pytest.mark.parametrize("kind", ["normal", "equal", "two", "sorted", "misleading"])
@pytest.mark.parametrize("place", [0, 1, 5000, MANY, 3 * MANY // 2 - 1])
def test_it_is_the_value_of_a_sort(kind, place):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(3 * MANY // 2)
    if kind == "equal":
        scores[:] = 2.0
    elif kind == "two":
        scores = np.where(scores > 0.3, 1.0, -1.0)
    elif kind == "sorted":
        scores.sort()
    elif kind == "misleading":  # those that are looked at first tell nothing about the others
        scores[:: len(scores) // SAMPLE] += 100.0
    places = [place, place + 1] if place + 1 < len(scores) else [place]
    assert np.array_equal(ranked_values(scores, places), np.sort(scores)[places])


@pytest.mark.parametrize("penalty", [0.003, 0.3, 30.0])
@pytest.mark.parametrize("total", [0, 7, 1500, 5999, 6000])
@pytest.mark.parametrize("one_class", [False, True])
def test_the_rows_that_are_left_out_could_not_be_best(monkeypatch, penalty, total, one_class):
    rng = np.random.default_rng(total)
    X, U = rng.standard_normal((200, 1)) + 0.5, np.round(rng.standard_normal((6000, 1)), 2)
    y = np.where(one_class | (rng.random(200) < 0.8), 1.0, -1.0)
    problem = Problem(X, y, U, total, count_penalty=penalty)
    w = np.array([1.3])
    few = problem.best_intercept(w)
    judged = Ranking(problem).judge(X @ w, U @ w)
    monkeypatch.setattr("cs3vm.model.intercept.WINDOW_ROWS", 10**9)
    every = problem.best_intercept(w)
    assert few.cost == pytest.approx(every.cost, rel=1e-12)
    assert judged.cost == pytest.approx(every.cost, rel=1e-9)
    assert problem.objective(w, few.b, few.z) == pytest.approx(0.5 * float(w @ w) + few.cost, rel=1e-12)
