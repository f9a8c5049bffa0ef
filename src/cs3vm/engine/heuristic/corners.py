"""Starts for columns with few values: planes through a row with which many others agree.

A row on the plane may be counted on either side, so a plane that holds many rows meets any total. The plane
through a row, the corner, holds all rows that agree with it in the columns that w uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...model.budget import STEP
from ..core.quadratic import ROUGH
from .incumbent import LABELLED_ROWS, RANKING, Plane, Search, quadratic_work

#: Rows of the sample that tells how many agree.
SAMPLE_ROWS = 2000
#: A column is of use where at least this share of the rows agrees with the corner.
LEAST_SHARE = 0.1
#: With more columns there are none: the zeros of a kernel's triangular map are no categories.
MOST_COLUMNS = 300
#: How many corners are tried; fewer with more numbers in the data.
CORNERS, NUMBERS = 20, 4_000_000
#: How many planes through random rows are tried: at most so many, and not more work than this, or than a
#: share of what is left.
TRIES, EFFORT, SHARE = 600, 2e8, 0.15
#: Planes by so few columns are tried one and all, up to this share of that number.
FEW_COLUMNS, FEW_SHARE = 3, 0.5


class Corners:
    """Makes planes through corners; there are none where values hardly ever repeat."""

    def __init__(self, search: Search, rng: np.random.Generator) -> None:
        self.search, self.problem, self.rng = search, search.problem, rng
        m = self.problem.m
        self.sample = self.problem.U[:: max(1, m // SAMPLE_ROWS)]
        self.exist = False
        self.known: list[Plane] = []
        n, d = self.problem.n, self.problem.d
        cost = quadratic_work(n, (d + 1) // 2) + (d + RANKING) * (n + m) + 2 * STEP
        effort = min(EFFORT, SHARE * (search.budget.limit - search.budget.work))
        self.tries = int(min(max(effort / cost, 10), TRIES)) if n <= LABELLED_ROWS else 0
        if m > 0 and d <= MOST_COLUMNS and self.problem.side_margin == 0.0:
            self.mode = np.array([_most_frequent(column) for column in self.sample.T])
            self.exist = len(self._columns(self.mode)) > 0

    def best(self, number: int) -> list[Plane]:
        """The best planes of the usual number of corners, best first."""
        if self.exist and not self.known:
            self.known = _distinct(self._several())
        return self.known[:number]

    def _several(self) -> Iterator[Plane]:
        problem = self.problem
        yield self.through(self.mode)
        for _ in range(min(CORNERS, NUMBERS // ((problem.n + problem.m) * problem.d))):
            if self.search.expired:
                return
            yield self.through(self._any_row())

    def by_few_columns(self) -> list[Plane]:
        """Planes by one, two or three columns, through the values that most rows have there; best first.

        Where the best plane uses so few columns, random ones hardly ever hit them all and no other. Each has
        a second try with other prices.
        """
        chosen = chain(*(combinations(self._columns(self.mode), k) for k in range(1, FEW_COLUMNS + 1)))
        return _distinct(self._by_columns(islice(chosen, round(0.5 * FEW_SHARE * self.tries))))

    def _by_columns(self, chosen: Iterable[tuple[np.intp, ...]]) -> Iterator[Plane]:
        values = [np.unique(column, return_inverse=True)[1] for column in self.sample.T]
        for columns in chosen:
            if self.search.expired:
                return
            code = np.zeros(len(self.sample), dtype=np.intp)
            for j in columns:
                code = code * (int(values[j].max()) + 1) + values[j]
            _, first, counts = np.unique(code, return_index=True, return_counts=True)
            corner = self.sample[first[counts.argmax()]]
            for spread in (0.0, 1.0):
                yield self._plane_by(np.array(columns), corner, self._prices(spread))

    def scattered(self, share: float = 1.0) -> list[Plane]:
        """Planes through random rows by random columns, every other one with other prices; best first.

        Each costs a fraction of a millisecond, and among some hundreds there are some that no descent finds.
        """
        return _distinct(self._scatter(max(1, round(share * self.tries))))

    def _scatter(self, number: int) -> Iterator[Plane]:
        problem = self.problem
        for turn in range(number):
            columns = np.flatnonzero(self.rng.random(problem.d) < self.rng.uniform(0.1, 1.0))
            corner = self._any_row()
            price = self._prices(float(turn % 2))
            if len(columns) == 0:
                continue
            if self.search.expired:
                return
            yield self._plane_by(columns, corner, price)

    def _plane_by(self, columns: NDArray[np.intp], corner: FloatArray, price: FloatArray) -> Plane:
        """The plane through the corner that fits the labels best by these columns."""
        problem = self.problem
        signed = (problem.X[:, columns] - corner[columns]) * problem.y[:, None]
        A = np.column_stack([signed, np.zeros(problem.n)])  # through the corner: there is no intercept
        v, _ = self.search.solve_rows(A, np.ones(problem.n), price, ROUGH)
        w = np.zeros(problem.d)
        w[columns] = v[:-1]
        return self.search.plane(w)

    def _prices(self, spread: float) -> FloatArray:
        """Those of the labelled rows, each times a random factor unless the spread is 0."""
        return np.asarray(self.problem.C * np.exp(self.rng.normal(0.0, spread, self.problem.n)))

    def _any_row(self) -> FloatArray:
        return np.asarray(self.sample[self.rng.integers(len(self.sample))])

    def through(self, corner: FloatArray) -> Plane:
        """The columns in which most rows agree with the corner come first; one stays if it helps."""
        problem, search = self.problem, self.search
        signed = (problem.X - corner) * problem.y[:, None]
        best = search.plane(np.zeros(problem.d))
        used: list[int] = []
        for j in self._columns(corner):
            columns = [*used, int(j)]
            rows = np.flatnonzero(signed[:, columns].any(axis=1))
            if search.expired or len(rows) > LABELLED_ROWS:
                break
            if len(rows) == 0:
                continue
            # the plane passes through the corner: there is no intercept
            A = np.column_stack([signed[rows][:, columns], np.zeros(len(rows))])
            v, _ = search.solve_rows(A, np.ones(len(rows)), problem.C[rows], ROUGH)
            w = np.zeros(problem.d)
            w[columns] = v[:-1]
            plane = search.plane(w)
            if plane.value < best.value:
                best, used = plane, columns
        return best

    def _columns(self, corner: FloatArray) -> NDArray[np.intp]:
        """Columns in which many rows, but not all, agree with the corner; most first."""
        share = (self.sample == corner).mean(axis=0)
        order = np.argsort(-share, kind="stable")
        useful: NDArray[np.intp] = order[(share[order] >= LEAST_SHARE) & (share[order] < 1.0)]
        return useful


def _most_frequent(column: FloatArray) -> float:
    values, counts = np.unique(column, return_counts=True)
    return float(values[counts.argmax()])


def _distinct(planes: Iterable[Plane]) -> list[Plane]:
    """The best first, one of each value: many corners lead to the same plane."""
    return sorted({f"{plane.value:.6g}": plane for plane in planes}.values(), key=lambda plane: plane.value)
