"""The margin set of a state: a basis of its span, and the direction in which a push moves.

The differences to the first member z₀ are zₐ - z₀ = Σ T[a-1, k]·Q[k]: rows of Q are orthonormal, T is a
triangle. An inverse of the products of the rows would be less to write, and has twice as many wrong digits.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ..jit import NO_ROW, inner_kernel, spliced
from .arrays import (
    AGE,
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
_MUCH = 1e-6
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
    }
    return {name: int(tmp.counter[i]) for name, i in names.items()}


@inner_kernel
def dot(x: FloatArray, y: FloatArray) -> float:
    """``x·y``."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@inner_kernel
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
    return beyond(q, dw)


@inner_kernel
def beyond(q: int, dw: FloatArray) -> float:
    """γ = ‖dw‖², the curvature of a push.

    M is full at rank + 1 rows: another one depends on it, whatever rounding says (and there is no room).
    """
    return dot(dw, dw) if q <= dw.shape[0] else 0.0


@inner_kernel
def combine(
    Z: FloatArray, T: FloatArray, origin: int, q: int, u: FloatArray, dw: FloatArray, beta: FloatArray
) -> None:
    """Set β so that dw = z_j + Σ β z_M and Σ β = -1; its first number is the change of b that keeps M."""
    p = q - 1
    total, y = -1.0, beta[2:]
    for k in range(p):
        y[k] = -u[k]
    for a in range(p - 1, -1, -1):
        factor = y[a] = y[a] / T[a, a]
        total -= factor
        for k in range(a):
            y[k] -= factor * T[a, k]
    beta[1] = total
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
    p, inverse, Q, T = q - 1, 1.0 / np.sqrt(gamma), st.Q, st.T
    for k in range(p):
        T[p, k] = u[k]
    T[p, p] = gamma * inverse
    for r in range(dw.shape[0]):
        Q[p, r] = dw[r] * inverse


@inner_kernel
def enter(Q: FloatArray, q: int, u: FloatArray, dw: FloatArray) -> None:
    """What has been projected, once more after M has got its q-th member."""
    u[q - 2] = row_dot(Q, q - 2, dw)
    add_row(dw, -u[q - 2], Q, q - 2)


@inner_kernel
def contract(st: State, a: int, u: FloatArray, dw: FloatArray) -> None:
    """Remove the a-th member of M; u and dw of the row that is pushed go along."""
    q, T, Q = st.number[SIZE], st.T, st.Q
    st.inside[st.members[a]] = 0
    st.number[SIZE] = q - 1
    for b in range(a, q - 1):
        st.members[b] = st.members[b + 1]
    first, last = max(a - 1, 0), q - 2
    if last < 0:
        return
    if a == 0:  # the next member becomes the origin
        for b in range(1, q - 1):
            T[b, 0] -= T[0, 0]
        u[0] -= T[0, 0]
    for b in range(first, last):  # those after it move up, with one number too many each,
        for k in range(b + 2):
            T[b, k] = T[b + 1, k]
    for i in range(first, last):  # which is turned away
        x, y = T[i, i], T[i, i + 1]
        square = x * x + y * y
        if not square > 0.0:  # only rounding can cause this: rebuild at the next pivot
            st.number[AGE] = STALE
            square = 1e300
        inverse = 1.0 / np.sqrt(square)
        cosine, sine = x * inverse, y * inverse
        T[i, i] = square * inverse
        for b in range(i + 1, last):
            x, y = T[b, i], T[b, i + 1]
            T[b, i], T[b, i + 1] = cosine * x + sine * y, cosine * y - sine * x
        x, y = u[i], u[i + 1]
        u[i], u[i + 1] = cosine * x + sine * y, cosine * y - sine * x
        for r in range(Q.shape[1]):
            x, y = Q[i, r], Q[i + 1, r]
            Q[i, r], Q[i + 1, r] = cosine * x + sine * y, cosine * y - sine * x
    add_row(dw, u[last], Q, last)


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
            contract(st, who, tmp.u, tmp.dw)
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

    They are y for the members after the first, where Tᵀ·(T·y - Qᵀz₀·total) is what their residuals have
    beyond that of the first, z₀.
    """
    T, Q, u, beta, origin, p = st.T, st.Q, tmp.u, tmp.beta, st.members[0], st.number[SIZE] - 1
    first = box.p[origin] - row_dot(rows.Z, origin, st.w) - st.value[INTERCEPT]
    product = -total * row_dot(rows.Z, origin, rows.Z[origin])
    for a in range(p):
        i = st.members[a + 1]
        left = box.p[i] - row_dot(rows.Z, i, st.w) - st.value[INTERCEPT] - first
        for k in range(a):
            left -= T[a, k] * u[k]
        u[a] = left / T[a, a]
    for k in range(p):
        along = row_dot(Q, k, rows.Z[origin])
        beta[k + 2] = u[k] + total * along
        product += beta[k + 2] * along
    rest = -total
    for a in range(p - 1, -1, -1):
        y = beta[a + 2] = beta[a + 2] / T[a, a]
        rest -= y
        for k in range(a):
            beta[k + 2] -= y * T[a, k]
    beta[1] = rest
    beta[0] = first - product


@inner_kernel
def add_row(w: FloatArray, factor: float, Z: FloatArray, i: int) -> None:
    """Add a multiple of a row to w."""
    for r in range(w.shape[0]):
        w[r] += factor * Z[i, r]
