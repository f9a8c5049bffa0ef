"""Local search over cells with a warm-started active set.

The same neighbourhoods as in :mod:`.cell`, for problems small enough to hold every row: the optimum of a
neighbouring cell is a few pivots away, and a neighbour is given up as soon as its dual value shows that it
cannot improve. That makes it tens of times faster than solving each cell afresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...model.profiles import profiles
from ..core.active_set import DONE, TO_THE_END, copy_state, load_state, reset, set_side, set_sides, solve
from ..core.arrays import DUAL, INTERCEPT, SIZE, WORK, Box, Rows, Scratch, State, new_state
from ..core.margin_set import contract, dual_value
from ..core.relaxation import PERTURBATION, Relaxation
from ..jit import NO_ROW, ZERO, kernel
from .cell import Cell, Sides, solve_cell
from .incumbent import IMPROVEMENT, Plane, Search

NONE = np.zeros(0, dtype=np.int64)
_MAX_PIVOTS = 400
#: With more labelled rows, a cell is first solved by the interior point.
COLD_ROWS = 250
#: About how many passes over the rows a cell takes from a cold start.
LOAD_PASSES = 300
#: How many partners are tried to restore the count after a point has gone over.
PARTNERS = 6


@kernel
def _move(
    rows: Rows,
    box: Box,
    source: State,
    st: State,
    tmp: Scratch,
    flips: IntArray,
    sides: IntArray,
    held: IntArray,
    stop: float,
    max_pivots: int,
) -> bool:
    """Move some rows to other sides, starting from ``source``, and solve; False where that costs ``stop``.

    A multiplier goes down to zero when its row's target is moved far away, to the other side.
    """
    if flips.shape[0] > 0:
        copy_state(source, st)
    for k in range(flips.shape[0]):
        i = flips[k]
        for a in range(st.number[SIZE]):
            if st.members[a] == i:
                contract(st, tmp, a)
                break
        if st.c[i] != 0.0:
            box.p[i] = -1e12 if st.c[i] > 0.0 else 1e12
            solve(rows, box, st, tmp, held, ZERO, np.inf, max_pivots, TO_THE_END, i)
        set_side(box, i, int(sides[k]))
        if st.c[i] != 0.0:
            return False
    st.value[DUAL] = dual_value(rows, box, st)
    if solve(rows, box, st, tmp, held, held.shape[0], stop, max_pivots, TO_THE_END, NO_ROW) != DONE:
        return False
    st.value[DUAL] = dual_value(rows, box, st)
    return bool(st.value[DUAL] < stop)


class Cells:
    """The current cell, its optimum, and moves to better ones."""

    def __init__(self, search: Search, random_state: int, like: Cells | None = None) -> None:
        """``like`` are those of the same rows with another margin."""
        self.search, self.problem = search, search.problem
        known = None if like is None else like.relaxation
        self.relaxation: Relaxation = Relaxation(self.problem, random_state, known)
        relaxation = self.relaxation
        self.rows, self.box, self.tmp = relaxation.rows, relaxation.box, relaxation.tmp
        self.base, self.trial, self.middle = relaxation.base, relaxation.spare, self._new_state()
        self.held = np.zeros(0, dtype=np.int64)
        self.is_held = np.zeros(self.problem.m, dtype=bool)
        self.free = self.problem.side == 0
        self.cell = self.problem.totals.cells
        self.alike: Alike = Alike.of(self.problem.U) if like is None else like.alike
        self.z: Sides = np.zeros(self.problem.m, dtype=np.int8)
        self.settled: set[bytes] = set()
        # what the kernels' relaxed right-hand sides may hide
        self.tolerance = 2.0 * max(PERTURBATION) * float(self.problem.C.sum()) + 1e-12
        trivial = self.problem.trivial
        self.trivial = np.inf if trivial is None else trivial.cost * (1.0 - 1e-6)

    # -- the current cell ------------------------------------------------------------------------
    def load(self, plane: Plane, sides: Sides | None = None) -> bool:
        """Solve the cell of a plane, or of other sides near it; False if it has only the trivial plane,
        rounding wins, or there is no time for it."""
        if not self.search.has_room(LOAD_PASSES * self.rows.Z.size):
            return False
        z = self.z = self.search.sides(plane) if sides is None else sides
        self._set_sides(np.arange(len(z)), z)
        number = min(len(z), 60 + 4 * self.rows.Z.shape[1])
        near = np.argpartition(np.abs(plane.unlabelled + plane.b), number - 1)[:number]
        self._hold(near, afresh=True)
        if self.problem.n > COLD_ROWS:
            cell = solve_cell(self.search, z, plane.unlabelled + plane.b)
            if cell is None or cell.plane.value >= self.trivial:
                return False
            self._cross_over(cell)
            if self._complete(self.base, self.base, z, self.trivial) and self._is_sound(self.base, z):
                return True
        reset(self.base)
        good = self._complete(self.base, self.base, z, self.trivial, max_pivots=5000)
        return good and self._is_sound(self.base, z)

    def _cross_over(self, cell: Cell) -> None:
        """Start from the multipliers of an interior point: with many labelled rows a cold start is slow."""
        C, n = self.problem.C, self.problem.n
        alpha = np.where(cell.alpha > C * (1.0 - 1e-4), C, np.where(cell.alpha < C * 1e-4, 0.0, cell.alpha))
        inside = np.flatnonzero((alpha > 0.0) & (alpha < C))
        fresh = cell.active[~self.is_held[cell.active]]
        self._hold(fresh)
        members = np.append(inside, n + cell.active)[: self.rows.Z.shape[1] + 1]
        values = np.append((alpha * self.problem.y)[inside], cell.beta)[: len(members)]
        b = cell.b + float(cell.plane.w @ self.relaxation.centre)
        load_state(self.base, alpha * self.problem.y, members, values, b)

    def miscount_cost(self, z: Sides) -> float:
        """What is paid for the totals."""
        return self.problem.totals.price(self.problem.totals.counts(z))

    @property
    def value(self) -> float:
        """Objective of the current cell's optimum."""
        return float(self.base.value[DUAL]) + self.miscount_cost(self.z)

    def plane(self, st: State, z: Sides) -> Plane:
        """Judge the plane of a state, by rank and, where weights differ, with its own sides."""
        w, b = self.relaxation.original(st.w, float(st.value[INTERCEPT]))
        plane = self.search.plane(w)
        if not self.search.ranking.unit:
            value = self.search.offer_sides(w, b, z)
            if value < plane.value:
                plane = plane._replace(value=value, b=b, total=self.problem.count(z))
        return plane

    def snapshot(self) -> tuple[Sides, State]:
        """Remember the current cell."""
        state = self._new_state()
        copy_state(self.base, state)
        return self.z.copy(), state

    def restore(self, memory: tuple[Sides, State]) -> None:
        """Return to a remembered cell."""
        changed = np.flatnonzero(memory[0] != self.z)
        self._set_sides(changed, memory[0])
        self.z = memory[0].copy()
        copy_state(memory[1], self.base)

    # -- solving ---------------------------------------------------------------------------------
    def _new_state(self) -> State:
        return new_state(self.problem.n, self.problem.n + self.problem.m, self.rows.Z.shape[1])

    def _set_sides(self, points: NDArray[np.intp], z: Sides) -> None:
        set_sides(self.box, self.problem.n + points, np.where(z[points] > 0, 1, -1))

    def _hold(self, points: NDArray[np.intp], *, afresh: bool = False) -> None:
        """Watch these rows too; most rows are far from the plane and never matter."""
        if afresh:
            self.is_held[:] = False
            self.held = np.zeros(0, dtype=np.int64)
        self.is_held[points] = True
        self.held = np.append(self.held, self.problem.n + points)

    def _scores(self, st: State) -> FloatArray:
        self.search.spend(self.rows.Z.size)
        return np.asarray(self.rows.Z[self.problem.n :] @ st.w + st.value[INTERCEPT])

    def _complete(
        self,
        source: State,
        st: State,
        z: Sides,
        stop: float,
        flips: IntArray = NONE,
        max_pivots: int = _MAX_PIVOTS,
    ) -> bool:
        """Solve for the sides z until no row at all is violated; False if the value reaches ``stop``.

        ``source`` is optimal for other sides of the rows ``flips``.
        """
        for _ in range(20):
            sides = np.where(z[flips] > 0, 1, -1)
            rows = self.problem.n + flips
            before = int(self.tmp.counter[WORK])
            moved = _move(self.rows, self.box, source, st, self.tmp, rows, sides, self.held, stop, max_pivots)
            self.search.spend(int(self.tmp.counter[WORK]) - before)
            if not moved:
                return False
            flips = NONE
            scores = self._scores(st)
            signed = np.where(z > 0, scores, -scores) - self.problem.side_margin
            violated = np.flatnonzero(~self.is_held & (signed < -1e-8 * (1.0 + np.abs(scores).max())))
            if len(violated) == 0:
                return True
            self._hold(violated[np.argsort(signed[violated])[:40]])
        return False

    def _attempt(
        self, source: State, target: State, z: Sides, points: Sequence[int], stop: float
    ) -> Sides | None:
        """Flip some points of ``z`` from ``source``'s optimum; the new sides if their value is below stop.

        The sides of the kernels are left as they were.
        """
        flips = np.asarray(points, dtype=np.int64)
        flipped = z.copy()
        flipped[flips] = 1 - flipped[flips]
        new = flips[~self.is_held[flips]]
        if len(new):
            self._hold(new)
        good = self._complete(source, target, flipped, stop, flips)
        self._set_sides(flips, z)
        return flipped if good else None

    def _is_sound(self, st: State, z: Sides) -> bool:
        """Whether the plane is worth what the multipliers claim: rounding can spoil a long run of pivots."""
        claimed = float(st.value[DUAL]) + self.miscount_cost(z)
        return bool(claimed > 0.0 and self.plane(st, z).value <= claimed * (1.0 + 1e-6) + self.tolerance)

    # -- moves -----------------------------------------------------------------------------------
    def holding(self, st: State) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The free rows that hold the plane: those kept positive and those kept negative, strongest first."""
        members = st.members[: st.number[SIZE]]
        members = members[members >= self.problem.n]
        multipliers = st.c[members]
        order = np.argsort(-np.abs(multipliers), kind="stable")
        members, multipliers = members[order] - self.problem.n, multipliers[order]
        free = self.free[members] & (np.abs(multipliers) > 1e-12)
        return members[free & (multipliers > 0)], members[free & (multipliers < 0)]

    def descend(self) -> Plane:
        """Move to better neighbours until there is none."""
        while not self.search.expired and self._better():
            pass
        return self.plane(self.base, self.z)

    def _try(self, source: State, z: Sides, points: Sequence[int], limit: float) -> bool:
        """Flip points of ``z``; move there if the objective falls below ``limit``."""
        cost = self.miscount_cost(_flipped(z, points))
        if cost >= limit:
            return False
        flipped = self._attempt(source, self.trial, z, points, limit - cost)
        if flipped is None or not self._is_sound(self.trial, flipped):
            return False
        changed = np.flatnonzero(flipped != self.z)
        self._set_sides(changed, flipped)
        self.z = flipped
        self.base, self.trial = self.trial, self.base
        return True

    def _better(self) -> bool:
        """Move to the first better neighbour; False, and remembered, if there is none."""
        if self.z.tobytes() in self.settled:
            return False
        limit = self.value * (1.0 - IMPROVEMENT) - 1e-12
        up, down = self.holding(self.base)
        pairs = sorted(((i, j) for i in range(len(up)) for j in range(len(down))), key=sum)
        for i, j in pairs[:60]:
            if self._try(self.base, self.z, [*self._alike(up[i]), *self._alike(down[j])], limit):
                return True
        for j in (*up, *down):
            group = self._alike(j)
            if self._try(self.base, self.z, group, limit) or self._exchange(group, limit):
                return True
            if self.search.expired:
                return False
        self.settled.add(self.z.tobytes())
        return False

    def _exchange(self, group: list[int], limit: float) -> bool:
        """Let points go over, then bring the count back with partners near the plane."""
        z = self._attempt(self.base, self.middle, self.z, group, np.inf)
        if z is None:
            return False
        distance = np.abs(self._scores(self.middle))
        partners = np.flatnonzero(self.free & (z == z[group[0]]))
        partners = partners[~np.isin(partners, group)]
        alike = partners[self.cell[partners] == self.cell[group[0]]]  # counted in the same totals
        partners = alike if len(alike) else partners
        number = max(PARTNERS, len(group))
        partners = partners[np.argsort(distance[partners], kind="stable")[:number]]
        candidates = [[int(p)] for p in partners[:PARTNERS]]
        if len(group) > 1:
            candidates.insert(0, [int(p) for p in partners[: len(group)]])
        self._set_sides(np.asarray(group), z)
        moved = any(self._try(self.middle, z, candidate, limit) for candidate in candidates)
        self._set_sides(np.asarray(group), self.z)
        return moved

    def _alike(self, j: int) -> list[int]:
        """The free rows equal to j and on its side: only together can they go over."""
        group = self.alike.rows(j)
        if len(group) == 1:
            return [int(j)]
        return [int(i) for i in group if self.z[i] == self.z[j] and self.free[i]]


class Alike(NamedTuple):
    """Which rows are equal."""

    number: IntArray  #: of each row, the same for equal ones
    order: NDArray[np.intp]  #: the rows by their number
    start: NDArray[np.intp]  #: where each number begins there

    @classmethod
    def of(cls, U: FloatArray) -> Alike:
        """Find them."""
        number = profiles(U)
        sizes = np.bincount(number)
        return cls(number, np.argsort(number, kind="stable"), np.append(0, np.cumsum(sizes)))

    def rows(self, j: int) -> NDArray[np.intp]:
        """The rows equal to row j, itself included."""
        number = self.number[j]
        return self.order[self.start[number] : self.start[number + 1]]


def _flipped(z: Sides, points: Sequence[int]) -> Sides:
    flipped = z.copy()
    flipped[list(points)] = 1 - flipped[list(points)]
    return flipped
