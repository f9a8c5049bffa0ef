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
    d = len(varying_columns(problem))
    if not 1 <= d <= most:
        return f"{d} features vary, and they are for 1 to {most}"
    return ""
