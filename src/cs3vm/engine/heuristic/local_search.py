"""Local search for one side margin: descents from several starts, then kicks.

Several starts, each followed by linearised-count steps, a smooth continuation and a polish; then, where a
descent costs milliseconds, an iterated local search until it stagnates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..._typing import FloatArray
from ...convex.svm import solve_convex
from ...model.problem import Problem
from .cell import Sides, polish, solve_cell
from .cell_search import Cells
from .corners import Corners
from .count_steps import descend, schedule
from .incumbent import Plane, Search
from .smooth_count import continuation, feature_scale
from .tilt import tilt

#: How many planes a descent from several starts remembers.
KEPT = 4
#: Without the usual starts only the best of those given are followed up.
FEW_STARTS = 4
#: The share of the usual number of planes through random rows that a kick chooses from.
SCATTERED = 0.1
#: A plane from elsewhere is followed up unless it is worse than the best by more than this factor.
LOOK = 1.2
#: Every so many kicks the search on small data starts afresh, from randomly weighted labels.
FRESH = 3
#: Kicks where columns have few values. Which of them helps differs from table to table: they share the work
#: by how often each has led to one of the very best planes so far, beside what they begin with.
KICKS, VERY_BEST = {"fresh": 1, "through": 3, "fewer": 1, "between": 1}, 3
#: How many planes are remembered to look between.
SETTLED = 10
#: Values that differ by less, relative, are taken for the same plane's.
DIFFERENT = 1e-3
#: Sizes of kicks, relative to the normal vector.
STRENGTHS = (1e-6, 0.05, 0.1, 0.2, 0.4, 0.8)
#: Up to this many unlabelled rows every descent ends in a search over cells; beyond, only the last one does.
CELL_ROWS = 2000
#: The least share of a sample of very many rows that makes up the local slope of the count.
LEAST_SHARE = 0.0099
#: With more unlabelled rows, the SVM alone joins what subsamples found.
FEW_STARTS_ROWS = 20_000
#: With more columns, fewer neighbouring cells are tried where each is solved afresh.
MANY_COLUMNS = 20
#: With more unlabelled rows, only what the subsamples found is followed up.
MANY_STARTS_ROWS = 100_000
#: Up to this many numbers in the data there is a search over cells at all: it needs two copies of them.
CELL_NUMBERS = 4_000_000


def is_large(problem: Problem) -> bool:
    """Whether a pass over the data is expensive."""
    return problem.m > MANY_STARTS_ROWS or problem.U.size > CELL_NUMBERS


class LocalSearch:
    """Descents from several starts, then kicks."""

    def __init__(
        self,
        search: Search,
        rng: np.random.Generator,
        random_state: int,
        patience: int,
        cells: bool = True,
        like: LocalSearch | None = None,
    ) -> None:
        """``like`` is that of the same rows with another margin."""
        self.search, self.problem, self.rng, self.random_state = search, search.problem, rng, random_state
        m = self.problem.m
        self.scale = feature_scale(search)
        self.large = is_large(self.problem)
        rows = CELL_ROWS if self.problem.d <= MANY_COLUMNS else 3 * CELL_ROWS
        self.small = m <= rows and not self.large and cells
        self.sizes = schedule(m)[:: 1 if self.problem.d <= MANY_COLUMNS else 2]  # wide steps are slow
        if not cells:  # a sample of very many rows: its few rows nearest to the plane say nothing about them
            self.sizes = [k for k in self.sizes if k >= LEAST_SHARE * m] or self.sizes[:1]
        self.patience = 0 if self.large else patience
        known = None if like is None else like.cells
        self.cells: Cells | None = None
        if self.small and not search.expired:
            self.cells = Cells(search, random_state, known)
        self.corners = Corners(search, rng)
        self.failures, self.strength, self.turn = 0, 0, 0
        self.settled: list[Plane] = []  #: the best that differ
        self.kind = ""  #: of the kick
        self.gains, self.spent = KICKS.copy(), dict.fromkeys(KICKS, 0.0)
        self.through: Corners | None = (
            None  #: where columns have few values, planes through rows to be tilted
        )

    def run(self, given: Sequence[Plane], svm: Plane | None = None) -> list[Plane]:
        """Descend from the starts, then iterate from the best until that stagnates; planes, best first."""
        planes = self.begin(given, svm)
        return [self.iterate(planes[0]), *planes[1:]]

    def begin(self, given: Sequence[Plane], svm: Plane | None = None) -> list[Plane]:
        """Descend from the starts; the planes found, best first.

        With an SVM given (or no start at all) the usual starts are added.
        """
        svm_known = svm is not None
        if svm is None and (self.large or not given):
            svm = self.search.plane(solve_convex(self.problem).w)
        if self.large:
            known = [] if svm is None else [svm]
            starts: Iterable[Plane] = [min([*given, *known, *self.corners.best(1)], key=_value)]
        elif svm is None or (given and not svm_known):
            starts = sorted(given, key=_value)[: FEW_STARTS if self.small else 1]
        else:
            starts = self._starts(svm, given)
        planes = []
        for start in starts:
            planes.append(self.settle(descend(self.search, start, self.sizes)))
            if self.search.expired:
                break
        planes.sort(key=_value)
        for plane in planes:
            self._remember(plane)
        if not (self.small or self.large) and self.patience and not self.search.expired:
            self.cells = Cells(self.search, self.random_state)
        planes.insert(0, self._refined(planes[0]))
        return planes[:KEPT]

    @property
    def stagnates(self) -> bool:
        """Whether nothing more is to be expected: too many kicks in a row were in vain, or it must end."""
        return self.failures >= self.patience or self.search.expired

    def adopt(self, plane: Plane, best: Plane) -> Plane:
        """The better of the best plane so far and one from elsewhere, after a descent."""
        if not plane.value < best.value * LOOK or self.search.expired:
            return best
        found = self.settle(plane if self.small else descend(self.search, plane, self.sizes))
        if found.value < best.value * (1.0 - 1e-9):
            self.failures, self.strength = 0, 0
            return self._refined(found)
        return best

    def settle(self, plane: Plane) -> Plane:
        """A local optimum over cells; where that is slow, only a few neighbours are tried."""
        if self.search.expired or self.large:
            return plane
        if self.search.lazy and self.search.ranking.several:
            return plane  # the cells of a sample say nothing about all rows
        if not self.small:
            return polish(self.search, plane, 12 if self.problem.d <= MANY_COLUMNS else 2)
        return self._descend_cells(plane)

    def _refined(self, plane: Plane) -> Plane:
        """The best of a settled plane: over cells if that has not been done, and solved exactly."""
        slow = self.problem.n * self.problem.d > 5000  # a last exact solve must not overrun the time limit
        if self.large or (slow and self.search.expired):
            return plane
        if not self.small and self.cells is not None:
            plane = self._descend_cells(plane)
        return polish(self.search, plane, 0)

    def with_sides(self, z: Sides, near: Plane) -> Plane | None:
        """The optimum with all sides held, which are those of a plane of another margin; None if it fails."""
        if self.large:
            return None
        if self.cells is None:
            cell = solve_cell(self.search, z, near.unlabelled + near.b)
            return None if cell is None else cell.plane
        # pivots from the nearest rows on: where there are many columns, far less than a programme of all rows
        if not self.cells.load(near, z):
            return None
        return self.cells.plane(self.cells.base, z)

    def _descend_cells(self, plane: Plane) -> Plane:
        cells = self.cells
        if cells is None or self.search.expired:
            return plane
        if not cells.load(plane):
            # Tied scores cannot be split at will; a tiny turn of the plane splits them consistently.
            turned = self._turned(plane, 1e-5)
            if not cells.load(turned):
                return plane
        found = cells.descend()
        return found if found.value < plane.value else plane

    def _starts(self, svm: Plane, given: Sequence[Plane]) -> Iterator[Plane]:
        search = self.search
        yield from self._extremes(svm)
        yield from sorted(given, key=_value)[:2]
        yield svm
        if given and self.problem.m > FEW_STARTS_ROWS:
            return
        for price in _balanced_prices(self.problem):
            yield search.plane(search.solve_soft(*_no_rows(self.problem), price=price))
        through_mean = self._centred(self.problem.C)
        yield through_mean
        yield continuation(search, svm)
        yield continuation(search, through_mean)
        for corner in self.corners.best(2):
            if self.small or corner.value <= search.value:
                yield corner

    def _extremes(self, svm: Plane) -> Iterator[Plane]:
        """Planes with all free rows on one side, where so large a miscount can pay."""
        problem = self.problem
        trivial = problem.trivial
        for side in (0, 1):
            z = np.where(problem.side == 0, side, problem.side > 0).astype(np.int8)
            price = problem.totals.price(problem.totals.counts(z))
            if trivial is not None and price < trivial.cost:
                cell = solve_cell(self.search, z, svm.unlabelled + svm.b)
                if cell is not None:
                    yield cell.plane

    def _centred(self, price: FloatArray) -> Plane:
        """An SVM whose plane passes through the mean of the unlabelled rows."""
        problem = self.problem
        mean = np.append(problem.weights @ problem.U / problem.total_weight, 1.0)
        weight = np.full(2, 10.0 * float(price.sum()))
        return self.search.plane(
            self.search.solve_soft(np.vstack([mean, -mean]), np.zeros(2), weight, price=price)
        )

    def iterate(self, best: Plane, kicks: float = np.inf) -> Plane:
        """Kick the best plane and descend again, so many times; kicks grow while they lead back."""
        while kicks > 0 and not self.stagnates and not self.search.expired:
            kicks -= 1
            self.turn += 1
            self.kind = min(KICKS, key=lambda kind: self.spent[kind] / self.gains[kind])
            before = self.search.budget.work
            found = self._kicked(best, self.strength, self.turn)
            found = self.settle(found if self.small else descend(self.search, found, self.sizes))
            self.gains[self.kind] += self._remember(found)
            self.spent[self.kind] += self.search.budget.work - before
            self.failures += 1
            if found.value < best.value * (1.0 - 1e-9):
                best, self.failures, self.strength = self._refined(found), 0, 0
            elif found.value <= best.value * (1.0 + 1e-7):
                self.strength = min(self.strength + 1, len(STRENGTHS) - 1)
            else:
                self.strength = max(self.strength - 1, 0)
        return best

    def _kicked(self, best: Plane, strength: int, turn: int) -> Plane:
        size = STRENGTHS[strength] * self.rng.uniform(0.5, 1.5)
        if self.through is not None:
            return self._kicked_far(best, size)
        if turn % FRESH == 0 and self.small:
            return self._fresh()
        if turn % 4 == 1:
            direction = self._centred(self._reweighted()).w - best.w
            return self.search.plane(best.w + size * direction)
        return self._turned(best, size)

    def _kicked_far(self, best: Plane, size: float) -> Plane:
        """Where columns have few values: a plane that holds many rows draws every plane near it back."""
        assert self.through is not None
        kind = self.kind
        if kind == "through":
            scattered = self.through.scattered(SCATTERED)
            return self._tilted(scattered[0].w) if scattered else best
        if kind == "fewer":
            return self._with_fewer_columns(best)
        if kind == "between" and len(self.settled) > 1:
            one, other = self.rng.choice(len(self.settled), 2, replace=False)
            start, end = self.settled[one].w, self.settled[other].w
            return self.search.plane(start + self.rng.uniform(0.2, 0.8) * (end - start))
        if kind == "fresh" and self.small:
            return self._fresh()
        return self._turned(best, size)

    def _fresh(self) -> Plane:
        return descend(self.search, self._centred(self._reweighted()), self.sizes)

    def _remember(self, plane: Plane) -> bool:
        """Keep the best planes that differ; whether this is one of the very best."""
        values = [known.value for known in self.settled]
        if any(abs(plane.value - value) <= DIFFERENT * abs(value) for value in values):
            return False
        self.settled = sorted([*self.settled, plane], key=_value)[:SETTLED]
        return len(values) < VERY_BEST or plane.value < values[VERY_BEST - 1]

    def _with_fewer_columns(self, plane: Plane) -> Plane:
        """Without some columns many rows lie on the plane; a tilt finds other columns to part them."""
        size = np.abs(plane.w) / self.scale
        used = np.flatnonzero(size > 1e-6 * size.max(initial=0.0))
        w = np.zeros_like(plane.w)
        kept = used[self.rng.random(len(used)) < self.rng.uniform(0.2, 0.9)]
        w[kept] = plane.w[kept]
        return self._tilted(w)

    def _tilted(self, w: FloatArray) -> Plane:
        if self.problem.side_margin == 0.0:  # rows may lie on the plane
            return self.search.plane(w)
        direction = self._centred(self._reweighted()).w
        least = -np.inf if self.through is None else self.through.search.plane(w).value
        return tilt(self.search, self.search.plane(w), [direction], least)

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
    share = min(max(problem.totals.share, 0.02), 0.98)
    for target in (0.5, share):
        price = problem.C.copy()
        price[positive] *= target * mass / problem.C[positive].sum()
        price[~positive] *= (1.0 - target) * mass / problem.C[~positive].sum()
        yield price


def _no_rows(problem: Problem) -> tuple[FloatArray, FloatArray, FloatArray]:
    return np.zeros((0, problem.d + 1)), np.zeros(0), np.zeros(0)


def _value(plane: Plane) -> float:
    return plane.value
