"""Planes of a fixed rule that keep a margin: the same direction and sides, steeper where it must be."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, SignArray
from ..model.intercept_of_several import prices_along
from ..model.line import EMPTY_TOLERANCE
from ..model.problem import Problem

#: A little more than the margin needs, so that rounding does not break it.
_SPARE = 1.0 + 1e-6
#: Prices that differ by no more than this share of what all rows could cost are the same.
_SAME_PRICE = 1e-12


def steepness(problem: Problem, gap: float) -> float:
    """By how much a plane must be steeper for the strip of the margin to fit into a gap of the scores."""
    return max(1.0, 2.0 * _SPARE * problem.side_margin / gap)


def smallest_gap(scores: FloatArray) -> float:
    """Scores that differ by less are the same one."""
    return EMPTY_TOLERANCE * (1.0 + float(np.max(np.abs(scores), initial=0.0)))


def with_margin(problem: Problem, w: FloatArray, b: float, z: SignArray) -> tuple[FloatArray, float] | None:
    """The plane with the same sides, with the margin; None where rows of both sides have the same score."""
    scores = problem.scores(w)
    lowest = float(np.min(scores[z > 0], initial=np.inf))
    highest = float(np.max(scores[z <= 0], initial=-np.inf))
    if lowest - highest <= smallest_gap(scores):
        return None
    steeper = steepness(problem, lowest - highest)
    margin = problem.side_margin * (1.0 + 0.1 * (_SPARE - 1.0))
    low, high = margin - steeper * lowest, -margin - steeper * highest
    return steeper * w, float(min(max(steeper * b, low), high))


def best_gap(problem: Problem, w: FloatArray) -> float:
    """The gap between two scores at which missed totals cost least; of two that cost the same, the wider."""
    scores = problem.scores(w)
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    gaps = np.append(np.inf, np.append(scores[:-1] - scores[1:], np.inf))
    possible = np.flatnonzero(gaps > smallest_gap(scores))
    prices = np.add(*prices_along(problem.totals, np.zeros(len(problem.totals)), order))[possible]
    least = prices <= prices.min() + _SAME_PRICE * float(problem.totals.penalty @ problem.totals.weight)
    return float(gaps[possible[least]].max())
