"""Whether any point fits the fixed sides: with a side margin that is not obvious."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from .._typing import FloatArray
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Status

#: Combinations of rows that differ by less, relative to the spread of the rows, coincide: it is rounding.
COINCIDE = 1e-13
#: How many small turns of a separating plane are tried to get the free rows off it.
TURNS = 64


def fits(problem: Problem) -> bool:
    """Whether there is a point at all; False only with a certificate.

    Without a side margin w = 0 is one. With a margin there is one if a plane separates the fixed rows
    strictly: turned a little, no free row lies on it, and with a long enough w none lies in the strip. The
    certificate are means of the rows of either side that coincide.
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
    apart = np.abs(mean @ rows) / max(float(mean.sum()), 1e-300)
    return None, bool(apart.max() <= COINCIDE)
