r"""Small convex quadratic programmes: soft and hard rows, solved by a compiled interior-point method.

.. math:: \min_{w,b,\xi\ge0}\ \tfrac12\|w\|^2 + \sum_{i<n} C_i\xi_i
          \quad\text{s.t.}\quad A_i\cdot(w,b) + \xi_i \ge p_i\ (i<n),\qquad A_i\cdot(w,b)\ge p_i\ (i\ge n)

The heuristics solve thousands of these, most with a few dozen rows and columns, where an array library
spends its time on overhead. Wide ones go to :class:`~cs3vm.convex.interior_point.InteriorPoint`, which is
the same method on top of a linear-algebra library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray
from ...convex.interior_point import InteriorPoint
from ..jit import spliced, strict_inner_kernel, strict_kernel

#: Beyond this many columns the linear-algebra library is faster than compiled loops.
COMPILED_COLUMNS = 64
#: Relative tolerances: of a step whose end is judged anyway, and of an answer.
ROUGH, FINE = 1e-6, 1e-10
_MAX_ITERATIONS = 60


class Point(NamedTuple):
    """Where the method is, or a step that it takes: (w, b), and what must remain positive."""

    v: FloatArray
    s: FloatArray  #: by how much the rows exceed their right-hand sides
    alpha: FloatArray  #: multipliers of the rows
    xi: FloatArray  #: slacks of the soft rows
    nu: FloatArray  #: multipliers of the slacks


class Room(NamedTuple):
    """What the method works on, cut into vectors of one number per row, per soft row and per column."""

    rows: FloatArray
    soft: FloatArray
    columns: FloatArray
    square: FloatArray


def solve_rows(
    A: FloatArray, p: FloatArray, C: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Return ``(w, b)`` and the multipliers of the rows; the first ``len(C)`` rows are soft."""
    if len(A) < A.shape[1] - 1:
        # Fewer rows than columns: w lies in the span of the rows.
        rotation, triangle = np.linalg.qr(A[:, :-1].T)
        v, alpha = solve_rows(np.column_stack([triangle.T, A[:, -1]]), p, C, tolerance)
        return np.append(rotation @ v[:-1], v[-1]), alpha
    if A.shape[1] <= COMPILED_COLUMNS:
        A, C = np.ascontiguousarray(A), np.array(C)  # another layout or a read-only array would compile anew
        rows, size = A.shape
        v, alpha = np.zeros(size), np.zeros(rows)
        room = Room(
            rows=np.zeros((8, rows)),
            soft=np.zeros((5, len(C))),
            columns=np.zeros((3, size)),
            square=np.zeros((size, size)),
        )
        _interior_point(A, p, C, tolerance, room, v, alpha)
        return v, alpha
    return InteriorPoint(A, p, C).solve(0.01 * tolerance)


@strict_inner_kernel
def _factor(A: FloatArray, theta: FloatArray, L: FloatArray) -> None:
    """Cholesky factor of ``AᵀΘA + diag(1, …, 1, 0)``; a dependent column is frozen by a huge pivot.

    Four rows are added at a time, one after the other: the sums are the same, with fewer ways to memory.
    """
    rows, size = A.shape
    for a in range(size):
        for c in range(a + 1):
            L[a, c] = 0.0
        L[a, a] = 1.0 if a < size - 1 else 0.0
    fours = rows - rows % 4
    for i in range(0, fours, 4):
        for a in range(size):
            t0, t1 = theta[i] * A[i, a], theta[i + 1] * A[i + 1, a]
            t2, t3 = theta[i + 2] * A[i + 2, a], theta[i + 3] * A[i + 3, a]
            if t0 != 0.0 or t1 != 0.0 or t2 != 0.0 or t3 != 0.0:
                for c in range(a + 1):
                    one = L[a, c] + t0 * A[i, c]
                    two = one + t1 * A[i + 1, c]
                    three = two + t2 * A[i + 2, c]
                    L[a, c] = three + t3 * A[i + 3, c]
    for i in range(fours, rows):
        for a in range(size):
            t = theta[i] * A[i, a]
            if t != 0.0:
                for c in range(a + 1):
                    L[a, c] += t * A[i, c]
    largest = 0.0
    for a in range(size):
        largest = max(largest, L[a, a])
    for a in range(size):
        for c in range(a + 1):
            t = L[a, c]
            for k in range(c):
                t -= L[a, k] * L[c, k]
            if c < a:
                L[a, c] = t / L[c, c]
            elif t > 1e-15 * largest:
                L[a, a] = np.sqrt(t)
            else:
                L[a, a] = 1e100


@strict_inner_kernel
def _direction(
    A: FloatArray,
    L: FloatArray,
    ratio: FloatArray,
    rs: FloatArray,
    rx: FloatArray,
    primal: FloatArray,
    dual: FloatArray,
    at: Point,
    step: Point,
) -> None:
    """Newton direction for the complementarity residuals ``rs`` (rows) and ``rx`` (slacks)."""
    rows, size = A.shape
    n = len(at.xi)
    dv, da = step.v, step.alpha
    for a in range(size):
        dv[a] = -dual[a]
    for i in range(rows):
        q = rs[i] / at.alpha[i] - primal[i]
        if i < n:
            q -= rx[i] / at.nu[i]
        da[i] = q
        q /= ratio[i]
        for a in range(size):
            dv[a] += q * A[i, a]
    for a in range(size):
        t = dv[a]
        for k in range(a):
            t -= L[a, k] * dv[k]
        dv[a] = t / L[a, a]
    for a in range(size - 1, -1, -1):
        dv[a] /= L[a, a]
        for k in range(a):
            dv[k] -= L[a, k] * dv[a]
    for i in range(rows):
        t = da[i]
        for a in range(size):
            t -= A[i, a] * dv[a]
        da[i] = t / ratio[i]
        step.s[i] = (rs[i] - at.s[i] * da[i]) / at.alpha[i]
        if i < n:
            step.xi[i] = (rx[i] + at.xi[i] * da[i]) / at.nu[i]
            step.nu[i] = -da[i]


@strict_inner_kernel
def _longest(at: Point, step: Point) -> float:
    """The longest step, up to 1, that keeps α, ν, s and ξ non-negative."""
    t = 1.0
    for i in range(len(at.s)):
        if at.alpha[i] + t * step.alpha[i] < 0.0:
            t = -at.alpha[i] / step.alpha[i]
        if at.s[i] + t * step.s[i] < 0.0:
            t = -at.s[i] / step.s[i]
    for i in range(len(at.xi)):
        if at.nu[i] + t * step.nu[i] < 0.0:
            t = -at.nu[i] / step.nu[i]
        if at.xi[i] + t * step.xi[i] < 0.0:
            t = -at.xi[i] / step.xi[i]
    return t


@spliced
def _begin(C: FloatArray, at: Point) -> float:
    """Start in the middle of the multipliers' bounds; return the sum of the prices."""
    total = 0.0
    for i in range(len(C)):
        total += C[i]
    for i in range(len(at.s)):
        at.s[i] = 1.0
        at.alpha[i] = 0.5 * C[i] if i < len(C) else 0.5 * total / max(len(C), 1)
    for i in range(len(C)):
        at.xi[i], at.nu[i] = 1.0, 0.5 * C[i]
    return total


@spliced
def _residuals(
    A: FloatArray,
    p: FloatArray,
    C: FloatArray,
    at: Point,
    primal: FloatArray,
    dual: FloatArray,
    ratio: FloatArray,
    theta: FloatArray,
) -> tuple[float, float, float, float, float]:
    """Gap, largest primal residual, largest of both kinds, the objective, and the largest |w|.

    ``ratio`` and ``theta`` become the weights of the rows in the next system, and their inverses.
    """
    rows, size = A.shape
    gap, worst, value, largest = 0.0, 0.0, 0.0, 0.0
    for a in range(size):
        dual[a] = at.v[a] if a < size - 1 else 0.0
    for i in range(rows):
        t = -at.s[i] - p[i]
        for a in range(size):
            t += A[i, a] * at.v[a]
            dual[a] -= at.alpha[i] * A[i, a]
        gap += at.alpha[i] * at.s[i]
        ratio[i] = at.s[i] / at.alpha[i]
        if i < len(C):
            t += at.xi[i]
            gap += at.nu[i] * at.xi[i]
            value += C[i] * at.xi[i]
            ratio[i] += at.xi[i] / at.nu[i]
        primal[i] = t
        theta[i] = 1.0 / ratio[i]
        worst = max(worst, abs(t))
    infeasible = worst
    for a in range(size):
        worst = max(worst, abs(dual[a]))
        if a < size - 1:
            value += 0.5 * at.v[a] * at.v[a]
            largest = max(largest, abs(at.v[a]))
    return gap, infeasible, worst, value, largest


@spliced
def _centre(at: Point, step: Point, t: float, mu: float) -> float:
    """Where to aim the corrector: near zero if the predictor got far."""
    ahead = 0.0
    for i in range(len(at.s)):
        ahead += (at.alpha[i] + t * step.alpha[i]) * (at.s[i] + t * step.s[i])
    for i in range(len(at.xi)):
        ahead += (at.nu[i] + t * step.nu[i]) * (at.xi[i] + t * step.xi[i])
    return float(mu * min(1.0, ahead / (mu * (len(at.s) + len(at.xi)))) ** 3)


@spliced
def _advance(at: Point, step: Point, t: float) -> None:
    for a in range(len(at.v)):
        at.v[a] += t * step.v[a]
    for i in range(len(at.s)):
        at.alpha[i] += t * step.alpha[i]
        at.s[i] += t * step.s[i]
    for i in range(len(at.xi)):
        at.nu[i] += t * step.nu[i]
        at.xi[i] += t * step.xi[i]


@strict_kernel
def _interior_point(
    A: FloatArray,
    p: FloatArray,
    C: FloatArray,
    tolerance: float,
    room: Room,
    best_v: FloatArray,
    best_alpha: FloatArray,
) -> None:
    """Mehrotra's predictor-corrector; keeps the iterate with the smallest error."""
    rows, n = A.shape[0], len(C)
    of_rows, of_soft, of_columns, L = room.rows, room.soft, room.columns, room.square
    at = Point(v=of_columns[0], s=of_rows[0], alpha=of_rows[1], xi=of_soft[0], nu=of_soft[1])
    step = Point(v=of_columns[1], s=of_rows[2], alpha=of_rows[3], xi=of_soft[2], nu=of_soft[3])
    primal, dual, ratio, theta = of_rows[4], of_columns[2], of_rows[5], of_rows[6]
    rs, rx = of_rows[7], of_soft[4]
    total = _begin(C, at)
    best = np.inf
    for _ in range(_MAX_ITERATIONS):
        gap, infeasible, worst, value, largest = _residuals(A, p, C, at, primal, dual, ratio, theta)
        if not gap + worst < 1e300:
            break
        if gap + worst < best:
            best = gap + worst
            for a in range(A.shape[1]):
                best_v[a] = at.v[a]
            for i in range(rows):
                best_alpha[i] = at.alpha[i]
        feasible = infeasible <= tolerance and worst <= 10.0 * tolerance * (largest + infeasible)
        if (gap <= tolerance * value and feasible) or best <= 1e-14 * (1.0 + total):
            break
        _factor(A, theta, L)
        for i in range(rows):
            rs[i] = -at.alpha[i] * at.s[i]
        for i in range(n):
            rx[i] = -at.nu[i] * at.xi[i]
        _direction(A, L, ratio, rs, rx, primal, dual, at, step)
        centre = _centre(at, step, _longest(at, step), gap / (rows + n))
        for i in range(rows):
            rs[i] = centre - at.alpha[i] * at.s[i] - step.alpha[i] * step.s[i]
        for i in range(n):
            rx[i] = centre - at.nu[i] * at.xi[i] - step.nu[i] * step.xi[i]
        _direction(A, L, ratio, rs, rx, primal, dual, at, step)
        t = 0.995 * _longest(at, step)
        if not t > 1e-12:
            break
        _advance(at, step, t)
