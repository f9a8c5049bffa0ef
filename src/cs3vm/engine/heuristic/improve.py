"""The direct heuristic: good planes in a fraction of a second, for any size.

There are two local searches, one that lets rows lie on the plane (ε = 0) and one that does not (ε > 0),
because each finds what the other misses. A plane through many rows meets any total and is easily found, but
has no neighbours that differ: it is tilted. A proper plane is a point of both problems. Large data go through
subsamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..._typing import FloatArray
from ...model.budget import Budget
from ...model.problem import Problem
from ...model.result import Result
from ...model.row_order import in_order
from ...model.status import Callback
from .corners import Corners
from .grid_search import GridSearch
from .incumbent import Plane, Search
from .local_search import FEW_STARTS_ROWS, LOOK, LocalSearch, is_large
from .subsamples import levels, subsample
from .tilt import blocking, tilt

#: The iterated search ends after this many kicks in a row without a better incumbent, unless told otherwise.
QUICK_PATIENCE = 150
#: The same on a subsample.
SAMPLE_PATIENCE = 20
#: A subsample gets this share of what is left.
SAMPLE_SHARE = 0.3
#: The share of the budget that the search with rows on the plane gets where its answer is not wanted.
FLAT_SHARE = 0.5
#: Kicks of the proper search before it is the other's turn, and of that one.
TURN, FLAT_TURN = 8, 8
#: How many of the best planes through rows the search that lets them begins with.
FLAT_STARTS = 2
#: How many planes through rows of each kind are tilted first; and of all kinds, if rows are very many.
CORNERS, FEW_TILTS = 4, 3
#: The side margin of the second search where the problem has none: at most this, and one over the rows.
MARGIN = 1e-3


def improve(
    problem: Problem,
    starts: Sequence[FloatArray] = (),
    *,
    time_limit: float = 2.0,
    work_limit: float = float("inf"),
    random_state: int = 0,
    callback: Callback | None = None,
    patience: int = QUICK_PATIENCE,
    again: bool = False,
    nearby: bool = False,
) -> Result:
    """Search for a good plane until the search stagnates, the work is done or the time is over.

    ``again`` goes on from the starts alone: the usual ones have had their turn. ``nearby`` does nothing else,
    neither the SVM nor subsamples: there is no lower bound then.
    """
    budget = Budget(time_limit, work_limit)
    ordered = in_order(problem)
    search = Search(ordered.problem, budget, callback)
    try:
        search.offer(np.zeros(problem.d))
        svm = None if nearby else search.solve_svm()
        if problem.m > 0:
            rng = np.random.default_rng([random_state, int(again)])
            kicks = min(patience, 8 + patience * problem.m // 75, 200_000 // problem.m)
            two = TwoSearches(search, svm, rng, random_state, max(6, kicks))
            if not again:
                two.look_on_grid()
            found = [*starts, *([] if svm is None else _from_subsamples(search, svm, rng, random_state))]
            two.run(found, usual=not (again and found))
        else:
            for w in starts:
                search.plane(np.asarray(w, dtype=float))
    except KeyboardInterrupt:
        return ordered.original(problem, search.result(interrupted=True))
    return ordered.original(problem, search.result())


def _from_subsamples(
    search: Search, svm: Plane, rng: np.random.Generator, random_state: int
) -> list[FloatArray]:
    """The best normal vectors of ever larger subsamples."""
    found: list[FloatArray] = []
    quick = is_large(search.problem)
    for rows in levels(search.problem):
        sample = Search(subsample(search.problem, rows, rng), search.budget.part(SAMPLE_SHARE), lazy=quick)
        patience = 0 if found or quick else SAMPLE_PATIENCE
        start = None if found else sample.plane(svm.w)
        two = TwoSearches(sample, start, rng, random_state, patience, cells=not quick)
        found = [plane.w for plane in two.run(found)]
    return found


class TwoSearches:
    """Searches with and without rows on the plane; ``search`` is the one whose answer is wanted."""

    def __init__(
        self,
        search: Search,
        svm: Plane | None,
        rng: np.random.Generator,
        random_state: int,
        patience: int,
        cells: bool = True,
    ) -> None:
        problem = search.problem
        self.search, self.svm, self.rng = search, svm, rng
        margin = 0.0 if problem.side_margin > 0.0 else min(MARGIN, 1.0 / problem.m)
        # where no row may lie on the plane, the search that lets them is only a help
        budget = search.budget.part(FLAT_SHARE) if margin == 0.0 else search.budget
        other = Search(replace(problem, side_margin=margin), budget, like=search)
        self.flat, self.proper = (other, search) if margin == 0.0 else (search, other)
        self.random_state, self.patience, self.cells = random_state, patience, cells
        self.on_grid: list[Plane] = []  #: planes of whole numbers
        self._known: LocalSearch | None = None

    @cached_property
    def search_proper(self) -> LocalSearch:
        """The local search that lets no row lie on the plane; it takes memory, so only where it is needed."""
        return self._local(self.proper)

    def look_on_grid(self) -> None:
        """Where columns have few values: planes of whole numbers. Many rows make that no slower."""
        if self.svm is not None and Corners(self.flat, self.rng).exist:
            self.on_grid = GridSearch(self.flat, self.rng).run([self.svm.w])

    def run(self, starts: Sequence[FloatArray], usual: bool = True) -> list[Plane]:
        """Search from these normal vectors and the usual starts; planes of the wanted search, best first."""
        first = self.svm if usual else None
        if Corners(self.flat, self.rng).exist:
            return self._in_turns(starts, first)
        # a point that meets the total first of all: wide problems take their time
        quick = [] if first is None or self.search is self.flat else [self._tilted(first.w)]
        flat = self._local(self.flat)
        svm = None if first is None else self._plane(self.flat, first.w)
        planes = flat.begin([self._plane(self.flat, w) for w in starts], svm)
        if self.search is self.flat:
            return [flat.iterate(planes[0]), *planes[1:]]
        tilted = [self._tilted(w) for w in [*starts, *(plane.w for plane in planes)]]
        return self.search_proper.run([*quick, *tilted])

    def _in_turns(self, starts: Sequence[FloatArray], first: Plane | None) -> list[Plane]:
        """Where columns have few values: tilt cheap starts, then let both searches go on in turns."""
        proper, problem = self.search_proper, self.search.problem
        flat = self._local(self.flat)
        proper.through = flat.through = flat.corners
        through = [plane for plane in self.on_grid if plane.value < LOOK * self.flat.value]
        if starts and problem.m > FEW_STARTS_ROWS:  # a tilt takes long
            through = sorted([*(self._plane(self.flat, w) for w in starts), *through], key=_value)
            planes = [self._tilted(plane.w) for plane in through[:FEW_TILTS]]
        else:
            planes = [self._tilted(w) for w in starts]
            if first is not None:
                planes += [self._tilted(w) for w in (np.zeros(problem.d), first.w)]
                corners = flat.corners
                through += corners.scattered()[:CORNERS]
                through += corners.best(CORNERS) + corners.by_few_columns()[:CORNERS]
            through = sorted(through, key=_value)[: 3 * CORNERS]
            planes += [self._tilted(plane.w) for plane in through]
        tilted = proper.begin(planes)
        proper_best = proper.iterate(tilted[0], TURN)
        svm = None if first is None else self._plane(self.flat, first.w)
        given = [*starts, proper_best.w, *(plane.w for plane in through[:FLAT_STARTS])]
        planes = flat.begin([self._plane(self.flat, w) for w in given], svm)
        best = planes[0]
        for plane in planes:
            proper_best = proper.adopt(self._tilted(plane.w), proper_best)
        while not (self.search.expired or (flat.stagnates and proper.stagnates)):
            proper_best = proper.iterate(proper_best, TURN)
            before = best = flat.adopt(self._plane(self.flat, proper_best.w), best)
            best = flat.iterate(best, FLAT_TURN)
            if best is not before:
                proper_best = proper.adopt(self._tilted(best.w), proper_best)
        best = flat.adopt(self._plane(self.flat, proper_best.w), best)
        return [best, *planes[1:]] if self.search is self.flat else [proper_best, *tilted[1:]]

    def _local(self, search: Search) -> LocalSearch:
        self._known = LocalSearch(search, self.rng, self.random_state, self.patience, self.cells, self._known)
        return self._known

    def _tilted(self, w: FloatArray) -> Plane:
        """A normal vector as a plane of the proper search.

        Where rows block the total only because the strip is narrow, the optimum of the sides that the plane
        has without a margin pushes them out of it; rows that lie on one plane together are parted by a tilt.
        """
        plane, flat = self._plane(self.proper, w), self._plane(self.flat, w)
        group = blocking(self.proper, plane)
        if group is not None and len(group.rows) <= plane.w.size + 1 and not self.search.expired:
            pushed = self.search_proper.with_sides(self.flat.sides(flat), flat)
            if pushed is not None and pushed.value < plane.value:
                return pushed
        return tilt(self.proper, plane, [] if self.svm is None else [self.svm.w], flat.value)

    @staticmethod
    def _plane(search: Search, w: FloatArray) -> Plane:
        return search.plane(np.asarray(w, dtype=float))


def _value(plane: Plane) -> float:
    return plane.value
