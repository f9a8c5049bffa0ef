"""Several threads search one tree: the same claims, and nobody is left behind."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

from cs3vm import Problem, Status
from cs3vm.convex.svm import first_answer, solve_convex
from cs3vm.engine.core.relaxation import Relaxation
from cs3vm.engine.exact import plunge
from cs3vm.engine.exact.crew import Options
from cs3vm.engine.exact.incumbent import Incumbent
from cs3vm.engine.exact.tree import Tree
from cs3vm.engine.heuristic.incumbent import Search
from cs3vm.engine.heuristic.local_search import LocalSearch
from cs3vm.exceptions import InvalidProblemError
from cs3vm.model.budget import Budget
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
        result = solve(problem, time_limit=600.0, n_jobs=3)
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
        one = solve(problem, time_limit=600.0)
        two = solve(problem, time_limit=600.0, n_jobs=2)
        assert one.status is two.status is Status.OPTIMAL
        assert two.objective == pytest.approx(one.objective, rel=2e-6)
        assert two.lower_bound <= one.objective * (1 + 1e-12)


def search(problem, n_jobs, node_limit, random_state=0):
    """A search that ends at a node limit, with all that its threads know."""
    incumbent = Incumbent(problem)
    incumbent.offer(first_answer(problem))
    options = Options(np.inf, node_limit=node_limit, n_jobs=n_jobs)
    relaxation = Relaxation(problem, random_state)
    tree = Tree(problem, incumbent, options, 0.0, relaxation, 0.0, solve_convex(problem))
    tree.update_limits()
    assert tree.run() == "nodes"
    return tree


def test_nodes_are_shared():
    tree = search(hard_problem(), 3, 600)
    assert len(tree.crew.members) == 3
    assert all(member.n_nodes > 0 for member in tree.crew.members)
    # what the others do during a plunge is not known until it comes back
    assert 600 <= tree.crew.n_nodes <= 600 + 3 * plunge.LARGEST
    assert not searchers()
    limited = solve(hard_problem(), node_limit=200, time_limit=600.0, n_jobs=3)
    assert limited.status is Status.NODE_LIMIT
    assert 200 <= limited.n_nodes <= 200 + 3 * plunge.LARGEST
    assert limited.lower_bound < limited.objective
    assert not searchers()


def test_counters_cover_all_threads(monkeypatch):
    tree = search(hard_problem(), 2, 600)
    total = tree.counters()
    done = [member.work() for member in tree.crew.members]
    assert all(work["pivots"] > 0 and work["flips"] > 0 for work in done)
    assert total == {name: done[0][name] + done[1][name] for name in done[0]}
    assert done[1]["pairs"] == 0  # the root's pairs are counted once
    monkeypatch.setattr(Tree, "counters", lambda self: {"pivots": -1})
    assert solve(medium_problem(np.random.default_rng(0), m=10)).extras["pivots"] == -1


def test_all_threads_and_the_search_over_cells_use_the_seed():
    problem = hard_problem()
    for seed in (0, 3):
        members = search(problem, 2, 600, seed).crew.members
        assert [member.relaxation.random_state for member in members] == [seed, seed]
    relax = []
    for seed in (0, 3, 3):
        local = LocalSearch(Search(problem, Budget()), np.random.default_rng(seed), seed, patience=6)
        relax.append(local.cells.relaxation.relax)
    assert not np.array_equal(relax[0], relax[1])
    assert np.array_equal(relax[1], relax[2])


def test_an_interrupt_ends_all_threads_and_keeps_the_answer():
    def interrupt(point):
        if point.nodes > 1:  # the root was one: now there are threads
            _thread.interrupt_main()

    result = solve(hard_problem(), time_limit=600.0, n_jobs=2, callback=interrupt)
    assert result.found
    assert result.status is Status.INTERRUPTED
    assert result.lower_bound <= result.objective
    assert not searchers()


def test_an_error_in_the_callback_reaches_the_caller_and_ends_all_threads():
    def fail(point):
        if point.nodes > 1:  # the root was one: now there are threads
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(hard_problem(), time_limit=600.0, n_jobs=2, callback=fail)
    assert not searchers()


def test_an_error_in_another_thread_reaches_the_caller(monkeypatch):
    take_over = Tree._take_over

    def fail(self):
        if not self.leads:
            raise ZeroDivisionError
        take_over(self)

    monkeypatch.setattr(Tree, "_take_over", fail)
    with pytest.raises(ZeroDivisionError):
        solve(hard_problem(), time_limit=600.0, n_jobs=2)
    assert not searchers()


def test_no_thread_at_all_is_refused():
    with pytest.raises(InvalidProblemError, match="n_jobs=0"):
        solve(hard_problem(), n_jobs=0)
    assert solve(medium_problem(np.random.default_rng(0), m=10), n_jobs=-1).is_optimal
