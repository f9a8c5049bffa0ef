"""Steps on a locally linear count.

With the count enforced the intercept follows a quantile of the scores, whose gradient is the mean of the
points near the plane. So near a plane the count is taken as linear in ``(w, b)``, which leaves a convex
quadratic programme; a line search on the true objective keeps what is real of its promise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._typing import FloatArray
from .incumbent import Plane, Search

#: Shares of the unlabelled rows whose scores make up the local slope of the count, then numbers of rows.
SHARES = (0.3, 0.1, 0.03, 0.01)
NUMBERS = (50, 20, 8)
#: Steps tried along the line; scores are linear in the step, so each costs one ranking.
STEPS = (1.0, 0.6, 0.35, 0.2, 0.1, 0.04)
#: The same where a ranking takes long, and from how many unlabelled rows on.
FEW_STEPS, MANY_ROWS = (1.0, 0.5, 0.2), 100_000
#: A relative gain below this moves on to fewer points.
SMALL_GAIN = 1e-5


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
    """The optimum with the count replaced by its local slope; ``shift`` is added to the wanted total."""
    problem, ranking = search.problem, search.ranking
    distance = np.abs(plane.unlabelled + plane.b)
    rows = np.arange(problem.m)
    if ranking.any_fixed:
        rows, distance = ranking.free, distance[ranking.free]
    if k < len(rows):
        rows = rows[np.argpartition(distance, k - 1)[:k]]
    if len(rows) == 0:
        return None
    weights, scores = problem.weights[rows], plane.unlabelled[rows]
    largest = float(np.abs(scores).max())
    width = max(float(scores.max() - scores.min()), 1e-9 * largest)
    if width <= 0.0:  # w = 0, or all scores are zero: there is no slope to follow
        return None
    mass = float(weights.sum())
    centre = np.append(weights @ problem.U[rows] / mass, 1.0)
    slope = mass / width
    wanted = problem.n_positive + shift - plane.total
    aim = float(centre[:-1] @ plane.w) + plane.b + wanted / slope
    price = problem.count_penalty * slope
    return search.solve_soft(
        np.vstack([centre, -centre]), np.array([aim, -aim]), np.array([price, price]), near=plane
    )


def line_search(search: Search, plane: Plane, w: FloatArray) -> Plane | None:
    """The best plane on the way from ``plane`` to ``w``; None if none is better."""
    steps = STEPS if search.problem.m <= MANY_ROWS else FEW_STEPS
    search.spend((search.problem.n + search.problem.m) * search.problem.d)
    end_labelled, end_unlabelled = search.problem.X @ w, search.problem.U @ w
    best: Plane | None = None
    for t in steps:
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
