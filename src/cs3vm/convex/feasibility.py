"""Whether any point fits the fixed sides: with a side margin that is not obvious."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from .._typing import FloatArray, RowArray
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Status

#: A certificate has at most so many rows: it is checked in fractions, which takes their number to the third.
MAX_CERTIFICATE = 60
#: How many small turns of a separating plane are tried to get the free rows off it.
TURNS = 64


def fits(problem: Problem) -> bool:
    """Whether there is a point at all; False only with a certificate.

    Without a side margin w = 0 is one. With a margin there is one if a plane separates the fixed rows
    strictly: turned a little, no free row lies on it, and with a long enough w none lies in the strip. The
    certificate are means of the rows of either side that coincide, in exact arithmetic.
    """
    return problem.side_margin == 0.0 or not _separate(problem, *_units(problem))[1]


def any_answer(problem: Problem) -> Result | None:
    """A point that fits, however poor; None if there is none or rounding wins."""
    centre, spread = _units(problem)
    plane, _ = _separate(problem, centre, spread)
    if plane is None or problem.m == 0:
        return None
    rows = np.column_stack([(problem.U - centre) / spread, np.ones(problem.m)])
    rng = np.random.default_rng(0)
    best: Result | None = None
    for turn in range(TURNS):
        size = 0.0 if turn == 0 else 2.0 ** -rng.uniform(1.0, 30.0)
        turned = plane + size * rng.normal(size=len(plane))
        scores = rows @ turned
        least = float(np.abs(scores).min())
        if least == 0.0 or np.any(problem.side * scores < 0.0):
            continue
        turned *= problem.side_margin / least * (1.0 + 1e-9)
        w = turned[:-1] / spread
        result = Result(
            problem, Status.FEASIBLE, w, float(turned[-1] - w @ centre), (scores > 0).astype(np.int8)
        )
        good = result.violation <= 1e-6 * problem.side_margin
        if good and (best is None or result.objective < best.objective):
            best = result
    return best


def _units(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Centre and spread of the fixed rows' columns, for tolerances to mean something."""
    rows = problem.U[problem.side != 0]
    if len(rows) == 0:
        return np.zeros(problem.d), np.ones(problem.d)
    centre = rows.mean(axis=0)
    spread = np.abs(rows - centre).max(axis=0)
    return centre, np.where(spread > 0.0, spread, 1.0)


def _separate(problem: Problem, centre: FloatArray, spread: FloatArray) -> tuple[FloatArray | None, bool]:
    """(w, b) in these units with the fixed rows on their sides, if one is found; and whether none exists."""
    held = np.flatnonzero(problem.side)
    sigma = problem.side[held].astype(float)
    if len(np.unique(sigma)) < 2:  # all on one side
        return np.append(np.zeros(problem.d), 1.0 if len(held) == 0 else sigma[0]), False
    rows = np.column_stack([(problem.U[held] - centre) / spread, np.ones(len(held))]) * sigma[:, None]
    largest = problem.d + 1.0
    found = linprog(
        np.append(np.zeros(problem.d + 1), -1.0),
        A_ub=np.column_stack([-rows, np.ones(len(held))]),
        b_ub=np.zeros(len(held)),
        bounds=[(-1.0, 1.0)] * problem.d + [(-largest, largest), (None, 1.0)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return None, False
    plane = np.asarray(found.x[:-1])
    if np.all(rows @ plane > 0.0):
        return plane, False
    mean = np.maximum(0.0, -found.ineqlin.marginals)
    return None, _means_coincide(problem, held[mean > 1e-9 * mean.max(initial=0.0)])


def _means_coincide(problem: Problem, rows: RowArray) -> bool:
    """Whether a mean of the positive rows among these is one of the negative rows: exactly, in fractions."""
    side = problem.side[rows]
    if len(rows) > MAX_CERTIFICATE or len(np.unique(side)) < 2:
        return False
    columns = [
        [*(int(s) * Fraction(float(x)) for x in row), Fraction(int(s > 0)), Fraction(int(s < 0))]
        for s, row in zip(side, problem.U[rows], strict=True)
    ]
    wanted = [Fraction(0)] * problem.d + [Fraction(1)] * 2
    shares = _solve_exactly([list(equation) for equation in zip(*columns, strict=True)], wanted)
    return shares is not None and all(share >= 0 for share in shares)


def _solve_exactly(equations: list[list[Fraction]], wanted: list[Fraction]) -> list[Fraction] | None:
    """One solution of linear equations, with 0 for what they leave free; None if there is none."""
    table = [[*row, right] for row, right in zip(equations, wanted, strict=True)]
    pivots: list[int] = []
    for column in range(len(equations[0])):
        top = len(pivots)
        row = next((i for i in range(top, len(table)) if table[i][column] != 0), None)
        if row is None:
            continue
        table[top], table[row] = table[row], table[top]
        table[top] = [value / table[top][column] for value in table[top]]
        for i, other in enumerate(table):
            if i != top and other[column] != 0:
                table[i] = [a - other[column] * b for a, b in zip(other, table[top], strict=True)]
        pivots.append(column)
    if any(row[-1] != 0 for row in table[len(pivots) :]):
        return None
    solution = [Fraction(0)] * len(equations[0])
    for i, column in enumerate(pivots):
        solution[column] = table[i][-1]
    return solution
