"""The search over boxes against brute force, against all cells, and where it is cut short or refused."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem, Status
from cs3vm.engine.boxes.arrays import LEVEL, LIMITS, MARGIN, MOST_INTERCEPT, REACH, new_cone, new_data
from cs3vm.engine.boxes.cuts import cut_value, write_cut
from cs3vm.engine.boxes.scope import MOST_FEATURES, refusal, varying_columns
from cs3vm.exceptions import InvalidProblemError
from cs3vm.model.totals import Total, Totals
from cs3vm.solvers import bnb_
from cs3vm.solvers.bnb_ import solve
from tests.oracle import brute_force, random_problem
from tests.oracle_cells import cells_optimum

BATCHES, BATCH_SIZE = 10, 20


def tiny(rng: np.random.Generator, **options: float) -> Problem:
    options = {
        "side_margin": 0.0 if rng.random() < 0.5 else float(rng.choice([1e-3, 0.1, 0.5])),
        "C": float(10.0 ** rng.uniform(-1, 1)),
        "count_penalty": float(10.0 ** rng.uniform(-1, 1)),
        **options,
    }
    return random_problem(rng, m=int(rng.integers(2, 7)), **options)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_brute_force(batch):
    for seed in range(batch * BATCH_SIZE, (batch + 1) * BATCH_SIZE):
        problem = tiny(np.random.default_rng(seed))
        optimum = brute_force(problem)
        small = 1e-6 * optimum + 1e-6
        for limit in (3, 10, 5000):  # boxes
            found = solve(problem, boxes=True, node_limit=limit)
            assert found.lower_bound <= optimum + small, (seed, limit)
            assert found.objective >= optimum - small, (seed, limit)
            if found.is_optimal:
                assert found.objective == pytest.approx(optimum, rel=2e-6, abs=1e-6), (seed, limit)


@pytest.mark.parametrize("seed", range(20))
def test_intervals(seed):
    rng = np.random.default_rng([seed, 7])
    plain = tiny(rng)
    low = float(rng.integers(0, plain.total_weight))
    options = {"weights": plain.weights, "side_margin": plain.side_margin, "C": plain.C}
    problem = Problem(plain.X, plain.y, plain.U, (low, low + 1), **options)
    optimum = brute_force(problem)
    found = solve(problem, boxes=True, node_limit=5000)
    assert found.lower_bound <= optimum + 1e-6 * (1.0 + optimum)
    assert found.objective >= optimum - 1e-6 * (1.0 + optimum)


@pytest.mark.parametrize("seed", range(6))
def test_all_cells(seed):
    """More rows than brute force can do, on a grid: equal and collinear ones."""
    rng = np.random.default_rng([seed, 3])
    points = rng.integers(-2, 3, (20, 2)).astype(float)
    y = np.where(np.arange(6) < 3, 1, -1)
    problem = Problem(points[:6], y, points[6:], 7, side_margin=0.1 * (seed % 2))
    optimum = cells_optimum(problem)
    found = solve(problem, boxes=True, node_limit=20000)
    assert found.lower_bound <= optimum + 1e-6 * (1.0 + optimum)
    assert found.objective >= optimum - 1e-6 * (1.0 + optimum)


def test_the_tree_goes_first_and_boxes_take_over(monkeypatch):
    rng = np.random.default_rng(5)
    points = rng.normal(size=(48, 3))
    problem = Problem(points[:8], np.where(points[:8, 0] > 0, 1, -1), points[8:], 5, C=10.0)
    tree = solve(problem)
    assert tree.is_optimal
    assert "boxes" not in tree.extras
    monkeypatch.setattr(bnb_, "_TREE_WORK", 2000)
    both = solve(problem)
    assert both.is_optimal
    assert both.extras["boxes"] > 0
    assert both.objective == pytest.approx(tree.objective, rel=2e-6)
    again = solve(problem)
    assert (again.lower_bound, again.n_nodes, again.work) == (both.lower_bound, both.n_nodes, both.work)
    assert "boxes" not in solve(problem, boxes=False).extras
    assert "boxes" not in solve(problem, n_jobs=2).extras


def test_no_limit_counts_the_time_to_compile(monkeypatch):
    """They are compiled when the tree has not ended soon, in the middle of a run."""
    rng = np.random.default_rng(5)
    points = rng.normal(size=(48, 3))
    problem = Problem(points[:8], np.where(points[:8, 0] > 0, 1, -1), points[8:], 5, C=10.0)
    monkeypatch.setattr(bnb_, "_TREE_WORK", 2000)
    monkeypatch.setattr(bnb_, "_prepare_boxes", lambda: 1000.0)
    found = solve(problem, time_limit=600.0)
    assert found.is_optimal
    assert found.seconds < 0.0  # a thousand seconds that never were are not counted


def test_a_cutoff_below_the_optimum_is_proven():
    problem = tiny(np.random.default_rng(11), side_margin=0.1)
    optimum = brute_force(problem)
    found = solve(problem, boxes=True, cutoff=0.9 * optimum, node_limit=20000)
    assert found.status is Status.CUTOFF
    assert found.coef is None
    assert 0.9 * optimum * (1.0 - 2e-6) <= found.lower_bound <= optimum * (1.0 + 1e-6)


def test_refusals():
    rng = np.random.default_rng(0)
    X, y, U = rng.normal(size=(4, 2)), [1, 1, -1, -1], rng.normal(size=(6, 2))
    assert refusal(Problem(X, y, U, 3)) == ""
    assert "fixed" in refusal(Problem(X, y, U, 3, side=[1, 0, 0, 0, 0, 0]))
    assert "norm" in refusal(Problem(X, y, U, 3, norm="l1"))
    assert "total" in refusal(Problem(X, y, U, Totals([Total([0, 1], 1), Total([2, 3], 1)])))
    assert "no unlabelled" in refusal(Problem(X, y, np.zeros((0, 2)), 0))
    assert "whole" in refusal(Problem(X, y, U, 2.5, weights=np.full(6, 1.5)))
    assert refusal(Problem(X, y, U, 2.5, weights=np.full(6, 1.5), side_margin=0.1)) == ""
    wide = rng.normal(size=(10, MOST_FEATURES + 1))
    assert "features" in refusal(Problem(wide[:4], y, wide[4:], 3))
    assert "features" in refusal(Problem(np.ones((4, 2)), y, np.ones((6, 2)), 3))
    assert list(varying_columns(Problem(X * [1, 0], y, U * [1, 0], 3))) == [0]


def test_where_boxes_are_refused_the_tree_does_it():
    problem = Problem([[0.0], [1.0]], [-1, 1], [[0.2], [0.4], [0.9]], 1, side=[-1, 0, 0])
    found = solve(problem, boxes=True)
    assert found.is_optimal
    assert "boxes" not in found.extras


@pytest.mark.parametrize("seed", range(20))
def test_any_cut_is_below_every_plane(seed):
    """Multipliers at random, planes at random: in the box, none has less than the cut says."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, m=5)
    columns = varying_columns(problem)
    while len(columns) == 0:
        problem = random_problem(rng, m=5)
        columns = varying_columns(problem)
    d = len(columns)
    data, cone = new_data(problem, columns), new_cone(d)
    cone.low[:], cone.high[:] = np.sort(rng.uniform(-1, 1, (2, d)), axis=0)
    cone.low[0] = cone.high[0] = 1.0
    cone.pivot[:] = rng.normal(size=d)
    lim, lo, hi = np.zeros(LIMITS), -0.5, 0.7
    lim[[LEVEL, REACH, MOST_INTERCEPT, MARGIN]] = 1e3, 50.0, 1e3, 0.01
    cut = np.zeros(d + 2)
    write_cut(data, cone, rng.uniform(0.0, problem.C), np.zeros(1), 0, lim, cut)
    bound = cut_value(cone, cut, lo, hi, lim)
    for _ in range(200):
        t = 10.0 ** rng.uniform(-2, 1)
        w = t * rng.uniform(cone.low, cone.high)
        if lo * t + 0.01 <= hi * t - 0.01:
            b = rng.uniform(lo * t + 0.01, hi * t - 0.01) - float(w @ cone.pivot)
            full = np.zeros(problem.d)
            full[columns] = w
            assert bound <= problem.svm_value(full, b) + 1e-9


def test_another_word_is_refused():
    with pytest.raises(InvalidProblemError, match="boxes must be True, False or 'auto', got 'yes'"):
        solve(tiny(np.random.default_rng(0)), boxes="yes")
