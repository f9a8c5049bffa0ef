"""Several classes with a total each: one against the rest, then labels that meet all totals at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Status
from .assignment import Assignment, assign
from .summary import ClassRow, Summary, kernel_note, warnings_about

#: Solves a problem within so many seconds.
SolveOne = Callable[[Problem, float], Result]


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """The answers of all classes to the same rows, and what they make of them together."""

    classes: NDArray[Any]
    results: tuple[Result, ...]

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """The known total of each class."""
        return np.array([round(result.problem.n_positive) for result in self.results])

    @cached_property
    def assignment(self) -> Assignment:
        """Labels of the unlabelled rows that meet all totals, with the highest summed scores."""
        return assign(class_scores(self.results), self.totals)

    @property
    def coef(self) -> FloatArray:
        """The normal vectors, class by class, in the units of the problem."""
        return np.array([result.coef for result in self.results], dtype=float)

    @property
    def intercept(self) -> FloatArray:
        """The intercepts less the prices: the highest score is then the label that the totals ask for."""
        return np.array([result.intercept for result in self.results]) - self.assignment.prices

    def warnings(self, method: str) -> list[str]:
        """What a user should know before trusting the labels."""
        notes = []
        for label, result in zip(self.classes.tolist(), self.results, strict=True):
            if not np.any(result.problem.y > 0):
                notes.append(f"the class {label!r} has no label: only the totals speak for it")
            else:
                notes += [f"class {label!r}: {note}" for note in warnings_about(result, method)]
        return notes


def one_vs_rest(
    problem: Problem,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    totals: FloatArray,
    how: SolveOne,
    seconds: float,
) -> OneVsRest:
    """Solve one problem per class, on the same rows and in the same units.

    Parameters
    ----------
    problem
        The rows, prices and weights; its labels and its total are replaced by those of each class.
    classes
        The names of the classes.
    codes
        The class of each labelled row, as an index into ``classes``.
    totals
        The known total of each class among the unlabelled rows.
    how
        Solves the problem of one class.
    seconds
        For all classes together; what one does not need is left to those after it. Once one of them is
        interrupted, there is no search for those after it.
    """
    deadline, stopped = time.perf_counter() + seconds, False
    results: list[Result] = []
    for c, total in enumerate(totals.tolist()):
        one = replace(problem, y=np.where(codes == c, 1.0, -1.0), n_positive=total)
        left = max(0.0, deadline - time.perf_counter())
        found = results[0] if stopped else how(one, left / (len(totals) - c))
        stopped = stopped or found.status is Status.INTERRUPTED
        results.append(_after_interrupt(one, found) if stopped else found)
    return OneVsRest(classes, tuple(results))


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


def class_scores(results: tuple[Result, ...]) -> FloatArray:
    """The decision values of the unlabelled rows, class by class, on a common scale.

    The scale is the margin: every hyperplane is in the form in which a score of 1 is where a label of its
    class stops to cost anything, and the features of all problems are the same.
    """
    planes = np.array([result.coef for result in results], dtype=float)
    return np.asarray(results[0].problem.U @ planes.T + [result.intercept for result in results])


def plain_machines(fit: OneVsRest) -> tuple[Result, ...]:
    """The SVMs of all classes, which know no totals."""
    return tuple(solve(result.problem, "svm") for result in fit.results)


def summarize_classes(fit: OneVsRest, method: str) -> Summary:
    """One row per class, beside the number of rows that the highest score of plain SVMs would give it."""
    highest = class_scores(plain_machines(fit)).argmax(axis=1)
    counts = np.bincount(highest, minlength=len(fit.results))
    rows = [
        ClassRow.of(str(label), result, int(count))
        for label, result, count in zip(fit.classes.tolist(), fit.results, counts, strict=True)
    ]
    return Summary(tuple(rows), (*fit.warnings(method), *kernel_note(fit.results[0])))
