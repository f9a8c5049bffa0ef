"""Polish: the optimum of a cell, and its neighbours.

A cell is an assignment of sides. Its optimum is an SVM with hard sides, and its neighbours worth a look
differ in points whose side has a positive multiplier, because only these hold the plane back. Two such
points on different sides may always be swapped: the plane passes through both, so the swapped cell
contains it and is at least as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ..core.quadratic import FINE
from .incumbent import IMPROVEMENT, Plane, Search, quadratic_work

Sides = NDArray[np.int8]


class Cell(NamedTuple):
    """The optimum of a cell, its sides, the points that hold it (signed multipliers, largest first)."""

    plane: Plane
    z: Sides
    active: NDArray[np.intp]
    beta: FloatArray
    b: float  #: the intercept that goes with z
    alpha: FloatArray  #: multipliers of the labelled rows


def solve_cell(search: Search, z: Sides, scores: FloatArray) -> Cell | None:
    """The optimum with all sides held; rows enter lazily, first those nearest by ``scores``."""
    problem = search.problem
    m, d, margin = problem.m, problem.d, problem.side_margin
    sigma = np.where(z > 0, 1.0, -1.0)
    size = min(m, 30 + 2 * min(d, 60))
    rows = np.argpartition(np.abs(scores), size - 1)[:size] if size < m else np.arange(m)
    for _ in range(12):
        if not search.has_room(quadratic_work(problem.n + len(rows), d + 1)):
            return None
        held = np.column_stack([problem.U[rows], np.ones(len(rows))]) * sigma[rows, None]
        rhs = np.append(np.ones(problem.n), np.full(len(rows), margin))
        search.spend(m * d)
        v, alpha = search.solve_rows(np.vstack([search.rows_labelled, held]), rhs, problem.C, FINE)
        w, b = v[:-1], float(v[-1])
        unlabelled = problem.U @ w
        signed = sigma * (unlabelled + b) - margin
        slack = 1e-9 * (1.0 + float(np.abs(unlabelled).max(initial=0.0)))
        violated = np.flatnonzero(signed < -slack)
        violated = violated[~np.isin(violated, rows)]
        if len(violated) == 0:
            break
        if search.expired:
            return None
        rows = np.append(rows, violated[np.argsort(signed[violated])[: 30 + 2 * min(d, 60)]])
    plane = search.judge(w, problem.X @ w, unlabelled)
    if not search.ranking.unit:
        value = search.offer_sides(w, b, z)
        if value < plane.value:
            plane = plane._replace(value=value, b=b, total=problem.count(z))
    beta = alpha[problem.n :]
    holding = np.flatnonzero(beta > 1e-7 * max(float(beta.max(initial=0.0)), 1e-3))
    holding = holding[np.argsort(-beta[holding])]
    active = rows[holding]
    free = problem.side[active] == 0
    return Cell(plane, z, active[free], (sigma[active] * beta[holding])[free], b, alpha[: problem.n])


def polish(search: Search, plane: Plane, solves: int = 12) -> Plane:
    """Descend through neighbouring cells until none is better or that many have been solved.

    With none to solve it is the exact optimum of the plane's own cell, also when time is over.
    """
    if search.problem.m == 0 or (solves and search.expired):
        return plane
    cell = solve_cell(search, search.sides(plane), plane.unlabelled + plane.b)
    while cell is not None:
        plane = cell.plane if cell.plane.value < plane.value else plane
        limit = plane.value * (1.0 - IMPROVEMENT) - 1e-12
        scores = cell.plane.unlabelled + cell.plane.b
        current, cell = cell, None
        for z in _swaps(search, current):
            if solves <= 0 or search.expired:
                break
            solves -= 1
            other = solve_cell(search, z, scores)
            if other is not None and other.plane.value < limit:
                cell = other
                break
    return plane


def _swaps(search: Search, cell: Cell) -> Iterator[Sides]:
    """Swap two holding points of different sides; or flip one where that mends a total."""
    up, down = cell.active[cell.beta > 0][:6], cell.active[cell.beta < 0][:6]
    for i, j in sorted(((i, j) for i in range(len(up)) for j in range(len(down))), key=sum):
        yield _flipped(cell.z, up[i], down[j])
    totals = search.problem.totals
    price = totals.price(totals.counts(cell.z))
    for j in (*up, *down):
        flipped = _flipped(cell.z, j)
        if totals.price(totals.counts(flipped)) < price:
            yield flipped


def _flipped(z: Sides, *points: int) -> Sides:
    flipped = z.copy()
    for j in points:
        flipped[j] = 1 - flipped[j]
    return flipped
