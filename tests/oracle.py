"""Brute force: the optimum over all labelings of the unlabelled rows, by an independent QP or LP solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from typing import Any

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from cs3vm import Problem
from cs3vm.model.totals import Total, Totals


def svm_with_sides(problem: Problem, side: np.ndarray) -> float:
    """The SVM value with every row of non-zero ``side`` held there; infinite if that is impossible."""
    if problem.norm != "l2":
        return linear_svm_with_sides(problem, side)
    held = np.flatnonzero(side)
    return HeldRows(problem, held).value(side[held])


class HeldRows:
    """The SVM with the given rows held, by Clarabel: from labeling to labeling only signs change."""

    def __init__(self, problem: Problem, held: np.ndarray) -> None:
        n, d = problem.n, problem.d
        y, ones = problem.y[:, None], np.ones((len(held), 1))
        rows = [
            np.hstack([-y * problem.X, -y, -np.eye(n)]),
            np.hstack([np.zeros((n, d + 1)), -np.eye(n)]),
            np.hstack([-problem.U[held], -ones, np.zeros((len(held), n))]),
        ]
        self.matrix = sparse.csc_matrix(np.vstack(rows))
        self.data = self.matrix.data.copy()
        self.sign = np.ones(2 * n + len(held))
        self.right = np.concatenate([-np.ones(n), np.zeros(n), np.full(len(held), -problem.side_margin)])
        self.quadratic = sparse.csc_matrix(np.diag(np.repeat([1.0, 0.0], [d, 1 + n])))
        self.linear = np.concatenate([np.zeros(d + 1), problem.C])
        self.settings = clarabel.DefaultSettings()
        self.settings.verbose = False
        self.settings.tol_gap_abs = self.settings.tol_gap_rel = self.settings.tol_feas = 1e-9

    def value(self, signs: np.ndarray) -> float:
        """The value with each held row on the side of its sign; infinite if that is impossible."""
        self.sign[len(self.sign) - len(signs) :] = signs
        self.matrix.data = self.data * self.sign[self.matrix.indices]
        cones = [clarabel.NonnegativeConeT(len(self.right))]
        solution = clarabel.DefaultSolver(
            self.quadratic, self.linear, self.matrix, self.right, cones, self.settings
        ).solve()
        if "Infeasible" in str(solution.status):
            return np.inf
        if "Solved" not in str(solution.status):  # AlmostSolved counts; else the oracle would guess
            raise ArithmeticError(f"the oracle's QP ended with {solution.status}")
        return float(solution.obj_val)


def linear_svm_with_sides(problem: Problem, side: np.ndarray) -> float:
    """The same for ‖w‖₁ or ‖w‖_∞, with w = p - q: variables p, q, b, ξ and the largest weight."""
    n, d = problem.n, problem.d
    held = np.flatnonzero(side)
    s, y = side[held][:, None].astype(float), problem.y[:, None]
    rows = [
        np.hstack([-y * problem.X, y * problem.X, -y, -np.eye(n), np.zeros((n, 1))]),
        np.hstack([-s * problem.U[held], s * problem.U[held], -s, np.zeros((len(held), n + 1))]),
        np.hstack([np.eye(d), np.eye(d), np.zeros((d, n + 1)), -np.ones((d, 1))]),
    ]
    right = np.r_[-np.ones(n), np.full(len(held), -problem.side_margin), np.zeros(d)]
    l1 = problem.norm == "l1"
    cost = np.r_[np.full(2 * d, float(l1)), 0.0, problem.C, float(not l1)]
    limits = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * (n + 1)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, np.vstack(rows), right, bounds=limits, method="highs-ds", options=tight)
    if found.status == 2:
        return np.inf
    if found.status != 0:
        raise ArithmeticError(f"the oracle's LP ended with {found.message}")
    return float(found.fun)


def all_held(problem: Problem) -> Callable[[np.ndarray], float]:
    """The SVM value as a function of the sides of all rows."""
    if problem.norm != "l2":
        return partial(linear_svm_with_sides, problem)
    return HeldRows(problem, np.arange(problem.m)).value


def prices(problem: Problem, labelings: np.ndarray) -> np.ndarray:
    """What the missed totals of each labeling cost."""
    totals, cost = problem.totals, np.zeros(len(labelings))
    for rows, low, high, price in zip(totals.rows, totals.low, totals.high, totals.penalty, strict=True):
        count = labelings[:, rows] @ problem.weights[rows]
        cost += price * np.where(count < low, low - count, np.where(count > high, count - high, 0.0))
    return cost


def brute_force(problem: Problem) -> float:
    """The optimum of the problem. Labelings are visited by increasing miscount and cut by what is known."""
    choices = [(0, 1) if s == 0 else ((1,) if s > 0 else (0,)) for s in problem.side]
    labelings = np.array(list(product(*choices)), dtype=np.int8).reshape(-1, problem.m)
    penalty = prices(problem, labelings)
    svm = svm_with_sides(problem, np.zeros(problem.m))
    best = np.inf
    value = all_held(problem)
    for i in np.argsort(penalty, kind="stable"):
        if svm + penalty[i] >= best:
            break
        best = min(best, value(2 * labelings[i] - 1) + float(penalty[i]))
    return best


def brute_force_in_the_plane(problem: Problem) -> float:
    """The optimum for two features and whole weights, no three rows on a line and no fixed side.

    A line that separates the rows can be moved until it touches two of them, so few labelings are possible;
    the trivial plane has every row on both sides and allows them all.
    """
    U, m = problem.U, problem.m
    labelings = {(0,) * m, (1,) * m}
    for i, j in combinations(range(m), 2):
        along = U[j] - U[i]
        over = ((U - U[i]) @ np.array([-along[1], along[0]]) > 0).astype(int)
        for over[i], over[j] in product((0, 1), repeat=2):
            labelings |= {tuple(over.tolist()), tuple((1 - over).tolist())}
    counts = {0.0}
    for weight in problem.weights:
        counts |= {count + float(weight) for count in counts}
    best = float(problem.C.sum()) + problem.count_penalty * min(abs(c - problem.n_positive) for c in counts)
    svm = svm_with_sides(problem, np.zeros(m))
    z = np.array(sorted(labelings))
    penalty = problem.count_penalty * np.abs(z @ problem.weights - problem.n_positive)
    value = all_held(problem)
    for i in np.argsort(penalty, kind="stable"):
        if svm + penalty[i] >= best:
            break
        best = min(best, value(2 * z[i] - 1) + float(penalty[i]))
    return best


def random_problem(rng: np.random.Generator, m: int | None = None, **options: Any) -> Problem:
    """A tiny instance, often a degenerate one: grids, duplicates, constant columns, one class, weights."""
    m = int(rng.integers(3, 9)) if m is None else m
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    grid = rng.random() < 0.4
    points = rng.integers(-2, 3, (n + m, d)).astype(float) if grid else rng.normal(size=(n + m, d))
    if rng.random() < 0.2:
        points[:, rng.integers(d)] = rng.integers(-1, 2)  # a constant column
    if rng.random() < 0.3:
        points[rng.integers(n + m, size=2)] = points[rng.integers(n + m)]  # duplicates
    y = rng.choice([-1, 1], n) if rng.random() < 0.85 else np.full(n, rng.choice([-1, 1]))
    weights = rng.integers(1, 5, m) if rng.random() < 0.3 else np.ones(m)
    extreme = rng.random()
    total = int(weights.sum())
    n_positive = 0 if extreme < 0.08 else total if extreme < 0.16 else int(rng.integers(0, total + 1))
    return Problem(points[:n], y, points[n:], n_positive, weights=weights, **options)


def random_totals(rng: np.random.Generator, weights: np.ndarray, number: int | None = None) -> Totals:
    """Up to three totals that may overlap: exact, intervals, half-open, some with a price of their own."""
    m = len(weights)
    number = int(rng.integers(1, 4)) if number is None else number
    whole = bool(np.all(weights == np.round(weights)))
    made = []
    for g in range(number):
        rows = np.arange(m) if rng.random() < 0.3 else np.flatnonzero(rng.random(m) < rng.uniform(0.2, 0.9))
        weight = float(weights[rows].sum())
        ends = np.sort(rng.uniform(0.0, weight, 2))
        low, high = np.floor(ends) if whole or rng.random() < 0.5 else ends
        kind = rng.random()
        if kind < 0.5:
            high = low
        elif kind < 0.65:
            high = np.inf
        elif kind < 0.75:
            low, high = 0.0, low
        price = None if rng.random() < 0.5 else float(10.0 ** rng.uniform(-1, 1))
        made.append(Total(rows, float(low), float(high), price, f"group {g}" if rng.random() < 0.5 else ""))
    return Totals(made)


def random_several(rng: np.random.Generator, m: int | None = None, **options: Any) -> Problem:
    """A tiny instance with several totals, sometimes with fixed sides, a margin and fractional weights."""
    plain = random_problem(rng, m=int(rng.integers(2, 8)) if m is None else m)
    weights = plain.weights * 0.25 if rng.random() < 0.2 else plain.weights
    side = rng.choice([-1, 0, 0, 0, 1], plain.m) if rng.random() < 0.25 else np.zeros(plain.m)
    options = {
        "weights": weights,
        "side": side.astype(np.int8),
        "side_margin": 0.0 if rng.random() < 0.6 else float(rng.choice([0.1, 0.5, 1.0])),
        "C": float(10.0 ** rng.uniform(-1, 1)),
        "count_penalty": float(10.0 ** rng.uniform(-1, 1)),
        **options,
    }
    return Problem(plain.X, plain.y, plain.U, random_totals(rng, options["weights"]), **options)
