"""The contract of every solver: the same cases through each one that is installed."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

import cs3vm.solvers
from cs3vm import Problem, Status, available_solvers
from cs3vm.exceptions import SolverLicenseError, SolverNotInstalledError, UnknownNameError
from cs3vm.model.result import answer
from cs3vm.solvers import find_solver, get_solver
from cs3vm.solvers.mip import ending
from tests.oracle import brute_force, random_problem
from tests.processor import at_most

SOLVERS = available_solvers()
MIP = [name for name in SOLVERS if cs3vm.solvers.SOLVERS[name].big_m]


def norm_of(name: str) -> dict[str, str]:
    """The norm that the contract is tested with: the paper's, or the first that the solver knows."""
    return {"norm": cs3vm.solvers.SOLVERS[name].norms[0]}


def run(name: str, problem: Problem, **options):
    return get_solver(name, problem.norm)(problem, **options)


def close(value: float, expected: float) -> bool:
    return abs(value - expected) <= 1e-5 * max(1e-3, abs(expected))


def check_optimal(result, expected):
    assert result.is_optimal
    assert close(result.objective, expected)
    assert result.violation <= 1e-7
    assert result.lower_bound <= expected + 1e-6 * max(1e-3, expected)
    assert result.objective == pytest.approx(
        result.problem.objective(result.coef, result.intercept, result.z), abs=1e-12
    )


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(12))
def test_p3_p4_p5_p6_equal_brute_force(name, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, m=6, **norm_of(name))
    fixed = problem.with_side(rng.choice([-1, 0, 0, 1], 6))
    for case in (problem, fixed):
        check_optimal(run(name, case, time_limit=30), brute_force(case))


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(6))
def test_side_margin_keeps_points_off_the_plane(name, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, m=5, side_margin=0.2, **norm_of(name))
    result = run(name, problem, time_limit=30)
    check_optimal(result, brute_force(problem))
    assert np.abs(problem.scores(result.coef, result.intercept)).min() >= 0.2 - 1e-6


@pytest.mark.parametrize("name", MIP)
@pytest.mark.parametrize("big_m", ["paper", "tight", "indicator"])
@pytest.mark.parametrize("seed", range(5))
def test_every_big_m_gives_the_same_optimum(name, big_m, seed):
    if name == "highs" and big_m == "indicator":
        pytest.skip("HiGHS has no indicator constraints")
    problem = random_problem(np.random.default_rng(seed), m=6, **norm_of(name))
    check_optimal(run(name, problem, time_limit=30, big_m=big_m), brute_force(problem))


@pytest.mark.parametrize("name", SOLVERS)
def test_a_number_of_kinds_of_problem_without_unlabelled_rows(name):
    problem = Problem([[3.0], [1.0]], [1, -1], np.zeros((0, 1)), 0, **norm_of(name))
    result = run(name, problem)
    check_optimal(result, 0.5 if problem.norm == "l2" else 1.0)
    assert result.intercept == pytest.approx(-2.0, abs=1e-4)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(5))
def test_cutoff_below_the_optimum_is_proven_and_above_it_is_beaten(name, seed):
    problem = random_problem(np.random.default_rng(100 + seed), m=6, **norm_of(name))
    optimum = brute_force(problem)
    if optimum < 1e-6:
        pytest.skip("an optimum of zero leaves no room below it")
    below = run(name, problem, cutoff=0.9 * optimum, time_limit=30)
    assert below.status is Status.CUTOFF
    assert not below.found
    assert below.lower_bound == pytest.approx(0.9 * optimum)
    above = run(name, problem, cutoff=1.2 * optimum, first_improvement=True, time_limit=30)
    assert above.found
    assert above.objective < 1.2 * optimum


@pytest.mark.parametrize("name", SOLVERS)
def test_a_good_start_is_never_lost(name):
    problem = random_problem(np.random.default_rng(3), m=8, **norm_of(name))
    optimum = run(name, problem, time_limit=30)
    again = run(name, problem, start=optimum, time_limit=0.0)
    assert again.objective <= optimum.objective * (1 + 1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_no_time_still_gives_a_feasible_point(name):
    rng = np.random.default_rng(0)
    problem = Problem(
        rng.normal(size=(20, 5)), rng.choice([-1, 1], 20), rng.normal(size=(300, 5)), 100, **norm_of(name)
    )
    result = run(name, problem, time_limit=0.0) if name != "gurobi" else None
    if result is None:
        pytest.skip("beyond the size-limited licence")
    assert result.found
    assert result.violation <= 1e-7
    assert result.objective <= problem.trivial.cost + 1e-9
    assert result.lower_bound <= result.objective


@pytest.mark.parametrize("name", SOLVERS)
def test_conflicting_sides_with_a_margin_are_infeasible(name):
    problem = Problem(
        [[1.0], [-1.0]], [1, -1], [[0.0], [0.0]], 1, side=[1, -1], side_margin=0.1, **norm_of(name)
    )
    result = run(name, problem, cutoff=100.0, time_limit=10)
    assert not result.found
    assert result.status in (Status.INFEASIBLE, Status.CUTOFF)
    assert result.objective == np.inf


@pytest.mark.parametrize("name", SOLVERS)
def test_callback_sees_bound_below_incumbent(name):
    points = []
    rng = np.random.default_rng(2)
    problem = Problem(rng.normal(size=(8, 3)), [1, -1] * 4, rng.normal(size=(25, 3)), 9, **norm_of(name))
    result = run(name, problem, callback=points.append, time_limit=20)
    assert points
    assert all(p.bound <= p.incumbent * (1 + 1e-6) + 1e-9 for p in points)
    assert set(points) <= set(result.trace)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_of_the_callback_is_neither_lost_nor_garbled(name, error):
    rng = np.random.default_rng(2)
    problem = Problem(rng.normal(size=(8, 3)), [1, -1] * 4, rng.normal(size=(25, 3)), 9, **norm_of(name))

    def callback(_):
        raise error

    if error is KeyboardInterrupt:
        result = run(name, problem, callback=callback, time_limit=20)
        assert result.status is Status.INTERRUPTED
        assert result.found
    else:
        with pytest.raises(error):
            run(name, problem, callback=callback, time_limit=20)


@pytest.mark.parametrize("name", MIP)
def test_a_wrong_big_m_is_noticed(name, caplog):
    problem = Problem([[0.0]], [1], [[-1.0], [3.0]], 2, side=[-1, 0], C=100.0, **norm_of(name))
    result = run(name, problem, big_m=1.0, time_limit=10)
    optimum = brute_force(problem)
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert result.lower_bound <= optimum * (1 + 1e-6)
    assert "exceeds the objective" in caplog.text


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(6))
def test_margin_and_fixed_sides_together(name, seed):
    rng = np.random.default_rng([9, seed])
    problem = random_problem(rng, m=5, side_margin=0.3, **norm_of(name)).with_side([1, -1, 0, 0, 0])
    optimum = brute_force(problem)
    result = run(name, problem, time_limit=30)
    if np.isfinite(optimum):
        check_optimal(result, optimum)
    else:
        assert not result.found
        assert result.status is Status.INFEASIBLE


def test_scip_stops_at_the_time_limit_with_a_bound():
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(40, 8)), rng.choice([-1, 1], 40), rng.normal(size=(400, 8)), 150)
    with at_most(3.0):
        result = get_solver("scip")(problem, time_limit=2.0)
    assert result.status is Status.TIME_LIMIT
    assert result.found
    assert 0 <= result.lower_bound <= result.objective


def test_scip_checks_the_clock_while_it_builds_a_large_model():
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(30, 40)), rng.choice([-1, 1], 30), rng.normal(size=(20000, 40)), 5000)
    with at_most(2.5):
        result = get_solver("scip")(problem, time_limit=1.0)
    assert result.found


def test_scip_takes_native_parameters_and_node_limits():
    rng = np.random.default_rng(1)
    problem = Problem(rng.normal(size=(10, 3)), [1, -1] * 5, rng.normal(size=(40, 3)), 17)
    result = get_solver("scip")(problem, node_limit=1, parameters={"presolving/maxrounds": 0}, time_limit=20)
    assert result.status is Status.NODE_LIMIT


@pytest.mark.skipif("gurobi" not in SOLVERS, reason="gurobipy is not installed")
def test_gurobi_beyond_its_licence_names_the_alternatives():
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(50, 3)), rng.choice([-1, 1], 50), rng.normal(size=(3000, 3)), 900)
    if os.environ.get("GRB_LICENSE_FILE") or Path("~/gurobi.lic").expanduser().exists():
        pytest.skip("a Gurobi licence is installed")
    with pytest.raises(SolverLicenseError, match=r"size.*scip"):
        get_solver("gurobi")(problem, time_limit=1.0)


def test_unknown_solver_names_the_choices():
    with pytest.raises(UnknownNameError, match=r"'cplex'.*scip"):
        get_solver("cplex")


def test_missing_package_says_how_to_install(monkeypatch):
    missing = dataclasses.replace(cs3vm.solvers.SOLVERS["gurobi"], package="no_such_package")
    monkeypatch.setitem(cs3vm.solvers.SOLVERS, "gurobi", missing)
    assert "gurobi" not in available_solvers()
    with pytest.raises(SolverNotInstalledError, match=r"pip install .cs3vm\[gurobi\]"):
        get_solver("gurobi")


def test_start_on_the_plane_is_evaluated_by_rank():
    problem = Problem([[1.0], [-1.0]], [1, -1], np.zeros((5, 1)), 2)
    start = answer(problem, np.array([1.0]), Status.FEASIBLE)
    result = get_solver("scip")(problem, start=start, time_limit=10)
    assert result.count == 2
    assert result.objective == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("optimal", Status.OPTIMAL),
        ("INF_OR_UNBD", Status.OPTIMAL),
        ("Infeasible", Status.OPTIMAL),
        ("gaplimit", Status.OPTIMAL),
        ("NODE_LIMIT", Status.NODE_LIMIT),
        ("totalnodelimit", Status.NODE_LIMIT),
        ("TimeLimit", Status.TIME_LIMIT),
        ("userinterrupt", Status.INTERRUPTED),
        ("a word of a newer version", Status.FEASIBLE),
    ],
)
def test_the_backends_words_for_the_end_of_a_search(word, status):
    assert ending(word) is status


def test_a_proof_whose_set_up_would_outlast_the_time_is_not_tried():
    problem = Problem(np.eye(100), np.where(np.arange(100) % 2, 1, -1), np.ones((900, 100)), 400)
    engine = find_solver("bnb", "l2")
    assert engine.is_practical(problem)
    needed = 1000 * 100**2 / engine.setup_rate
    assert engine.is_practical(problem, 2.1 * needed)
    assert not engine.is_practical(problem, 1.9 * needed)
    assert not engine.is_practical(problem, 0.0)
