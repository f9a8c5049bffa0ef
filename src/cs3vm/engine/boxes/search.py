"""The search over boxes, best first."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from time import perf_counter

import numpy as np

from ..._typing import FloatArray, IntArray
from ...model.problem import Problem
from ...model.status import TracePoint, relative_gap
from ..compiling import ready
from ..core.relaxation import unbeatable_level
from ..exact.crew import Options, Stopped
from ..exact.incumbent import Incumbent
from .arrays import (
    AXIS,
    BASE,
    BOUND,
    BRANCH_ROW,
    CUTOFF,
    HIGH,
    LEVEL,
    LIMITS,
    LOW,
    MARGIN,
    MOST_INTERCEPT,
    N_HELD,
    N_OPEN,
    NEGATIVE,
    POSITIVE,
    PRICE,
    REACH,
    SLACK,
    SPLIT,
    TARGET_HIGH,
    TARGET_LOW,
    VALUE,
    WEIGHT,
    WORK,
    Cone,
    copied,
    new_cone,
    new_data,
    new_scratch,
)
from .examine import examine
from .scope import varying_columns

#: Up to so many open rows per feature a row is divided, and not the box.
_ROWS_PER_FEATURE = 2
_SMALLEST_GAP = 1e-8
#: Memory of a box without its rows, about.
_BOX_BYTES = 4000
#: Every so many boxes a plane is evaluated that promises nothing.
_TRIAL = 64
#: A solve that was cut short may leave no sensible plane: it costs more than this many times the level.
_SENSIBLE = 10.0


class BoxSearch:
    """A search for one problem; its bound holds at any moment."""

    def __init__(
        self,
        problem: Problem,
        incumbent: Incumbent,
        options: Options,
        start: float,
        root_bound: float,
        svm_bound: float,
    ) -> None:
        self.problem, self.incumbent, self.options, self.start = problem, incumbent, options, start
        self.root_bound, self.svm_bound = root_bound, max(0.0, svm_bound)
        self.columns = varying_columns(problem)
        self.data = new_data(problem, self.columns)
        self.tmp = new_scratch(problem.n, problem.m, self.data.X.shape[1])
        self.kept = np.zeros(problem.m, dtype=np.int64)
        self.open: list[tuple[float, int, Cone, IntArray]] = []
        self.stack: list[tuple[float, int, Cone, IntArray]] = []
        self.current = float("inf")
        self.undivided: list[float] = []  # bounds of boxes that are single directions
        self.n_boxes, self.effort, self.bytes = 0, 0, 0
        self.trace: list[TracePoint] = []
        self._last_trace = 0.0
        self._number = count()
        self.least_without_plane = float(problem.C.sum()) * (1.0 - 1e-12)
        if problem.one_total and problem.trivial is not None and problem.trivial.exact:
            self.least_without_plane = max(self.least_without_plane, problem.trivial.cost * (1.0 - 1e-12))
        self.update_limits()

    # -- limits ----------------------------------------------------------------------------------
    def update_limits(self) -> None:
        """Take the incumbent's value into the limits that the kernels see."""
        problem, totals = self.problem, self.problem.totals
        shrink = 1.0 - 0.9 * max(self.options.gap, _SMALLEST_GAP)
        best = min(self.incumbent.value, self.options.cutoff)
        self.level = best if np.isfinite(best) else unbeatable_level(problem)
        lim = np.zeros(LIMITS)
        lim[CUTOFF], lim[LEVEL] = self.level * shrink, self.level
        lim[REACH] = problem.reach(self.level) * (1.0 + 1e-12)
        lim[MOST_INTERCEPT] = problem.intercept_bound(self.level) * (1.0 + 1e-12)
        lim[PRICE], lim[WEIGHT] = totals.penalty[0], totals.weight[0]
        lim[TARGET_LOW], lim[TARGET_HIGH] = totals.low[0], totals.high[0]
        lim[SLACK], lim[MARGIN] = 8.0 * totals.rounding[0], problem.side_margin
        self.limits: FloatArray = lim

    @property
    def unresolved(self) -> list[float]:
        """Bounds below the cutoff of what can be neither closed nor divided."""
        points = list(self.undivided)
        if self.problem.side_margin == 0.0:  # (w, b) = 0 is in every box, with any sides
            points.append(self.least_without_plane)
        return [value for value in points if value < self.limits[CUTOFF]]

    @property
    def bound(self) -> float:
        """A lower bound on the optimum: of what is open, unresolved or closed."""
        boxes = [*self.open[:1], *self.stack]
        least = min([self.current, self.limits[CUTOFF] * (1.0 - 1e-9), *(box[0] for box in boxes)])
        return max(self.root_bound, float(min([least, *self.unresolved])))

    # -- the loop --------------------------------------------------------------------------------
    def run(self) -> str:
        """Search; return why it ended: "done", "gap", "time", "work", "nodes", "improved", "interrupted"."""
        try:
            self.current = self.root_bound
            self._begin()
            self.current = float("inf")
            while self.stack or self.open:
                self.current = bound = (self.stack[-1] if self.stack else self.open[0])[0]
                _, _, cone, rows = self.stack.pop() if self.stack else heappop(self.open)
                self.bytes -= rows.nbytes + _BOX_BYTES
                if bound < self.limits[CUTOFF]:
                    self._divide(cone, rows)
                self.current = float("inf")
                self._look_at_clock(perf_counter())
        except Stopped as stop:
            return stop.reason
        except KeyboardInterrupt:
            return "interrupted"
        return "done"

    def _begin(self) -> None:
        """The faces of a cube: each direction goes through one of them."""
        d = self.data.X.shape[1]
        rows = np.arange(self.problem.m)
        for axis in range(d):
            for sign in (-1.0, 1.0):
                cone = new_cone(d)
                cone.low[:], cone.high[:] = -1.0, 1.0
                cone.low[axis] = cone.high[axis] = sign
                cone.number[[LOW, HIGH]] = -np.inf, np.inf
                cone.number[[BASE, BOUND]] = self.svm_bound, self.root_bound
                cone.integer[AXIS] = axis
                self._examine(cone, rows, moves=True)

    def _divide(self, cone: Cone, rows: IntArray) -> None:
        row, axis = int(cone.integer[BRANCH_ROW]), int(cone.integer[SPLIT])
        if row >= 0:
            others = rows[rows != row]
            for sign, side in ((1.0, POSITIVE), (-1.0, NEGATIVE)):
                child = copied(cone)
                place = int(child.integer[N_HELD])
                child.held[place], child.sign[place] = row, sign
                child.integer[N_HELD] += 1
                child.number[side] += self.problem.weights[row]
                self._examine(child, others, moves=False)
        elif axis >= 0:
            middle = cone.low[axis] + 0.5 * (cone.high[axis] - cone.low[axis])
            for half in range(2):
                child = copied(cone)
                (child.high if half == 0 else child.low)[axis] = middle
                self._examine(child, rows, moves=True)
        else:
            self.undivided.append(float(cone.number[BOUND]))

    def _examine(self, cone: Cone, rows: IntArray, moves: bool) -> None:
        """Bound a box; store it if it is still open."""
        cone.integer[N_OPEN], cone.integer[WORK] = len(rows), 0
        d = self.data.X.shape[1]
        row_limit = _ROWS_PER_FEATURE * d if d > 1 else self.problem.m
        is_open = examine(self.data, cone, rows, self.kept, moves, row_limit, self.limits, self.tmp)
        self.n_boxes += 1
        self.effort += int(cone.integer[WORK])
        if not is_open:
            return
        self._try_plane(cone)
        bound = float(cone.number[BOUND])
        if bound >= self.limits[CUTOFF]:
            return
        kept = self.kept[: cone.integer[N_OPEN]].copy()
        box = (bound, next(self._number), cone, kept)
        self.bytes += kept.nbytes + _BOX_BYTES
        if self.bytes > self.options.memory_limit:
            self.stack.append(box)
        else:
            heappush(self.open, box)

    def _try_plane(self, cone: Cone) -> None:
        """Offer the plane at which a box has its bound, if it may be better than the best one."""
        value = cone.number[VALUE]
        worth_a_trial = self.n_boxes % _TRIAL == 0 and value < _SENSIBLE * self.level
        if value < self.incumbent.value or worth_a_trial:
            w = np.zeros(self.problem.d)
            w[self.columns] = self.tmp.w[:-1]
            if self.incumbent.offer_plane(w):
                self._improve()

    def _improve(self) -> None:
        if self.options.first_improvement and self.incumbent.value < self.options.cutoff:
            raise Stopped("improved")
        self.update_limits()

    def _look_at_clock(self, now: float) -> None:
        if now - self._last_trace > 0.5:
            self._last_trace = now
            self.record(now)
        if now > self.options.deadline:
            raise Stopped("time")
        if self.effort >= self.options.work_limit:
            raise Stopped("work")
        if self.n_boxes >= self.options.node_limit:
            raise Stopped("nodes")
        if relative_gap(self.incumbent.value, self.bound) <= self.options.gap:
            raise Stopped("gap")

    def record(self, now: float) -> None:
        """Append a trace point and tell the callback."""
        point = TracePoint(now - self.start, self.incumbent.value, self.bound, self.n_boxes)
        self.trace.append(point)
        if self.options.callback is not None:
            self.options.callback(point)


def prepare() -> None:
    """Compile, or load what was compiled; once per process."""
    if not examine.signatures:  # type: ignore[attr-defined]
        with ready("search over boxes", compile_boxes):
            compile_boxes()


def compile_boxes() -> None:
    """Call every kernel of the search over boxes, with few rows."""
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(4, 2)), np.array([1.0, 1.0, -1.0, -1.0]), rng.normal(size=(6, 2)), 3)
    incumbent = Incumbent(problem)
    incumbent.offer_plane(np.zeros(2))
    BoxSearch(problem, incumbent, Options(deadline=np.inf, node_limit=8), 0.0, 0.0, 0.0).run()
