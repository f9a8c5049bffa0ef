"""The fast heuristic: feasible, reproducible, never worse than the obvious, and mostly optimal."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from cs3vm import Problem, Status
from cs3vm.convex.svm import solve_convex
from cs3vm.engine.heuristic.improve import improve
from cs3vm.engine.heuristic.judge import Ranking
from cs3vm.engine.heuristic.large_svm import CLOSE_ROWS, solve_large_svm
from cs3vm.methods.direct import direct
from cs3vm.model import budget as budget_module
from cs3vm.model import intercept as intercept_module
from experiments.instances import data_dir, draw, load
from tests.oracle import brute_force, random_problem

#: Optima proven by branch and bound, seed 0.
PROVEN = {
    "prnn_synth": 19.3708,
    "iris": 13.0467,
    "lupus": 3.1661,
    "haberman": 11.58135,
    "tae": 5.32118,
    "glass2": 12.8958,
}


def survey(rows: int, columns: int, labelled: int, seed: int = 0, **options: object) -> Problem:
    """A noisy linear rule with a biased sample of labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    score = X @ rng.normal(size=columns) + 2.0 * rng.normal(size=rows)
    y = np.where(score > np.quantile(score, 0.6), 1, -1)
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    k = int(0.85 * labelled)
    known = np.zeros(rows, dtype=bool)
    known[positive[:k]] = known[negative[: labelled - k]] = True
    return Problem(X[known], y[known], X[~known], int((y[~known] > 0).sum()), **options)


def check(problem: Problem, result) -> None:
    """What must hold for every answer."""
    assert result.status is Status.FEASIBLE
    allowed = 1e-8 * (1.0 + np.abs(problem.scores(result.coef)).max(initial=0.0))
    assert result.violation <= allowed
    assert 0.0 <= result.lower_bound <= result.objective
    assert result.objective == pytest.approx(problem.objective(result.coef, result.intercept, result.z))
    svm = solve_convex(problem)
    others = [problem.trivial, problem.best_intercept(svm.w)]
    norms = [0.0, 0.5 * float(svm.w @ svm.w)]
    for other, norm in zip(others, norms, strict=True):
        if other is not None:
            assert result.objective <= (norm + other.cost) * (1 + 1e-9) + 1e-12


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    improve(survey(60, 3, 10), time_limit=600.0)
    improve(survey(900, 3, 300), time_limit=600.0)  # with many labelled rows another path is compiled


class TestAgainstBruteForce:
    @pytest.mark.parametrize("margin", [0.0, 0.05])
    def test_finds_most_optima(self, margin: float) -> None:
        """At least 93 % of 45 instances with ε = 0, and of as many with ε > 0, many of them degenerate."""
        hits, number = 0, 45
        for k in range(number):
            problem = random_problem(np.random.default_rng([11, k]), side_margin=margin)
            result, optimum = improve(problem, time_limit=600.0), brute_force(problem)
            check(problem, result)
            assert result.objective >= optimum * (1 - 1e-5) - 1e-6
            assert result.lower_bound <= optimum * (1 + 1e-6) + 1e-7
            hits += result.objective <= optimum * (1 + 1e-5) + 1e-6
        assert hits >= 0.93 * number

    def test_fixed_sides(self) -> None:
        hits = 0
        for k in range(30):
            rng = np.random.default_rng([12, k])
            problem = random_problem(rng)
            problem = problem.with_side(rng.choice([-1, 0, 0, 1], problem.m))
            result, optimum = improve(problem, time_limit=600.0), brute_force(problem)
            check(problem, result)
            assert np.all(result.z[problem.side > 0] == 1)
            assert np.all(result.z[problem.side < 0] == 0)
            hits += result.objective <= optimum * (1 + 1e-5) + 1e-6
        assert hits >= 27

    def test_conflicting_sides_with_a_margin_are_told(self) -> None:
        U = np.zeros((2, 1))
        problem = Problem([[1.0], [-1.0]], [1, -1], U, 1, side=[1, -1], side_margin=0.1)
        result = improve(problem, time_limit=2.0)
        assert not result.found
        assert result.status is Status.TIME_LIMIT  # a heuristic that finds nothing has proven nothing


class TestInputs:
    def test_weights_like_clusters(self) -> None:
        problem = survey(80, 3, 12)
        weights = np.random.default_rng(0).integers(1, 20, problem.m)
        problem = replace(problem, weights=weights, n_positive=int(weights.sum() * 0.4))
        check(problem, improve(problem, time_limit=3.0))

    def test_survey_weights(self) -> None:
        problem = survey(80, 3, 12)
        weights = np.random.default_rng(0).uniform(0.2, 3.0, problem.m)
        problem = replace(problem, weights=weights, n_positive=float(weights.sum() * 0.4))
        check(problem, improve(problem, time_limit=3.0))

    def test_price_per_row(self) -> None:
        problem = survey(80, 3, 12)
        problem = replace(problem, C=np.random.default_rng(0).uniform(0.1, 10.0, problem.n))
        check(problem, improve(problem, time_limit=3.0))

    @pytest.mark.parametrize("total", [0, 1, 30])
    def test_one_class(self, total: int) -> None:
        rng = np.random.default_rng(1)
        problem = Problem(rng.normal(size=(5, 2)), np.ones(5), rng.normal(size=(30, 2)), total)
        check(problem, improve(problem, time_limit=3.0))

    def test_no_unlabelled_rows(self) -> None:
        problem = Problem([[0.0], [1.0], [2.0]], [-1, 1, 1], np.zeros((0, 1)), 0)
        result = improve(problem)
        check(problem, result)
        assert result.gap < 1e-6

    @pytest.mark.parametrize("m", [1, 2, 50])
    def test_equal_rows(self, m: int) -> None:
        problem = Problem([[1.0, 2.0], [1.0, 2.0]], [1, -1], np.tile([1.0, 2.0], (m, 1)), m // 2)
        check(problem, improve(problem, time_limit=2.0))

    def test_constant_column_and_scales(self) -> None:
        problem = survey(60, 4, 10)
        scale = np.array([1e-4, 0.0, 1e4, 1.0])
        problem = replace(problem, X=problem.X * scale, U=problem.U * scale)
        check(problem, improve(problem, time_limit=3.0))

    def test_more_columns_than_rows(self) -> None:
        problem = survey(40, 90, 8)
        check(problem, improve(problem, time_limit=3.0))

    def test_starts_are_never_made_worse(self) -> None:
        problem = survey(120, 3, 12)
        start = improve(problem, time_limit=1.0)
        again = improve(problem, [start.coef], time_limit=0.05)
        assert again.objective <= start.objective * (1 + 1e-9)


class TestRunning:
    def test_same_state_same_answer(self) -> None:
        problem = survey(150, 4, 15)
        first, second = (improve(problem, time_limit=600.0, random_state=3) for _ in range(2))
        assert first.objective == second.objective
        assert np.array_equal(first.coef, second.coef)

    @pytest.mark.parametrize("limit", [0.0, 0.3, 1.0])
    def test_time_limit(self, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a clock that advances by a millisecond whenever the search looks at it."""
        clock = SimpleNamespace(perf_counter=count(step=1e-3).__next__)
        monkeypatch.setattr(budget_module, "time", clock)
        problem = survey(3000, 30, 300)
        result = improve(problem, time_limit=limit)
        assert clock.perf_counter() <= limit + 0.1  # a hundred looks later it has ended
        check(problem, result)

    def test_trace_and_callback(self) -> None:
        seen = []
        result = direct(survey(100, 3, 12), time_limit=5.0, callback=seen.append)
        assert tuple(seen) == result.trace
        values = [point.incumbent for point in result.trace]
        assert values == sorted(values, reverse=True)
        assert values[-1] == pytest.approx(result.objective)

    def test_large(self) -> None:
        problem = survey(200_000, 20, 1000)
        result = improve(problem, time_limit=600.0)
        check(problem, result)
        svm = problem.best_intercept(solve_convex(problem).w)
        assert result.objective < 0.97 * svm.cost


class TestParts:
    def test_ranking_agrees_with_best_intercept(self) -> None:
        for k in range(150):
            rng = np.random.default_rng([13, k])
            problem = random_problem(rng, side_margin=float(rng.choice([0.0, 0.1])))
            problem = replace(
                problem, weights=np.ones(problem.m), n_positive=int(rng.integers(problem.m + 1))
            )
            if rng.random() < 0.3:
                problem = problem.with_side(rng.choice([-1, 0, 0, 1], problem.m))
            w = rng.normal(size=problem.d)
            exact = problem.best_intercept(w)
            fast = Ranking(problem).judge(problem.X @ w, problem.U @ w)
            assert fast.cost == pytest.approx(np.inf if exact is None else exact.cost, rel=1e-7, abs=1e-9)

    def test_window_of_the_best_intercept_is_exact(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for k in range(200):
            rng = np.random.default_rng([14, k])
            problem = random_problem(rng, m=int(rng.integers(1, 40)))
            problem = replace(
                problem, weights=np.ones(problem.m), n_positive=int(rng.integers(problem.m + 1))
            )
            if rng.random() < 0.3:
                problem = problem.with_side(rng.choice([-1, 0, 0, 1], problem.m))
            w = rng.integers(-2, 3, problem.d).astype(float)
            full = problem.best_intercept(w)
            monkeypatch.setattr(intercept_module, "WINDOW_ROWS", 0)
            window = problem.best_intercept(w)
            monkeypatch.undo()
            assert (full is None) == (window is None)
            if full is not None:
                assert window.cost == pytest.approx(full.cost)
                assert problem.objective(w, window.b, window.z) == pytest.approx(0.5 * w @ w + window.cost)
                assert problem.violation(w, window.b, window.z) <= 1e-9

    def test_large_svm_equals_the_plain_one(self) -> None:
        problem = survey(40_000, 5, 3 * CLOSE_ROWS)
        rows = np.column_stack([problem.X, np.ones(problem.n)]) * problem.y[:, None]
        w, bound = solve_large_svm(problem, rows)
        plain = solve_convex(problem)
        value = problem.svm_value(plain.w, plain.b)
        assert bound <= value * (1 + 1e-9)
        assert bound == pytest.approx(value, rel=1e-5)
        assert w == pytest.approx(plain.w, abs=1e-3)


class TestPaper:
    @pytest.mark.parametrize("name", PROVEN)
    def test_proven_optima(self, name: str) -> None:
        try:
            data_dir()
        except FileNotFoundError as error:
            pytest.skip(str(error))
        result = improve(draw(load(name), seed=0).problem, time_limit=600.0)
        assert result.objective == pytest.approx(PROVEN[name], rel=2e-5)
