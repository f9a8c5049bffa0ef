"""Several threads search one tree: the same claims, and nobody is left behind."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

from cs3vm import Problem, Status
from cs3vm.exceptions import InvalidProblemError
from cs3vm.solvers.bnb_ import solve
from tests.engine.exact.test_tree import check, medium_problem, tiny_problem
from tests.oracle import brute_force


def searchers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "cs3vm-bnb"]


@pytest.mark.parametrize("batch", range(4))
def test_brute_force(batch):
    rng = np.random.default_rng([batch, 77])
    for _ in range(40):
        problem = tiny_problem(rng)
        try:
            optimum = brute_force(problem)
        except ArithmeticError:  # the oracle's solver gave up: nothing to compare with
            continue
        result = solve(problem, time_limit=30.0, n_jobs=3)
        if np.isinf(optimum):
            assert result.status is Status.INFEASIBLE
        else:
            check(problem, result, optimum)
    assert not searchers()


def hard_problem():
    """Noise: a tree of many thousand nodes."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(180, 12))
    return Problem(points[:30], np.where(np.arange(30) < 24, 1, -1), points[30:], 50)


def test_larger_trees_end_with_the_same_optimum_from_a_bad_incumbent():
    for seed in range(6):
        problem = medium_problem(np.random.default_rng(seed), m=30, d=4)
        one = solve(problem, time_limit=60.0)
        two = solve(problem, time_limit=60.0, n_jobs=2)
        assert one.status is two.status is Status.OPTIMAL
        assert two.objective == pytest.approx(one.objective, rel=2e-6)
        assert two.lower_bound <= one.objective * (1 + 1e-12)


def test_nodes_are_shared():
    names = set()
    result = solve(hard_problem(), time_limit=4.0, n_jobs=3, callback=lambda _: names.update(searchers()))
    assert names == {"cs3vm-bnb"}
    assert result.status is Status.TIME_LIMIT
    assert result.seconds < 6.0
    limited = solve(hard_problem(), node_limit=200, time_limit=60.0, n_jobs=3)
    assert limited.status is Status.NODE_LIMIT
    assert 200 <= limited.n_nodes <= 202
    assert limited.lower_bound < result.objective
    assert not searchers()


def test_an_interrupt_ends_all_threads_and_keeps_the_answer():
    def interrupt(point):
        if point.nodes > 0:
            _thread.interrupt_main()

    result = solve(hard_problem(), time_limit=60.0, n_jobs=2, callback=interrupt)
    assert result.found
    assert result.status is Status.INTERRUPTED
    assert result.lower_bound <= result.objective
    assert not searchers()


def test_an_error_in_the_callback_reaches_the_caller_and_ends_all_threads():
    def fail(point):
        if point.nodes > 0:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(hard_problem(), time_limit=60.0, n_jobs=2, callback=fail)
    assert not searchers()


def test_an_error_in_another_thread_reaches_the_caller(monkeypatch):
    from cs3vm.engine.exact.tree import Tree

    store = Tree._store

    def fail(self, *arguments):
        if not self.leads:
            raise ZeroDivisionError
        store(self, *arguments)

    monkeypatch.setattr(Tree, "_store", fail)
    with pytest.raises(ZeroDivisionError):
        solve(hard_problem(), time_limit=60.0, n_jobs=2)
    assert not searchers()


def test_no_thread_at_all_is_refused():
    with pytest.raises(InvalidProblemError, match="n_jobs=0"):
        solve(hard_problem(), n_jobs=0)
    assert solve(medium_problem(np.random.default_rng(0), m=10), n_jobs=-1).is_optimal
