"""The convex core against an independent solver; and that nobody solves the same SVM twice."""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cs3vm import Problem, solve
from cs3vm.convex import svm
from cs3vm.convex.svm import dual_bound, solve_convex
from cs3vm.methods import METHODS
from cs3vm.model.row_order import in_order
from tests.oracle import random_problem, svm_with_sides


@pytest.mark.parametrize("seed", range(10))
def test_value_and_bound_agree_with_an_independent_solver(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        problem = random_problem(rng, C=10 ** rng.uniform(-2, 2))
        problem = problem.with_side(rng.choice([-1, 0, 1], problem.m))
        found, expected = solve_convex(problem), svm_with_sides(problem, problem.side)
        scale = expected + 1e-3 * problem.C.sum()
        assert problem.svm_value(found.w, found.b) == pytest.approx(expected, abs=1e-5 * scale)
        assert found.bound == pytest.approx(expected, abs=1e-4 * scale)
        assert found.bound <= expected + 1e-7 * scale
        assert np.max(-problem.side * problem.scores(found.w, found.b), initial=0.0) < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_any_multipliers_give_a_lower_bound(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        problem = random_problem(rng)
        problem = problem.with_side(rng.choice([-1, 0, 1], problem.m))
        alpha = rng.uniform(-0.5, 1.5, problem.n)
        beta = problem.side * rng.exponential(size=problem.m)
        optimum = svm_with_sides(problem, problem.side)
        upper = problem.svm_value(np.zeros(problem.d), 0.0)
        assert dual_bound(problem, alpha, beta, upper) <= optimum + 1e-7 * (1 + optimum)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(6, 200)), [1, -1] * 3, np.zeros((0, 200)), 0)
    found = solve_convex(problem)
    assert problem.svm_value(found.w, found.b) == pytest.approx(
        svm_with_sides(problem, problem.side), rel=1e-6
    )
    assert found.bound == pytest.approx(problem.svm_value(found.w, found.b), rel=1e-6)


def test_features_of_very_different_size():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5)) * [1e-4, 1e-2, 1.0, 1e2, 1e4]
    problem = Problem(X, np.where(rng.random(60) < 0.5, 1, -1), np.zeros((0, 5)), 0)
    found = solve_convex(problem)
    value = problem.svm_value(found.w, found.b)
    assert found.bound <= value
    assert value - found.bound < 1e-5 * value


@pytest.fixture
def solved(monkeypatch):
    """How often the SVM of each problem was solved, with its own fixed sides held."""
    counts: Counter[int] = Counter()
    plain = svm._solve

    def counting(problem, side):
        counts[id(problem)] += side is problem.side
        return plain(problem, side)

    monkeypatch.setattr(svm, "_solve", counting)
    return counts


def test_the_svm_of_a_problem_is_solved_once_by_whoever_asks_first(solved):
    problem = random_problem(np.random.default_rng(1), m=8)
    for method in METHODS:
        solve(problem, method, time_limit=20)
    solve(problem, "cs3vm", solver="scip", time_limit=20)
    assert solved[id(problem)] + solved[id(in_order(problem).problem)] == 1


def test_the_order_of_rows_does_not_change_a_digit():
    problem = random_problem(np.random.default_rng(3), m=8)
    labelled, unlabelled = np.random.default_rng(0).permutation(problem.n), np.arange(8)[::-1]
    other = replace(
        problem,
        X=problem.X[labelled],
        y=problem.y[labelled],
        C=problem.C[labelled],
        U=problem.U[unlabelled],
        weights=problem.weights[unlabelled],
        side=problem.side[unlabelled],
    )
    first, second = solve_convex(problem), solve_convex(other)
    np.testing.assert_array_equal(first.w, second.w)
    assert first.b == second.b
    np.testing.assert_array_equal(first.alpha[labelled], second.alpha)
    np.testing.assert_array_equal(first.beta[unlabelled], second.beta)


def test_what_is_kept_dies_with_its_problem():
    problem = random_problem(np.random.default_rng(2), m=5)
    solve(problem, "top_tau")
    assert problem in svm._KEPT
    before = len(svm._KEPT)
    del problem
    gc.collect()
    assert len(svm._KEPT) < before


def test_a_changed_answer_does_not_change_the_next():
    problem = random_problem(np.random.default_rng(2), m=5)
    first = solve(problem, "svm")
    objective = first.objective
    first.coef[:] = 7.0
    assert solve(problem, "svm").objective == objective


def test_the_root_bound_is_the_svm_and_what_must_be_miscounted():
    problem = random_problem(np.random.default_rng(4), m=5)
    problem = replace(problem, side=np.ones(5, dtype=np.int8), n_positive=2, count_penalty=3.0)
    least = svm_with_sides(problem, problem.side) + 3.0 * 3
    assert svm.root_bound(problem) == pytest.approx(least, rel=1e-4)
    assert svm.root_bound(problem) <= least + 1e-7


def test_more_rows_that_violate_their_side_than_there_are_rounds_for(monkeypatch):
    """Rows enter a few at a time; if they never suffice, what was found for those that did is a bound."""
    m = 3000
    problem = Problem([[1.0], [-1.0]], [1, -1], np.zeros((m, 1)), m, side=np.ones(m), side_margin=0.1)

    def never_enough(problem, rows, side):
        return np.zeros(1), -1.0, np.zeros(2), np.zeros(len(rows))

    monkeypatch.setattr(svm, "_interior_point", never_enough)
    solution = svm._solve(problem, problem.side)
    assert solution.beta.shape == (m,)
    assert solution.bound <= 0.0
