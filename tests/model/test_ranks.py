from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.engine.heuristic.judge import Ranking
from cs3vm.model.ranks import SAMPLE, VERY_MANY, descending, highest, ranked_values


@pytest.mark.parametrize("decimals", [0, 1, 3, 9])
@pytest.mark.parametrize("size", [0, 1, 7, 3000])
def test_ties_stay_as_they_came(size, decimals):
    scores = np.round(np.random.default_rng(size).normal(size=size), decimals)
    np.testing.assert_array_equal(descending(scores), np.argsort(-scores, kind="stable"))


def test_one_tie_far_behind_is_seen():
    scores = np.random.default_rng(0).permutation(5000).astype(float)
    scores[4000] = scores[10]
    order = descending(scores).tolist()
    assert order.index(10) + 1 == order.index(4000)


def by_sorting(scores, weights, total):
    order = np.argsort(-scores, kind="stable")
    counted = np.append(0.0, np.cumsum(weights[order]))
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[order[: int(np.argmin(np.abs(counted - total)))]] = True
    return chosen


@pytest.mark.parametrize("seed", range(60))
def test_the_highest_are_those_of_a_sort(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.choice([0, 1, 50, 2500]))
    scores = np.round(rng.standard_cauchy(size), int(rng.choice([0, 1, 8])))
    weights = np.ones(size) if seed % 2 else rng.integers(1, 5, size) / 4.0
    for share in (-0.1, 0.0, 0.003, 0.4, 0.41, 1.0, 1.2):
        total = share * float(weights.sum())
        np.testing.assert_array_equal(
            highest(scores, weights, total), by_sorting(scores, weights, total), err_msg=str(share)
        )


@pytest.mark.parametrize("kind", ["normal", "equal", "two", "sorted", "misleading"])
@pytest.mark.parametrize("place", [0, 1, 5000, VERY_MANY, 3 * VERY_MANY // 2 - 1])
def test_it_is_the_value_of_a_sort(kind, place):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(3 * VERY_MANY // 2)
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
