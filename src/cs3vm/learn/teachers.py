"""More teachers for the student: answers to the question of the fit, the labelled rows weighted by chance.

What limits a student is its teacher: one answer of many that are about as good. A further teacher is the
answer where each labelled row counts a random number of times (the Bayesian bootstrap), searched for with
little work and from the answer of the fit. Where two answers differ, the given labels do not decide between
them, and the student takes the mean of what it learns from each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import FloatArray, IntArray
from ..methods import shares
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.profiles import profiles
from ..model.result import Result
from ..model.status import Status
from .baselines import BASELINES
from .parameters import Parameters
from .sparse_rows import is_wide, sparse_profiles
from .student import MAX_ROWS

#: Chosen on seeds 300 to 303 (280 samples of sets with up to 1500 rows, recommended kernel): new rows right
#: by the student of the fit alone .7516, with three more teachers .19 ± .14 points more, with six .27 ± .16.
#: With a third of C and three times C instead .28 ± .17, with both kinds .30 ± .15. Not better: a vote of the
#: teachers, or the mean of their ranks as one; a linear plane (-.9 ± .4) or extra trees (-.4 ± .3) as second
#: teacher; kernels on random halves of the columns (-.7 ± .5, seeds 300 and 301).
NUMBER = 6
#: Of the search for each, and the share of the limit of the fit that it is at most: a tenth of a second. From
#: the answer of the fit, teachers are as good as it. Without that start six gain .37 ± .19 with this work,
#: and with a third of it they lose .3 ± .3: too poor, and nobody can tell how much work other data need.
WORK, WORK_SHARE = 1e8, 1 / 24
#: No labelled row counts less than this: its price must be positive.
LEAST = 1e-3


def further_answers(
    results: Sequence[Result], rows: Any, method: str, parameters: Parameters
) -> Iterator[tuple[Result, ...]]:
    """The answers of the other teachers, a result for each plane.

    None where the method is a simple rule, where the heuristic does not know the norm, and with more than
    :data:`~cs3vm.learn.student.MAX_ROWS` rows: there a search with so little work gets nowhere.

    Parameters
    ----------
    results
        Of the fit.
    rows
        The labelled rows in the units of the user, in the order of the problem.
    """
    problem = results[0].problem
    if method in BASELINES or problem.norm != "l2" or problem.n + problem.m > MAX_ROWS:
        return
    alike = _alike(rows, [result.problem.y for result in results])
    work = min(WORK, WORK_SHARE * (parameters.work_limit or shares.DIRECT_WORK)) / len(results)
    for number in range(NUMBER):
        factors = chance_factors(alike, problem, np.random.default_rng([parameters.seed, number]))
        yield tuple(_search(result, factors, work, parameters.seed) for result in results)


def chance_factors(alike: IntArray, problem: Problem, rng: np.random.Generator) -> FloatArray:
    """How many times its price each labelled row has; a class has its price as a whole.

    Rows that are equal have the same factor, so that neither the order of the rows matters nor whether a row
    is there twice or has twice the weight.
    """
    factors = rng.exponential(size=int(alike.max()) + 1)[alike]
    for sign in (-1.0, 1.0):
        own = problem.y == sign
        if own.any():
            factors[own] *= problem.C[own].sum() / (problem.C[own] @ factors[own])
    return np.maximum(factors, LEAST)


def _alike(rows: Any, targets: Sequence[FloatArray]) -> IntArray:
    """A number for each labelled row by its features and class alone: the same for equal rows."""
    own = sparse_profiles(rows) if is_wide(rows) else profiles(rows)
    return profiles(np.column_stack([own, *targets]))


def _search(result: Result, factors: FloatArray, work: float, seed: int) -> Result:
    """The answer with these factors, or that of the fit if the search does not even come up to it."""
    problem = replace(result.problem, C=result.problem.C * factors)
    found = solve(
        problem,
        "direct",
        time_limit=np.inf,
        work_limit=work,
        random_state=seed,
        nodes=0,
        starts=[result.coef],
    )
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # the search had kept it to itself
    known = problem.objective(np.asarray(result.coef), result.intercept, np.asarray(result.z))
    return found if found.found and found.objective <= known else result
