"""From a problem to the arrays of the kernels: rotation, perturbation, limits."""

from __future__ import annotations

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray
from ...convex.svm import ConvexSolution, dual_bound, solve_convex
from ...model.problem import Problem
from ...model.profiles import profiles
from ..jit import NO_ROW
from .active_set import DONE, TO_THE_END, copy_state, reset, set_sides, solve
from .arrays import AGE, INTERCEPT, SIZE, STALE, Box, Limits, Rows, Sums, new_node, new_scratch, new_state
from .products import products

#: Right-hand sides are relaxed by up to this much (labelled, unlabelled rows): still a relaxation.
PERTURBATION = (1e-8, 1e-9)
_OTHER_PERTURBATIONS = (0.0, 1.0, 30.0)  # multiples of it, tried where a bound disappoints
#: From this many labelled rows on the root starts from the interior-point solution.
WARM_START_ROWS = 150
#: More work is not spent on the search for a vertex among multipliers.
VERTEX_NUMBERS = 10**9
#: Beyond so many numbers rows are reduced to a triangle before their axes are found.
QR_NUMBERS = 1_000_000
#: Of problems with more numbers the rotated rows are not kept: a fitted classifier would carry them along.
KEPT_NUMBERS = 1_000_000


class Relaxation:
    """The arrays of one search, and the map between rotated and original coordinates."""

    def __init__(self, problem: Problem, random_state: int = 0, like: Relaxation | None = None) -> None:
        """``like`` is that of the same rows with another margin: they are not rotated and kept twice."""
        self.problem, self.random_state = problem, random_state
        rng = np.random.default_rng(random_state)
        n, m = problem.n, problem.m
        if like is None:
            self.rows, self.centre, self.axes = rotated(problem)
        else:
            self.rows = like.rows._replace(margin=problem.side_margin)
            self.centre, self.axes = like.centre, like.axes
        relax = rng.uniform(0.5, 1.0, n + m) * np.repeat(PERTURBATION, (n, m))
        self.relax = relax
        self.box = self._box(relax)
        rank = self.rows.Z.shape[1]
        self.base, self.spare = new_state(n, n + m, rank), new_state(n, n + m, rank)
        self.tmp = new_scratch(n, m, problem.d, rank)
        self.node = new_node(m, rank, _sums(problem), *_equal(problem.U))

    def _box(self, relax: FloatArray) -> Box:
        problem = self.problem
        n, m = problem.n, problem.m
        lo = np.append(np.where(problem.y < 0, -problem.C, 0.0), np.zeros(m))
        hi = np.append(np.where(problem.y > 0, problem.C, 0.0), np.zeros(m))
        p = np.append(problem.y * (1.0 - relax[:n]), np.zeros(m))
        return Box(lo=lo, hi=hi, p=p, strip=problem.side_margin - relax)

    def limits(self, cutoff: float, level: float) -> Limits:
        """What the kernels need to know about the incumbent; a change of it needs a new one."""
        problem = self.problem
        totals = problem.totals
        return Limits(
            cutoff=cutoff,
            level=level,
            intercept=problem.intercept_bound(level) * (1.0 + 1e-9),
            penalty=float(totals.penalty[0]) if len(totals) else problem.count_penalty,
            slack=float(totals.rounding.max(initial=0.0)),
        )

    def warm_start(self, svm: ConvexSolution) -> tuple[FloatArray, IntArray, FloatArray, float]:
        """Multipliers and margin set near a given solution; none where the labelled rows are few."""
        problem, n = self.problem, self.problem.n
        if n < WARM_START_ROWS:
            return np.zeros(n), np.zeros(0, dtype=np.int64), np.zeros(0), 0.0
        alpha = np.clip(svm.alpha, 0.0, problem.C)
        room = np.minimum(alpha, problem.C - alpha) / problem.C
        alpha = np.where(room > 1e-6, alpha, np.where(alpha > 0.5 * problem.C, problem.C, 0.0))
        alpha = problem.y * _vertex(
            problem.y * alpha, problem.C, np.column_stack([np.ones(n), self.rows.Z[:n]])
        )
        room = np.minimum(alpha, problem.C - alpha) / problem.C
        c = np.append(problem.y * alpha, svm.beta)
        inside = np.append(room, np.abs(svm.beta))
        order = np.argsort(-inside)[: self.rows.Z.shape[1] + 1]
        members = order[inside[order] > 1e-6].astype(np.int64)
        return c[:n].copy(), members, c[members], float(svm.b + svm.w @ self.centre)

    def careful_bound(self, side: SignArray, level: float) -> float:
        """Bound the SVM value for these sides, from scratch and in several ways."""
        solution = solve_convex(self.problem, side)
        bound = dual_bound(self.problem, solution.alpha, solution.beta, level)
        return max(bound, *(self._cold_bound(side, level, factor) for factor in _OTHER_PERTURBATIONS))

    def _cold_bound(self, side: SignArray, level: float, factor: float) -> float:
        """Bound the SVM value for these sides from scratch, with a perturbation scaled by ``factor``."""
        problem, n = self.problem, self.problem.n
        rng = np.random.default_rng(int(1000 * factor))
        relax = self.relax * factor * rng.uniform(0.1, 1.0, len(self.relax))
        rows, box = self.rows, self._box(relax)
        held = n + np.flatnonzero(side)
        set_sides(box, held, side[held - n])
        reset(self.spare)
        solve(rows, box, self.spare, self.tmp, held, len(held), level, 5000, TO_THE_END, NO_ROW)
        c = self.spare.c
        beta = np.where(side > 0, np.maximum(c[n:], 0.0), np.where(side < 0, np.minimum(c[n:], 0.0), 0.0))
        return dual_bound(problem, problem.y * c[:n], beta, level)

    def exact_plane(self, z: SignArray) -> tuple[FloatArray, float] | None:
        """The best plane for these sides, unperturbed, from the node's multipliers; None if stuck."""
        rows, box = self.rows, self._box(np.zeros_like(self.relax))
        n, m = self.problem.n, self.problem.m
        held = np.arange(n, n + m)
        set_sides(box, held, np.where(z > 0, 1, -1))
        state = self.spare
        copy_state(self.base, state)
        for _ in range(2):  # the second time only to correct what has drifted
            state.number[AGE] = STALE
            if solve(rows, box, state, self.tmp, held, m, np.inf, 2000, TO_THE_END, NO_ROW) != DONE:
                return None
        w = state.c @ rows.X
        members = state.members[: state.number[SIZE]]
        if len(members) == 0:
            return w, float(state.value[INTERCEPT] - w @ self.centre)
        return w, float(np.mean(box.p[members] - rows.X[members] @ w))

    def original(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """A plane of the rotated rows in the user's coordinates."""
        plane = self.axes @ w
        return plane, float(b - plane @ self.centre)


def unbeatable_level(problem: Problem) -> float:
    """A value that stands for "no point is known": far above that of any sensible point."""
    worst = 2.0 * float(problem.C.sum()) + float(problem.totals.penalty @ problem.totals.weight)
    return 1e6 * (1.0 + worst)


class Rotated(NamedTuple):
    """The rows of a problem for the kernels, which only read them; their centre, the axes of their span."""

    rows: Rows
    centre: FloatArray
    axes: FloatArray


#: Of problems that are alive: one run has several searches, and each of their threads needs the same rows.
_KEPT: WeakKeyDictionary[Problem, Rotated] = WeakKeyDictionary()


def rotated(problem: Problem) -> Rotated:
    """Centre and rotate the rows of a problem; of all but large problems that is done once."""
    if problem in _KEPT:
        return _KEPT[problem]
    X = np.ascontiguousarray(np.vstack([problem.X, problem.U]))
    centre = X.mean(axis=0)
    Z, axes = _rotate(X, centre)
    lengths = np.einsum("ij,ij->i", Z, Z)
    rows = Rows(
        n=problem.n,
        Z=Z,
        ZT=np.ascontiguousarray(Z.T),
        K=products(Z),
        X=X,
        # norms are rounded up so that the rounding bound stays one
        norm=np.sqrt(np.einsum("ij,ij->i", X, X)) * (1.0 + 1e-12),
        size=float(np.sqrt(lengths.max(initial=0.0))),
        margin=problem.side_margin,
    )
    found = Rotated(rows, centre, axes)
    if X.size + Z.size + rows.ZT.size + rows.K.size <= KEPT_NUMBERS:
        _KEPT[problem] = found
    return found


def _equal(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """For each row the first of those that are equal to it, and the next of them, in a circle."""
    kind = profiles(rows)
    order = np.argsort(kind, kind="stable")
    starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    twin = np.empty_like(order)
    twin[order] = np.roll(order, -1)
    twin[order[np.append(starts, len(rows))[1:] - 1]] = order[starts]  # from the last to the first
    return order[starts][kind], twin


def _sums(problem: Problem) -> Sums:
    totals = problem.totals
    up, down, k, least, gone = np.zeros((5, len(totals)))
    return Sums(
        low=np.array(totals.low),
        high=np.array(totals.high),
        penalty=np.array(totals.penalty),
        weight=np.array(totals.weight),
        slack=np.array(totals.rounding),
        start=np.array(totals.of_row.start),
        total=np.array(totals.of_row.total),
        row=np.array(problem.weights),
        up=up,
        down=down,
        k=k,
        sign=np.zeros(len(totals), dtype=np.int8),
        least=least,
        gone=gone,
    )


def _vertex(c: FloatArray, C: FloatArray, rows: FloatArray) -> FloatArray:
    """Multipliers with the same sum and plane, of which no more lie inside their box than M can hold.

    An interior-point method ends in the middle of all optimal multipliers, which are many where the plane is
    w = 0. A combination of rows that adds up to nothing changes neither plane nor value: so go to a bound.
    """
    c, most = c.copy(), rows.shape[1]
    while True:
        inside = np.flatnonzero((c != 0.0) & (np.abs(c) < C))
        if len(inside) <= most or (len(inside) - most) * most**3 > VERTEX_NUMBERS:
            return c
        some = inside[: most + 1]
        direction = np.linalg.svd(rows[some].T)[2][-1]
        far = np.where(direction * np.sign(c[some]) > 0.0, C[some] - np.abs(c[some]), np.abs(c[some]))
        steps = np.divide(far, np.abs(direction), out=np.full(len(some), np.inf), where=direction != 0.0)
        first = int(np.argmin(steps))
        ends = C[some[first]] if direction[first] * c[some[first]] > 0.0 else 0.0
        c[some] += steps[first] * direction
        c[some[first]] = math.copysign(ends, c[some[first]])


def _rotate(X: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates of centred rows in the span of their differences, and the axes of that span."""
    if X.shape[1] == 0:
        return np.zeros((len(X), 1)), np.zeros((0, 1))
    _, values, rows = np.linalg.svd(_triangle(X, centre), full_matrices=False)
    axes = rows[values > 1e-12 * max(float(values[0]), 1e-300)].T
    if axes.shape[1] == 0:
        axes = np.zeros((X.shape[1], 1))
    axes = np.ascontiguousarray(axes)
    Z = np.empty((len(X), axes.shape[1]))
    for part in _parts(X):
        np.matmul(X[part] - centre, axes, out=Z[part])
    return Z, axes


def _triangle(X: FloatArray, centre: FloatArray) -> FloatArray:
    """Rows with the axes of the centred ones; of many rows the triangle of QR, for less memory and time."""
    if X.size <= QR_NUMBERS:
        return X - centre
    triangle = np.zeros((0, X.shape[1]))
    for part in _parts(X):
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, X[part] - centre]), mode="r"))
    return triangle


def _parts(X: FloatArray) -> list[slice]:
    """All rows, some at a time where they are many."""
    rows = max(QR_NUMBERS // X.shape[1], 2 * X.shape[1])
    return [slice(start, start + rows) for start in range(0, len(X), rows)]
