"""Related problems have related optima: what all methods and solvers claim must fit together.

Each relation makes another problem and says how its optimum compares with that of the first. Then no lower
bound for one may lie above a point of the other, whatever method found them, and optima that are called
proven agree where they must.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import sqrt

import numpy as np
import pytest

from cs3vm import Problem, Result, available_solvers, solve
from cs3vm.exceptions import SolverLicenseError
from cs3vm.methods import METHODS
from cs3vm.model.norms import NORMS

#: Of the new optimum to the factor times the old one.
EQUAL, AT_MOST, AT_LEAST = "=", "<=", ">="
#: What is asked here holds wherever a search ends.
SHORT = {"direct": {"patience": 10}}
Related = tuple[Problem, str, float]
Relation = Callable[[Problem, Result, np.random.Generator], Related | None]


def base(norm: str, seed: int) -> Problem:
    """A small problem; odd seeds have a margin, every third has weights, every fourth a fixed side."""
    rng = np.random.default_rng([seed, 31])
    n, m, d = 5, 7, 2
    points = rng.normal(size=(n + m, d)) if seed % 5 else rng.integers(-2, 3, (n + m, d)).astype(float)
    y = np.array([1, -1, 1, 1, -1])
    points[:n] += 0.5 * y[:, None]
    weights = rng.integers(1, 5, m).astype(float) if seed % 3 == 2 else np.ones(m)
    side = np.zeros(m, dtype=np.int8)
    if seed % 4 == 3:
        side[0] = rng.choice([-1, 1])
    return Problem(
        points[:n],
        y,
        points[n:],
        int(rng.integers(1, int(weights.sum()))),
        weights=weights,
        side=side,
        C=float(10.0 ** rng.uniform(-0.5, 0.5)),
        count_penalty=float(10.0 ** rng.uniform(-0.5, 0.5)),
        side_margin=0.1 if seed % 2 else 0.0,
        norm=norm,
    )


# -- relations ---------------------------------------------------------------------------------------------
def twice(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """A row twice is a row of double weight.

    With a margin the copies cannot be on different sides; without one they can, on the plane, so that the
    problem with copies allows more.
    """
    j = int(rng.integers(p.m))
    copies = replace(
        p,
        U=np.vstack([p.U, p.U[j]]),
        weights=np.append(p.weights, p.weights[j]),
        side=np.append(p.side, p.side[j]),
    )
    return copies, EQUAL if p.side_margin > 0 else AT_MOST, 1.0


def twice_of(p: Problem, rng: np.random.Generator) -> Problem:
    """The first problem of that relation: the row has double weight."""
    j = int(rng.integers(p.m))
    weights = p.weights.copy()
    weights[j] *= 2.0
    return replace(p, weights=weights)


def mirrored(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """Classes change names: (w, b, z) becomes (-w, -b, 1 - z)."""
    return replace(p, y=-p.y, side=-p.side, n_positive=p.total_weight - p.n_positive), EQUAL, 1.0


def rotated(p: Problem, best: Result, rng: np.random.Generator) -> Related | None:
    if p.norm != "l2":
        return None
    Q, _ = np.linalg.qr(rng.normal(size=(p.d, p.d)))
    return replace(p, X=p.X @ Q, U=p.U @ Q), EQUAL, 1.0


def shifted(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    shift = 5.0 * rng.normal(size=p.d)
    return replace(p, X=p.X + shift, U=p.U + shift), EQUAL, 1.0


def scaled(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """x·s needs w/s for the same scores: ½‖w‖² falls by s², ‖w‖ by s, and prices must fall with it."""
    s = float(10.0 ** rng.uniform(-1.5, 1.5))
    factor = 1.0 / (s * s if p.norm == "l2" else s)
    prices = {"C": p.C * factor, "count_penalty": p.count_penalty * factor}
    return replace(p, X=p.X * s, U=p.U * s, **prices), EQUAL, factor


def far_and_fixed(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """A row far out on the positive side of the best plane and fixed there changes nothing."""
    far, reached = _far(p, best)
    more = replace(
        p,
        U=np.vstack([p.U, far]),
        weights=np.append(p.weights, 1.0),
        side=np.append(p.side, 1).astype(np.int8),
        n_positive=p.n_positive + 1.0,
    )
    return more, EQUAL if reached else AT_LEAST, 1.0


def far_and_free(p: Problem, best: Result, rng: np.random.Generator) -> Related | None:
    """The same row, free: the best plane is still possible."""
    far, reached = _far(p, best)
    if not reached:
        return None
    more = replace(
        p,
        U=np.vstack([p.U, far]),
        weights=np.append(p.weights, 1.0),
        side=np.append(p.side, 0).astype(np.int8),
        n_positive=p.n_positive + 1.0,
    )
    return more, AT_MOST, 1.0


def _far(p: Problem, best: Result) -> tuple[np.ndarray, bool]:
    """A row with a score of at least 2, and whether there is one."""
    w, b = np.asarray(best.coef), best.intercept
    size = float(w @ w)
    if size < 1e-6:
        return np.full(p.d, 10.0), b >= 2.0
    return w * ((5.0 + p.side_margin - b) / size), True


def columns_permuted(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    order = rng.permutation(p.d)
    return replace(p, X=p.X[:, order], U=p.U[:, order]), EQUAL, 1.0


def column_split(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """Two equal columns instead of one, so scaled that sharing its weight costs the same."""
    share = {"l2": 1.0 / sqrt(2.0), "l1": 1.0, "max": 0.5}[p.norm]

    def split(A: np.ndarray) -> np.ndarray:
        return np.column_stack([A[:, 0] * share, A[:, 0] * share, A[:, 1:]])

    return replace(p, X=split(p.X), U=split(p.U)), EQUAL, 1.0


def dearer_miscount(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    return replace(p, count_penalty=p.count_penalty * float(rng.uniform(1.0, 4.0))), AT_LEAST, 1.0


def dearer_miscount_by_a_factor(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """Three times C₂ costs at most three times as much."""
    return replace(p, count_penalty=3.0 * p.count_penalty), AT_MOST, 3.0


def dearer_labels(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    return replace(p, C=p.C * rng.uniform(1.0, 3.0, p.n)), AT_LEAST, 1.0


def all_prices(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """All prices times λ ≥ 1: at least the same, at most λ times (the norm of w is not multiplied)."""
    factor = float(rng.uniform(1.0, 5.0))
    return replace(p, C=p.C * factor, count_penalty=p.count_penalty * factor), AT_MOST, factor


def a_satisfied_label(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """One more labelled row, beyond the margin of the best plane: it costs nothing there, and never less."""
    x = rng.normal(size=p.d)
    score = float(x @ np.asarray(best.coef)) + best.intercept
    far, reached = _far(p, best)
    if abs(score) >= 1.001:
        row, label = x, np.sign(score)
    elif reached:
        row, label = far, 1.0
    else:
        row, label = x, 1.0
    more = replace(p, X=np.vstack([p.X, row]), y=np.append(p.y, label), C=np.append(p.C, 2.0))
    return more, EQUAL if abs(score) >= 1.001 or reached else AT_LEAST, 1.0


def larger_margin(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    return replace(p, side_margin=p.side_margin + float(rng.uniform(0.01, 0.5))), AT_LEAST, 1.0


def rows_reordered(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    rows, labelled = rng.permutation(p.m), rng.permutation(p.n)
    moved = {"U": p.U[rows], "weights": p.weights[rows], "side": p.side[rows]}
    return replace(p, X=p.X[labelled], y=p.y[labelled], C=p.C[labelled], **moved), EQUAL, 1.0


def labels_twice(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """Every labelled row twice at half its price."""
    doubled = replace(p, X=np.vstack([p.X, p.X]), y=np.append(p.y, p.y), C=np.append(p.C, p.C) / 2.0)
    return doubled, EQUAL, 1.0


def weights_in_other_units(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """Weights and total times k, C₂ divided by it."""
    k = float(rng.integers(2, 1000))
    other = replace(p, weights=p.weights * k, n_positive=p.n_positive * k, count_penalty=p.count_penalty / k)
    return other, EQUAL, 1.0


def another_total(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """Another total, with its difference paid for by labelled rows that no plane satisfies.

    |count - τ| ≤ |count - τ'| + |τ - τ'|; two opposite labels at the origin cost at least 2C together.
    """
    change = -1.0 if p.n_positive >= 1.0 else 1.0
    X, price = np.vstack([p.X, np.zeros((2, p.d))]), p.count_penalty / 2.0
    paid = replace(p, X=X, y=np.append(p.y, [1.0, -1.0]), C=np.append(p.C, [price, price]))
    return replace(paid, n_positive=p.n_positive + change), AT_LEAST, 1.0


def a_row_fixed(p: Problem, best: Result, rng: np.random.Generator) -> Related:
    """A row fixed where the best answer has it."""
    j = int(rng.integers(p.m))
    side = p.side.copy()
    side[j] = 1 if np.asarray(best.z)[j] > 0 else -1
    return p.with_side(side), EQUAL, 1.0


def a_row_fixed_on_the_other_side(p: Problem, best: Result, rng: np.random.Generator) -> Related | None:
    free = np.flatnonzero(p.side == 0)
    side = p.side.copy()
    j = int(rng.choice(free))
    side[j] = -1 if np.asarray(best.z)[j] > 0 else 1
    return p.with_side(side), AT_LEAST, 1.0


RELATIONS = (
    twice, mirrored, rotated, shifted, scaled, far_and_fixed, far_and_free, columns_permuted, column_split,
    dearer_miscount, dearer_miscount_by_a_factor, dearer_labels, all_prices, a_satisfied_label, larger_margin,
    rows_reordered, labels_twice, weights_in_other_units, another_total, a_row_fixed,
    a_row_fixed_on_the_other_side,
)  # fmt: skip


# -- what must fit -----------------------------------------------------------------------------------------
def fits(old: Result, new: Result, relation: str, factor: float) -> None:
    """Nothing that was claimed of one problem contradicts a point of the other."""
    room = 1.0 + 1e-7  # the data of the new problem are rounded
    if relation in (EQUAL, AT_MOST) and old.found:
        assert new.lower_bound <= factor * old.objective * room + 1e-9
    if relation in (EQUAL, AT_LEAST) and new.found:
        assert factor * old.lower_bound <= new.objective * room + 1e-9
    if old.is_optimal and new.is_optimal:
        value, other = factor * old.objective, new.objective
        if relation == EQUAL:
            assert other == pytest.approx(value, rel=3e-6, abs=1e-8)
        elif relation == AT_MOST:
            assert other <= value * (1 + 3e-6) + 1e-8
        else:
            assert other >= value * (1 - 3e-6) - 1e-8


@cache
def exact(norm: str, seed: int) -> tuple[Problem, Result]:
    problem = base(norm, seed)
    result = solve(problem, "cs3vm", time_limit=30.0)
    assert result.is_optimal
    return problem, result


@cache
def answer(norm: str, seed: int, method: str, solver: str = "auto") -> Result:
    """What a method says of one of the first problems."""
    return solve(exact(norm, seed)[0], method, solver=solver, time_limit=20.0, **SHORT.get(method, {}))


def pair(relation: Relation, norm: str, seed: int) -> tuple[Problem, Result, Related | None]:
    problem, best = exact(norm, seed)
    rng = np.random.default_rng(seed)
    if relation is twice:
        problem = twice_of(problem, np.random.default_rng(seed))
        problem = replace(problem, n_positive=min(problem.n_positive, problem.total_weight))
        best = solve(problem, "cs3vm", time_limit=30.0)
        plain = replace(problem, weights=exact(norm, seed)[0].weights)
        return problem, best, twice(plain, best, rng)
    return problem, best, relation(problem, best, rng)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.__name__)
def test_proven_optima(relation: Relation, norm: str) -> None:
    """The default solver of the norm, over several problems."""
    for seed in range(12 if norm == "l2" else 4):
        _, old, related = pair(relation, norm, seed)
        if related is None:
            continue
        problem, how, factor = related
        new = solve(problem, "cs3vm", time_limit=30.0)
        if norm == "l2":
            assert new.is_optimal
        fits(old, new, how, factor)


@pytest.mark.parametrize(
    ("norm", "solver"), [(norm, solver) for norm in NORMS for solver in available_solvers(norm)]
)
def test_every_solver(norm: str, solver: str) -> None:
    for number, relation in enumerate(RELATIONS):
        seed = number % 12
        problem, old, related = pair(relation, norm, seed)
        if related is None:
            continue
        other, how, factor = related
        try:
            new = solve(other, "cs3vm", solver=solver, time_limit=20.0)
            if relation is twice:
                again = solve(problem, "cs3vm", solver=solver, time_limit=20.0)
            else:
                again = answer(norm, seed, "cs3vm", solver)
        except SolverLicenseError:
            pytest.skip("no licence for this size")
        fits(old, new, how, factor)
        fits(again, new, how, factor)


@pytest.mark.parametrize("method", METHODS)
def test_bounds_of_every_method(method: str) -> None:
    for number, relation in enumerate(RELATIONS):
        seed = number % 12
        problem, old, related = pair(relation, "l2", seed)
        if related is None:
            continue
        other, how, factor = related
        limits = {"time_limit": 20.0, **SHORT.get(method, {})}
        new = solve(other, method, **limits)
        again = solve(problem, method, **limits) if relation is twice else answer("l2", seed, method)
        fits(old, new, how, factor)
        fits(again, new, how, factor)


def test_the_two_sides_of_a_row_make_the_problem() -> None:
    """The optimum is the smaller of the two with some row fixed."""
    for seed in range(12):
        problem, best = exact("l2", seed)
        free = int(np.flatnonzero(problem.side == 0)[0])
        values = []
        for s in (-1, 1):
            side = problem.side.copy()
            side[free] = s
            values.append(solve(problem.with_side(side), "cs3vm", time_limit=30.0).objective)
        assert min(values) == pytest.approx(best.objective, rel=3e-6)


def test_the_total_moves_the_optimum_by_no_more_than_its_price() -> None:
    for seed in range(12):
        problem, best = exact("l2", seed)
        for tau in (0.0, problem.total_weight):
            other = solve(replace(problem, n_positive=tau), "cs3vm", time_limit=30.0)
            most = problem.count_penalty * abs(tau - problem.n_positive)
            assert abs(other.objective - best.objective) <= most * (1 + 1e-6) + 1e-6
