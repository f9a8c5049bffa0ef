"""No point fits only where the fixed rows cannot be separated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from cs3vm import Problem, Status
from cs3vm.convex import feasibility
from cs3vm.convex.feasibility import any_answer, fits
from cs3vm.solvers.bnb_ import solve


def two_near_rows(distance: float, margin: float = 1.0) -> Problem:
    """A row held positive and one held negative, so far apart; two free rows between and beside them."""
    return Problem(
        np.array([[0.0, 0.0], [1.0, 0.0]]),
        np.array([1, -1]),
        np.array([[0.0, 0.0], [distance, 0.0], [3.0, 1.0], [0.5 * distance, 5.0]]),
        1,
        side=np.array([1, -1, 0, 0]),
        side_margin=margin,
    )


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6, 1e-8])
def test_rows_that_can_be_separated_have_a_point_however_long_w_must_be(distance):
    problem = two_near_rows(distance)
    assert fits(problem)
    found = any_answer(problem)
    assert found is not None
    assert found.violation <= 1e-6
    least = 0.5 * (2.0 / distance) ** 2  # the two rows need scores of 1 and -1
    assert found.objective >= least * (1.0 - 1e-5)
    result = solve(problem, time_limit=5.0)
    assert result.found
    assert result.status is not Status.INFEASIBLE
    assert result.lower_bound <= least * 1.1


def test_equal_rows_on_both_sides_have_none_with_a_margin():
    problem = two_near_rows(0.0)
    assert not fits(problem)
    assert any_answer(problem) is None
    assert solve(problem, time_limit=5.0).status is Status.INFEASIBLE
    assert fits(two_near_rows(0.0, margin=0.0))


def test_a_row_inside_the_hull_of_the_other_side_has_none():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.2]])
    side = np.array([1, 1, 1, -1])
    problem = Problem(corners[:2], np.array([1, -1]), corners, 3, side=side, side_margin=0.1)
    assert not fits(problem)
    assert solve(problem, time_limit=5.0).status is Status.INFEASIBLE
    corners[3] += 0.5
    outside = Problem(corners[:2], np.array([1, -1]), corners, 3, side=side, side_margin=0.1)
    assert fits(outside)
    assert any_answer(outside).violation <= 1e-7


def test_rows_held_on_one_side_only_always_fit():
    rng = np.random.default_rng(0)
    U = rng.normal(size=(30, 3)) * 1e-3
    problem = Problem(U[:4], np.array([1, -1, 1, -1]), U, 9, side=np.arange(30) % 3 // 2, side_margin=2.0)
    assert fits(problem)
    assert any_answer(problem).violation <= 1e-6


@pytest.mark.parametrize("outlier", [1e2, 1e5, 1e8])
def test_a_free_row_far_away_does_not_hide_a_small_distance(outlier):
    problem = two_near_rows(1e-7)
    U = problem.U.copy()
    U[2] = outlier, 1.0
    problem = Problem(problem.X, problem.y, U, 1, side=problem.side, side_margin=1.0)
    assert fits(problem)
    assert solve(problem, time_limit=5.0).status is not Status.INFEASIBLE


def test_a_linear_programme_that_fails_proves_nothing(monkeypatch):
    def fails(*args, **kwargs):
        return OptimizeResult(status=4, x=None)

    monkeypatch.setattr(feasibility, "linprog", fails)
    assert fits(two_near_rows(0.0))
    assert any_answer(two_near_rows(0.0)) is None
