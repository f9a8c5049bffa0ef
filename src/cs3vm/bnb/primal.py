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
from .cells import Cells
from .linearised import descend, schedule
from .polish import polish
from .search import Plane, Search
from .sigmoid import continuation, feature_scale

#: The iterated search ends after this many kicks in a row without a better incumbent.
PATIENCE = 60
#: Sizes of kicks, relative to the normal vector.
STRENGTHS = (1e-6, 0.05, 0.1, 0.2, 0.4, 0.8)
#: Up to this many numbers in the data, every row is held in the local search.
CELL_NUMBERS = 4_000_000


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
    if problem.m > 0:
        LocalSearch(search, random_state).run(svm, starts)
    return search.result()


class LocalSearch:
    """Descents from several starts, then kicks."""

    def __init__(self, search: Search, random_state: int) -> None:
        self.search, self.problem = search, search.problem
        self.rng = np.random.default_rng(random_state)
        self.scale = feature_scale(search)
        self.sizes = schedule(self.problem.m)
        self.cells = Cells(search, random_state)
        self.best = np.inf
        self.memory: tuple[Plane, object] | None = None

    def run(self, svm: Plane, given: Sequence[FloatArray]) -> None:
        """Descend from the starts, then iterate from the best."""
        best = svm
        for start in self._starts(svm, given):
            found = self.settle(descend(self.search, start, self.sizes))
            best = found if found.value < best.value else best
        best = self._iterate(best)
        polish(self.search, best, deep=False)

    def settle(self, plane: Plane) -> Plane:
        """The local optimum over cells."""
        if self.search.expired:
            return plane
        if not self.cells.load(plane):
            # Tied scores cannot be split at will; a tiny turn of the plane splits them consistently.
            plane = self._turned(plane, 1e-5)
            if not self.cells.load(plane):
                return plane
        found = self.cells.descend()
        return found if found.value < plane.value else plane

    def _starts(self, svm: Plane, given: Sequence[FloatArray]) -> Iterator[Plane]:
        search = self.search
        yield svm
        for w in given:
            yield search.plane(np.asarray(w, dtype=float))
        for price in _balanced_prices(self.problem):
            yield search.plane(search.solve_soft(*_no_rows(self.problem), price=price))
        through_mean = self._centred(self.problem.C)
        yield through_mean
        yield continuation(search, svm)
        yield continuation(search, through_mean)

    def _centred(self, price: FloatArray) -> Plane:
        """An SVM whose plane passes through the mean of the unlabelled rows."""
        problem = self.problem
        mean = np.append(problem.weights @ problem.U / problem.total_weight, 1.0)
        weight = np.full(2, 10.0 * float(price.sum()))
        return self.search.plane(
            self.search.solve_soft(np.vstack([mean, -mean]), np.zeros(2), weight, price=price)
        )

    def _iterate(self, best: Plane) -> Plane:
        """Kick the best plane and descend again; kicks grow while they lead back."""
        failures, strength, turn = 0, 0, 0
        while failures < PATIENCE and not self.search.expired:
            turn += 1
            found = self.settle(self._kicked(best, strength, turn))
            failures += 1
            if found.value < best.value * (1.0 - 1e-9):
                best, failures, strength = found, 0, 0
            elif found.value <= best.value * (1.0 + 1e-7):
                strength = min(strength + 1, len(STRENGTHS) - 1)
            else:
                strength = max(strength - 1, 0)
        return best

    def _kicked(self, best: Plane, strength: int, turn: int) -> Plane:
        size = STRENGTHS[strength] * self.rng.uniform(0.5, 1.5)
        if turn % 4 == 0:
            fresh = self._centred(self._reweighted())
            return descend(self.search, fresh, self.sizes)
        if turn % 4 == 2:
            direction = self._centred(self._reweighted()).w - best.w
            return self.search.plane(best.w + size * direction)
        return self._turned(best, size)

    def _turned(self, plane: Plane, size: float) -> Plane:
        """The plane with noise of that relative size, in units of the features' spread."""
        noise = self.rng.normal(size=self.problem.d) * self.scale
        length = float(np.linalg.norm(noise / self.scale))
        noise *= float(np.linalg.norm(plane.w / self.scale)) / max(length, 1e-300)
        return self.search.plane(plane.w + size * noise)

    def _reweighted(self) -> FloatArray:
        return np.asarray(self.problem.C * np.exp(self.rng.normal(0.0, 1.0, self.problem.n)))


def _balanced_prices(problem: Problem) -> Iterator[FloatArray]:
    """Prices that give both classes the same mass; and the masses of the wanted total."""
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


def _no_rows(problem: Problem) -> tuple[FloatArray, FloatArray, FloatArray]:
    return np.zeros((0, problem.d + 1)), np.zeros(0), np.zeros(0)
