"""What if the total is another one? The same fit for several totals, each from the planes before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowArray
from ..exceptions import InvalidProblemError, Note
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.result import Result
from ..model.totals import Total, Totals
from .baselines import BASELINES
from .class_totals import nearest_total
from .fit import Fit
from .known_counts import count_of_all
from .text_table import format_table
from .undecided import meet_totals

#: The work of all searches together, about four seconds, and the guard in seconds.
WORK, SECONDS = 3e9, 60.0
#: A search gives up after so many vain attempts: it starts from a good plane.
PATIENCE = 6
#: Between the lowest and the highest total so many are looked at.
POINTS = 7
#: The least objective is far from the given total if it is off by more than this part of it.
FAR = 0.1


class HasFit(Protocol):
    """A fitted classifier."""

    fit_: Fit


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """How labels and objective depend on the total; ``print`` it for a table."""

    totals: FloatArray  #: ascending, as they are given: with labelled rows where totals count all
    given: int  #: which of them is that of the fit
    objectives: FloatArray
    positive: BoolArray  #: for each total (row) which unlabelled rows that count (columns) are positive
    weights: FloatArray  #: of these rows
    unlabelled: BoolArray  #: which rows of the fit they are

    @property
    def stable(self) -> BoolArray:
        """For every row of the fit whether its label is the same for all totals; given labels are."""
        same = np.ones(len(self.unlabelled), dtype=bool)
        same[self.unlabelled] = np.all(self.positive == self.positive[0], axis=0)
        return same

    @property
    def n_changed(self) -> IntArray:
        """For each total how many labels are not those of the fit."""
        return np.asarray(np.sum(self.positive != self.positive[self.given], axis=1))

    @property
    def best(self) -> float:
        """The total with the least objective."""
        return float(self.totals[np.argmin(self.objectives)])

    @property
    def sentence(self) -> str:
        """How many labels depend on the total."""
        n, unstable = int(self.unlabelled.sum()), int(np.sum(~self.stable))
        return (
            f"With totals from {self.totals[0]:g} to {self.totals[-1]:g} instead of "
            f"{self.totals[self.given]:g}, {unstable} of {n} labels ({unstable / max(n, 1):.1%}) change at "
            "some total; the others are stable."
        )

    @property
    def about_minimum(self) -> str:
        """What the total with the least objective says, and what it does not."""
        own, at = float(self.totals[self.given]), int(np.argmin(self.objectives))
        at_end = at != self.given and at in (0, len(self.totals) - 1)
        if abs(self.best - own) <= FAR * max(own, 1.0) and not at_end:
            return f"The objective is least at {self.best:g}, near the given total."
        lowest = "lowest" if at == 0 else "highest"
        where = (
            f"still falls at {self.best:g}, the {lowest} total looked at"
            if at_end
            else (f"is least at {self.best:g}, far from the given total of {own:g}")
        )
        return (
            f"The objective {where}: taken as they are, the labels would draw the line elsewhere. Where "
            "labels are biased that is to be expected, and is why a total is needed; it can also mean that "
            "the total is wrong or counts other rows. The objective cannot tell which: never choose the "
            "total by it."
        )

    @property
    def notes(self) -> list[Note]:
        """Nothing has to be said before the answer is trusted; the report shows all of it."""
        return []

    def cells(self) -> list[dict[str, str]]:
        """Column names and formatted values, a row for each total."""
        counts = self.positive @ self.weights
        return [
            {
                "total": f"{total:g}" + (" (given)" if i == self.given else ""),
                "positives": f"{counts[i]:g}",
                "labels that change": str(int(self.n_changed[i])),
                "objective": f"{self.objectives[i]:.6g}",
            }
            for i, total in enumerate(self.totals.tolist())
        ]

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{format_table(self.cells())}\n\n{self.about_minimum}"

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        return {
            "totals": self.totals.tolist(),
            "given": float(self.totals[self.given]),
            "objectives": self.objectives.tolist(),
            "changed": self.n_changed.tolist(),
            "unstable": int(np.sum(~self.stable)),
            "least_objective_at": self.best,
        }


def sensitivity(fit: Fit | HasFit, n_positive: Sequence[float]) -> Sensitivity:
    """Fit again with other totals, from the plane of the fit, and see which labels change.

    Parameters
    ----------
    fit
        A fitted classifier of two classes, or its ``fit_``.
    n_positive
        Other totals of all rows, in the units in which the total was given. Totals of groups are changed in
        proportion.
    """
    fit = fit if isinstance(fit, Fit) else fit.fit_
    if fit.is_several or fit.problem.m == 0:
        raise InvalidProblemError(
            "sensitivity needs a fit of two classes with unlabelled rows: with several classes fit again "
            "with other totals, and compare transduction_"
        )
    labelled = _labelled_positives(fit)
    own = count_of_all(fit.results[0]) + labelled
    wanted = _read(n_positive, own, labelled, fit.problem)
    found = _chain(fit, wanted - labelled, int(np.searchsorted(wanted, own)))
    positive = np.array([_positive(fit, result) for result in found])
    objectives = np.array([result.objective for result in found])
    given = int(np.searchsorted(wanted, own))
    return Sensitivity(wanted, given, objectives, positive, fit.problem.weights, fit.unlabelled)


def spread_totals(low: float, high: float, weights: FloatArray) -> list[float]:
    """Totals from the lowest to the highest, evenly."""
    return sorted({nearest_total(float(total), weights) for total in np.linspace(low, high, POINTS)})


def _labelled_positives(fit: Fit) -> float:
    """What labelled rows add to totals that count them, too."""
    if fit.parameters.totals_of != "all":
        return 0.0
    return float(fit.weight[fit.labels.codes == fit.labels.positive].sum())


def _read(n_positive: Any, own: float, labelled: float, problem: Problem) -> FloatArray:
    """The totals with that of the fit, ascending."""
    totals = np.unique(np.append(np.asarray(n_positive, dtype=float).ravel(), own))
    low, high = labelled, labelled + problem.total_weight
    wrong = totals[~((totals >= low - 1e-9) & (totals <= high + 1e-9))]
    if len(wrong):
        raise InvalidProblemError(
            Note(f"the total {wrong[0]:g} cannot be: it must be between {low:g} and {high:g}")
        )
    if np.all(problem.weights == 1.0) and np.any(totals != np.round(totals)):
        broken = totals[totals != np.round(totals)][0]
        raise InvalidProblemError(f"the total {broken:g} cannot be met by rows without weights: round it")
    return totals


# -- the searches --------------------------------------------------------------------------------------
def _chain(fit: Fit, totals: FloatArray, given: int) -> list[Result]:
    """The answers for all totals, from the given one outwards, each from the one before it."""
    found: dict[int, Result] = {given: fit.results[0]}
    for path in (range(given + 1, len(totals)), range(given - 1, -1, -1)):
        before = fit.results[0]
        for i in path:
            before = found[i] = _again(fit, float(totals[i]), before, len(totals))
    return [found[i] for i in range(len(totals))]


def _again(fit: Fit, total: float, before: Result, searches: int) -> Result:
    problem = replace(fit.problem, n_positive=_totals(fit, total))
    if fit.method in BASELINES:
        return solve(problem, fit.method)
    parameters = fit.parameters
    if problem.norm != "l2":
        return solve(problem, solver=parameters.solver, time_limit=parameters.time_limit / searches)
    return solve(
        problem,
        "direct",
        starts=[np.asarray(result.coef) for result in (before, fit.results[0])],
        time_limit=SECONDS / searches,
        work_limit=WORK / searches,
        random_state=parameters.seed,
        patience=PATIENCE,
        nodes=0,
    )


def _totals(fit: Fit, total: float) -> float | Totals:
    """What is known if all rows together have this many positives: totals of groups in proportion."""
    totals = fit.problem.totals
    if len(totals) == 1 and totals.of_all[0]:
        return total
    factor = total / max(count_of_all(fit.results[0]), 1e-300)
    return Totals(_scaled(fit.problem, g, rows, factor) for g, rows in enumerate(totals.rows))


def _scaled(problem: Problem, g: int, rows: RowArray, factor: float) -> Total:
    totals, weights = problem.totals, problem.weights[rows]
    low, high = (min(float(end) * factor, float(totals.weight[g])) for end in (totals.low[g], totals.high[g]))
    if low == high:
        low = high = nearest_total(low, weights)
    return Total(rows, low, high, float(totals.penalty[g]), totals.names[g])


def _positive(fit: Fit, result: Result) -> BoolArray:
    if fit.method == "svm":  # it knows no total
        return np.asarray(result.z) > 0
    return meet_totals(result, fit.parameters.seed)[0]
