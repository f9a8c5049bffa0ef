"""Points in exact rational arithmetic: what is feasible here is feasible, and costs what is said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from cs3vm import Problem

Point = tuple[list[Fraction], Fraction]


def rationals(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


class ExactProblem:
    """A problem whose data are the very numbers that the floats stand for."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.X, self.U = [rationals(x) for x in problem.X], [rationals(u) for u in problem.U]
        self.C, self.weights = rationals(problem.C), rationals(problem.weights)
        self.y = [int(label) for label in problem.y]
        self.margin = Fraction(problem.side_margin)

    def penalty(self, z: np.ndarray) -> Fraction:
        """The exact price of the missed totals."""
        totals, price = self.problem.totals, Fraction(0)
        for rows, low, high, each in zip(totals.rows, totals.low, totals.high, totals.penalty, strict=True):
            count = sum((self.weights[j] for j in rows if z[j]), Fraction(0))
            short = Fraction(float(low)) - count
            over = count - Fraction(float(high)) if high < np.inf else Fraction(0)
            price += Fraction(float(each)) * max(short, over, Fraction(0))
        return price

    def feasible(self, point: Point, z: np.ndarray) -> bool:
        """Whether every row is on its side, with no tolerance."""
        w, b = point
        for row, one, side in zip(self.U, z, self.problem.side, strict=True):
            sign = 1 if one else -1
            if side == -sign or sign * (dot(w, row) + b) < self.margin:
                return False
        return True

    def objective(self, point: Point, z: np.ndarray) -> Fraction:
        """The exact objective."""
        w, b = point
        if self.problem.norm == "l2":
            value = dot(w, w) / 2
        else:
            sizes = [abs(v) for v in w]
            value = sum(sizes, Fraction(0)) if self.problem.norm == "l1" else max(sizes)
        for c, x, y in zip(self.C, self.X, self.y, strict=True):
            value += c * max(Fraction(0), 1 - y * (dot(w, x) + b))
        return value + self.penalty(z)


def proven_value(problem: Problem, w: np.ndarray, b: Fraction | float, z: np.ndarray) -> Fraction | None:
    """The objective of an exactly feasible point near this one with these sides; None if none was found."""
    exact = ExactProblem(problem)
    start: Point = (rationals(w), Fraction(b))
    values = [
        exact.objective(point, z)
        for point in (start, *_projected(exact, start, z), *_pushed(exact, start, z))
        if exact.feasible(point, z)
    ]
    return min(values, default=None)


def _projected(exact: ExactProblem, point: Point, z: np.ndarray) -> list[Point]:
    """The nearest points at which the rows that are nearly on their bound are exactly there."""
    w, b = point
    if not exact.U:
        return []
    signs = [1 if one else -1 for one in z]
    slack = [float(s * (dot(w, row) + b) - exact.margin) for s, row in zip(signs, exact.U, strict=True)]
    scale = 1e-300 + max(map(abs, slack))
    found = []
    for tolerance in (1e-12, 1e-9, 1e-7, 1e-5, 1e-3):
        near = [j for j in np.argsort(slack) if slack[j] <= tolerance * scale]
        if not near:
            continue
        place = [*w, b]
        basis: list[tuple[list[Fraction], Fraction]] = []  # orthogonal rows and what they must give
        for j in near:
            row, target = [*exact.U[j], Fraction(1)], signs[j] * exact.margin
            for other, wanted in basis:
                factor = dot(row, other) / dot(other, other)
                row = [p - factor * q for p, q in zip(row, other, strict=True)]
                target -= factor * wanted
            if any(row):
                basis.append((row, target))
        for row, target in basis:
            factor = (target - dot(row, place)) / dot(row, row)
            place = [p + factor * q for p, q in zip(place, row, strict=True)]
        found.append((place[:-1], place[-1]))
    return found


def _pushed(exact: ExactProblem, point: Point, z: np.ndarray) -> list[Point]:
    """A step towards a point with every row well on its side, if there is one."""
    inner = interior(exact.problem.U, np.where(np.asarray(z) > 0, 1.0, -1.0))
    if inner is None:
        return []
    (w, b), v, c = point, rationals(inner[:-1]), Fraction(float(inner[-1]))
    for power in range(60, -30, -2):
        step = Fraction(1, 2**power) if power >= 0 else Fraction(2**-power)
        moved = ([p + step * q for p, q in zip(w, v, strict=True)], b + step * c)
        if exact.feasible(moved, z):
            return [moved]
    return []


def interior(rows: np.ndarray, signs: np.ndarray) -> np.ndarray | None:
    """A plane (w, b) with every row at least 1 on its side, in floats; None if the solver has none."""
    if len(rows) == 0:
        return np.zeros(rows.shape[1] + 1)
    scale = max(float(np.abs(rows).max()), 1e-300)
    A = -signs[:, None] * np.column_stack([rows / scale, np.ones(len(rows))])
    found = linprog(np.zeros(A.shape[1]), A, -np.ones(len(rows)), bounds=(None, None), method="highs")
    return np.append(found.x[:-1] / scale, found.x[-1]) if found.status == 0 else None


def best_value(problem: Problem, z: np.ndarray) -> Fraction | None:
    """The least objective of all planes with these sides, with no rounding at all; None if there is none.

    The conditions of optimality of the quadratic program min ½|w|² + Σ C ξ are a linear complementarity
    problem, which Lemke's method solves in rationals: x = (w⁺, w⁻, b⁺, b⁻, ξ) ≥ 0 and A x ≥ r.
    """
    assert problem.norm == "l2"
    exact = ExactProblem(problem)
    n, d, signs = problem.n, problem.d, [1 if one else -1 for one in z]
    if any(side == -sign for side, sign in zip(problem.side, signs, strict=True)):
        return None
    planes = [(y, x, Fraction(1)) for y, x in zip(exact.y, exact.X, strict=True)]
    planes += [(s, u, exact.margin) for s, u in zip(signs, exact.U, strict=True)]
    size, zero = 2 * d + 2 + n, Fraction(0)
    A = []
    for i, (sign, row, _) in enumerate(planes):
        there = [sign * v for v in (*row, *(-v for v in row), 1, -1)]
        A.append([*there, *(Fraction(int(i == j)) for j in range(n))])
    M = [[zero] * (size + len(A)) for _ in range(size + len(A))]
    for k in range(d):
        M[k][k] = M[d + k][d + k] = Fraction(1)
        M[k][d + k] = M[d + k][k] = Fraction(-1)
    for i, line in enumerate(A):
        for k, value in enumerate(line):
            M[size + i][k], M[k][size + i] = value, -value
    q = [zero] * (2 * d + 2) + exact.C + [-target for _, _, target in planes]
    x = _lemke(M, q)
    if x is None:
        return None
    w = [p - m for p, m in zip(x[:d], x[d : 2 * d], strict=True)]
    return exact.objective((w, x[2 * d] - x[2 * d + 1]), z)


def _lemke(M: list[list[Fraction]], q: list[Fraction]) -> list[Fraction] | None:
    """x ≥ 0 with M x + q ≥ 0 and x·(M x + q) = 0 for a positive semidefinite M; None if there is none."""
    size = len(q)
    if min(q) >= 0:
        return [Fraction(0)] * size
    # columns: the slacks, x, the artificial variable, the right side; ties are broken lexicographically
    table = [
        [Fraction(int(i == j)) for j in range(size)] + [-v for v in M[i]] + [Fraction(-1), q[i]]
        for i in range(size)
    ]
    basis, artificial = list(range(size)), 2 * size
    leaving, entering = min(range(size), key=lambda i: [q[i], *table[i][:size]]), artificial
    while True:
        pivot = table[leaving][entering]
        table[leaving] = [value / pivot for value in table[leaving]]
        for i, line in enumerate(table):
            factor = line[entering]
            if i != leaving and factor != 0:
                table[i] = [a - factor * p for a, p in zip(line, table[leaving], strict=True)]
        left, basis[leaving] = basis[leaving], entering
        if left == artificial:
            x = [Fraction(0)] * size
            for line, variable in zip(table, basis, strict=True):
                if variable >= size:
                    x[variable - size] = line[-1]
            return x
        entering = left + size if left < size else left - size
        rising = [i for i in range(size) if table[i][entering] > 0]
        if not rising:
            return None

        def ratio(i: int, column: int = entering) -> list[Fraction]:
            return [table[i][-1] / table[i][column], *(v / table[i][column] for v in table[i][:size])]

        leaving = min(rising, key=ratio)
        if artificial in basis:
            own = basis.index(artificial)
            if own in rising and ratio(own)[0] == ratio(leaving)[0]:
                leaving = own


def separable(rows: np.ndarray, signs: np.ndarray) -> bool:
    """Whether a plane has every row strictly on its side, decided exactly.

    By Gordan's theorem there is none exactly if some λ ≥ 0, not all zero, has Σ λ s (u, 1) = 0. This is a
    linear program, solved by the simplex method with Bland's rule in rationals.
    """
    if len(rows) == 0:
        return True
    vectors = [[Fraction(float(v)) * int(s) for v in (*u, 1.0)] for u, s in zip(rows, signs, strict=True)]
    k, equations = len(vectors), len(vectors[0]) + 1
    # columns: λ and an artificial variable per equation; equations: Σ λ v = 0 and Σ λ = 1
    table = [[v[i] for v in vectors] for i in range(equations - 1)] + [[Fraction(1)] * k]
    right = [Fraction(0)] * (equations - 1) + [Fraction(1)]
    table = [
        [*line, *(Fraction(int(i == j)) for j in range(equations)), value]
        for i, (line, value) in enumerate(zip(table, right, strict=True))
    ]
    basis = list(range(k, k + equations))
    cost = [-sum((line[c] for line in table), Fraction(0)) for c in range(k)]
    cost += [Fraction(0)] * equations + [-sum((line[-1] for line in table), Fraction(0))]
    while True:
        entering = next((c for c in range(k) if cost[c] < 0), None)
        if entering is None:
            return cost[-1] != 0  # the artificial variables stay: no such λ
        ratios = [
            (line[-1] / line[entering], basis[i], i) for i, line in enumerate(table) if line[entering] > 0
        ]
        _, _, leaving = min(ratios)
        pivot = table[leaving][entering]
        table[leaving] = [value / pivot for value in table[leaving]]
        for i, line in enumerate([*table, cost]):
            if i != leaving and line[entering] != 0:
                factor = line[entering]
                line[:] = [a - factor * p for a, p in zip(line, table[leaving], strict=True)]
        basis[leaving] = entering
