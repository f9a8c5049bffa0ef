"""The machine itself: it sees errors that are planted, and its exact arithmetic is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cs3vm import Problem, Result, Status
from cs3vm.model.totals import Total, Totals
from cs3vm.solvers.bnb_ import solve
from tests.fuzz.exact import best_value, interior, proven_value, separable
from tests.fuzz.instances import several, tiny
from tests.fuzz.oracle import Oracle
from tests.fuzz.referee import Answer, is_mild, judge, signature
from tests.fuzz.shrink import as_source, fewer, shrink
from tests.oracle import brute_force


def judged(problem: Problem, result: Result) -> list[str]:
    return [finding.kind for finding in judge(problem, [Answer({}, result, 0.0)], Oracle(problem))]


@pytest.mark.parametrize("norm", ["l2", "l1", "max"])
def test_oracle_agrees_with_the_plain_one(norm):
    rng = np.random.default_rng(3)
    for _ in range(60):
        problem = tiny(rng, norm=norm, extreme=False)
        try:
            expected, oracle = brute_force(problem), Oracle(problem)
            found = oracle.optimum()
        except ArithmeticError:
            continue
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * float(problem.C.sum()))


def test_with_several_totals_the_oracle_agrees_and_planted_errors_are_seen():
    rng = np.random.default_rng(8)
    seen = tried = 0
    for _ in range(60):
        problem = several(rng)
        if not is_mild(problem):
            continue
        try:
            expected, found = brute_force(problem), Oracle(problem).optimum()
        except ArithmeticError:
            continue
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * float(problem.C.sum()))
        result = solve(problem, time_limit=5.0)
        if not result.is_optimal or result.objective < 1e-6 * problem.C.sum():
            continue
        assert judged(problem, result) == []
        wrong = replace(result, coef=None, z=None, status=Status.TIME_LIMIT)
        tried += 1
        seen += "wrong" in judged(problem, replace(wrong, lower_bound=result.objective * 1.00001))
    assert tried >= 20
    assert seen >= 0.9 * tried


def test_findings_with_several_totals_are_shrunk():
    rng = np.random.default_rng(1)
    problem = next(p for p in (several(rng) for _ in range(100)) if len(p.totals) == 3)
    small = shrink(problem, lambda p: p.m >= 1 and len(p.totals) >= 2, np.inf)  # it ends by itself
    assert (small.n, small.m, small.d, len(small.totals)) == (1, 1, 1, 2)
    names = {"Problem": Problem, "Total": Total, "Totals": Totals, "np": np}
    assert as_source(eval(as_source(small), names)) == as_source(small)


def test_planted_bounds_are_refuted_exactly():
    """A bound that is too high by 1e-5 is refuted by a point that is feasible in rational arithmetic."""
    rng = np.random.default_rng(4)
    seen = tried = 0
    for _ in range(80):
        problem = tiny(rng, extreme=False)
        result = solve(problem, time_limit=5.0)
        if not result.is_optimal or result.objective < 1e-6 * problem.C.sum():
            continue
        assert judged(problem, result) == []
        tried += 1
        w, b, z = result.coef, result.intercept, result.z
        wrong = replace(
            result, coef=None, z=None, status=Status.TIME_LIMIT, lower_bound=result.objective * 1.00001
        )
        seen += "wrong" in judged(problem, wrong)
        assert wrong.objective == np.inf
        exact = proven_value(problem, w, b, z)
        assert exact is None or float(exact) >= result.lower_bound
    assert tried >= 50
    assert seen >= 0.95 * tried


def test_planted_points_and_statuses_are_seen():
    problem = Problem([[0.0], [2.0]], [-1, 1], [[0.2], [1.5]], 1)
    good = solve(problem)
    assert judged(problem, good) == []
    assert "wrong" in judged(problem, replace(good, z=1 - good.z))
    assert "wrong" in judged(problem, replace(good, coef=np.array([np.nan])))
    assert "wrong" in judged(problem, replace(good, lower_bound=0.5 * good.objective))
    assert "wrong" in judged(problem, Result(problem, Status.INFEASIBLE))
    assert "wrong" in judged(problem, Result(problem, Status.OPTIMAL))
    cutoff = Answer({}, Result(problem, Status.CUTOFF), 0.0, cutoff=2.0 * good.objective)
    assert [finding.kind for finding in judge(problem, [cutoff], Oracle(problem))] == ["wrong"]


def test_separability_is_decided_exactly():
    rng = np.random.default_rng(5)
    for _ in range(200):
        rows = rng.integers(-2, 3, (int(rng.integers(1, 7)), int(rng.integers(1, 4)))).astype(float)
        signs = rng.choice([-1, 1], len(rows))
        assert separable(rows, signs) == (interior(rows, signs.astype(float)) is not None)
    near = np.array([[0.0], [1.0], [1.0 + 2.0**-52]])
    assert separable(near, np.array([-1, -1, 1]))
    assert not separable(near, np.array([1, -1, 1]))


def test_findings_are_shrunk():
    rng = np.random.default_rng(6)
    problem = tiny(rng, extreme=False)
    small = shrink(problem, lambda p: p.m >= 1 and p.n >= 1, 20.0)
    assert (small.n, small.m, small.d) == (1, 1, 1)
    assert eval(as_source(small), {"Problem": Problem, "np": np}).m == 1
    assert fewer(list(range(50)), lambda kept: {7, 31} <= set(kept)) == [7, 31]


def test_signatures_have_no_numbers():
    assert signature("wrong", "bound 1.5e-07 above -2 (x)") == signature("wrong", "bound 3 above 4.5 (y)")


def test_lemkes_method_agrees_with_the_engine_on_fixed_sides():
    """The least value in rationals is never below a bound, and both agree but for degenerate ones."""
    rng = np.random.default_rng(5)
    equal = tried = 0
    for _ in range(60):
        problem = tiny(rng, extreme=False)
        z = (rng.random(problem.m) < 0.5).astype(int)
        sides = np.where(z > 0, 1, -1)
        least = best_value(problem, z)
        if np.any(problem.side == -sides):
            assert least is None
        elif least is None:
            assert problem.side_margin > 0.0
            assert not separable(problem.U, sides)
        else:
            bound = solve(replace(problem, side=sides)).lower_bound
            assert bound <= float(least) * (1.0 + 1e-12)
            tried, equal = tried + 1, equal + (bound >= float(least) * (1.0 - 1e-6) - 1e-9)
    assert tried > 30
    assert equal >= tried - 2


def test_a_point_that_only_the_tolerance_allows_refutes_nothing():
    """Rows that differ in the ninth digit: the oracle parts them within the tolerance, no plane does so."""
    problem = Problem(
        [[0.0]], [-1], [[2.970879367409757], [2.9708793715600272]], 8000.0, weights=[100.0, 30000.0], C=5000.0
    )
    result = solve(problem)
    assert judged(problem, result) == []
    assert best_value(problem, np.array([1, 0])) > 8000.0  # and 7900.06 within the tolerance
    assert best_value(problem, np.array([0, 0])) == 8000
