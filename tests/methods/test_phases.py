"""Phases share one clock, and nothing that an earlier one found is lost."""

from __future__ import annotations

import _thread
import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cs3vm.methods
from cs3vm import Problem, Result, Status, solve, verify
from cs3vm.engine.exact.tree import Tree
from cs3vm.engine.heuristic.local_search import LocalSearch
from cs3vm.engine.warm_up import warm_up
from cs3vm.methods import shares
from cs3vm.methods.phases import Phases
from cs3vm.model.status import TracePoint
from cs3vm.solvers import SOLVERS, bnb_, find_solver
from tests.oracle import brute_force, random_problem

METHODS = Path(cs3vm.methods.__file__).parent


@pytest.fixture
def problem() -> Problem:
    return random_problem(np.random.default_rng(3), m=8)


def nothing(problem, *, status=Status.TIME_LIMIT, **_) -> Result:
    """A phase that finds no point."""
    return Result(problem, status, lower_bound=0.25, seconds=0.5, trace=(TracePoint(0.5, np.inf, 0.25, 1),))


def trivial(problem, **_) -> Result:
    best = problem.trivial
    return Result(problem, Status.FEASIBLE, np.zeros(problem.d), best.b, best.z, n_nodes=2)


def run(problem, *phases, **options) -> Result:
    runs = Phases(problem, 60.0, 1e-6, 0, None)
    for phase in phases:
        runs.run(phase, **options)
    return runs.result


def test_a_phase_without_a_point_keeps_the_earlier_answer(problem):
    result = run(problem, trivial, nothing)
    assert result.found
    assert result.objective == pytest.approx(problem.trivial.cost)
    assert result.status is Status.TIME_LIMIT
    assert result.lower_bound == 0.25
    assert result.n_nodes == 2


def test_a_point_refutes_a_later_claim_that_there_is_none(problem):
    result = run(problem, trivial, lambda p, **_: nothing(p, status=Status.INFEASIBLE))
    assert result.found
    assert result.status is Status.FEASIBLE


def test_that_nothing_lies_below_the_cutoff_is_an_answer_of_its_own(problem):
    optimum = brute_force(problem)
    below = solve(problem, "cs3vm", cutoff=0.999 * optimum - 1e-7)
    assert below.status is Status.CUTOFF
    assert not below.found
    above = solve(problem, "cs3vm", cutoff=1.001 * optimum + 1e-6)
    assert above.objective == pytest.approx(optimum, rel=1e-5)


def test_the_better_point_stays_whoever_found_it(problem):
    best = solve(problem, "cs3vm")
    good = replace(best, status=Status.FEASIBLE)
    assert run(problem, lambda p, **_: good, trivial).objective == best.objective
    assert run(problem, trivial, lambda p, **_: good).objective == best.objective


def test_seconds_and_trace_of_later_phases_count_from_the_start_of_the_run(problem):
    told: list[TracePoint] = []
    phases = Phases(problem, 60.0, 1e-6, 0, told.append)
    phases.run(trivial)
    phases.clock.began -= 10.0
    phases.run(lambda p, callback, **_: [callback(TracePoint(0.5, 1.0, 0.0, 1)), nothing(p)][1])
    assert told[0].seconds >= 10.5
    assert phases.result.seconds >= 10.5
    assert phases.result.trace[-1].seconds >= 10.5


@pytest.mark.parametrize("place", ["first_answer", "Relaxation", "root_bound"])
def test_an_interrupt_while_the_engine_is_set_up_keeps_the_start(problem, monkeypatch, place):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    start = solve(problem, "top_tau")
    monkeypatch.setattr(bnb_, place, interrupted)
    result = bnb_.solve(problem, start=start)
    assert result.status is Status.INTERRUPTED
    assert result.objective <= start.objective + 1e-9


def test_an_interrupt_before_anything_is_known_is_passed_on(problem, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(bnb_, "root_bound", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bnb_.solve(problem)


@pytest.mark.parametrize("solver", ["scip"])
def test_an_interrupt_while_a_model_is_built_keeps_what_is_known(problem, monkeypatch, solver):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"cs3vm.solvers.{solver}_._search", interrupted)
    result = find_solver(solver).load()(problem)
    assert result.status is Status.INTERRUPTED
    assert result.found


def test_methods_ask_solvers_for_abilities_and_not_for_names():
    for path in METHODS.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = {
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node)
        }
        words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and n not in documented}
        assert words.isdisjoint(SOLVERS), path.name


def test_a_problem_that_the_root_settles_has_one_node():
    settled = Problem([[3.0], [1.0]], [1, -1], [[4.0], [0.0]], 1)
    for method in ("auto", "direct", "cs3vm"):
        result = solve(settled, method)
        assert result.is_optimal
        assert result.n_nodes >= 1


@pytest.mark.parametrize("method", ["cs3vm", "auto", "direct"])
def test_whoever_interrupts_the_heuristic_wants_no_search_either(method, monkeypatch):
    warm_up()  # an interrupt there is another matter
    begin, run, presses = LocalSearch.begin, Tree.run, []

    def interrupted(self, *arguments):
        presses.append(self)
        _thread.interrupt_main()
        return begin(self, *arguments)

    def search(self):
        return pytest.fail("the search went on") if presses else run(self)

    monkeypatch.setattr(LocalSearch, "begin", interrupted)
    monkeypatch.setattr(Tree, "run", search)
    rng = np.random.default_rng(5)  # labels that mean nothing: no few nodes settle that
    problem = Problem(rng.normal(size=(30, 8)), rng.choice([-1, 1], 30), rng.normal(size=(300, 8)), 100)
    result = solve(problem, method, time_limit=600)
    assert result.status is Status.INTERRUPTED
    assert result.found


@pytest.mark.parametrize("method", ["cs3vm", "auto"])
def test_a_proof_is_written_where_the_heuristic_settles_the_problem(method, tmp_path):
    rows = np.random.default_rng(0).normal(size=(8, 2)), np.random.default_rng(1).normal(size=(12, 2))
    problem = Problem(rows[0], [1, -1] * 4, rows[1], 5)
    result = solve(problem, method, proof=tmp_path / "proof.gz")
    assert result.is_optimal
    assert result.extras["proof"]
    assert verify(problem, tmp_path / "proof.gz")


@pytest.mark.parametrize("solver", ["auto", "bnb"])
def test_where_not_even_one_node_would_be_finished_none_is_begun(solver, monkeypatch):
    rng = np.random.default_rng(5)
    problem = Problem(rng.normal(size=(20, 3)), rng.choice([-1, 1], 20), rng.normal(size=(700, 3)), 100)
    monkeypatch.setattr(shares, "NODE_ROWS", 600)
    monkeypatch.setattr(shares, "NODE_GAP", 0.0)
    found = solve(problem, "auto", solver=solver, time_limit=5, work_limit=1e8)
    assert found.found
    assert (found.n_nodes == 0) == (solver == "auto")
