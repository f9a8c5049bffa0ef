"""One plane for two classes, one per class against the rest for several: solved one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import FloatArray
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Status
from .kernel_map import KernelMap
from .scaling import RankScaling, Scaling

if TYPE_CHECKING:
    from .assignment import Assignment

#: Solves a problem within so many seconds.
SolveOne = Callable[[Problem, float], Result]


class Planes(NamedTuple):
    """Planes in the units of the user, or with a kernel by its landmarks: a row and a number for each."""

    coef: FloatArray
    intercept: FloatArray


def solve_planes(
    problem: Problem,
    targets: Sequence[FloatArray],
    totals: Sequence[Any],
    how: SolveOne,
    seconds: float,
) -> tuple[Result, ...]:
    """Solve one problem per plane, on the same rows and in the same units.

    Parameters
    ----------
    problem
        That of the first plane; the others have its rows, prices and weights.
    targets
        For each plane the signs of the labelled rows.
    totals
        For each plane what is known of its class among the unlabelled rows.
    how
        Solves the problem of one plane.
    seconds
        For all planes together; what one does not need is left to those after it. Once one of them is
        interrupted, there is no search for those after it.
    """
    if len(targets) == 1:
        return (how(problem, seconds),)
    deadline, stopped = time.perf_counter() + seconds, False
    results: list[Result] = []
    for c, (target, total) in enumerate(zip(targets, totals, strict=True)):
        one = problem if c == 0 else replace(problem, y=target, n_positive=total)
        left = max(0.0, deadline - time.perf_counter())
        found = results[0] if stopped else how(one, left / (len(targets) - c))
        stopped = stopped or found.status is Status.INTERRUPTED
        results.append(_after_interrupt(one, found) if stopped else found)
    return tuple(results)


def _after_interrupt(problem: Problem, found: Result) -> Result:
    """The first answer of the heuristic, unless a better one was found for this problem in time.

    The labels need a useful score of every class, and a search may end before it has any.
    """
    method = "direct" if problem.norm == "l2" else "top_tau"  # the heuristic knows no other norm
    quick = solve(problem, method, time_limit=0.0)
    if found.problem is problem and found.objective <= quick.objective:
        return found
    shared = {name: value for name, value in found.extras.items() if name == "kernel"}
    return replace(quick, status=Status.INTERRUPTED, extras={**quick.extras, **shared})


def both_sides(scores: FloatArray, positive: int) -> FloatArray:
    """A column for each of two classes: the other one has the same plane, looked at from behind."""
    return np.column_stack([scores, -scores] if positive == 0 else [-scores, scores])


def plane_scores(results: Sequence[Result]) -> FloatArray:
    """The scores of the unlabelled rows, a column per plane, on a common scale.

    The scale is the margin: every plane is in the form in which a score of 1 is where a label of its class
    stops to cost anything, and the features of all problems are the same.
    """
    normals = np.array([result.coef for result in results], dtype=float)
    return np.asarray(results[0].problem.U @ normals.T + [result.intercept for result in results])


def assign_classes(results: Sequence[Result]) -> Assignment:
    """Labels that meet the totals of all classes, in every group that has some, with the highest scores.

    Rows of groups without totals choose by the prices of all others together, as new rows do.
    """
    from .assignment import assign  # loads numba
    from .class_margins import assign_by_totals

    scores, problems = plane_scores(results), [result.problem for result in results]
    if problems[0].one_total:
        return assign(scores, [round(float(problem.totals.low[0])) for problem in problems])
    table = np.array([problem.totals.low for problem in problems])
    return assign_by_totals(scores, problems[0].totals, table)


def score_rows(
    X: Any, planes: Planes, scaling: Scaling | RankScaling, kernel_map: KernelMap | None
) -> FloatArray:
    """The score of each row of X for each plane."""
    if kernel_map is None:
        return np.asarray(X @ planes.coef.T + planes.intercept)
    return np.asarray(kernel_map.scores(scaling.transform(X), planes.coef.T) + planes.intercept)
