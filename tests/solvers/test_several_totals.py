"""Every solver with up to three overlapping totals against brute force over all labelings."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import cs3vm.solvers
from cs3vm import Problem, Status, available_solvers, solve
from cs3vm.exceptions import InvalidProblemError
from cs3vm.model.result import Result
from cs3vm.model.totals import Total, Totals
from cs3vm.solvers import get_solver
from cs3vm.solvers.mip import counts_of, supports, unsafe_scale
from tests.oracle import brute_force, random_several

#: Of 25 instances each: 650 for our engine, 100 for SCIP and for each solver of another norm 50.
CHUNKS, PER_CHUNK = {"bnb": 26, "scip": 4}, 25
OTHERS = [(norm, name) for norm in ("l1", "max") for name in available_solvers(norm)]


def check(result: Result, optimum: float) -> None:
    """Nothing claimed is wrong, and what can be proven is."""
    tolerance = 1e-5 * max(1e-3, optimum)
    if not np.isfinite(optimum):
        assert not result.found
        assert result.status is Status.INFEASIBLE
        return
    assert result.found
    assert result.violation <= 1e-6
    assert result.lower_bound <= optimum + 0.1 * tolerance
    assert abs(result.objective - optimum) <= tolerance
    assert result.is_optimal


def instance(chunk: int, i: int, **options) -> Problem:
    return random_several(np.random.default_rng([77, chunk, i]), **options)


@cache
def solved(chunk: int, i: int, **options) -> tuple[Problem, float]:
    """An instance and its optimum, which is that of every solver."""
    problem = instance(chunk, i, **options)
    return problem, brute_force(problem)


@pytest.mark.parametrize(
    ("name", "chunk"), [(name, chunk) for name, chunks in CHUNKS.items() for chunk in range(chunks)]
)
def test_brute_force(name, chunk):
    for i in range(PER_CHUNK):
        problem, optimum = solved(chunk, i)
        check(get_solver(name)(problem, time_limit=30.0), optimum)


@pytest.mark.parametrize(("norm", "name"), OTHERS)
@pytest.mark.parametrize("chunk", range(2))
def test_brute_force_with_other_norms(norm, name, chunk):
    for i in range(PER_CHUNK):
        problem, optimum = solved(100 + chunk, i, m=5, norm=norm)
        check(get_solver(name, norm)(problem, time_limit=30.0), optimum)


@pytest.mark.skipif("gurobi" not in available_solvers(), reason="gurobipy is not installed")
def test_gurobi():
    for i in range(20):
        problem = instance(200, i)
        check(get_solver("gurobi")(problem, time_limit=30.0), brute_force(problem))


@pytest.mark.parametrize("name", [name for name in available_solvers("l2") if name != "bnb"])
@pytest.mark.parametrize("big_m", ["paper", "tight", "indicator"])
def test_every_big_m_gives_the_same_optimum(name, big_m):
    for i in range(5):
        problem, optimum = solved(300, i)
        check(get_solver(name)(problem, time_limit=30.0, big_m=big_m), optimum)


def test_the_instances_are_of_every_kind():
    problems = [instance(chunk, i) for chunk in range(CHUNKS["bnb"]) for i in range(PER_CHUNK)]
    kinds = {
        "overlap": [p.totals.overlap for p in problems],
        "three": [len(p.totals) == 3 for p in problems],
        "interval": [
            bool(np.any(np.isfinite(p.totals.high) & (p.totals.high > p.totals.low))) for p in problems
        ],
        "half-open": [bool(np.any(np.isinf(p.totals.high))) for p in problems],
        "own price": [bool(np.any(p.totals.penalty != p.count_penalty)) for p in problems],
        "weights": [bool(np.any(p.weights != 1.0)) for p in problems],
        "fixed": [bool(np.any(p.side)) for p in problems],
        "margin": [p.side_margin > 0.0 for p in problems],
        "no margin": [p.side_margin == 0.0 for p in problems],
    }
    assert len(problems) >= 600
    assert {kind: sum(flags) for kind, flags in kinds.items() if sum(flags) < 60} == {}


@pytest.mark.parametrize(("norm", "name"), [*OTHERS, ("l2", "scip"), ("l2", "gurobi")])
def test_a_good_start_is_taken_and_never_lost(norm, name):
    if name not in available_solvers(norm):
        pytest.skip(f"{name} is not installed")
    problem = instance(400, 1, norm=norm, side_margin=0.0, side=None)
    best = get_solver(name, norm)(problem, time_limit=30.0)
    again = get_solver(name, norm)(problem, start=best, time_limit=0.0)
    assert again.objective <= best.objective * (1 + 1e-9)
    below = get_solver(name, norm)(problem, cutoff=0.9 * best.objective, time_limit=30.0)
    assert below.status is Status.CUTOFF


def test_the_rows_of_a_model():
    totals = Totals([Total([0, 2], 1), Total([1, 2], 2, np.inf), Total(None, 1, 900), Total([], 0)])
    counts = counts_of(Problem([[1.0]], [1], [[0.0], [1.0], [2.0]], totals, weights=[1, 2, 5]))
    np.testing.assert_array_equal(counts.matrix.toarray(), [[1, 0, 5], [0, 2, 5], [1, 2, 5], [0, 0, 0]])
    np.testing.assert_array_equal(counts.low, [1, 2, 1, 0])
    np.testing.assert_array_equal(counts.high, [1, np.inf, np.inf, 0])


@pytest.mark.parametrize(("norm", "name"), [*OTHERS, ("l2", "scip"), ("l2", "gurobi"), ("l2", "bnb")])
def test_no_total_at_all_and_totals_of_no_rows(norm, name):
    if name not in available_solvers(norm):
        pytest.skip(f"{name} is not installed")
    for totals in (Totals([]), Totals([Total([], 0), Total(None, 0, np.inf)])):
        problem = Problem([[3.0], [1.0]], [1, -1], [[0.0], [4.0]], totals, norm=norm)
        result = get_solver(name, norm)(problem, time_limit=10.0)
        assert result.is_optimal
        assert result.objective == pytest.approx(0.5 if norm == "l2" else 1.0, abs=1e-5)


def test_the_price_of_any_total_can_be_beyond_the_tolerances():
    def problem(price: float) -> Problem:
        totals = Totals([Total([0], 1), Total([1], 0, penalty=price)])
        return Problem([[1.0], [-1.0]], [1, -1], [[0.0], [4.0]], totals, norm="l1")

    assert unsafe_scale(problem(1.0)) is None
    assert "prices" in unsafe_scale(problem(1e-7))
    assert supports(problem(1.0), 1.0)
    assert not supports(problem(1e7), 1.0)


def test_a_solver_that_cannot_says_so(monkeypatch):
    plain = dataclasses.replace(cs3vm.solvers.SOLVERS["scip"], several_totals=False)
    monkeypatch.setitem(cs3vm.solvers.SOLVERS, "scip", plain)
    problem = Problem([[1.0], [-1.0]], [1, -1], [[0.0], [4.0]], (0, 1))
    with pytest.raises(InvalidProblemError, match=r"'scip' takes one exact total.*'bnb'"):
        solve(problem, "cs3vm", solver="scip")
    assert solve(dataclasses.replace(problem, n_positive=1), "cs3vm", solver="scip").is_optimal
