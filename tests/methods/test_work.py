"""Work limits: the same answer whatever the clock, the threads and the order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from cs3vm import Problem, Status, solve
from cs3vm.exceptions import InvalidProblemError
from cs3vm.model.budget import STEP, Budget
from cs3vm.model.result import Result
from cs3vm.model.row_order import in_order
from tests.engine.heuristic.test_corners import rare_events
from tests.methods.test_direct import survey


def permuted(problem: Problem, seed: int) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(problem.n), rng.permutation(problem.m)
    other = Problem(
        problem.X[i], problem.y[i], problem.U[j], problem.n_positive, side_margin=problem.side_margin
    )
    return other, j


@pytest.mark.parametrize("method", ["direct", "auto", "cs3vm"])
def test_the_clock_does_not_decide(method: str):
    problem = survey(400, 6, 40)
    first, second = (solve(problem, method, time_limit=t, work_limit=1e8) for t in (600.0, 6000.0))
    assert not first.hurried
    assert not second.hurried
    assert first.work == second.work > 0.0
    assert np.array_equal(first.z, second.z)
    assert np.array_equal(first.coef, second.coef)
    assert first.n_nodes == second.n_nodes


def test_the_exact_search_says_what_ended_it():
    problem = survey(400, 6, 40)
    result = solve(problem, "cs3vm", time_limit=600.0, work_limit=1e8)
    assert result.status is Status.WORK_LIMIT
    # it ends at the next look at the clock
    assert 1e8 <= result.work <= 2e8
    late = solve(problem, "cs3vm", time_limit=0.0)
    assert late.status is Status.TIME_LIMIT
    assert late.hurried


def test_more_work_is_no_worse_and_takes_more():
    problem = rare_events(0)
    small, large = (solve(problem, "direct", time_limit=600.0, work_limit=w, nodes=0) for w in (1e7, 3e8))
    assert small.work < large.work
    assert large.objective <= small.objective * (1 + 1e-9)


@pytest.mark.parametrize("margin", [0.0, 1e-3])
def test_the_order_of_the_rows_does_not_decide(margin: float):
    problem = rare_events(1, side_margin=margin)
    first = solve(problem, "direct", time_limit=600.0, work_limit=1e8)
    other, j = permuted(problem, 5)
    second = solve(other, "direct", time_limit=600.0, work_limit=1e8)
    assert np.array_equal(first.coef, second.coef)
    if margin > 0.0:
        assert np.array_equal(first.z[j], second.z)
    else:  # equal rows may be split, and which of them go where is up to their order
        assert first.z.sum() == second.z.sum()
    assert second.violation <= 1e-7


def test_threads_do_not_decide():
    problem = survey(400, 6, 40)
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            answers.append(solve(problem, "direct", time_limit=600.0, work_limit=5e7))
    assert np.array_equal(answers[0].coef, answers[1].coef)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), "much", True])
def test_limits_that_are_none(limit: object):
    with pytest.raises(InvalidProblemError, match="work_limit must be a positive number, or None, got"):
        solve(survey(60, 3, 10), "direct", work_limit=limit)


def test_who_does_not_count_refuses():
    problem = survey(60, 3, 10)
    with pytest.raises(InvalidProblemError, match="method 'ircm' does not count its work"):
        solve(problem, "ircm", work_limit=1e9)
    with pytest.raises(InvalidProblemError, match="solver 'scip' does not count its work"):
        solve(problem, "cs3vm", solver="scip", work_limit=1e9)


def test_work_is_written_and_read():
    result = solve(survey(60, 3, 10), "direct", work_limit=1e7)
    again = Result.from_json(result.to_json())
    assert (again.work, again.hurried) == (result.work, result.hurried)


class TestBudget:
    def test_parts_count_for_the_whole(self) -> None:
        whole = Budget(work=1e6)
        part = whole.part(0.5)
        part.spend(5e5)
        assert part.is_over
        assert not whole.is_over
        assert part.work == whole.work == 5e5 + STEP
        whole.spend(5e5)
        assert whole.is_over

    def test_a_part_ends_with_the_whole(self) -> None:
        whole = Budget(work=100.0)
        part = whole.part(1.0)
        whole.spend(0.0)
        assert part.is_over
        assert not part.hurried

    def test_the_guard_is_remembered(self) -> None:
        whole = Budget(seconds=600.0)
        part = Budget(0.0, whole=whole)
        assert part.is_over
        assert whole.hurried
        assert not whole.is_over


class TestOrder:
    def test_it_depends_on_what_is_in_the_rows(self) -> None:
        problem = rare_events(2, m=60)
        other, _ = permuted(problem, 7)
        first, second = in_order(problem), in_order(other)
        assert np.array_equal(first.problem.U, second.problem.U)
        assert np.array_equal(first.problem.X, second.problem.X)
        assert np.array_equal(first.problem.y, second.problem.y)
        assert np.array_equal(problem.U[first.rows], first.problem.U)

    def test_an_ordered_problem_is_left_alone(self) -> None:
        ordered = in_order(rare_events(2, m=60)).problem
        assert in_order(ordered).problem is ordered


def test_what_does_not_search_needs_no_limit():
    problem = survey(60, 3, 10)
    assert solve(problem, "top_tau", work_limit=1.0).objective == solve(problem, "top_tau").objective


def test_a_long_step_is_left_out_where_it_would_pass_the_limits():
    budget = Budget(600.0, 1e9)
    budget.spend(9e8)
    assert budget.has_room(1e8)
    assert not budget.has_room(3e8)
    assert not budget.part(0.5).has_room(1e8)
    assert not budget.hurried  # work decided, not the clock
    late = Budget(1.0, float("inf"))
    assert not late.has_room(1e11)
    assert late.hurried


def test_one_wide_programme_does_not_pass_the_work_limit():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 300))
    y = np.where(rows[:, :5].sum(axis=1) + rng.normal(size=1200) > 0, 1.0, -1.0)
    problem = Problem(rows[:250], y[:250], rows[250:], 300, side_margin=1e-3)
    for limit in (5e8, 1.2e9):
        result = solve(problem, "direct", time_limit=600.0, work_limit=limit, nodes=0)
        assert result.work <= 1.05 * limit
        assert result.found
