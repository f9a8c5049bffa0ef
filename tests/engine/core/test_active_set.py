"""The loops of the node solver say what their formulas say."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.convex.svm import solve_convex
from cs3vm.engine.core.active_set import DONE, TO_THE_END, _look_ahead, set_sides, solve
from cs3vm.engine.core.arrays import DUAL
from cs3vm.engine.core.products import all_scores
from cs3vm.engine.core.relaxation import Relaxation
from cs3vm.engine.jit import NO_ROW, integer
from cs3vm.model.problem import Problem


@pytest.mark.parametrize(("first", "count"), [(0, 30), (11, 19), (7, 5)])
def test_scores_of_the_rows_from_one_on(first, count):
    rng = np.random.default_rng(first)
    Z, w, scores = rng.normal(size=(30, 6)), rng.normal(size=6), np.full(count, np.nan)
    all_scores(np.ascontiguousarray(Z.T), integer(first), w, 0.3, scores)
    np.testing.assert_allclose(scores, (Z @ w + 0.3)[first : first + count], rtol=1e-12, atol=1e-12)


def reach(slope, c, f, p, lo, hi):
    """How far one row is from its target, if it moves there from where its multiplier is at a bound."""
    gap = p - f
    falls = slope < -1e-12 and c <= lo and gap <= 1e-9
    rises = slope > 1e-12 and c >= hi and gap >= -1e-9
    return gap / slope if falls or rises else np.inf


@pytest.mark.parametrize("s", [1.0, -1.0])
def test_a_push_looks_ahead_at_rows_that_move_to_their_target(s):
    rng = np.random.default_rng(5)
    slope, f = rng.normal(size=200), rng.normal(size=200)
    slope[:5], p = 0.0, np.where(rng.random(200) < 0.5, 1.0, -1.0)
    lo, hi = np.where(p < 0, -2.0, 0.0), np.where(p > 0, 2.0, 0.0)
    c = np.where(rng.random(200) < 0.4, lo, np.where(rng.random(200) < 0.6, hi, 0.5 * (lo + hi)))
    expected = [reach(*row) for row in zip(s * slope, c, f, p, lo, hi, strict=True)]
    ahead, df = np.zeros(200), slope.copy()
    _look_ahead(ahead, df, s, 1e-12, c, f, p, lo, hi)
    np.testing.assert_array_equal(df, s * slope)
    np.testing.assert_allclose(ahead, expected, rtol=1e-15)
    assert 20 < np.isfinite(ahead).sum() < 180


def test_the_solver_reaches_the_convex_optimum():
    rng = np.random.default_rng(2)
    y = np.array([1.0, -1.0] * 10)
    problem = Problem(rng.normal(size=(20, 4)) + 0.5 * y[:, None], y, rng.normal(size=(25, 4)), 12)
    side = np.where(problem.U[:, 0] > 0.5, 1, np.where(problem.U[:, 0] < -0.5, -1, 0)).astype(np.int8)
    held = problem.n + np.flatnonzero(side)
    r = Relaxation(problem)
    set_sides(r.box, held, side[held - problem.n])
    limit = integer(2000)
    assert solve(r.rows, r.box, r.base, r.tmp, held, len(held), np.inf, limit, TO_THE_END, NO_ROW) == DONE
    assert r.base.value[DUAL] == pytest.approx(solve_convex(problem, side).bound, rel=1e-5)
