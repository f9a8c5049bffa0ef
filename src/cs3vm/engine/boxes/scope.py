"""For which problems boxes are of use. It compiles nothing."""

from __future__ import annotations

import numpy as np

from ..._typing import IntArray
from ...model.problem import Problem

#: With more features that vary, rows are the better thing to branch on; and those that are tried at all.
AUTO_FEATURES, MOST_FEATURES = 5, 8


def varying_columns(problem: Problem) -> IntArray:
    """The features that are not constant: no plane of least cost has a weight for the others."""
    most = np.maximum(problem.X.max(axis=0), problem.U.max(axis=0, initial=-np.inf))
    least = np.minimum(problem.X.min(axis=0), problem.U.min(axis=0, initial=np.inf))
    return np.flatnonzero(most > least)


def counts_whole(problem: Problem) -> bool:
    """Whether weights and totals are integers, of which sums are exact."""
    totals = problem.totals
    ends = [end for end in (totals.low[0], totals.high[0]) if np.isfinite(end)]
    numbers = np.append(problem.weights, ends)
    return bool(np.all(numbers == np.round(numbers)) and totals.weight[0] < 2.0**52)


def refusal(problem: Problem, most: int = MOST_FEATURES) -> str:
    """Why boxes cannot be used, with at most so many features, or an empty string."""
    if problem.norm != "l2":
        return "they need norm='l2'"
    if problem.m == 0:
        return "there are no unlabelled rows"
    if len(problem.totals) != 1 or not problem.totals.of_all[0]:
        return "they need one total of all unlabelled rows"
    if np.any(problem.side != 0):
        return "they cannot have fixed sides"
    if problem.side_margin == 0.0 and not counts_whole(problem):
        # (w, b) = 0 has every row on both sides, and what it misses of the total would be a hard question
        return "without a side margin they need whole weights and totals"
    d = len(varying_columns(problem))
    if not 1 <= d <= most:
        return f"{d} features vary, and they are for 1 to {most}"
    return ""
