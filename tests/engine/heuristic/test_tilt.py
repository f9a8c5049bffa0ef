"""Planes with too many rows on them become proper ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.engine.heuristic.improve import improve
from cs3vm.engine.heuristic.incumbent import Search
from cs3vm.engine.heuristic.tilt import blocking, tilt
from cs3vm.model.budget import Budget
from tests.engine.heuristic.test_corners import rare_events
from tests.oracle import brute_force

MARGIN = 1e-3


def categories(seed: int, m: int = 9) -> Problem:
    """A tiny table of categories: most planes of interest pass through several rows."""
    rng = np.random.default_rng([seed, 5])
    rows = rng.integers(0, 3, size=(m + 6, 3)).astype(float)
    y = np.array([1, -1, 1, 1, -1, 1])
    return Problem(rows[:6], y, rows[6:], int(rng.integers(1, m)))


def survey_table(seed: int) -> Problem:
    """Columns with three values each, most of them the first; hardly any rows are equal."""
    rng = np.random.default_rng([seed, 9])
    rows = rng.choice(3, p=[0.6, 0.25, 0.15], size=(440, 14)).astype(float)
    y = np.where(rows[:, 0] + rows[:, 1] + rng.normal(size=440) > 1.5, 1, -1)
    return Problem(rows[:40], y[:40], rows[40:], int((y[40:] > 0).sum()))


def test_a_degenerate_plane_becomes_proper_at_little_cost():
    for seed in range(5):
        problem = survey_table(seed)
        flat = Search(problem, Budget()).plane(np.eye(problem.d)[0])  # by the first column alone
        assert problem.on_plane(flat.w, flat.b).sum() > problem.d + 1
        proper = replace(problem, side_margin=MARGIN)
        search = Search(proper, Budget())
        before = search.plane(flat.w)
        plane = tilt(search, before)
        assert plane.value < before.value
        assert plane.value <= 1.1 * flat.value
        best = proper.best_intercept(plane.w)
        assert 0.5 * plane.w @ plane.w + best.cost == pytest.approx(plane.value)
        assert proper.violation(plane.w, best.b, best.z) <= 1e-5 * MARGIN
        assert not proper.on_plane(plane.w, best.b).any()


def test_the_rows_that_block_are_those_without_a_gap():
    U = np.array([[3.0], [2.0], [2.0], [2.0], [1.0]])
    problem = Problem([[3.0], [1.0]], [1, -1], U, 2, side_margin=0.1)
    search = Search(problem, Budget())
    group = blocking(search, search.plane(np.ones(1)))
    assert sorted(group.rows) == [1, 2, 3]
    assert group.need == 1.0
    whole = Search(replace(problem, n_positive=4), Budget())
    assert blocking(whole, whole.plane(np.ones(1))) is None
    wide = Search(replace(problem, side_margin=0.6), Budget())  # no gap is wide enough: all rows block
    assert len(blocking(wide, wide.plane(np.ones(1))).rows) == 5


def test_rows_with_fixed_sides_do_not_block():
    U = np.array([[3.0], [2.0], [2.0], [2.0], [1.0]])
    problem = Problem([[3.0], [1.0]], [1, -1], U, 2, side=[0, 1, 0, 0, 0], side_margin=0.1)
    search = Search(problem, Budget())
    group = blocking(search, search.plane(np.ones(1)))
    assert group is None  # the fixed row and the first one are the two


@pytest.mark.parametrize("margin", [MARGIN, 0.1])
def test_tiny_tables_of_categories(margin: float):
    hits = 0
    for seed in range(12):
        problem = replace(categories(seed), side_margin=margin)
        result, optimum = improve(problem, time_limit=600.0), brute_force(problem)
        assert result.violation <= 1e-5 * margin
        assert result.objective >= optimum * (1 - 1e-5) - 1e-6
        hits += result.objective <= optimum * (1 + 1e-5) + 1e-6
    assert hits >= 11


def test_no_margin_is_no_worse_than_a_margin():
    for seed in range(2):
        values = [
            improve(rare_events(seed, m=80, side_margin=margin), time_limit=600.0, patience=4).objective
            for margin in (0.0, 1e-4, MARGIN)
        ]
        assert values[0] <= values[1] * (1 + 1e-6)
        assert values[1] <= values[2] * (1 + 1e-3)


def test_a_strip_wider_than_all_gaps_is_no_excuse_to_give_up_the_total():
    """Many rows and few gaps: a longer normal vector, or another, makes room."""
    rng = np.random.default_rng(0)
    rows = 0.05 * rng.normal(size=(420, 6))
    y = np.where(rows[:, 0] + 0.02 * rng.normal(size=420) > 0, 1, -1)
    problem = Problem(rows[:20], y[:20], rows[20:], int((y[20:] > 0).sum()), side_margin=1e-2)
    result = improve(problem, time_limit=600.0, patience=10)
    assert abs(result.count - problem.n_positive) <= 2
