"""The direct heuristic: good planes in a fraction of a second, for any size.

Several starts, each followed by linearised-count steps, a smooth continuation and a polish; then, where a
descent costs milliseconds, an iterated local search until it stagnates. Large data go through subsamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..intercept import FloatArray
from ..problem import Problem
from ..result import Callback, Result
from .linearised import descend, schedule
from .polish import polish
from .search import Plane, Search
from .sigmoid import continuation, feature_scale

#: The iterated search ends after this many kicks in a row without a better incumbent.
PATIENCE = 60


def improve(
    problem: Problem,
    starts: Sequence[FloatArray] = (),
    *,
    time_limit: float = 2.0,
    random_state: int = 0,
    callback: Callback | None = None,
) -> Result:
    """Search for a good plane until the search stagnates or the time is over."""
    search = Search(problem, time_limit, callback)
    search.offer(np.zeros(problem.d))
    svm = search.solve_svm()
    for w in starts:
        search.plane(np.asarray(w, dtype=float))
    if problem.m == 0:
        return search.result()
    planes = [descent(search, start) for start in _starts(search, svm, starts)]
    best = min(planes, key=lambda plane: plane.value)
    _iterate(search, best, np.random.default_rng(random_state))
    return search.result()


def descent(search: Search, plane: Plane) -> Plane:
    """From a start to a local optimum."""
    plane = descend(search, plane, schedule(search.problem.m))
    return polish(search, plane)


def _starts(search: Search, svm: Plane, given: Sequence[FloatArray]) -> Iterator[Plane]:
    problem = search.problem
    yield svm
    for w in given:
        yield search.plane(np.asarray(w, dtype=float))
    nothing = np.zeros((0, problem.d + 1)), np.zeros(0), np.zeros(0)
    for price in _balanced_prices(search):
        yield search.plane(_reweighted(search, price, *nothing))
    yield centred(search)
    yield continuation(search, svm)
    yield continuation(search, centred(search))


def _balanced_prices(search: Search) -> Iterator[FloatArray]:
    problem = search.problem
    positive = problem.y > 0
    if positive.all() or not positive.any():
        return
    mass = float(problem.C.sum())
    share = min(max(problem.n_positive / problem.total_weight, 0.02), 0.98)
    for target in (0.5, share):
        price = problem.C.copy()
        price[positive] *= target * mass / problem.C[positive].sum()
        price[~positive] *= (1.0 - target) * mass / problem.C[~positive].sum()
        yield price


def _reweighted(
    search: Search, price: FloatArray, rows: FloatArray, p: FloatArray, C: FloatArray
) -> FloatArray:
    return search.solve_soft(rows, p, C, price=price)


def centred(search: Search) -> Plane:
    """An SVM whose plane passes through the mean of the unlabelled rows."""
    problem = search.problem
    mean = np.append(problem.weights @ problem.U / problem.total_weight, 1.0)
    price = np.full(2, 10.0 * float(problem.C.sum()))
    return search.plane(search.solve_soft(np.vstack([mean, -mean]), np.zeros(2), price))


def _iterate(search: Search, plane: Plane, rng: np.random.Generator) -> None:
    """Iterated local search from the best plane."""
    scale = feature_scale(search)
    best, failures, round_ = plane, 0, 0
    while failures < PATIENCE and not search.expired:
        kicked = _kick(search, best, scale, rng, round_)
        found = descent(search, kicked)
        round_ += 1
        if found.value < best.value * (1.0 - 1e-9):
            best, failures = found, 0
        else:
            failures += 1


def _kick(search: Search, plane: Plane, scale: FloatArray, rng: np.random.Generator, round_: int) -> Plane:
    problem = search.problem
    kind = round_ % 3
    if kind == 0:
        price = problem.C * np.exp(rng.normal(0.0, 1.0, problem.n))
        nothing = np.zeros((0, problem.d + 1)), np.zeros(0), np.zeros(0)
        return search.plane(search.solve_soft(*nothing, price=price))
    noise = rng.normal(size=problem.d) * scale
    noise *= np.linalg.norm(plane.w / scale) / np.linalg.norm(noise / scale)
    size = 10.0 ** rng.uniform(-1.5, 0.3)
    return search.plane(plane.w + size * noise)
