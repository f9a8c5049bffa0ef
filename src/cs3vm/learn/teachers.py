"""More teachers for the student: answers to the question of the fit, the labelled rows weighted by chance.

What limits a student is its teacher: one answer of many that are about as good. A further teacher is the
answer where each labelled row counts a random number of times (the Bayesian bootstrap), searched for with
little work. Where two answers differ, the given labels do not decide between them, and the student takes the
mean of what it learns from each.

A search that ends by its work would end elsewhere if a single digit were another one. So that the order of
the rows does not matter, nor with ranks their units, teachers see rows with :data:`DIGITS` decimals, and a
map of the kernel that is learnt from them in an order of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from .._typing import FloatArray, IntArray
from ..methods import shares
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.profiles import profiles
from ..model.result import Result
from ..model.status import Status
from .baselines import BASELINES
from .kernel import Kernel
from .kernel_map import KernelMap, fit_kernel_map
from .parameters import Parameters

#: Chosen on seeds 300 to 303 (280 samples of sets with up to 1500 rows, recommended kernel): new rows right
#: by the student of the fit alone .7516, with six more teachers .37 ± .19 points more; with a third of C and
#: three times C besides .44 ± .19. Not better: a vote of the teachers, or the mean of their ranks as one; a
#: linear plane (-.9 ± .4) or extra trees (-.4 ± .3) as second teacher; kernels on random halves of the
#: columns (-.7 ± .5, seeds 300 and 301).
NUMBER = 6
#: Of the search for each, and the share of the limit of the fit that it is at most: a tenth of a second. With
#: a third of it six teachers lose .3 ± .3: too poor. Where a search does not come up to the answer of the
#: fit, that answer teaches once more.
WORK, WORK_SHARE = 1e8, 1 / 24
#: The kernels with which this was tried, and the most rows: with more, a search with so little work gets
#: nowhere, and to learn seven times takes long.
KERNELS, MAX_ROWS = ("rbf", "laplacian"), 1500
#: Decimals of scaled rows and factors, and digits of gamma: so many are the same in whatever order the rows
#: come, and more than teachers need.
DIGITS = 6
#: No labelled row counts less than this: its price must be positive.
LEAST = 1e-3


def further_answers(
    results: Sequence[Result],
    rows: FloatArray,
    kernel_map: KernelMap,
    method: str,
    parameters: Parameters,
) -> Iterator[tuple[Result, ...]]:
    """The answers of the other teachers, a result for each plane; the rows are in the order of the fit's.

    None where the method is a simple rule, with other kernels than :data:`KERNELS`, where groups have
    thresholds of their own, and with more than :data:`MAX_ROWS` rows.

    Parameters
    ----------
    results
        Of the fit.
    rows
        The scaled rows in the order of the problem, labelled ones first.
    """
    problem = results[0].problem
    if method in BASELINES or kernel_map.kernel.name not in KERNELS:
        return
    if len(rows) > MAX_ROWS or problem.d != kernel_map.rank:
        return
    rows = np.round(rows, DIGITS) + 0.0  # no negative zeros
    signs = np.column_stack([result.problem.y for result in results])
    alike, classes = profiles(rows[: problem.n]), profiles(signs)
    features = _features(rows, problem, signs, kernel_map.kernel, parameters)
    work = min(WORK, WORK_SHARE * (parameters.work_limit or shares.DIRECT_WORK)) / len(results)
    for number in range(NUMBER):
        rng = np.random.default_rng([parameters.seed, number])
        factors = chance_factors(alike, classes, problem.C, rng)
        found = [_search(result, features, factors, work, parameters.seed) for result in results]
        answers = tuple(result for result in found if result is not None)
        yield answers if len(answers) == len(results) else tuple(results)


def _features(
    rows: FloatArray, problem: Problem, signs: FloatArray, kernel: Kernel, parameters: Parameters
) -> FloatArray:
    """The rows mapped by the kernel, digit by digit the same in whatever order they come."""
    known = np.vstack([signs, np.zeros((problem.m, signs.shape[1]))])
    order = np.lexsort([*known.T, np.append(problem.C, problem.weights), *rows.T])
    with threadpool_limits(1, user_api="blas"):  # how many there are shows in last digits
        _, mapped = fit_kernel_map(
            replace(kernel, gamma=float(f"{kernel.gamma:.{DIGITS}g}")),
            rows,
            order,
            n_components=parameters.n_components,
            exact_limit=parameters.exact_kernel_limit,
            random_state=parameters.seed,
        )
    features = np.empty_like(mapped)
    features[order] = mapped
    return features


def chance_factors(
    alike: IntArray, classes: IntArray, prices: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """How many times its price each labelled row has; a class has its price as a whole.

    Rows that are equal have the same factor, so that neither the order of the rows matters nor whether a row
    is there twice or has twice the weight.
    """
    factors = rng.exponential(size=int(alike.max()) + 1)[alike]
    factors *= (np.bincount(classes, prices) / np.bincount(classes, prices * factors))[classes]
    return np.asarray(np.maximum(np.round(factors, DIGITS), LEAST))


def _search(
    result: Result, features: FloatArray, factors: FloatArray, work: float, seed: int
) -> Result | None:
    """The answer with these factors; None if the search does not even come up to that of the fit."""
    known = replace(result.problem, C=result.problem.C * factors)
    problem = replace(known, X=features[: known.n], U=features[known.n :])
    found = solve(problem, "direct", time_limit=np.inf, work_limit=work, random_state=seed, nodes=0)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # the search had kept it to itself
    value = known.objective(np.asarray(result.coef), result.intercept, np.asarray(result.z))
    return found if found.found and found.objective <= value else None
