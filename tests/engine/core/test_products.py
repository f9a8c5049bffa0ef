"""Scores by products of rows are the scores."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.convex.svm import solve_convex
from cs3vm.engine.core import relaxation
from cs3vm.engine.core.active_set import DONE, TO_THE_END, copy_state, set_sides, solve
from cs3vm.engine.core.arrays import DUAL, INTERCEPT, INTERCEPT_THEN, MOVED, UNKNOWN
from cs3vm.engine.core.products import all_scores, products
from cs3vm.engine.core.relaxation import Relaxation
from cs3vm.engine.jit import NO_ROW
from cs3vm.solvers.bnb_ import solve as bnb


def wide(seed: int, n=24, m=30, d=40, **more) -> Problem:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 4 > 0, 1.0, -1.0)
    X, U = rng.normal(size=(n, d)) + 0.2 * y[:, None], rng.normal(size=(m, d))
    return Problem(X, y, U, m // 3, **more)


def without_products(monkeypatch):
    monkeypatch.setattr(relaxation, "products", lambda Z: np.zeros((0, 0)))


def test_products_are_kept_where_they_pay():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(50, 40))
    np.testing.assert_allclose(products(Z), Z @ Z.T)
    assert products(Z[:, :30]).size == 0  # few directions
    assert products(np.zeros((3200, 40))).size == 0  # many rows
    assert products(np.zeros((3100, 400))).size == 0  # too much to compute


@pytest.mark.parametrize("d", [0, 1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("first", [0, 2])
def test_four_columns_at_a_time_are_all_columns(d, first):
    rng = np.random.default_rng(d)
    Z, w, scores = rng.normal(size=(20, d)), rng.normal(size=d), np.full(20 - first, np.nan)
    all_scores(np.ascontiguousarray(Z.T), first, w, 0.5, scores)
    np.testing.assert_allclose(scores, Z[first:] @ w + 0.5, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_scores_that_were_caught_up_with_are_the_scores(seed):
    problem = wide(seed)
    r = Relaxation(problem)
    n, rng = problem.n, np.random.default_rng(seed)
    side = rng.choice([-1, 0, 1], problem.m).astype(np.int8)
    held = n + np.flatnonzero(side)
    set_sides(r.box, held, side[held - n])
    outcome = solve(r.rows, r.box, r.base, r.tmp, held, len(held), np.inf, 2000, TO_THE_END, NO_ROW)
    assert outcome == DONE
    assert r.base.value[DUAL] == pytest.approx(solve_convex(problem, side).bound, rel=1e-5)
    copy_state(r.base, r.spare)
    for st in (r.base, r.spare):
        assert st.number[MOVED] != UNKNOWN  # else nothing is tested here
        scores = r.rows.Z[n:] @ st.w + st.value[INTERCEPT]
        known = st.g + st.value[INTERCEPT] - st.value[INTERCEPT_THEN] + r.rows.K[n:] @ st.by
        np.testing.assert_allclose(known, scores, atol=1e-10)
        labelled = r.rows.Z[:n] @ st.w + st.value[INTERCEPT]
        free = st.inside[:n] == 0  # the others are on target, and nobody asks for them
        np.testing.assert_allclose(st.f[free], labelled[free], atol=1e-10)


@pytest.mark.parametrize("margin", [0.0, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_same_without_products(seed, margin, monkeypatch):
    problem = wide(seed, n=20, m=20, d=38, side_margin=margin)
    found = bnb(problem, time_limit=600.0)
    without_products(monkeypatch)
    again = bnb(wide(seed, n=20, m=20, d=38, side_margin=margin), time_limit=600.0)
    assert found.is_optimal
    assert again.is_optimal
    assert found.objective == pytest.approx(again.objective, rel=3e-6)
    assert found.lower_bound <= again.objective * (1 + 1e-9)
    assert again.lower_bound <= found.objective * (1 + 1e-9)
