"""What all heuristics share: the budget, the incumbent, and planes that know their value."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...convex.svm import root_bound, solve_convex, with_miscount
from ...model.budget import Budget
from ...model.intercept_of_several import prices_along
from ...model.line import EMPTY_TOLERANCE, Intercept
from ...model.problem import Problem
from ...model.ranks import descending
from ...model.result import Result
from ...model.status import Callback, Status, TracePoint
from ..core.quadratic import COMPILED_COLUMNS, FINE, ROUGH, solve_rows
from .grid import Grid
from .judge import Ranking
from .large_svm import solve_large_svm

#: A change of the objective below this, relative, is no improvement.
IMPROVEMENT = 1e-9
#: With more labelled rows, only those nearest to their margin enter a subproblem one by one.
LABELLED_ROWS = 8000
#: What a ranking of the rows costs, in numbers per row.
RANKING = 20
#: A step of more numbers than this is not begun if it would pass the limits.
LONG = 1e7
#: With more unlabelled rows than this a ranking takes long, and an exact judgement several times as long.
MANY_ROWS = 100_000
#: Threads that judge planes of very many rows.
THREADS = 2
#: How many iterations a quadratic programme takes, about.
ITERATIONS = 20


def quadratic_work(rows: int, columns: int) -> float:
    """About how many numbers a quadratic programme touches; more columns than rows are first rotated away."""
    size = min(rows, columns)
    speed = 1.0 if size <= COMPILED_COLUMNS else 0.25  # of a linear-algebra library, by blocks
    return speed * ITERATIONS * rows * size * (4.0 + 0.5 * size) + (
        rows * size * columns if size < columns else 0
    )


class Plane(NamedTuple):
    """A normal vector, the scores ``X·w`` and ``U·w``, its value, and the best intercept and count."""

    w: FloatArray
    labelled: FloatArray
    unlabelled: FloatArray
    value: float
    b: float
    total: float


class Search:
    """The incumbent of one run and the means to judge candidates."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        callback: Callback | None = None,
        *,
        lazy: bool = False,
        like: Search | None = None,
    ) -> None:
        """``lazy`` leaves exact judgements to the end; with very many rows all searches are.

        ``like`` is a search among the same rows with another margin.
        """
        self._like = like
        self.problem, self.budget, self.callback = problem, budget, callback
        self.lazy = lazy or problem.m > MANY_ROWS
        self.ranking = Ranking(problem)
        self.lower_bound = 0.0
        self.value = np.inf  #: of the best plane so far
        self.promised: FloatArray | None = None  #: that plane, if it has not been judged exactly yet
        self.kept = np.inf  #: the value of the incumbent, which is
        self.w: FloatArray | None = None
        self.b = 0.0
        self.z: NDArray[np.int8] | None = None
        self.trace: list[TracePoint] = []
        self.exact = True
        self.rows_labelled = np.column_stack([problem.X, np.ones(problem.n)]) * problem.y[:, None]
        self._held = np.zeros(0, dtype=np.intp)
        self.programme = quadratic_work(problem.n, problem.d + 1)  #: the work of the smallest one

    @cached_property
    def grid(self) -> Grid:
        """The columns on a grid."""
        return Grid.of(self.problem) if self._like is None else self._like.grid

    @cached_property
    def sums(self) -> FloatArray:
        """Directions by a few columns on a grid: one in each column."""
        return self.grid.sums(self.problem.d) if self._like is None else self._like.sums

    # -- work ------------------------------------------------------------------------------------
    @property
    def expired(self) -> bool:
        """Whether the budget is used up, or nothing better can exist."""
        if self.budget.is_over or self.value <= self.lower_bound * (1.0 + 1e-9):
            return True
        return not self.has_room(self.programme)

    def has_room(self, numbers: float) -> bool:
        """Whether a programme of that size may begin; short ones always may."""
        return numbers < LONG or self.budget.has_room(numbers)

    def spend(self, numbers: float) -> None:
        """Count a step that touched so many numbers."""
        self.budget.spend(numbers)

    def solve_rows(
        self, A: FloatArray, p: FloatArray, C: FloatArray, tolerance: float
    ) -> tuple[FloatArray, FloatArray]:
        """A quadratic programme, see :func:`~cs3vm.engine.core.quadratic.solve_rows`."""
        self.spend(quadratic_work(*A.shape))
        return solve_rows(A, p, C, tolerance)

    # -- judging ---------------------------------------------------------------------------------
    def plane(self, w: FloatArray) -> Plane:
        """Judge a normal vector."""
        self.spend((self.problem.n + self.problem.m) * self.problem.d)
        return self.judge(w, self.problem.X @ w, self.problem.U @ w)

    def judge(self, w: FloatArray, labelled: FloatArray, unlabelled: FloatArray) -> Plane:
        """Judge a normal vector whose scores are known; it becomes the incumbent if it is better."""
        self.spend(RANKING * (self.problem.n + self.problem.m))
        plane = self._judged(w, labelled, unlabelled)
        self._consider(plane)
        return plane

    def _consider(self, plane: Plane) -> None:
        """Make a plane the incumbent if it is better, or promise to."""
        if not plane.value < self.value * (1.0 - IMPROVEMENT):
            return
        if self.lazy:
            self.promised = plane.w
            self._tell(plane.value)
        else:
            self.offer(plane.w)

    def _judged(self, w: FloatArray, labelled: FloatArray, unlabelled: FloatArray) -> Plane:
        """The same without any consequence: several threads may ask."""
        cost, b, count = self.ranking.judge(labelled, unlabelled)
        return Plane(w, labelled, unlabelled, 0.5 * float(w @ w) + cost, b, count)

    def judge_steps(self, plane: Plane, end: Plane, steps: Sequence[float]) -> Plane | None:
        """The best of several steps from a plane to another, for very many rows; None if none is better.

        Threads judge them.
        """
        self.spend(len(steps) * RANKING * (self.problem.n + self.problem.m))
        move, labelled = end.w - plane.w, end.labelled - plane.labelled
        unlabelled = end.unlabelled - plane.unlabelled

        def at(t: float) -> Plane:
            return self._judged(
                plane.w + t * move, plane.labelled + t * labelled, plane.unlabelled + t * unlabelled
            )

        with ThreadPoolExecutor(THREADS) as pool:
            best = min(pool.map(at, steps), key=lambda one: one.value)
        self._consider(best)
        return best if best.value < plane.value else None

    def offer(self, w: FloatArray) -> None:
        """Make ``w`` the incumbent if its exact value is the best so far."""
        self.spend((RANKING + self.problem.d) * (self.problem.n + self.problem.m))
        exact = self.problem.best_intercept(w)
        if exact is not None:
            self._keep(w, exact, 0.5 * float(w @ w) + exact.cost)

    def offer_sides(self, w: FloatArray, b: float, z: NDArray[np.int8]) -> float:
        """Judge a plane together with its sides; infinite where these do not fit."""
        self.spend((self.problem.n + self.problem.m) * self.problem.d)
        scores = self.problem.scores(w, b)
        signed = np.where(z > 0, scores, -scores)
        slack = EMPTY_TOLERANCE * (1.0 + float(np.abs(scores).max(initial=0.0)))
        if np.min(signed, initial=np.inf) < self.problem.side_margin - slack:
            return np.inf
        value = self.problem.objective(w, b, z)
        if value < self.value * (1.0 - IMPROVEMENT):
            self._keep(w, Intercept(b, z, value - 0.5 * float(w @ w), True), value)
        return value

    def _keep(self, w: FloatArray, best: Intercept, value: float) -> None:
        if not value < self.value:
            return
        self.w, self.b, self.z, self.exact = w, best.b, best.z, best.exact
        self.promised, self.kept = None, value
        self._tell(value)

    def _redeem(self) -> None:
        """Judge what was promised."""
        if self.promised is not None:
            w, self.promised, self.value = self.promised, None, self.kept
            self.offer(w)

    def _tell(self, value: float) -> None:
        """This is the best value from now on."""
        self.value = value
        point = TracePoint(self.budget.seconds, value, self.lower_bound, 0)
        self.trace.append(point)
        if self.callback is not None:
            self.callback(point)

    def sides(self, plane: Plane) -> NDArray[np.int8]:
        """The sides that go with a plane, by rank; those nearest to the wanted total if no intercept fits."""
        ranking, problem = self.ranking, self.problem
        fits = np.isfinite(plane.value)
        if fits and not ranking.unit:
            best = problem.best_intercept(plane.w)
            if best is not None:
                return best.z.copy()
        if ranking.several:
            best = replace(problem, side_margin=0.0).best_intercept(plane.w)
            if best is not None:
                return best.z.copy()
        z = (problem.side > 0).astype(np.int8)
        free = ranking.free if ranking.any_fixed else np.arange(problem.m)
        if not ranking.unit:
            free = free[descending(plane.unlabelled[free])]
            short, over = prices_along(problem.totals, problem.totals.counts(z), free)
            z[free[: int(np.argmin(short + over))]] = 1
            return z
        number = round(plane.total - ranking.base if fits else ranking.target)
        if number >= len(free):
            z[free] = 1
        elif number > 0:
            z[free[np.argpartition(-plane.unlabelled[free], number - 1)[:number]]] = 1
        return z

    # -- convex subproblems ----------------------------------------------------------------------
    def solve_svm(self) -> Plane:
        """The SVM of the labelled rows with the fixed sides held; sets the safe lower bound."""
        problem = self.problem
        self.spend(quadratic_work(problem.n, problem.d))
        if problem.n > LABELLED_ROWS and not self.ranking.any_fixed:
            w, bound = solve_large_svm(problem, self.rows_labelled)
            self.lower_bound = with_miscount(problem, bound)
        else:
            w, self.lower_bound = solve_convex(problem).w, root_bound(problem)
        return self.plane(w)

    def solve_soft(
        self,
        rows: FloatArray,
        p: FloatArray,
        C: FloatArray,
        *,
        near: Plane | None = None,
        price: FloatArray | None = None,
    ) -> FloatArray:
        """The normal vector of the SVM with further soft rows; fixed sides are held lazily.

        ``near`` allows to sum up labelled rows far from that plane's margin; ``price`` replaces C.
        """
        problem = self.problem
        A, ones, labelled_price = self._labelled_rows(near)
        tolerance = FINE if self.ranking.any_fixed else ROUGH  # held sides must hold
        labelled_price = labelled_price if price is None else price
        while True:
            held = self._held
            sigma = problem.side[held].astype(float)
            hard = np.column_stack([problem.U[held], np.ones(len(held))]) * sigma[:, None]
            rhs = np.concatenate([ones, p, np.full(len(held), problem.side_margin)])
            v, _ = self.solve_rows(np.vstack([A, rows, hard]), rhs, np.append(labelled_price, C), tolerance)
            if not self.ranking.any_fixed or not self._hold_violated(v):
                return v[:-1]

    def _hold_violated(self, v: FloatArray) -> bool:
        problem = self.problem
        signed = problem.side * problem.scores(v[:-1], float(v[-1])) - problem.side_margin * (
            problem.side != 0
        )
        slack = 0.1 * EMPTY_TOLERANCE * (1.0 + float(np.abs(signed).max()))
        new = np.setdiff1d(np.flatnonzero(signed < -slack), self._held)
        if len(new) == 0 or self.expired:
            return False
        worst_first = np.argsort(signed[new])[: 60 + 3 * problem.d]
        self._held = np.append(self._held, new[worst_first])
        return True

    def _labelled_rows(self, near: Plane | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """All labelled rows; or those near the margin of a plane, and the violated others as one row."""
        problem = self.problem
        if near is None or problem.n <= LABELLED_ROWS:
            return self.rows_labelled, np.ones(problem.n), problem.C
        slack = 1.0 - problem.y * (near.labelled + near.b)
        order = np.argpartition(np.abs(slack), LABELLED_ROWS)
        close, far = order[:LABELLED_ROWS], order[LABELLED_ROWS:]
        far = far[slack[far] > 0]
        mass = float(problem.C[far].sum())
        if mass == 0.0:
            return self.rows_labelled[close], np.ones(len(close)), problem.C[close]
        together = problem.C[far] @ self.rows_labelled[far] / mass
        A = np.vstack([self.rows_labelled[close], together])
        return A, np.ones(len(close) + 1), np.append(problem.C[close], mass)

    # -- the end ---------------------------------------------------------------------------------
    def result(self, interrupted: bool = False) -> Result:
        """The incumbent as a result."""
        self._redeem()
        found = self.w is not None
        status = Status.FEASIBLE if found else Status.TIME_LIMIT  # no point found proves nothing
        extras = {} if self.exact else {"inexact_subset_sum": True}
        return Result(
            self.problem,
            Status.INTERRUPTED if interrupted else status,
            self.w,
            self.b if found else float("nan"),
            self.z,
            lower_bound=self.lower_bound,
            seconds=self.budget.seconds,
            work=self.budget.work,
            hurried=self.budget.hurried,
            trace=tuple(self.trace),
            extras=extras,
        )
