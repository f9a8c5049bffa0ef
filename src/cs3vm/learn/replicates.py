"""The same fit with other labels that might have been given: what of an answer hangs on chance.

Labelled rows are drawn again within their class, by the usual rule of replicate weights (Rao and Wu): of n
rows n - 1 are drawn with replacement, and each counts n / (n - 1) times as often as it was drawn, besides its
own weight. A single row of a class stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.status import Status
from .baselines import BASELINES
from .comparing import GUARD, LEAST_SECONDS, own_question, quick_search
from .cross_fit import Search
from .fit import Fit

#: The work of one replicate: of fifty some seconds. With less the search itself makes labels unstable.
WORK = 4e7


class Replicate(NamedTuple):
    """The planes of one replicate, in the features of the problem."""

    normals: FloatArray
    intercepts: FloatArray

    def scores(self, rows: FloatArray) -> FloatArray:
        """Of rows in the features of the problem, a column per plane."""
        return np.asarray(rows @ self.normals.T + self.intercepts)


def replicate_factors(codes: IntArray, rng: np.random.Generator) -> FloatArray:
    """How many times its weight each labelled row has in one replicate."""
    factors = np.ones(len(codes))
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        if len(rows) > 1:
            drawn = rng.integers(0, len(rows), len(rows) - 1)
            factors[rows] = np.bincount(drawn, minlength=len(rows)) * len(rows) / (len(rows) - 1.0)
    return factors


def replicate_scores(fit: Fit, n_replicates: int) -> Iterator[FloatArray]:
    """The scores of the unlabelled rows in each replicate, a column per plane."""
    for one in replicates(fit, n_replicates):
        yield one.scores(fit.problem.U)


def replicates(fit: Fit, number: int) -> list[Replicate]:
    """So many replicates of a fit, or fewer where a search finds no plane; each is made once."""
    kept: list[Replicate | None] = fit.replicated
    if len(kept) < number:
        kept += _more(fit, len(kept), number)
    return [one for one in kept[:number] if one is not None]


def _more(fit: Fit, begin: int, end: int) -> Iterator[Replicate | None]:
    codes = fit.labels.codes[(fit.labels.codes >= 0) & (fit.weight > 0)]
    question, search = own_question(fit, np.arange(len(codes))), _search(fit)
    for number in range(begin, end):
        factors = replicate_factors(codes, np.random.default_rng([fit.parameters.seed, number]))
        results = [search(_reweighted(problem, factors)) for problem in question.problems]
        if any(result.status is Status.INTERRUPTED for result in results):
            raise KeyboardInterrupt  # the search had kept it to itself
        if not all(result.found for result in results):
            yield None
            continue
        normals = np.array([result.coef for result in results], dtype=float)
        yield Replicate(normals, np.array([result.intercept for result in results]))


def _reweighted(problem: Problem, factors: FloatArray) -> Problem:
    kept = factors > 0
    return replace(problem, X=problem.X[kept], y=problem.y[kept], C=problem.C[kept] * factors[kept])


def _search(fit: Fit) -> Search:
    """As hidden labels are looked for: quick answers, as good for labels as a long search."""
    if fit.method in BASELINES:
        return partial(solve, method=fit.method)
    seconds = max(GUARD * fit.seconds, LEAST_SECONDS) / len(fit.results)
    return partial(quick_search, fit.parameters, seconds, WORK / len(fit.results))
