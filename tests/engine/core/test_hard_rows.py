"""Rows on which a solver of this kind loses its way: nearly dependent ones, and planes with w = 0."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.convex.svm import solve_convex
from cs3vm.engine.core.active_set import DONE, TO_THE_END, load_state, reset, solve
from cs3vm.engine.core.arrays import AGE, INTERCEPT, SIZE, STALE
from cs3vm.engine.core.relaxation import Relaxation, _vertex
from cs3vm.engine.exact.bounds import safe_bound
from cs3vm.engine.jit import NO_ROW
from cs3vm.solvers.bnb_ import solve as bnb


def curves(seed, n=120, d=100, m=10):
    """Smooth curves: a hundred columns, hardly any of them independent."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, d)
    bump = np.exp(-(((t - rng.uniform(0, 1, (n + m, 1))) / 0.1) ** 2))
    rows = 30 * bump * rng.choice([-1, 1], (n + m, 1)) + rng.normal(0, 30, (n + m, 1))
    return Problem(rows[:n], np.where(rng.random(n) < 0.85, 1, -1), rows[n:], m // 2)


def flags(seed, n=370, d=27, m=10):
    """Rare flags and measurements that say nothing: the SVM has w = 0, and all positives are on target."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((n + m, d)) < rng.uniform(0.002, 0.1, d)).astype(float)
    rows[:, :5] = np.round(rng.lognormal(3, 1, (n + m, 5))) - 40
    return Problem(rows[:n], np.where(rng.random(n) < 0.85, 1, -1), rows[n:], m // 2)


def _solved(relaxation, again=2):
    """The bound after a solve, and after others that correct what has drifted, as a node does it."""
    r, problem = relaxation, relaxation.problem
    held = np.zeros(problem.m, dtype=np.int64)
    level = 2 * float(problem.C.sum())
    best = 0.0
    for _ in range(1 + again):
        outcome = solve(r.rows, r.box, r.base, r.tmp, held, 0, np.inf, 20_000, TO_THE_END, NO_ROW)
        best = max(best, safe_bound(r.rows, r.box, r.base, r.tmp.wx, r.limits(level, level)))
        r.base.number[AGE] = STALE
    return outcome, best


@pytest.mark.parametrize("seed", range(4))
def test_where_no_feature_helps_the_start_is_the_solution(seed):
    problem = flags(seed)
    relaxation, svm = Relaxation(problem), solve_convex(problem)
    load_state(relaxation.base, *relaxation.warm_start(svm))
    outcome, bound = _solved(relaxation, again=0)
    assert outcome == DONE
    assert bound == pytest.approx(svm.bound, rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_nearly_dependent_rows_from_scratch(seed):
    problem = curves(seed)
    relaxation = Relaxation(problem)
    reset(relaxation.base)
    outcome, bound = _solved(relaxation)
    assert outcome == DONE
    assert bound == pytest.approx(solve_convex(problem).bound, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_vertex_has_the_same_plane_and_few_multipliers_inside(seed):
    problem = flags(seed)
    rows = np.column_stack([np.ones(problem.n), problem.X])
    c = problem.y * np.clip(solve_convex(problem).alpha, 0, problem.C)
    vertex = _vertex(c, problem.C, rows)
    inside = (vertex != 0) & (np.abs(vertex) < problem.C)
    assert inside.sum() <= rows.shape[1] < ((c != 0) & (np.abs(c) < problem.C)).sum()
    assert np.all(vertex * problem.y >= 0)
    assert np.all(np.abs(vertex) <= problem.C)
    assert vertex @ rows == pytest.approx(c @ rows, abs=1e-7)


def test_what_is_rebuilt_adds_up_and_is_on_target():
    """Multipliers were clipped one by one, and then neither held: the next pivots led anywhere."""
    problem = curves(1)
    relaxation = Relaxation(problem)
    base, rows, box = relaxation.base, relaxation.rows, relaxation.box
    held = np.zeros(problem.m, dtype=np.int64)
    reset(base)
    for pivots in (40, 40, 40, 40, 40):
        solve(rows, box, base, relaxation.tmp, held, 0, np.inf, pivots, TO_THE_END, NO_ROW)
        base.number[AGE] = STALE  # no more pivots: it is rebuilt, and that is all
        solve(rows, box, base, relaxation.tmp, held, 0, np.inf, 0, TO_THE_END, NO_ROW)
        members = base.members[: base.number[SIZE]]
        scores = rows.Z[members] @ base.w + base.value[INTERCEPT]
        assert abs(base.c.sum()) < 1e-8
        assert scores == pytest.approx(box.p[members], abs=1e-5)
        assert np.all(base.c >= box.lo - 1e-12)
        assert np.all(base.c <= box.hi + 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_no_node_is_worth_less_than_the_root(seed):
    """A node that was lost kept its parent's bound, and so did all below it: the search never ended."""
    problem = curves(seed, n=60, d=40, m=20)
    result = bnb(problem, time_limit=600.0, work_limit=3e9)
    assert result.is_optimal
