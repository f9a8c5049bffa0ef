"""Steps on a locally linear count.

With the count enforced the intercept follows a quantile of the scores, whose gradient is the mean of the
points near the plane. So near a plane the count is taken as linear in ``(w, b)``, which leaves a convex
quadratic programme; a line search on the true objective keeps what is real of its promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, RowArray
from ...model.ranks import by_number, ranked_values
from .incumbent import MANY_ROWS, Plane, Search

#: Shares of the unlabelled rows whose scores make up the local slope of the count, then numbers of rows.
SHARES = (0.3, 0.1, 0.03, 0.01)
NUMBERS = (50, 20, 8)
#: Steps tried along the line; scores are linear in the step, so each costs one ranking.
STEPS = (1.0, 0.6, 0.35, 0.2, 0.1, 0.04)
#: The same where a ranking takes long.
FEW_STEPS = (1.0, 0.5, 0.2)
#: A relative gain below this moves on to fewer points.
SMALL_GAIN = 1e-5
#: Of several totals, each is judged by so many points at least.
LEAST = 4
#: Of very many rows, so many tell how far the nearest ones are, and so many times as many are looked at.
SAMPLE, NEAR = 20_000, 2


def schedule(m: int) -> list[int]:
    """Numbers of near points, from many to few, for ``m`` unlabelled rows."""
    if m > MANY_ROWS:
        return [round(0.01 * m), round(0.003 * m), 1000]
    sizes = {round(share * m) for share in SHARES} | set(NUMBERS)
    return sorted((k for k in sizes if 4 <= k <= m), reverse=True) or [max(m, 1)]


def descend(search: Search, plane: Plane, sizes: Sequence[int], repeats: int = 4) -> Plane:
    """Take steps while they improve the true objective, with ever fewer near points."""
    if search.problem.m == 0:
        return plane
    for k in sizes:
        for _ in range(repeats):
            if search.expired:
                return plane
            better = step(search, plane, k)
            if better is None:
                break
            gain = plane.value - better.value
            plane = better
            if gain < SMALL_GAIN * abs(plane.value):
                break
    return plane


def step(search: Search, plane: Plane, k: int) -> Plane | None:
    """One step with the ``k`` points nearest to the plane; None if the true objective does not fall."""
    w = linearised_optimum(search, plane, k)
    return None if w is None else line_search(search, plane, w)


def linearised_optimum(search: Search, plane: Plane, k: int, shift: float = 0.0) -> FloatArray | None:
    """The optimum with each count replaced by its local slope; ``shift`` is added to the wanted totals."""
    totals, ranking = search.problem.totals, search.ranking
    counts = totals.counts(plane.unlabelled + plane.b > 0.0) if ranking.several else np.array([plane.total])
    distance = np.abs(plane.unlabelled + plane.b)
    near = _near_by_total(search, distance, k)
    soft: list[SoftRow] = []
    for g in range(len(totals)):
        rows = totals.rows[g]
        if ranking.any_fixed:
            rows = rows[search.problem.side[rows] == 0]
        number = k if len(totals) == 1 else max(min(k, LEAST), round(k * len(rows) / search.problem.m))
        rows = near[g] if near and number <= len(near[g]) else rows
        slope = _slope(search, plane, distance, rows, number)
        if slope is None:
            continue
        here = float(slope.centre[:-1] @ plane.w) + plane.b
        price = float(totals.penalty[g]) * slope.rows_per_unit
        for sign, end in ((1.0, totals.low[g]), (-1.0, totals.high[g])):
            if np.isfinite(end):
                aim = here + (float(end) + shift - float(counts[g])) / slope.rows_per_unit
                soft.append(SoftRow(sign * slope.centre, sign * aim, price))
    if not soft:
        return None
    aims = np.array([row.aim for row in soft])
    prices = np.array([row.price for row in soft])
    return search.solve_soft(np.vstack([row.row for row in soft]), aims, prices, near=plane)


class SoftRow(NamedTuple):
    """A row of a quadratic programme that may be violated, at a price."""

    row: FloatArray
    aim: float
    price: float


class Slope(NamedTuple):
    """The mean of the points near a plane, and how much weight crosses it per unit of the intercept."""

    centre: FloatArray
    rows_per_unit: float


def _near_by_total(search: Search, distance: FloatArray, k: int) -> list[RowArray]:
    """Of very many rows those near the plane, for each total: if enough of its rows are among them, no others
    need to be looked at. Empty where all may as well be.
    """
    totals, problem = search.problem.totals, search.problem
    if problem.m <= MANY_ROWS or len(totals) == 1 or search.ranking.any_fixed:
        return []
    sample = np.sort(distance[:: problem.m // SAMPLE])
    near = np.flatnonzero(distance <= sample[min(NEAR * k * len(sample) // problem.m, len(sample) - 1)])
    start, total = totals.of_row
    number = start[near + 1] - start[near]
    place = np.repeat(start[near] - np.append(0, np.cumsum(number)[:-1]), number) + np.arange(number.sum())
    rows, of_rows = np.repeat(near, number), total[place]
    order = by_number(of_rows)
    ends = np.cumsum(np.bincount(of_rows, minlength=len(totals)))
    return np.split(rows[order], ends[:-1])


def _slope(search: Search, plane: Plane, distance: FloatArray, rows: RowArray, k: int) -> Slope | None:
    """The local slope of a count of these rows, from the k nearest; None where there is none to follow."""
    problem = search.problem
    if k < len(rows):
        own = distance if len(rows) == problem.m else distance[rows]
        if len(rows) > MANY_ROWS:
            rows = rows[own <= ranked_values(own, [k - 1])]
        else:
            rows = rows[np.argpartition(own, k - 1)[:k]]
    if len(rows) == 0:
        return None
    weights, scores = problem.weights[rows], plane.unlabelled[rows]
    largest = float(np.abs(scores).max())
    width = max(float(scores.max() - scores.min()), 1e-9 * largest)
    if width <= 0.0:  # w = 0, or all scores are zero
        return None
    mass = float(weights.sum())
    return Slope(np.append(weights @ problem.U[rows] / mass, 1.0), mass / width)


def line_search(search: Search, plane: Plane, w: FloatArray) -> Plane | None:
    """The best plane on the way from ``plane`` to ``w``; None if none is better."""
    search.spend((search.problem.n + search.problem.m) * search.problem.d)
    end_labelled, end_unlabelled = search.problem.X @ w, search.problem.U @ w
    if search.problem.m > MANY_ROWS:
        end = Plane(w, end_labelled, end_unlabelled, np.inf, 0.0, 0.0)
        return search.judge_steps(plane, end, FEW_STEPS)
    best: Plane | None = None
    for t in FEW_STEPS if search.lazy and search.ranking.several else STEPS:
        value = plane.value if best is None else best.value
        candidate = search.judge(
            plane.w + t * (w - plane.w),
            plane.labelled + t * (end_labelled - plane.labelled),
            plane.unlabelled + t * (end_unlabelled - plane.unlabelled),
        )
        if candidate.value < value:
            best = candidate
        elif best is not None and t < 0.5:
            break
    return best
