"""Every claim passes the gate, and none that was once wrong is made again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cs3vm.convex.gate as gate
from cs3vm import Problem, Result, Status, available_solvers, solve
from cs3vm.convex.feasibility import fits
from cs3vm.methods import METHODS, front_door
from cs3vm.model.norms import NORMS
from cs3vm.solvers import SOLVERS, get_solver
from tests.oracle import brute_force, random_problem

#: Rows on the plane must be split against a tie: derived anew by rank, the answer of P6 was 22 times worse.
SPLIT_TIE = Problem(
    [[2, 0, 0], [1, -1, 0], [0, 1, 0], [0, -2, 2]],
    [1, 1, 1, -1],
    [[1, -2, -1], [-2, -1, 2], [2, 1, 0]],
    4,
    weights=[2, 1, 3],
    C=4.9,
    count_penalty=90.84,
)
#: Prices over ten orders of magnitude: HiGHS called 3.3 times a feasible value optimal.
MIXED_PRICES = Problem(
    [
        [101668.85529102161],
        [164802.969180606],
        [-156151.0453796378],
        [163522.6690761903],
        [-388355.0821746948],
    ],
    [-1, -1, 1, -1, 1],
    [
        [115235.53425973289],
        [-286190.9355269936],
        [-160879.5221128776],
        [164289.82738198419],
        [-43470.68286078983],
        [-63684.95544835208],
        [15021.892741803273],
    ],
    11.25726933056131,
    weights=[
        0.8810056900689841,
        2.690131525971923,
        1.796373696588193,
        0.2344096828804078,
        1.8091971871183177,
        1.1278943098256577,
        2.718257238107827,
    ],
    C=[1297.2392513730324, 4.6383111189496236e-05, 0.0720942699143451, 13.014675832696026, 315906.2341283741],
    count_penalty=0.00018968380597279768,
    norm="l1",
)


def check(result: Result, gap: float = 1e-6) -> None:
    """What every result promises."""
    problem = result.problem
    if result.found:
        assert result.violation <= gate.allowed_violation(problem, result.coef, result.intercept)
        assert result.objective == problem.objective(result.coef, result.intercept, result.z)
        assert result.lower_bound <= result.objective
        assert result.status not in (Status.INFEASIBLE, Status.CUTOFF)
        assert (result.gap <= gap) == (result.status is Status.OPTIMAL)
    else:
        assert result.status is not Status.OPTIMAL
        assert result.status is not Status.INFEASIBLE or not fits(problem)


@pytest.mark.parametrize("solver", ["auto", "scip"])
def test_wircm_keeps_the_sides_of_its_last_step(solver):
    result = solve(SPLIT_TIE, "wircm", solver=solver)
    check(result)
    assert result.objective == pytest.approx(brute_force(SPLIT_TIE), rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_wircm_with_weights_claims_no_more_than_brute_force_allows(seed):
    rng = np.random.default_rng([77, seed])
    for _ in range(4):
        m = 6
        weights = rng.integers(1, 6, m).astype(float)
        total = float(rng.integers(0, int(weights.sum()) + 1))
        problem = replace(
            random_problem(rng, m=m),
            weights=weights,
            n_positive=total,
            count_penalty=float(10 ** rng.uniform(-1, 2)),
        )
        result = solve(problem, "wircm", time_limit=20)
        check(result)
        optimum = brute_force(problem)
        assert result.objective >= optimum - 1e-5 * max(1e-3, optimum)
        if result.is_optimal:
            assert result.objective <= optimum * (1 + 1e-5) + 1e-8


@pytest.mark.parametrize("solver", [name for name in ("highs", "scip") if name in available_solvers()])
def test_no_bound_beyond_a_known_point_where_prices_differ_widely(solver):
    known = MIXED_PRICES.best_intercept(np.array([-1.155e-05]))
    value = MIXED_PRICES.objective(np.array([-1.155e-05]), known.b, known.z)
    assert value < 2.24e-4
    result = solve(MIXED_PRICES, "cs3vm", solver=solver)
    check(result)
    assert result.lower_bound <= value


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_leaves_around_the_gate(method, solver, norm, monkeypatch):
    if solver not in available_solvers(norm) or (method == "direct" and norm != "l2"):
        pytest.skip(f"{solver} or {method} does not know the norm {norm}")
    passed: list[int] = []

    def watched(result, gap=1e-6):
        result = gate.checked(result, gap)
        passed.append(id(result))
        return result

    monkeypatch.setattr(front_door, "checked", watched)
    for margin in (0.0, 0.1):
        problem = replace(random_problem(np.random.default_rng(5), m=5), norm=norm, side_margin=margin)
        result = solve(problem, method, solver=solver, time_limit=20)
        assert id(result) in passed
        check(result)
        check(get_solver(solver, norm)(problem, time_limit=20))


# -- the gate itself ---------------------------------------------------------------------------------
@pytest.fixture
def point() -> Result:
    """The best point of a problem of three rows, with a bound of half its value."""
    problem = Problem([[3.0], [1.0]], [1, -1], [[4.0], [0.0], [2.5]], 2)
    best = problem.best_intercept(np.ones(1))
    value = problem.objective(np.ones(1), best.b, best.z)
    return Result(problem, Status.FEASIBLE, np.ones(1), best.b, best.z, lower_bound=0.5 * value)


def test_optimal_needs_a_bound(point):
    assert gate.checked(replace(point, status=Status.OPTIMAL)).status is Status.FEASIBLE
    assert gate.checked(replace(point, status=Status.OPTIMAL), gap=0.5).status is Status.OPTIMAL
    assert gate.checked(replace(point, lower_bound=point.objective)).status is Status.OPTIMAL


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.CUTOFF])
def test_a_point_refutes_the_claim_that_there_is_none(point, status):
    assert gate.checked(replace(point, status=status)).status is Status.FEASIBLE


def test_sides_that_contradict_the_plane_are_repaired(point):
    wrong = gate.checked(replace(point, z=1 - point.z))
    assert wrong.violation <= 1e-9
    assert wrong.objective == pytest.approx(point.objective)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_point_that_is_not_finite_is_refused(point, value):
    refused = gate.checked(replace(point, coef=np.array([value]), status=Status.OPTIMAL))
    assert not refused.found
    assert refused.status is Status.TIME_LIMIT


def test_infeasible_needs_a_certificate(point):
    assert gate.checked(Result(point.problem, Status.INFEASIBLE)).status is Status.TIME_LIMIT
    both = Problem([[3.0], [1.0]], [1, -1], [[2.0], [2.0]], 1, side=[1, -1], side_margin=0.1)
    assert gate.checked(Result(both, Status.INFEASIBLE)).status is Status.INFEASIBLE
