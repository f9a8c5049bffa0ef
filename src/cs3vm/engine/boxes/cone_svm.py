"""The SVM in a box: a small convex programme, by an interior-point method.

min ½‖w‖² + Σ C·ξ  with  y(w·x + b) + ξ - s = 1,  s, ξ ≥ 0,  and  G(w, b) - σ = h,  σ ≥ 0

where G holds the sides of the box, the limits of the intercept and the held rows. Multipliers a of the
labelled rows have C - a for ξ; λ belongs to G. Mehrotra's predictor and corrector, d + 1 unknowns per step.
The outcome is a cut: whatever the accuracy, that is a bound.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray
from ..jit import kernel
from .arrays import AXIS, FEW_OPEN, LEVEL, MARGIN, N_HELD, WORK, Cone, Data, Scratch
from .cuts import cut_value, write_cut

_ITERATIONS = 40
#: A solve ends where the complementarity is this share of the level. Where the target is out of reach it ends
#: at this share of what is missing, and of the value: the box will be divided.
_ACCURATE, _FAR, _CLOSE = 1e-9, 0.1, 0.02
_TO_THE_BOUNDARY = 0.99


@kernel
def labelled_arrays(tmp: Scratch) -> tuple[FloatArray, ...]:
    """The multipliers a, the slacks s and ξ, and the steps of all three."""
    rows = tmp.labelled
    return rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]


@kernel
def other_arrays(tmp: Scratch) -> tuple[FloatArray, ...]:
    """The multipliers λ and the slacks σ, and the steps of both."""
    return tmp.extra[0], tmp.extra[1], tmp.extra[2], tmp.extra[3]


@kernel
def write_rows(data: Data, cone: Cone, lo: float, hi: float, lim: FloatArray, tmp: Scratch) -> int:
    """Write G and h; return how many rows come before the held ones."""
    d = data.X.shape[1]
    G, h = tmp.rows, tmp.extra[4]
    q, axis = 0, cone.integer[AXIS]
    sign = cone.low[axis]
    for r in range(d):
        if r != axis:
            for upper in range(2):
                G[q, :] = 0.0
                G[q, r] = 1.0 - 2.0 * upper
                G[q, axis] = -sign * cone.low[r] if upper == 0 else sign * cone.high[r]
                h[q] = 0.0
                q += 1
    if d == 1:
        G[q, 0], G[q, 1], h[q] = sign, 0.0, 0.0
        q += 1
    for upper in range(2):
        end, side = (hi, -1.0) if upper else (lo, 1.0)
        if abs(end) < np.inf:
            for r in range(d):
                G[q, r] = side * cone.pivot[r]
            G[q, d] = side
            G[q, axis] -= side * sign * end
            h[q] = lim[MARGIN]
            q += 1
    first = q
    for k in range(cone.integer[N_HELD]):
        for r in range(d):
            G[q, r] = cone.sign[k] * data.U[cone.held[k], r]
        G[q, d], h[q] = cone.sign[k], lim[MARGIN]
        q += 1
    return first


@kernel
def factorise(M: FloatArray) -> None:
    """Cholesky's factor in the lower triangle; a pivot that vanishes is made large."""
    p = M.shape[0]
    for k in range(p):
        before = M[k, k]
        for j in range(k):
            M[k, k] -= M[k, j] * M[k, j]
        M[k, k] = np.sqrt(M[k, k]) if M[k, k] > 1e-14 * before else 1e64
        for i in range(k + 1, p):
            for j in range(k):
                M[i, k] -= M[i, j] * M[k, j]
            M[i, k] /= M[k, k]


@kernel
def back_substitute(M: FloatArray, x: FloatArray) -> None:
    """Solve M·x = x with the factor of M."""
    p = M.shape[0]
    for i in range(p):
        for j in range(i):
            x[i] -= M[i, j] * x[j]
        x[i] /= M[i, i]
    for i in range(p - 1, -1, -1):
        for j in range(i + 1, p):
            x[i] -= M[j, i] * x[j]
        x[i] /= M[i, i]


@kernel
def step(data: Data, tmp: Scratch, q: int, centre: float, corrected: float) -> float:
    """One solve with the factor at hand, for this target of the products; return how far it may go."""
    n, d = data.X.shape
    a, s, xi, da, ds, dxi = labelled_arrays(tmp)
    lam, sig, dlam, dsig = other_arrays(tmp)
    G, rg, dx = tmp.rows, tmp.extra[5], tmp.vector[1]
    for r in range(d + 1):
        dx[r] = -tmp.vector[0, r]
    for i in range(n):
        eta = data.C[i] - a[i]
        one = centre - corrected * da[i] * ds[i]
        two = centre + corrected * da[i] * dxi[i]
        ds[i], dxi[i] = one / a[i] - s[i], two / eta - xi[i]
        push = (ds[i] - dxi[i]) / (s[i] / a[i] + xi[i] / eta) * data.y[i]
        for r in range(d):
            dx[r] += push * data.X[i, r]
        dx[d] += push
    for k in range(q):
        dsig[k] = (centre - corrected * dlam[k] * dsig[k]) / lam[k] - sig[k]
        push = (dsig[k] - rg[k]) * lam[k] / sig[k]
        for r in range(d + 1):
            dx[r] += push * G[k, r]
    back_substitute(tmp.matrix, dx)
    far = 0.5  # steps beyond twice the whole one do not matter
    for i in range(n):
        eta, move = data.C[i] - a[i], dx[d]
        for r in range(d):
            move += dx[r] * data.X[i, r]
        move *= data.y[i]
        da[i] = (ds[i] - dxi[i] - move) / (s[i] / a[i] + xi[i] / eta)
        ds[i] -= da[i] * s[i] / a[i]
        dxi[i] += da[i] * xi[i] / eta
        far = max(far, -da[i] / a[i], da[i] / eta, -ds[i] / s[i], -dxi[i] / xi[i])
    for k in range(q):
        move = rg[k]
        for r in range(d + 1):
            move += G[k, r] * dx[r]
        dlam[k] = (dsig[k] - move) * lam[k] / sig[k]
        dsig[k] = move
        far = max(far, -dlam[k] / lam[k], -dsig[k] / sig[k])
    return 1.0 / far


@kernel
def residuals(data: Data, tmp: Scratch, q: int) -> float:
    """Residuals of the equations, the matrix of the next steps, and the sum of all products."""
    n, d = data.X.shape
    a, s, xi, _, _, _ = labelled_arrays(tmp)
    lam, sig, _, _ = other_arrays(tmp)
    G, h, rg, rd, M, x = tmp.rows, tmp.extra[4], tmp.extra[5], tmp.vector[0], tmp.matrix, tmp.w
    gap = 0.0
    for r in range(d + 1):
        rd[r] = x[r] if r < d else 0.0
        for c in range(r + 1):
            M[r, c] = 0.0
        M[r, r] = 1.0 if r < d else 0.0
    for i in range(n):
        eta = data.C[i] - a[i]
        gap += a[i] * s[i] + eta * xi[i]
        D, pull = 1.0 / (s[i] / a[i] + xi[i] / eta), a[i] * data.y[i]
        for r in range(d):
            rd[r] -= pull * data.X[i, r]
            part = D * data.X[i, r]
            for c in range(r + 1):
                M[r, c] += part * data.X[i, c]
            M[d, r] += part
        rd[d] -= pull
        M[d, d] += D
    for k in range(q):
        gap += lam[k] * sig[k]
        rg[k] = -h[k] - sig[k]
        for r in range(d + 1):
            rg[k] += G[k, r] * x[r]
            rd[r] -= lam[k] * G[k, r]
            for c in range(r + 1):
                M[r, c] += lam[k] / sig[k] * G[k, r] * G[k, c]
    return gap


@kernel
def begin(data: Data, tmp: Scratch, q: int) -> None:
    """The first point: no plane at all, everything else well inside."""
    n = data.X.shape[0]
    tmp.w[:], tmp.labelled[:], mean = 0.0, 0.0, 0.0
    for i in range(n):
        tmp.labelled[0, i], tmp.labelled[1, i], tmp.labelled[2, i] = 0.5 * data.C[i], 1.0, 2.0
        mean += 0.5 * data.C[i] / n
    for k in range(q):
        tmp.extra[0, k], tmp.extra[1, k], tmp.extra[2, k], tmp.extra[3, k] = mean, 1.0, 0.0, 0.0


@kernel
def solve_in_box(
    data: Data,
    cone: Cone,
    lo: float,
    hi: float,
    target: float,
    lim: FloatArray,
    tmp: Scratch,
    cut: FloatArray,
) -> float:
    """Write the best cut for these limits of the intercept, and the plane; return the cut's value.

    It ends as soon as the value reaches the target, or where it will not and few rows are open, accurately.
    """
    n, d = data.X.shape
    first = write_rows(data, cone, lo, hi, lim, tmp)
    q = first + cone.integer[N_HELD]
    begin(data, tmp, q)
    a, s, xi, da, ds, dxi = labelled_arrays(tmp)
    lam, sig, dlam, dsig = other_arrays(tmp)
    trial, best = tmp.trial, -1.0
    for _ in range(_ITERATIONS):
        gap = residuals(data, tmp, q)
        cone.integer[WORK] += (n + q) * (d + 1) * (d + 6)
        write_cut(data, cone, tmp.labelled[0], tmp.extra[0], first, lim, trial)
        value = cut_value(cone, trial, lo, hi, lim)
        if value > best:
            best = value
            for r in range(d + 2):
                cut[r] = trial[r]
        hopeless = gap < min(_FAR * (target - best), _CLOSE * best) and not cone.integer[FEW_OPEN]
        if best >= target or hopeless or gap < _ACCURATE * lim[LEVEL] or not gap < np.inf:
            break
        factorise(tmp.matrix)
        far = min(1.0, step(data, tmp, q, 0.0, 0.0))
        left = 0.0
        for i in range(n):
            left += (a[i] + far * da[i]) * (s[i] + far * ds[i])
            left += (data.C[i] - a[i] - far * da[i]) * (xi[i] + far * dxi[i])
        for k in range(q):
            left += (lam[k] + far * dlam[k]) * (sig[k] + far * dsig[k])
        share = left / gap
        far = min(1.0, _TO_THE_BOUNDARY * step(data, tmp, q, share * share * left / (2 * n + q), 1.0))
        for i in range(n):
            a[i] += far * da[i]
            s[i] += far * ds[i]
            xi[i] += far * dxi[i]
        for k in range(q):
            lam[k] += far * dlam[k]
            sig[k] += far * dsig[k]
        for r in range(d + 1):
            tmp.w[r] += far * tmp.vector[1, r]
    return best
