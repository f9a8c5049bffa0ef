"""‖w‖₁ and ‖w‖_∞ instead of ½‖w‖²: brute force, the bounds behind big-M, and what refuses."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cs3vm.solvers
from cs3vm import CS3VMClassifier, Problem, Status, available_solvers, solve, verify
from cs3vm.convex.svm import dual_bound, solve_convex
from cs3vm.exceptions import InvalidProblemError
from cs3vm.model.result import Result, answer
from cs3vm.solvers import find_solver, get_solver
from cs3vm.solvers.big_m import variable_bounds
from tests.oracle import brute_force, random_problem, svm_with_sides
from tests.processor import at_most

NORMS = ("l1", "max")
SOLVERS = [name for name in ("highs", "scip", "gurobi") if name in available_solvers()]
CHUNKS, PER_CHUNK = 20, 10


def tiny_problem(seed: list[int], m: int | None = None) -> Problem:
    """Ties, weights, one class, fixed sides, a margin, and prices over six orders of magnitude."""
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng,
        m=int(rng.integers(3, 7)) if m is None else m,
        norm=NORMS[sum(seed) % 2],
        C=10.0 ** rng.uniform(-3, 3),
        count_penalty=10.0 ** rng.uniform(-1, 1),
        side_margin=float(rng.choice([0.0, 0.0, 0.2])),
    )
    if rng.random() < 0.4:
        problem = problem.with_side(rng.choice([-1, 0, 0, 1], problem.m))
    if rng.random() < 0.3:
        problem = replace(problem, C=10.0 ** rng.uniform(-3, 3, problem.n))
    return problem


def two_class_problem(seed: int, norm: str, m: int = 6) -> Problem:
    rng = np.random.default_rng([2000, seed])
    while True:
        problem = random_problem(rng, m=m, norm=norm)
        if len(np.unique(problem.y)) == 2:
            return problem


def clouds(norm: str, n: int = 12, m: int = 40, d: int = 3, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n + m) < 0.4, 1, -1)
    points = rng.normal(size=(n + m, d)) + 0.7 * y[:, None]
    y[:2] = 1, -1
    return Problem(points[:n], y[:n], points[n:], int((y[n:] > 0).sum()), norm=norm)


def run(name: str, problem: Problem, **options) -> Result:
    return get_solver(name, problem.norm)(problem, **{"time_limit": 30, **options})


def check(result: Result, optimum: float, *, exact: bool) -> None:
    """Feasible, not below the optimum, a bound not above it; an exact method reaches and proves it."""
    if not np.isfinite(optimum):
        assert not result.found
        assert result.status is Status.INFEASIBLE or not exact
        return
    tolerance = 1e-5 * max(1e-3, optimum)
    assert result.found
    assert result.violation <= 1e-7
    assert result.objective >= optimum - tolerance
    assert result.lower_bound <= optimum + 0.1 * tolerance
    if exact:
        assert result.is_optimal
        assert result.objective <= optimum + tolerance


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_solver_and_method_against_brute_force(chunk):
    for i in range(PER_CHUNK):
        problem = tiny_problem([chunk, i])
        optimum = brute_force(problem)
        for name in SOLVERS[: 3 if i % 4 == 0 else 1 + i % 2]:
            check(run(name, problem), optimum, exact=True)
        if not np.isfinite(optimum):
            continue
        check(solve(problem, "svm"), optimum, exact=False)
        check(solve(problem, "top_tau"), optimum, exact=False)
        tiny = {"n_clusters": 3, "time_limit": 20}
        if i == 5:
            check(solve(problem, "rcm", **tiny), optimum, exact=False)
            check(solve(problem, "ircm", max_clusters=2, far_quantile=0.5, **tiny), optimum, exact=False)
            check(solve(problem, "wircm", max_clusters=2, far_quantile=0.5, **tiny), optimum, exact=True)
            check(solve(problem, "auto", time_limit=20), optimum, exact=True)


# -- the formulas ------------------------------------------------------------------------------------
def test_objective_and_big_m_by_hand():
    X, U, w = [[1.0, -2.0], [0.0, 1.0]], [[3.0, 3.0]], np.array([2.0, -3.0])
    l1 = Problem(X, [1, -1], U, 1, norm="l1")
    largest = Problem(X, [1, -1], U, 1, norm="max")
    assert l1.svm_value(w, 0.0) == 5.0  # both rows beyond their margins
    assert largest.svm_value(w, 0.0) == 3.0
    # the dual of l1 is max: the farthest row has max(3, 3); the dual of max is l1: 3 + 3
    assert l1.big_m(2.0) == 2 * 2.0 * 3.0 + 1
    assert largest.big_m(2.0) == 2 * 2.0 * 6.0 + 1


def test_an_unknown_norm_names_the_choices():
    with pytest.raises(InvalidProblemError, match="norm must be one of l2, l1, max, got 'l3'"):
        Problem([[1.0]], [1], [[0.0]], 0, norm="l3")


@pytest.mark.parametrize("norm", NORMS)
def test_a_result_keeps_its_norm_in_json(norm):
    result = solve(clouds(norm), "top_tau")
    assert Result.from_json(result.to_json()).problem.norm == norm
    assert Result.from_json(result.to_json()).objective == result.objective


# -- P1 as a linear programme ------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(40))
def test_svm_with_held_sides_equals_the_oracle_and_its_bound_is_one(seed):
    problem = tiny_problem([seed, 3], m=6)
    rng = np.random.default_rng(seed)
    for side in (np.zeros(6, dtype=np.int8), rng.choice([-1, 0, 1], 6).astype(np.int8)):
        expected = svm_with_sides(problem, side)
        found = solve_convex(problem, side)
        assert found.bound <= expected * (1 + 1e-9) + 1e-12
        if np.isfinite(expected):
            assert problem.svm_value(found.w, found.b) == pytest.approx(expected, rel=1e-7, abs=1e-9)
            assert found.bound == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_any_multipliers_give_a_valid_bound(seed):
    problem = tiny_problem([seed, 4], m=6)
    rng = np.random.default_rng(seed)
    side = rng.choice([-1, 0, 1], 6).astype(np.int8)
    value = svm_with_sides(problem, side)
    best = solve_convex(problem, side)
    upper = 10.0 + (value if np.isfinite(value) else 0.0)
    for noise in (1e-9, 1e-3, 1.0):
        alpha = best.alpha + noise * rng.normal(size=problem.n)
        beta = side * np.abs(best.beta + noise * rng.normal(size=6))
        assert dual_bound(problem, alpha, beta, upper) <= value + 1e-9 * max(1.0, min(value, upper))


# -- big-M -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(12))
def test_lemma_1_and_big_m_for_the_norm(seed, norm):
    problem = two_class_problem(seed, norm)
    optimum = brute_force(problem)  # knows no M at all
    result = run("scip", problem)
    order = 1 if norm == "l1" else np.inf
    for w in (np.zeros(problem.d), np.random.default_rng(seed).normal(size=problem.d)):
        value = answer(problem, w, Status.FEASIBLE).objective
        size = np.linalg.norm(result.coef, order)
        assert size <= value + 1e-7
        assert abs(result.intercept) <= size * problem.radius + 1 + 1e-7
        assert np.abs(problem.scores(result.coef, result.intercept)).max() <= problem.big_m(value) + 1e-7
    for name in ("highs", "scip"):
        with_m = run(name, problem, big_m=problem.paper_big_m).extras[
            "backend_objective"
        ]  # before any polish
        assert with_m == pytest.approx(optimum, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_too_small_a_big_m_would_be_noticed(norm):
    """Otherwise the test above would say nothing."""
    wrong = 0
    for seed in range(12):
        problem = two_class_problem(seed, norm)
        found = run("highs", problem, big_m=0.05 * problem.paper_big_m).extras.get(
            "backend_objective", np.inf
        )
        wrong += found != pytest.approx(brute_force(problem), rel=1e-5, abs=1e-6)
    assert wrong > 0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(20))
def test_tight_bounds_hold_on_the_whole_level_set(seed, norm):
    """Every plane of value at most f keeps all rows within the per-point bounds.

    Planes with all rows beyond 1 on one side are left out: a smaller ``|b|`` is at least as good (Lemma 1).
    """
    rng = np.random.default_rng(seed)
    problem = replace(two_class_problem(seed, norm), C=10.0 ** rng.uniform(-1, 1))
    value = 1.2 * problem.trivial.cost + 0.1
    limit = variable_bounds(problem, "tight", value)
    order = {"l1": 1, "max": np.inf}[norm]
    for _ in range(300):
        w = rng.normal(size=problem.d) * (rng.random(problem.d) < 0.6)
        w *= value * rng.random() ** 2 / max(np.linalg.norm(w, order), 1e-12)
        for b in rng.uniform(-limit.b, limit.b, 20):
            scores = problem.scores(w, b)
            all_scores = np.append(scores, problem.X @ w + b)
            if problem.svm_value(w, b) <= value and all_scores.min() <= 1 and all_scores.max() >= -1:
                assert np.all(scores <= limit.high + 1e-9)
                assert np.all(-scores <= limit.low + 1e-9)
                assert abs(b) <= limit.b
                assert np.abs(w).max(initial=0.0) <= limit.w


def test_a_margin_equal_to_a_bound_leaves_the_optimum_feasible():
    """One negative label and equal rows: at the optimum the tightest M equals the margin."""
    problem = Problem([[1.6, 0.2]], [-1], [[0.2, -0.5]] * 3, 3, C=2e-3, side_margin=0.2, norm="max")
    for name in SOLVERS:
        check(run(name, problem), brute_force(problem), exact=True)


# -- HiGHS -------------------------------------------------------------------------------------------
def test_ctrl_c_ends_highs_and_keeps_the_best_point():
    """The signal arrives inside HiGHS: no exception may pass through it."""
    problem = clouds("l1", n=40, m=400, d=8)
    result = run("highs", problem, callback=lambda _: signal.raise_signal(signal.SIGINT), time_limit=300)
    assert result.status is Status.INTERRUPTED
    assert result.found
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_highs_stops_at_the_time_limit_with_a_bound():
    with at_most(4.0):
        result = run("highs", clouds("l1", n=40, m=400, d=8), time_limit=2.0)
    assert result.status is Status.TIME_LIMIT
    assert 0 < result.lower_bound <= result.objective


def test_highs_does_not_begin_what_it_cannot_stop():
    problem = clouds("max", n=50, m=20_000, d=20)
    with at_most(6.0):
        result = run("highs", problem, time_limit=3.0)
    assert result.status is Status.TIME_LIMIT
    assert result.found


def test_highs_takes_its_own_options_and_names_wrong_ones():
    problem = clouds("l1", m=80)
    limited = run("highs", problem, node_limit=1, parameters={"presolve": "off"})
    assert limited.status in (Status.NODE_LIMIT, Status.OPTIMAL)
    with pytest.raises(InvalidProblemError, match="does not take the option 'no_such_option'"):
        run("highs", problem, parameters={"no_such_option": 1})


def test_highs_runs_with_any_number_of_threads_in_one_process():
    """HiGHS itself refuses another number than the first, and then does nothing."""
    problem = clouds("l1", m=15)
    results = [run("highs", problem, threads=threads) for threads in (1, 2, 1)]
    assert all(result.is_optimal for result in results)
    assert len({round(result.objective, 6) for result in results}) == 1


@pytest.mark.parametrize("factor", [1e-10, 1e-8, 1e-3, 1e3, 1e8, 1e10])
@pytest.mark.parametrize("name", SOLVERS)
def test_no_bound_is_claimed_on_scales_beyond_the_tolerances(name, factor):
    """The same problem in other units: rows times a factor, prices divided by it, has its optimum divided."""
    for seed in range(3):
        problem = two_class_problem(seed, "l1", m=4)
        problem = replace(problem, C=10.0, count_penalty=10.0)
        scaled = replace(
            problem,
            X=problem.X * factor,
            U=problem.U * factor,
            C=problem.C / factor,
            count_penalty=problem.count_penalty / factor,
        )
        result, optimum = run(name, scaled), brute_force(problem) / factor
        assert result.lower_bound <= optimum * (1 + 1e-5)
        assert not result.is_optimal or result.objective <= optimum * (1 + 1e-5)
        assert result.is_optimal or not 1e-4 < factor < 1e4


def test_numbers_that_highs_does_not_take_are_named():
    problem = clouds("max", m=5)
    with pytest.raises(InvalidProblemError, match=r"1e15 or more: standardise"):
        run("highs", replace(problem, X=problem.X * 1e17))
    with pytest.raises(InvalidProblemError, match="big_m must be"):
        run("highs", problem, big_m=np.inf)


# -- what does not know a norm says what does ---------------------------------------------------------
@pytest.mark.parametrize("norm", NORMS)
def test_solvers_and_methods_of_the_squared_norm_refuse(norm):
    problem = clouds(norm)
    with pytest.raises(InvalidProblemError, match=r"'bnb' does not know norm=.*highs, *gurobi|.*highs"):
        solve(problem, "cs3vm", solver="bnb")
    with pytest.raises(InvalidProblemError, match="solver 'bnb' works with norm='l2' only"):
        get_solver("bnb")(problem)
    with pytest.raises(
        InvalidProblemError, match=r"method 'direct' works with norm='l2' only.*use method='auto'"
    ):
        solve(problem, "direct")
    with pytest.raises(InvalidProblemError, match=r"verify.*norm='l2' only"):
        verify(problem, "no-file.json.gz")


def test_highs_refuses_the_squared_norm_and_indicators():
    problem = replace(clouds("l1"), norm="l2")
    with pytest.raises(InvalidProblemError, match="solver 'highs' does not know norm='l2'"):
        solve(problem, "cs3vm", solver="highs")
    with pytest.raises(InvalidProblemError, match="HiGHS solves linear models only"):
        get_solver("highs", "l1")(problem)
    with pytest.raises(InvalidProblemError, match="no indicator constraints: use big_m='tight'"):
        run("highs", clouds("l1"), big_m="indicator")


def test_auto_is_highs_or_without_it_scip(monkeypatch):
    assert [find_solver("auto", norm).name for norm in ("l2", "l1", "max")] == ["bnb", "highs", "highs"]
    missing = replace(cs3vm.solvers.SOLVERS["highs"], package="no_such_package")
    monkeypatch.setitem(cs3vm.solvers.SOLVERS, "highs", missing)
    assert find_solver("auto", "l1").name == "scip"
    assert solve(clouds("l1", m=12), "cs3vm").extras["solver"] == "scip"


@pytest.mark.parametrize("norm", NORMS)
def test_invariances(norm):
    """Neither the order of rows and features nor the signs of features matter; scaling scales w."""
    problem = clouds(norm, m=15)
    value = run("highs", problem).objective
    rng = np.random.default_rng(0)
    columns, rows, flip = rng.permutation(3), rng.permutation(15), np.array([1.0, -1.0, 1.0])
    turned = replace(problem, X=problem.X[:, columns] * flip, U=problem.U[rows][:, columns] * flip)
    assert run("highs", turned).objective == pytest.approx(value, rel=1e-6)
    mirrored = replace(problem, y=-problem.y, n_positive=15 - problem.n_positive)
    assert run("highs", mirrored).objective == pytest.approx(value, rel=1e-6)


def test_l1_leaves_features_out():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 12))
    y = np.where(points[:, 0] > 0, 1, -1)
    problem = Problem(points[:20], y[:20], points[20:], int((y[20:] > 0).sum()), norm="l1", C=0.3)
    result = solve(problem, "ircm", time_limit=10)
    used = np.flatnonzero(result.coef)
    assert 0 in used
    assert len(used) < 6
    assert np.all(solve(replace(problem, norm="l2"), "top_tau").coef != 0)


# -- the classifier ----------------------------------------------------------------------------------
def table() -> tuple[pd.DataFrame, pd.Series]:
    """Eight features, of which two matter, in very different units."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(70, 8)), columns=[f"x{k}" for k in range(8)])
    truth = (X["x0"] - X["x1"] > 0).map({True: "yes", False: "no"})
    X["x1"] *= 1e12  # its weight in these units is tiny, and yet it is used
    return X, truth


def test_the_classifier_names_the_features_that_l1_leaves_out():
    X, truth = table()
    y, total = truth.where(X.index < 20), int((truth[20:] == "yes").sum())
    clf = CS3VMClassifier("ircm", norm="l1", C=0.2, time_limit=3).fit(X, y, n_positive=total)
    assert clf.result_.problem.norm == "l1"
    assert len(clf.dropped_features_) >= 3
    assert not {"x0", "x1"} & set(clf.dropped_features_)
    assert np.all(clf.coef_[0][X.columns.isin(clf.dropped_features_)] == 0)
    note = clf.summary(accuracy=False).notes[-1]
    assert note.startswith(f"the 1-norm leaves out {len(clf.dropped_features_)} of 8 features (weight 0): x")
    assert (clf.transduction_[20:] == "yes").sum() == total


def test_without_names_dropped_features_are_numbers_and_l2_drops_none():
    X, truth = table()
    y, total = truth.where(X.index < 20), int((truth[20:] == "yes").sum())
    numbers = CS3VMClassifier("top_tau", norm="l1", C=0.4).fit(X.to_numpy(), y, n_positive=total)
    assert numbers.dropped_features_.dtype.kind == "i"
    squared = CS3VMClassifier("top_tau").fit(X, y, n_positive=total)
    assert list(squared.dropped_features_) == []
    assert "1-norm" not in str(squared.summary(accuracy=False))


@pytest.mark.parametrize("norm", NORMS)
def test_several_classes_with_a_norm(norm):
    X, _ = table()
    truth = pd.cut(X["x0"], [-9, -0.4, 0.4, 9], labels=["low", "mid", "high"]).astype(str)
    totals = truth[30:].value_counts()
    clf = CS3VMClassifier("top_tau", norm=norm).fit(X, truth.where(X.index < 30), n_positive=totals)
    assert {result.problem.norm for result in clf.result_.values()} == {norm}
    assert pd.Series(clf.transduction_[30:]).value_counts().to_dict() == totals.to_dict()


def test_a_kernel_has_no_norm_of_weights():
    X, truth = table()
    with pytest.raises(
        InvalidProblemError, match=r"norm='l1' is about the weights of features.*kernel='rbf'"
    ):
        CS3VMClassifier(norm="l1", kernel="rbf").fit(X, truth.where(X.index < 20), n_positive=20)
