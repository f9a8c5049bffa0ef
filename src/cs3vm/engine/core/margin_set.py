"""The margin set of a state: a basis of its span, and the direction in which a push moves.

The rows of Q are an orthonormal basis of the differences to the first member z₀. A row with coordinates u in
it is the sum of these differences with the coefficients y = B·u. (The inverse of the products of the rows
would be less to write, and has twice as many wrong digits.)
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ..jit import NO_ROW, inner_kernel, small_kernel, spliced
from .arrays import (
    AGE,
    BLOCK_CLOSED,
    BLOCK_SOLVES,
    BLOCK_STAYS,
    BLOCK_TESTS,
    DUAL,
    FLIPS,
    FLIPS_CLOSED,
    GROUP_CLOSED,
    GROUP_RAISED,
    GROUP_TESTS,
    INTERCEPT,
    PIVOTS,
    PUSHED,
    SIZE,
    STALE,
    SVM_CLOSED,
    WORK,
    Box,
    Rows,
    Scratch,
    State,
)
from .products import forget_scores

#: Of ‖z‖², what may be left of a row beyond a span before digits are lost: less is projected again.
_MUCH = 1e-3
#: Of the longest ‖z‖², what a row must have beyond a span at least not to depend on it.
_FLOOR = 1e-17
#: A multiplier may be clipped to its box by so much: the last digits.
_CLIPPED = 1e-10


def counters(tmp: Scratch) -> dict[str, int]:
    """What a search has done so far, by name."""
    names = {
        "pivots": PIVOTS,
        "flips": FLIPS,
        "svm_closed": SVM_CLOSED,
        "flips_closed": FLIPS_CLOSED,
        "group_tests": GROUP_TESTS,
        "group_closed": GROUP_CLOSED,
        "group_raised": GROUP_RAISED,
        "block_tests": BLOCK_TESTS,
        "block_solves": BLOCK_SOLVES,
        "block_stays": BLOCK_STAYS,
        "block_closed": BLOCK_CLOSED,
    }
    return {name: int(tmp.counter[i]) for name, i in names.items()}


@small_kernel
def dot(x: FloatArray, y: FloatArray) -> float:
    """``x·y``."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@small_kernel
def row_dot(Z: FloatArray, i: int, x: FloatArray) -> float:
    """``z_i·x``, without the cost of a view of the row."""
    total = 0.0
    for r in range(x.shape[0]):
        total += Z[i, r] * x[r]
    return total


@inner_kernel
def project(
    Z: FloatArray, Q: FloatArray, members: IntArray, q: int, u: FloatArray, dw: FloatArray, j: int
) -> float:
    """Set u to the coordinates of z_j - z₀ in the span of M, dw to what is beyond it; return ‖dw‖²."""
    rank, p = dw.shape[0], q - 1
    if q == 0:
        for r in range(rank):
            dw[r] = Z[j, r]
        return 0.0
    origin = members[0]
    for r in range(rank):
        dw[r] = Z[j, r] - Z[origin, r]
    before = dot(dw, dw)
    for k in range(p):
        u[k] = row_dot(Q, k, dw)
    for k in range(p):
        add_row(dw, -u[k], Q, k)
    if dot(dw, dw) < _MUCH * before:
        for k in range(p):
            more = row_dot(Q, k, dw)
            add_row(dw, -more, Q, k)
            u[k] += more
    return curvature(q, dw)


@inner_kernel
def curvature(q: int, dw: FloatArray) -> float:
    """γ = ‖dw‖², the curvature of a push.

    M is full at rank + 1 rows: another one depends on it, whatever rounding says (and there is no room).
    """
    return dot(dw, dw) if q <= dw.shape[0] else 0.0


@small_kernel
def combine(
    Z: FloatArray, B: FloatArray, origin: int, q: int, u: FloatArray, dw: FloatArray, beta: FloatArray
) -> None:
    """Set β so that dw = z_j + Σ β z_M and Σ β = -1; its first number is the change of b that keeps M."""
    p = q - 1
    rest = -1.0
    for a in range(p):
        y = 0.0
        for k in range(p):
            y += B[a, k] * u[k]
        beta[a + 2] = -y
        rest += y
    beta[1] = rest
    beta[0] = -row_dot(Z, origin, dw)


@inner_kernel
def expand(st: State, u: FloatArray, dw: FloatArray, j: int, gamma: float) -> None:
    """Add j to M, which has been projected to u and dw."""
    q = st.number[SIZE]
    st.members[q] = j
    st.inside[j] = 1
    st.number[SIZE] = q + 1
    if q == 0:
        return
    p, inverse, Q, B = q - 1, 1.0 / np.sqrt(gamma), st.Q, st.B
    for a in range(p):
        y = 0.0
        for k in range(p):
            y += B[a, k] * u[k]
        B[a, p] = -y * inverse
        B[p, a] = 0.0
    B[p, p] = inverse
    for r in range(dw.shape[0]):
        Q[p, r] = dw[r] * inverse


@inner_kernel
def enter(Q: FloatArray, q: int, u: FloatArray, dw: FloatArray) -> None:
    """What has been projected, once more after M has got its q-th member."""
    u[q - 2] = row_dot(Q, q - 2, dw)
    add_row(dw, -u[q - 2], Q, q - 2)


@inner_kernel
def contract(st: State, tmp: Scratch, a: int) -> None:
    """Remove the a-th member of M; unless it is the first one, what has been projected goes along.

    In the span of the others its coefficient is zero, and the coefficients of all others are as before. So
    the basis is reflected such that its last vector is where that coefficient grows, and is dropped.
    """
    p, B, Q, v, sums = st.number[SIZE] - 1, st.B, st.Q, tmp.other_u, tmp.other_dw
    st.inside[st.members[a]] = 0
    st.number[SIZE] = p
    for b in range(a, p):
        st.members[b] = st.members[b + 1]
    if p == 0:
        return
    gone, last, square = max(a - 1, 0), p - 1, 0.0
    for k in range(p):
        v[k] = B[gone, k]
        if a == 0:  # of the first member: 1 - the sum of all others; the next one takes its place
            for b in range(1, p):
                v[k] += B[b, k]
        square += v[k] * v[k]
    if not square > 0.0:  # only rounding can cause this: rebuild at the next pivot
        st.number[AGE] = STALE
        square = 1.0
    inverse = 1.0 / np.sqrt(square)
    for k in range(p):
        v[k] *= inverse
    factor = 1.0 / (1.0 + abs(v[last]))  # of the reflection 1 - factor · vvᵀ
    v[last] += 1.0 if v[last] > 0.0 else -1.0
    for r in range(sums.shape[0]):
        sums[r] = 0.0
    along = 0.0
    for k in range(p):
        add_row(sums, v[k], Q, k)
        along += v[k] * tmp.u[k]
    for k in range(p):
        tmp.u[k] -= factor * along * v[k]
        share = factor * v[k]
        for r in range(sums.shape[0]):
            Q[k, r] -= share * sums[r]
    add_row(tmp.dw, tmp.u[last], Q, last)
    for b in range(p):
        if b != gone:
            share = 0.0
            for k in range(p):
                share += B[b, k] * v[k]
            share *= factor
            to = b if b < gone else b - 1
            for k in range(p):
                B[to, k] = B[b, k] - share * v[k]


@inner_kernel
def gamma_floor(rows: Rows) -> float:
    """Below this a row is affinely dependent on M."""
    return _FLOOR * rows.size * rows.size + 1e-300


@inner_kernel
def dual_value(rows: Rows, box: Box, st: State) -> float:
    """The dual value from the multipliers: the running sum in ``st.value`` drifts."""
    value = -0.5 * dot(st.w, st.w)
    for i in range(rows.n):
        value += box.p[i] * st.c[i]
    for a in range(st.number[SIZE]):
        i = st.members[a]
        if i >= rows.n:
            value += box.p[i] * st.c[i]
    pushed = st.number[PUSHED] - 1
    if pushed >= rows.n and not st.inside[pushed]:
        value += box.p[pushed] * st.c[pushed]
    return value


@inner_kernel
def rebuild(rows: Rows, box: Box, st: State, tmp: Scratch) -> None:
    """Recompute w, R, the scores and the value from the multipliers, and correct what has drifted."""
    q = st.number[SIZE]
    st.number[SIZE] = 0
    st.number[AGE] = 0
    forget_scores(st)
    total = 0.0
    for r in range(st.w.shape[0]):
        st.w[r] = 0.0
    for i in range(rows.n):
        if st.c[i] != 0.0:
            st.c[i] = min(max(st.c[i], box.lo[i]), box.hi[i])
            add_row(st.w, st.c[i], rows.Z, i)
            total += st.c[i]
    pushed = st.number[PUSHED] - 1
    if pushed >= rows.n and not st.inside[pushed]:
        add_row(st.w, st.c[pushed], rows.Z, pushed)
        total += st.c[pushed]
    for a in range(q):
        i = st.members[a]
        st.inside[i] = 0
        if i >= rows.n:
            st.c[i] = min(max(st.c[i], box.lo[i]), box.hi[i])
    for a in range(q):
        i = st.members[a]
        gamma = project(rows.Z, st.Q, st.members, st.number[SIZE], tmp.u, tmp.dw, i)
        if st.number[SIZE] == 0 or gamma > gamma_floor(rows):
            expand(st, tmp.u, tmp.dw, i, gamma)
            if i >= rows.n:
                add_row(st.w, st.c[i], rows.Z, i)
                total += st.c[i]
        elif i >= rows.n:
            st.c[i] = 0.0
    tmp.counter[WORK] += (q + 1) ** 3 + rows.n * rows.Z.shape[1]
    _correct(rows, box, st, tmp, total)
    for i in range(rows.n):
        st.f[i] = row_dot(rows.Z, i, st.w) + st.value[INTERCEPT]
    st.value[DUAL] = dual_value(rows, box, st)


@spliced
def _correct(rows: Rows, box: Box, st: State, tmp: Scratch, total: float) -> None:
    """Move b and the multipliers of M so that M is on target and the multipliers add up to zero.

    A member whose multiplier would have to leave its box by more than rounding goes to the bound and out of
    M, and the others are moved anew: if all were clipped instead, neither would hold afterwards.
    """
    beyond = 1.0
    while beyond > 0.0 and st.number[SIZE] > 0:
        q = st.number[SIZE]
        _correction(rows, box, st, tmp, total)
        beyond, who = 0.0, NO_ROW
        for a in range(q):
            i = st.members[a]
            c = st.c[i] + tmp.beta[a + 1]
            out = max(box.lo[i] - c, c - box.hi[i])
            if out > max(beyond, _CLIPPED * (1.0 + abs(st.c[i]))):
                beyond, who = out, a
        if beyond > 0.0:
            i = st.members[who]
            bound = box.hi[i] if tmp.beta[who + 1] > 0.0 else box.lo[i]
            add_row(st.w, bound - st.c[i], rows.Z, i)
            total += bound - st.c[i]
            st.c[i] = bound
            contract(st, tmp, who)
    q = st.number[SIZE]
    if q == 0:
        return
    st.value[INTERCEPT] += tmp.beta[0]
    for a in range(q):
        i = st.members[a]
        changed = min(max(st.c[i] + tmp.beta[a + 1], box.lo[i]), box.hi[i])
        add_row(st.w, changed - st.c[i], rows.Z, i)
        st.c[i] = changed


@spliced
def _correction(rows: Rows, box: Box, st: State, tmp: Scratch, total: float) -> None:
    """Set β to the changes of b and of the multipliers of M that put M on target and take away the sum.

    They are y = B·x for the members after the first, where x are the coordinates of the change of w but for
    that of the first, z₀: Bᵀ times what their residuals have beyond that of the first, and Qᵀz₀ · the sum.
    """
    B, Q, x, beta, origin, p = st.B, st.Q, tmp.u, tmp.beta, st.members[0], st.number[SIZE] - 1
    first = box.p[origin] - row_dot(rows.Z, origin, st.w) - st.value[INTERCEPT]
    product = -total * row_dot(rows.Z, origin, rows.Z[origin])
    for k in range(p):
        x[k] = 0.0
    for a in range(p):
        i = st.members[a + 1]
        left = box.p[i] - row_dot(rows.Z, i, st.w) - st.value[INTERCEPT] - first
        for k in range(p):
            x[k] += left * B[a, k]
    for k in range(p):
        along = row_dot(Q, k, rows.Z[origin])
        x[k] += total * along
        product += x[k] * along
    rest = -total
    for a in range(p):
        y = 0.0
        for k in range(p):
            y += B[a, k] * x[k]
        beta[a + 2] = y
        rest -= y
    beta[1] = rest
    beta[0] = first - product


@small_kernel
def add_row(w: FloatArray, factor: float, Z: FloatArray, i: int) -> None:
    """Add a multiple of a row to w."""
    for r in range(w.shape[0]):
        w[r] += factor * Z[i, r]
