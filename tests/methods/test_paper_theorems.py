"""One test per theorem and lemma of the paper, on random instances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cs3vm import Problem, Status, solve
from cs3vm.methods.reclustering.clusters import Clustering
from cs3vm.model.result import answer
from cs3vm.solvers import get_solver
from tests.oracle import brute_force, random_problem

SEEDS = range(15)


def two_class_problem(seed: int, m: int = 7) -> Problem:
    rng = np.random.default_rng([1000, seed])
    while True:
        problem = random_problem(rng, m=m)
        if len(np.unique(problem.y)) == 2:
            return problem


def scip(problem: Problem, **options):
    return get_solver("scip")(problem, time_limit=30, **options)


def check_feasible_upper_bound(problem, result):
    """Feasible for P3 with the M of its own value, and so an upper bound."""
    big_m = problem.big_m(result.objective)
    scores = problem.scores(result.coef, result.intercept)
    assert np.all(scores <= result.z * big_m + 1e-7)
    assert np.all(scores >= -(1 - result.z) * big_m - 1e-7)
    assert result.objective >= brute_force(problem) * (1 - 1e-6) - 1e-7


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_1_optimal_plane_is_bounded_by_any_feasible_value(seed):
    problem = two_class_problem(seed)
    optimum = scip(problem)
    rng = np.random.default_rng(seed)
    for w in (np.zeros(problem.d), rng.normal(size=problem.d)):
        value = answer(problem, w, Status.FEASIBLE).objective
        norm = np.linalg.norm(optimum.coef)
        assert norm <= np.sqrt(2 * value) + 1e-5
        assert abs(optimum.intercept) <= norm * problem.radius + 1 + 1e-5
        assert np.abs(problem.scores(optimum.coef, optimum.intercept)).max() <= problem.big_m(value) + 1e-5


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_2_big_m_is_valid(seed):
    problem = two_class_problem(seed)
    without = brute_force(problem)  # knows no M at all
    with_m = scip(problem, big_m=problem.paper_big_m).extras["backend_objective"]  # before any polish
    assert with_m == pytest.approx(without, rel=1e-5, abs=1e-6)


def test_too_small_a_big_m_would_be_noticed():
    """Otherwise the tests with M would say nothing."""
    wrong = 0
    for seed in SEEDS:
        problem = two_class_problem(seed)
        found = scip(problem, big_m=0.1 * problem.paper_big_m).extras.get("backend_objective", np.inf)
        wrong += found != pytest.approx(brute_force(problem), rel=1e-5, abs=1e-6)
    assert wrong > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_1_big_m_is_valid_for_clusters(seed):
    problem = replace(two_class_problem(seed), weights=np.ones(7), n_positive=seed % 8)
    clusters = Clustering.by_kmeans(problem, 4, seed)
    p4 = problem.with_clusters(clusters.centroids, clusters.weights, clusters.side)
    with_m = scip(p4, big_m=problem.paper_big_m).extras["backend_objective"]
    assert with_m == pytest.approx(brute_force(p4), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k1", [1, 3, 7])
def test_theorem_3_rcm_ends_after_few_solves(seed, k1):
    problem = two_class_problem(seed)
    result = solve(problem, "rcm", solver="scip", n_clusters=k1)
    k1 = result.iterations[0].clusters
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert len(result.iterations) <= problem.m - k1 + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_4_rcm_gives_a_feasible_point_and_an_upper_bound(seed):
    problem = two_class_problem(seed)
    result = solve(problem, "rcm", solver="scip", n_clusters=3)
    check_feasible_upper_bound(problem, result)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_5_last_plane_bounds_the_next_p4(seed):
    """The value of the plane of iteration t on the clusters of t+1 is an upper bound for P4 there."""
    problem = replace(two_class_problem(seed), weights=np.ones(7), n_positive=seed % 8)
    clusters = Clustering.by_kmeans(problem, 2, seed)
    p4 = problem.with_clusters(clusters.centroids, clusters.weights, clusters.side)
    step = scip(p4)
    after = clusters.split(np.ones(clusters.k, dtype=bool), problem.scores(step.coef, step.intercept) >= 0)
    next_p4 = problem.with_clusters(after.centroids, after.weights, after.side)
    z = (next_p4.scores(step.coef, step.intercept) >= 0).astype(np.int8)  # eq. (ez)
    value = next_p4.objective(step.coef, step.intercept, z)  # eq. (upperf)
    assert brute_force(next_p4) <= value * (1 + 1e-6) + 1e-7
    with_m = scip(next_p4, big_m=problem.big_m(value)).extras["backend_objective"]
    assert with_m == pytest.approx(brute_force(next_p4), rel=1e-5, abs=1e-6)
    assert answer(next_p4, step.coef, Status.FEASIBLE).objective <= value + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_6_ircm_ends_after_few_solves(seed):
    problem = two_class_problem(seed, m=8)
    far_quantile, far_step, k1 = 0.5, 0.1, 2
    result = solve(
        problem,
        "ircm",
        solver="scip",
        n_clusters=k1,
        max_clusters=1,
        far_quantile=far_quantile,
        far_step=far_step,
    )
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    k1 = result.iterations[0].clusters
    assert len(result.iterations) <= 2 * problem.m - k1 + (1 - far_quantile) / far_step + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_7_ircm_gives_a_feasible_point_and_an_upper_bound(seed):
    problem = two_class_problem(seed, m=8)
    result = solve(problem, "ircm", solver="scip", n_clusters=3, max_clusters=2, far_quantile=0.5)
    check_feasible_upper_bound(problem, result)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_8_a_fixed_point_is_on_its_side_in_an_optimum(seed):
    problem = two_class_problem(seed)
    optimum = brute_force(problem)
    result = solve(problem, "wircm", solver="scip", n_clusters=3, max_fixed=7, fix_factor=1.0)
    fixed = [step for step in result.iterations if step.phase == "P5" and step.fixed]
    side = problem.side.copy()
    for step in fixed:
        side[step.point] = 1 if result.z[step.point] else -1
    # The optimum over the fixed sides alone is the optimum.
    assert brute_force(problem.with_side(side)) == pytest.approx(optimum, rel=1e-5, abs=1e-7)


def test_lemma_8_fixes_points_at_all():
    """Otherwise the test above would say nothing."""
    fixed = 0
    for seed in SEEDS:
        result = solve(
            two_class_problem(seed), "wircm", solver="scip", n_clusters=3, max_fixed=7, fix_factor=1.0
        )
        fixed += result.extras["n_fixed"]
    assert fixed > len(SEEDS)
