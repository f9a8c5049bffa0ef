"""The exact engine against brute force, against known optima, and against the symmetries of the model."""

from __future__ import annotations

import _thread
from itertools import pairwise

import numpy as np
import pytest

from cs3vm import Problem, Status
from cs3vm.convex.svm import solve_convex
from cs3vm.engine.core.relaxation import Relaxation
from cs3vm.engine.exact.crew import Options
from cs3vm.engine.exact.incumbent import Incumbent
from cs3vm.engine.exact.pairs import DIRECTION, HITS, TESTS, new_graph, switch_off_if_useless
from cs3vm.engine.exact.tree import Tree
from cs3vm.engine.warm_up import warm_up
from cs3vm.model.result import Result
from cs3vm.model.status import TracePoint
from cs3vm.solvers.bnb_ import solve
from tests.oracle import brute_force

BATCHES, BATCH_SIZE = 20, 52
EPSILONS = (1e-3, 0.1, 0.5, 1.0, 2.0)


def tiny_problem(rng: np.random.Generator) -> Problem:
    """A random instance with everything that can go wrong: grids, ties, duplicates, weights, scales."""
    d, n = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    m = int(rng.choice([3, 4, 5, 6, 7, 8], p=[0.2, 0.2, 0.15, 0.11, 0.2, 0.14]))
    points = _points(rng, n + m, d)
    X, U = points[:n], points[n:]
    if rng.random() < 0.3:
        for _ in range(int(rng.integers(1, m))):
            U[rng.integers(m)] = U[rng.integers(m)]
    if rng.random() < 0.15:
        U[rng.integers(m)] = X[rng.integers(n)]
    y = np.where(rng.random(n) < 0.6, 1, -1)
    if rng.random() < 0.15:
        y[:] = rng.choice([-1, 1])
    C = 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.7 else 1.0
    side = np.where(rng.random(m) < 0.3, rng.choice([-1, 1], m), 0) if rng.random() < 0.3 else None
    weights, n_positive = _weights(rng, m)
    return Problem(
        X,
        y,
        U,
        n_positive,
        weights=weights,
        side=side,
        C=C * rng.uniform(0.2, 5.0, n) if rng.random() < 0.2 else C,
        count_penalty=1.0 if rng.random() < 0.6 else 10.0 ** rng.uniform(-2, 2),
        side_margin=0.0 if rng.random() < 0.65 else float(rng.choice(EPSILONS)),
    )


def _points(rng: np.random.Generator, rows: int, d: int) -> np.ndarray:
    kind = rng.integers(6)
    points = rng.normal(size=(rows, d))
    if kind == 1:
        points = rng.integers(-2, 3, (rows, d)).astype(float)
    elif kind == 2:
        points = rng.integers(0, 2, (rows, d)).astype(float)
    elif kind == 3:
        points += 10.0 * rng.normal()
    elif kind == 4:
        points[:, 0] = 3.0
    elif kind == 5:
        points = np.round(points, 1)
    if rng.random() < 0.5:
        points *= 10.0 ** rng.uniform(-4, 4)
    return points


def _weights(rng: np.random.Generator, m: int) -> tuple[np.ndarray | None, float]:
    kind = rng.integers(4)
    weights = (
        None if kind < 2 else rng.integers(1, 8, m).astype(float) if kind == 2 else rng.uniform(0.1, 5.0, m)
    )
    total = float(m if weights is None else weights.sum())
    extreme = rng.random()
    if extreme < 0.08:
        return weights, 0.0
    if extreme < 0.16:
        return weights, total
    return weights, rng.uniform(0.0, total) if kind == 3 else float(rng.integers(0, int(total) + 1))


def check(problem: Problem, result: Result, optimum: float) -> None:
    """The claim must be right; a claim may be missing only where rounding makes it impossible."""
    oracle_error = 1e-6 * optimum + 3e-8
    assert result.lower_bound <= optimum + oracle_error
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-6, abs=3e-8)
    assert result.lower_bound <= result.objective
    scale = 1.0 + float(np.abs(problem.scores(result.coef)).max(initial=0.0))
    assert result.violation <= 1e-8 * scale


@pytest.mark.parametrize("batch", range(BATCHES))
def test_brute_force(batch: int) -> None:
    rng = np.random.default_rng([batch, 2026])
    for _ in range(BATCH_SIZE):
        problem = tiny_problem(rng)
        try:
            optimum = brute_force(problem)
        except ArithmeticError:  # the oracle's solver gave up: nothing to compare with
            continue
        result = solve(problem, time_limit=600.0)
        if np.isinf(optimum):
            assert result.status is Status.INFEASIBLE
            continue
        check(problem, result, optimum)
        if rng.random() < 0.25:
            below = solve(problem, cutoff=optimum * 0.999 - 1e-7, time_limit=600.0)
            assert below.status is Status.CUTOFF
            assert not below.found
            above = solve(problem, cutoff=optimum * 1.001 + 1e-6, time_limit=600.0)
            assert above.objective == pytest.approx(optimum, rel=1e-6, abs=3e-8)


def medium_problem(rng: np.random.Generator, m: int = 24, d: int = 3, **options: float) -> Problem:
    n = 8
    points = rng.normal(size=(n + m, d))
    y = np.where(np.arange(n) < 5, 1, -1)
    points[:n] += 0.7 * y[:, None]
    return Problem(points[:n], y, points[n:], int(rng.integers(m // 4, 3 * m // 4)), **options)


def optimum_of(problem: Problem) -> float:
    result = solve(problem, time_limit=600.0)
    assert result.is_optimal
    return result.objective


@pytest.mark.parametrize("seed", range(6))
def test_symmetries_leave_the_optimum_unchanged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = medium_problem(rng)
    value = optimum_of(p)
    rows, labelled = rng.permutation(p.m), rng.permutation(p.n)
    permuted = Problem(p.X[labelled], p.y[labelled], p.U[rows], p.n_positive)
    shift = 10.0 * rng.normal(size=p.d)
    moved = Problem(p.X + shift, p.y, p.U + shift, p.n_positive)
    Q, _ = np.linalg.qr(rng.normal(size=(p.d, p.d)))
    rotated = Problem(p.X @ Q, p.y, p.U @ Q, p.n_positive)
    swapped = Problem(p.X, -p.y, p.U, p.m - p.n_positive)
    for other in (permuted, moved, rotated, swapped):
        assert optimum_of(other) == pytest.approx(value, rel=2e-6)


@pytest.mark.parametrize("seed", range(6))
def test_splitting_a_weight_never_raises_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = medium_problem(rng, m=12)
    weights = rng.integers(1, 5, p.m).astype(float)
    weights[0] = 4.0
    tau = float(rng.integers(0, int(weights.sum()) + 1))
    whole = Problem(p.X, p.y, p.U, tau, weights=weights)
    parts = np.append(weights, [1.0, 1.0])
    parts[0] = 2.0
    split = Problem(p.X, p.y, np.vstack([p.U, p.U[[0, 0]]]), tau, weights=parts)
    assert optimum_of(split) <= optimum_of(whole) * (1 + 2e-6)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_joint_bounds_do_not_change_the_optimum(seed: int, joint: bool) -> None:
    p = medium_problem(np.random.default_rng(seed), m=40, d=2)
    reference = solve(p, joint=not joint)
    assert solve(p, joint=joint).objective == pytest.approx(reference.objective, rel=2e-6)


def test_memory_limit_switches_to_depth_first() -> None:
    p = medium_problem(np.random.default_rng(1), m=40)
    free, bounded = solve(p), solve(p, memory_limit=1.0)
    assert bounded.is_optimal
    assert bounded.objective == pytest.approx(free.objective, rel=2e-6)


def test_node_limit_and_honest_bound() -> None:
    p = medium_problem(np.random.default_rng(2), m=60, d=6)
    best = solve(p, time_limit=600.0)
    stopped = solve(p, node_limit=3, joint=False)
    assert stopped.status in (Status.NODE_LIMIT, Status.OPTIMAL)
    assert stopped.n_nodes <= 3
    assert stopped.lower_bound <= best.objective * (1 + 1e-9)


def test_no_unlabelled_rows() -> None:
    p = Problem([[0.0], [1.0]], [-1, 1], np.zeros((0, 1)), 0)
    result = solve(p)
    assert result.is_optimal
    assert result.objective == pytest.approx(1.5)


def test_start_may_be_a_result_or_a_vector() -> None:
    p = medium_problem(np.random.default_rng(3))
    best = solve(p)
    for start in (best, best.coef):
        again = solve(p, start=start)
        assert again.objective == pytest.approx(best.objective, rel=2e-6)


def test_first_improvement_stops_early() -> None:
    p = medium_problem(np.random.default_rng(4))
    best = solve(p)
    cutoff = 1.5 * best.objective
    result = solve(p, cutoff=cutoff, first_improvement=True)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert result.objective < cutoff
    nothing = solve(p, cutoff=0.99 * best.objective, first_improvement=True)
    assert nothing.status is Status.CUTOFF
    assert nothing.lower_bound >= 0.99 * best.objective * (1 - 1e-6)


def hard_problem() -> Problem:
    """Noise in many dimensions: no engine will ever solve it."""
    rng = np.random.default_rng(5)
    X, U = rng.normal(size=(60, 20)), rng.normal(size=(500, 20))
    return Problem(X, np.where(rng.random(60) < 0.7, 1, -1), U, 120)


def test_a_time_limit_ends_the_search_and_the_callback_is_told() -> None:
    points: list[TracePoint] = []
    result = solve(hard_problem(), time_limit=1.5, callback=points.append)
    assert result.status is Status.TIME_LIMIT
    assert points
    assert points[-1].bound <= points[-1].incumbent
    assert all(later.incumbent <= earlier.incumbent for earlier, later in pairwise(points))


def test_interrupt_returns_the_incumbent() -> None:
    warm_up()  # an interrupt there is another matter
    result = solve(hard_problem(), time_limit=600.0, callback=lambda _: _thread.interrupt_main())
    assert result.status is Status.INTERRUPTED
    assert result.found
    assert result.lower_bound <= result.objective


def test_a_processed_root_is_one_node() -> None:
    rng = np.random.default_rng(0)
    U = rng.normal(size=(20, 1)) + np.repeat([3.0, -3.0], 10)[:, None]
    apart = Problem([[2.0], [-2.0]], [1, -1], U, 10)
    closed = solve(apart)
    assert closed.is_optimal
    assert closed.n_nodes == 1  # the SVM has the right count: its value is the bound
    p = medium_problem(rng, m=40)
    stopped = solve(p, node_limit=1, time_limit=600.0)
    assert stopped.n_nodes == 1
    late = solve(p, time_limit=0.0)
    assert late.status is Status.TIME_LIMIT
    assert late.n_nodes == 1
    options = Options(np.inf, first_improvement=True)  # and no incumbent: the root's solution is the first
    tree = Tree(p, Incumbent(p), options, 0.0, Relaxation(p), 0.0, solve_convex(p))
    assert tree.run() == "improved"
    assert tree.crew.n_nodes == 1


def test_the_graph_is_switched_off_by_its_use_and_not_by_the_clock() -> None:
    graph = new_graph(medium_problem(np.random.default_rng(0)), True)
    for tests, useful, stays in ((499, 0, True), (500, 25, True), (500, 24, False)):
        graph.num[DIRECTION], graph.num[TESTS], graph.num[HITS] = -1, tests, useful
        switch_off_if_useless(graph.num)
        assert (graph.num[DIRECTION] != 0) == stays


def test_same_seed_same_answer() -> None:
    p = medium_problem(np.random.default_rng(6), m=40)
    first, second = solve(p), solve(p)
    assert first.objective == second.objective
    assert first.n_nodes == second.n_nodes


def test_a_gap_of_ten_to_the_minus_eight_is_reached() -> None:
    for seed in (0, 8, 9):  # each was missed by the last digits
        result = solve(medium_problem(np.random.default_rng(seed), 60), gap=1e-8, time_limit=600.0)
        assert result.status is Status.OPTIMAL
        assert result.gap <= 1e-8


def test_closed_nodes_are_counted_by_bound() -> None:
    result = solve(medium_problem(np.random.default_rng(0), 60), time_limit=600.0)
    closed = [result.extras[f"{bound}_closed"] for bound in ("svm", "flips", "group")]
    assert result.status is Status.OPTIMAL
    assert 0 < sum(closed) <= result.n_nodes
    assert result.extras["joint_closed"] <= result.extras["flips_closed"]
