r"""Small convex quadratic programmes: soft and hard rows, solved by a compiled interior-point method.

.. math:: \min_{w,b,\xi\ge0}\ \tfrac12\|w\|^2 + \sum_{i<n} C_i\xi_i
          \quad\text{s.t.}\quad A_i\cdot(w,b) + \xi_i \ge p_i\ (i<n),\qquad A_i\cdot(w,b)\ge p_i\ (i\ge n)

The heuristics solve thousands of these, most with a few dozen rows and columns, where an array library
spends its time on overhead. Wide ones go to :class:`~cs3vm.convex.interior_point.InteriorPoint`, which is
the same method on top of a linear-algebra library.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray
from ...convex.interior_point import InteriorPoint
from ..jit import compiled_strictly, strict_kernel

#: Beyond this many columns the linear-algebra library is faster than compiled loops.
COMPILED_COLUMNS = 64
#: Relative tolerances: of a step whose end is judged anyway, and of an answer.
ROUGH, FINE = 1e-6, 1e-10
_MAX_ITERATIONS = 60


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
        room = np.zeros((8, rows)), np.zeros((4, len(C))), np.zeros((3, size)), np.zeros((size, size))
        _interior_point(A, p, C, tolerance, *room, v, alpha)
        return v, alpha
    return InteriorPoint(A, p, C).solve(0.01 * tolerance)


@compiled_strictly
def _factor(A: FloatArray, theta: FloatArray, L: FloatArray) -> None:
    """Cholesky factor of ``AᵀΘA + diag(1, …, 1, 0)``; a dependent column is frozen by a huge pivot."""
    rows, size = A.shape
    for a in range(size):
        for c in range(a + 1):
            L[a, c] = 0.0
        L[a, a] = 1.0 if a < size - 1 else 0.0
    for i in range(rows):
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


@compiled_strictly
def _direction(
    A: FloatArray,
    L: FloatArray,
    ratio: FloatArray,
    rs: FloatArray,
    rx: FloatArray,
    alpha: FloatArray,
    nu: FloatArray,
    s: FloatArray,
    xi: FloatArray,
    primal: FloatArray,
    dual: FloatArray,
    dv: FloatArray,
    da: FloatArray,
    ds: FloatArray,
    dx: FloatArray,
) -> None:
    """Newton direction for the complementarity residuals ``rs`` (rows) and ``rx`` (slacks)."""
    rows, size = A.shape
    n = len(xi)
    for a in range(size):
        dv[a] = -dual[a]
    for i in range(rows):
        q = rs[i] / alpha[i] - primal[i]
        if i < n:
            q -= rx[i] / nu[i]
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
        ds[i] = (rs[i] - s[i] * da[i]) / alpha[i]
        if i < n:
            dx[i] = (rx[i] + xi[i] * da[i]) / nu[i]


@compiled_strictly
def _longest(
    alpha: FloatArray,
    nu: FloatArray,
    s: FloatArray,
    xi: FloatArray,
    da: FloatArray,
    ds: FloatArray,
    dx: FloatArray,
) -> float:
    """The longest step, up to 1, that keeps α, ν, s and ξ non-negative."""
    t = 1.0
    for i in range(len(s)):
        if alpha[i] + t * da[i] < 0.0:
            t = -alpha[i] / da[i]
        if s[i] + t * ds[i] < 0.0:
            t = -s[i] / ds[i]
    for i in range(len(xi)):
        if nu[i] - t * da[i] < 0.0:
            t = nu[i] / da[i]
        if xi[i] + t * dx[i] < 0.0:
            t = -xi[i] / dx[i]
    return t


@strict_kernel
def _interior_point(
    A: FloatArray,
    p: FloatArray,
    C: FloatArray,
    tolerance: float,
    of_rows: FloatArray,
    of_soft: FloatArray,
    of_columns: FloatArray,
    L: FloatArray,
    best_v: FloatArray,
    best_alpha: FloatArray,
) -> None:
    """Mehrotra's predictor-corrector; keeps the iterate with the smallest error."""
    rows, size = A.shape
    n = len(C)
    total = 0.0
    for i in range(n):
        total += C[i]
    v, dual, dv = of_columns[0], of_columns[1], of_columns[2]
    s, alpha, primal, da = of_rows[0], of_rows[1], of_rows[2], of_rows[3]
    ds, rs, ratio, theta = of_rows[4], of_rows[5], of_rows[6], of_rows[7]
    xi, nu, dx, rx = of_soft[0], of_soft[1], of_soft[2], of_soft[3]
    for i in range(rows):
        s[i] = 1.0
        alpha[i] = 0.5 * C[i] if i < n else 0.5 * total / max(n, 1)
    for i in range(n):
        xi[i], nu[i] = 1.0, 0.5 * C[i]
    best = np.inf
    for _ in range(_MAX_ITERATIONS):
        gap, worst, value, largest = 0.0, 0.0, 0.0, 0.0
        for a in range(size):
            dual[a] = v[a] if a < size - 1 else 0.0
        for i in range(rows):
            t = -s[i] - p[i]
            for a in range(size):
                t += A[i, a] * v[a]
                dual[a] -= alpha[i] * A[i, a]
            gap += alpha[i] * s[i]
            ratio[i] = s[i] / alpha[i]
            if i < n:
                t += xi[i]
                gap += nu[i] * xi[i]
                value += C[i] * xi[i]
                ratio[i] += xi[i] / nu[i]
            primal[i] = t
            theta[i] = 1.0 / ratio[i]
            worst = max(worst, abs(t))
        infeasible = worst
        for a in range(size):
            worst = max(worst, abs(dual[a]))
            if a < size - 1:
                value += 0.5 * v[a] * v[a]
                largest = max(largest, abs(v[a]))
        if not gap + worst < 1e300:
            break
        if gap + worst < best:
            best = gap + worst
            for a in range(size):
                best_v[a] = v[a]
            for i in range(rows):
                best_alpha[i] = alpha[i]
        if (
            gap <= tolerance * value
            and infeasible <= tolerance
            and worst <= 10.0 * tolerance * (largest + infeasible)
        ):
            break
        if best <= 1e-14 * (1.0 + total):
            break
        mu = gap / (rows + n)
        _factor(A, theta, L)
        for i in range(rows):
            rs[i] = -alpha[i] * s[i]
        for i in range(n):
            rx[i] = -nu[i] * xi[i]
        _direction(A, L, ratio, rs, rx, alpha, nu, s, xi, primal, dual, dv, da, ds, dx)
        t = _longest(alpha, nu, s, xi, da, ds, dx)
        ahead = 0.0
        for i in range(rows):
            ahead += (alpha[i] + t * da[i]) * (s[i] + t * ds[i])
        for i in range(n):
            ahead += (nu[i] - t * da[i]) * (xi[i] + t * dx[i])
        centre = mu * min(1.0, ahead / (mu * (rows + n))) ** 3
        for i in range(rows):
            rs[i] = centre - alpha[i] * s[i] - da[i] * ds[i]
        for i in range(n):
            rx[i] = centre - nu[i] * xi[i] + da[i] * dx[i]
        _direction(A, L, ratio, rs, rx, alpha, nu, s, xi, primal, dual, dv, da, ds, dx)
        t = 0.995 * _longest(alpha, nu, s, xi, da, ds, dx)
        if not t > 1e-12:
            break
        for a in range(size):
            v[a] += t * dv[a]
        for i in range(rows):
            alpha[i] += t * da[i]
            s[i] += t * ds[i]
        for i in range(n):
            nu[i] -= t * da[i]
            xi[i] += t * dx[i]
