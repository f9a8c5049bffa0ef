from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cs3vm import Problem, Status, solve
from cs3vm.exceptions import InvalidProblemError, UnknownNameError
from cs3vm.methods import METHODS
from cs3vm.methods.reclustering.clusters import Clustering, paper_n_clusters
from cs3vm.methods.reclustering.wircm import paper_max_fixed
from cs3vm.solvers import get_solver
from tests.oracle import brute_force, random_problem
from tests.processor import at_most

#: Small enough that clusters are cut, discarded and reactivated on tiny instances too.
TINY = {"n_clusters": 3}
TINY_IRCM = {"n_clusters": 3, "max_clusters": 2, "far_quantile": 0.5}
CHUNKS, PER_CHUNK = 31, 10


def blobs(seed: int, n: int = 12, m: int = 60, d: int = 2) -> Problem:
    """Two overlapping clouds, labels mostly from one of them."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n + m) < 0.4, 1, -1)
    points = rng.normal(size=(n + m, d)) + 0.8 * y[:, None]
    y[:2] = 1, -1
    return Problem(points[:n], y[:n], points[n:], int((y[n:] > 0).sum()))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_brute_force(chunk):
    """Feasible, never below the optimum, bounds never above it; P3 and WIRCM reach it.

    Half of the larger third is given to SCIP as P3, and of forty instances one is clustered and solved by
    it; the others by the engine, which is faster.
    """
    for i in range(PER_CHUNK):
        solver = "bnb" if i or chunk % 4 else "scip"
        rng = np.random.default_rng([chunk, i])
        problem = random_problem(rng, m=None if i % 3 else int(rng.integers(7, 9)))
        optimum = brute_force(problem)
        tolerance = 1e-5 * max(1e-3, optimum)
        runs = {
            "svm": solve(problem, "svm"),
            "top_tau": solve(problem, "top_tau"),
            "cs3vm": solve(problem, "cs3vm", solver="bnb" if i % 6 else "scip"),
            "rcm": solve(problem, "rcm", solver=solver, **TINY),
            "ircm": solve(problem, "ircm", solver=solver, **TINY_IRCM),
            "wircm": solve(problem, "wircm", solver=solver, **TINY_IRCM),
        }
        for method, result in runs.items():
            assert result.found, method
            assert result.violation <= 1e-7, method
            assert result.objective >= optimum - tolerance, method
            assert result.lower_bound <= optimum + tolerance, method
            if method in ("cs3vm", "wircm"):
                assert abs(result.objective - optimum) <= tolerance, method
                assert result.gap <= 3e-6, method
                assert result.is_optimal or solver == "bnb", method  # P5 is proven to a millionth, so is P6


def test_enough_brute_force_instances_are_large():
    sizes = [
        random_problem(rng, m=None if i % 3 else int(rng.integers(7, 9))).m
        for chunk in range(CHUNKS)
        for i in range(PER_CHUNK)
        for rng in [np.random.default_rng([chunk, i])]
    ]
    assert len(sizes) >= 300
    assert sum(m >= 7 for m in sizes) >= 100
    assert min(sizes) == 3


def test_svm_is_p1_and_its_value_a_bound():
    problem = blobs(0)
    result = solve(problem, "svm")
    assert result.status is Status.FEASIBLE
    positive = problem.scores(result.coef, result.intercept) > 0
    assert result.count == positive.sum()
    svm_value = problem.svm_value(result.coef, result.intercept)
    assert result.lower_bound == pytest.approx(svm_value, rel=1e-6)


def test_top_tau_has_the_svm_direction_and_the_known_count():
    problem = blobs(0)
    naive, result = solve(problem, "svm"), solve(problem, "top_tau")
    np.testing.assert_allclose(result.coef, naive.coef)
    assert naive.count != problem.n_positive
    assert result.count == problem.n_positive
    assert result.objective < naive.objective


@pytest.mark.parametrize("method", ["rcm", "ircm", "wircm"])
def test_iterations_record_every_step(method):
    problem = blobs(1)
    result = solve(problem, method, solver="scip", time_limit=30)
    p4 = [step for step in result.iterations if step.phase == "P4"]
    assert p4[0].clusters == 10
    assert p4[-1].cut == 0
    for step, following in pairwise(p4):
        assert following.clusters == step.clusters + step.cut
        assert step.cut + step.reactivated > 0
        assert step.active + step.discarded == step.clusters
        assert step.big_m > 0
        assert step.bound <= step.value * (1 + 1e-6)
        assert step.seconds >= 0
    assert result.objective <= min(step.objective for step in result.iterations) * (1 + 1e-9)
    assert result.status is (Status.OPTIMAL if method == "wircm" else Status.FEASIBLE)
    if method == "wircm":
        p5 = [step for step in result.iterations if step.phase == "P5"]
        fixed = sum(bool(step.fixed) for step in p5)
        assert 0 < fixed <= paper_max_fixed(problem.m)
        assert result.extras["n_fixed"] == fixed
        assert result.iterations[-1].phase == "P6"


@pytest.mark.parametrize("method", ["cs3vm", "rcm", "ircm", "wircm"])
def test_time_limit_is_kept_and_the_best_point_returned(method):
    problem = blobs(3, n=40, m=1500, d=6)
    with at_most(2.5):
        result = solve(problem, method, solver="scip", time_limit=1.0)
    assert result.found
    assert result.violation <= 1e-7
    assert result.objective <= problem.trivial.cost
    assert result.lower_bound <= result.objective


@pytest.mark.parametrize("method", ["rcm", "ircm", "wircm"])
def test_zero_seconds_give_the_svm_or_trivial_point(method):
    result = solve(blobs(2), method, solver="scip", time_limit=0)
    assert result.found
    assert result.status is Status.TIME_LIMIT


@pytest.mark.parametrize("method", ["rcm", "ircm"])
def test_inexact_p4_still_ends_and_says_so(method):
    problem = blobs(5, n=30, m=250, d=6)
    result = solve(problem, method, solver="scip", subproblem_time_limit=0.3, time_limit=60)
    assert result.status is Status.FEASIBLE
    assert any(step.status is not Status.OPTIMAL for step in result.iterations)


@pytest.mark.parametrize(
    ("method", "solver"),
    [
        ("rcm", "scip"),
        ("ircm", "scip"),
        ("wircm", "scip"),
        ("ircm", "bnb"),
        ("direct", "bnb"),
        ("auto", "bnb"),
    ],
)
def test_ctrl_c_returns_the_best_answer_so_far(method, solver):
    seen = []

    def press(point):
        seen.append(point)
        if len(seen) == 2:
            raise KeyboardInterrupt

    problem = blobs(1) if method.endswith("rcm") else blobs(1, n=20, m=300, d=6)  # not settled at once
    result = solve(problem, method, solver=solver, callback=press)
    assert result.status is Status.INTERRUPTED
    assert result.objective == pytest.approx(seen[-1].incumbent)


@pytest.mark.parametrize("method", ["svm", "top_tau", "cs3vm", "rcm", "ircm", "wircm"])
def test_no_unlabelled_rows(method):
    problem = Problem([[3.0], [1.0]], [1, -1], np.zeros((0, 1)), 0)
    result = solve(problem, method, solver="scip")
    assert result.objective == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("method", ["svm", "top_tau", "cs3vm", "rcm", "ircm", "wircm"])
@pytest.mark.parametrize("seed", range(4))
def test_fixed_sides_and_weights_are_kept(method, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, m=7).with_side(rng.choice([-1, 0, 0, 1], 7))
    optimum = brute_force(problem)
    result = solve(problem, method, solver="scip")
    assert result.violation <= 1e-6
    assert result.objective >= optimum - 1e-5 * max(1e-3, optimum)


def test_paper_big_m_passes_the_methods_own_m(monkeypatch):
    passed = []

    def spy(problem, *, big_m, **options):
        passed.append(big_m)
        return plain(problem, big_m=big_m, **options)

    plain = get_solver("scip")
    monkeypatch.setattr("cs3vm.solvers.scip_.solve", spy)
    result = solve(blobs(1), "ircm", solver="scip", big_m="paper", time_limit=30)
    assert result.status is Status.FEASIBLE
    assert passed == [step.big_m for step in result.iterations]


@pytest.mark.parametrize("gap", [0.5, 0.1, 1e-6])
@pytest.mark.parametrize("solver", ["bnb", "scip"])
def test_wircm_with_a_loose_gap_claims_no_more_than_it_proved(gap, solver):
    options = {"n_clusters": 2, "max_clusters": 1, "far_quantile": 0.3, "max_fixed": 8, "fix_factor": 1.0}
    for seed in range(100, 112 if solver == "bnb" else 105):
        problem = random_problem(np.random.default_rng([6, seed]), m=8)
        optimum = brute_force(problem)
        result = solve(problem, "wircm", solver=solver, gap=gap, **options)
        assert result.lower_bound <= optimum + 1e-6 * max(1e-3, optimum)
        assert result.objective >= optimum - 1e-6 * max(1e-3, optimum)


@pytest.mark.parametrize("method", ["rcm", "ircm", "wircm"])
def test_paper_big_m_with_fixed_sides_is_valid(method):
    for seed in range(20):
        rng = np.random.default_rng([8, seed])
        problem = random_problem(rng, m=6, C=10 ** rng.uniform(-1, 2))
        problem = problem.with_side(rng.choice([-1, 0, 1], 6))
        optimum = brute_force(problem)
        result = solve(problem, method, solver="scip", big_m="paper", **TINY)
        assert result.lower_bound <= optimum + 1e-5 * max(1e-3, optimum)
        assert result.violation <= 1e-6


@pytest.mark.parametrize("method", ["rcm", "ircm"])
@pytest.mark.parametrize("seed", [0, 4])
def test_with_a_margin_the_last_plane_keeps_the_points_out_of_the_strip(method, seed):
    problem = replace(blobs(seed, m=40), side_margin=0.1)
    result = solve(problem, method, solver="scip", time_limit=60)
    last = result.iterations[-1]
    assert result.status is Status.FEASIBLE
    assert last.objective <= last.value * (1 + 1e-6)  # Theorem 4: as good on the points as on the clusters
    assert result.violation <= 1e-7


def test_svm_and_trivial_points_are_among_the_answers():
    problem = blobs(3, n=40, m=3000, d=6)
    result = solve(problem, "cs3vm", solver="scip", time_limit=0.5)
    naive = solve(problem, "top_tau")
    assert result.objective <= min(naive.objective, problem.trivial.cost) * (1 + 1e-9)
    assert result.lower_bound >= naive.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("rcm", {"n_clusters": 0}),
        ("ircm", {"far_quantile": 1.5}),
        ("ircm", {"far_step": -1}),
        ("ircm", {"max_clusters": "many"}),
        ("wircm", {"max_fixed": -1}),
        ("wircm", {"fix_factor": 0.5}),
        ("wircm", {"fix_time_limit": -1}),
        ("cs3vm", {"big_m": -5.0}),
        ("cs3vm", {"big_m": True}),
        ("cs3vm", {"big_m": "large"}),
    ],
)
def test_options_out_of_range_are_refused(method, option):
    with pytest.raises(InvalidProblemError, match=next(iter(option))):
        solve(blobs(0), method, solver="scip", **option)


@pytest.mark.parametrize("name", ["start", "cutoff", "first_improvement", "problem"])
def test_what_a_method_uses_itself_is_no_option(name):
    with pytest.raises((UnknownNameError, TypeError), match=name):
        solve(blobs(0), "rcm", solver="scip", **{name: 1})


def test_numpy_numbers_are_numbers():
    assert solve(blobs(0), "svm", time_limit=np.int64(2), gap=np.float32(1e-3)).found


def test_unknown_names_are_explained():
    with pytest.raises(UnknownNameError, match=r"unknown method 'svn'.*svm"):
        solve(blobs(0), "svn")
    with pytest.raises(UnknownNameError, match=r"no option 'n_cluster'.*n_clusters"):
        solve(blobs(0), "rcm", solver="scip", n_cluster=4)
    with pytest.raises(InvalidProblemError, match="time_limit"):
        solve(blobs(0), "svm", time_limit="1h")
    assert set(METHODS) == {"svm", "top_tau", "cs3vm", "rcm", "ircm", "wircm", "direct", "auto"}


def test_defaults_are_the_papers():
    assert [paper_n_clusters(m) for m in (1, 500, 501, 1000, 1001)] == [10, 10, 20, 20, 50]
    assert [paper_max_fixed(m) for m in (1, 100, 101, 500, 501, 1000, 1001)] == [
        1,
        20,
        25,
        125,
        175,
        350,
        450,
    ]


def test_clusters_are_capped_at_distinct_points_and_keep_every_point():
    problem = Problem([[1.0], [-1.0]], [1, -1], np.repeat([[0.0], [1.0], [2.0]], 4, axis=0), 5)
    clusters = Clustering.by_kmeans(problem, 10, 0)
    assert clusters.k == 3
    assert clusters.weights.sum() == 12
    np.testing.assert_allclose(np.sort(clusters.centroids.ravel()), [0.0, 1.0, 2.0])


def test_same_seed_same_answer():
    problem = blobs(4)
    first, second = (solve(problem, "ircm", solver="scip", random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first.coef, second.coef)
