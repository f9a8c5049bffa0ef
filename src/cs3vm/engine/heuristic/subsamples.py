"""Subsamples of a large problem: the same objective, estimated on fewer rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model.problem import Problem

#: Numbers of rows of the subsamples, from coarse to fine.
LEVELS = (2_000, 20_000)
#: A level must be this much smaller than the next to be worth its time.
SHRINK = 3.0


def levels(problem: Problem) -> list[int]:
    """Which subsamples to run through before all rows."""
    return [rows for rows in LEVELS if rows * SHRINK <= problem.n + problem.m]


def subsample(problem: Problem, rows: int, rng: np.random.Generator) -> Problem:
    """Draw about ``rows`` rows; penalties and τ are rescaled so that the objective stays comparable."""
    ratio = rows / (problem.n + problem.m)
    labelled = _draw_labelled(problem, ratio, rng)
    m = min(problem.m, max(1, rows - len(labelled)))
    unlabelled = np.sort(rng.choice(problem.m, m, replace=False)) if m < problem.m else np.arange(m)
    weights = problem.weights[unlabelled]
    share = float(weights.sum()) / problem.total_weight
    return Problem(
        problem.X[labelled],
        problem.y[labelled],
        problem.U[unlabelled],
        problem.totals.sampled(unlabelled),
        weights=weights,
        side=problem.side[unlabelled],
        C=problem.C[labelled] * float(problem.C.sum() / problem.C[labelled].sum()),
        count_penalty=problem.count_penalty / share,
        side_margin=problem.side_margin,
    )


def _draw_labelled(problem: Problem, ratio: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """A share of each class, but no fewer than 500 rows in all: labels are what there is least of."""
    ratio = max(ratio, min(1.0, 500 / problem.n))
    chosen = []
    for sign in (-1, 1):
        rows = np.flatnonzero(problem.y == sign)
        number = min(len(rows), max(1, round(ratio * len(rows))))
        chosen.append(rng.choice(rows, number, replace=False) if number else rows)
    return np.sort(np.concatenate(chosen))
