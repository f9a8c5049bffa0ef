"""The margin set of a state: its inverse matrix, and the direction in which a push moves."""

from __future__ import annotations

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
def prepare(
    Z: FloatArray,
    R: FloatArray,
    members: IntArray,
    q: int,
    u: FloatArray,
    beta: FloatArray,
    dw: FloatArray,
    j: int,
) -> float:
    """Set β = -R·(1, K_Mj) and dw = z_j + Σ β z_M; return γ = ‖dw‖², the curvature of a push of j."""
    rank = dw.shape[0]
    for r in range(rank):
        dw[r] = Z[j, r]
    u[0] = 1.0
    for a in range(q):
        u[a + 1] = row_dot(Z, members[a], dw)
    for a in range(q + 1):
        total = 0.0
        for b in range(q + 1):
            total += R[a, b] * u[b]
        beta[a] = -total
    for a in range(q):
        i, factor = members[a], beta[a + 1]
        for r in range(rank):
            dw[r] += factor * Z[i, r]
    # M is full at rank + 1 rows: j then depends on it, whatever rounding says (and there is no room for it)
    return dot(dw, dw) if q <= rank else 0.0


@inner_kernel
def expand(Z: FloatArray, st: State, beta: FloatArray, j: int, gamma: float) -> None:
    """Add j to M; β and γ are those of :func:`prepare`."""
    q = st.number[SIZE]
    st.members[q] = j
    st.inside[j] = 1
    st.number[SIZE] = q + 1
    if q == 0:
        square = 0.0
        for r in range(Z.shape[1]):
            square += Z[j, r] * Z[j, r]
        st.R[0, 0] = -square
        st.R[0, 1] = st.R[1, 0] = 1.0
        st.R[1, 1] = 0.0
        return
    R = st.R
    for a in range(q + 1):
        factor = beta[a] / gamma
        for b in range(q + 1):
            R[a, b] += factor * beta[b]
        R[a, q + 1] = R[q + 1, a] = factor
    R[q + 1, q + 1] = 1.0 / gamma


@inner_kernel
def contract(st: State, a: int) -> None:
    """Remove the a-th member of M."""
    q = st.number[SIZE]
    st.inside[st.members[a]] = 0
    st.number[SIZE] = q - 1
    st.members[a] = st.members[q - 1]
    if q == 1:
        return
    i = a + 1
    pivot = st.R[i, i]
    if not pivot > 0.0:  # only rounding can cause this: rebuild at the next pivot
        st.number[AGE] = STALE
        pivot = 1e300
    R = st.R
    for x in range(q + 1):
        if x != i:
            factor = R[x, i] / pivot
            for y in range(q + 1):
                R[x, y] -= factor * R[i, y]
    for x in range(q + 1):
        R[i, x] = R[q, x]
    for x in range(q + 1):
        R[x, i] = R[x, q]


@inner_kernel
def gamma_floor(rows: Rows) -> float:
    """Below this a row is affinely dependent on M."""
    return 1e-12 * rows.size * rows.size + 1e-300


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
    total = 0.0
    for r in range(st.w.shape[0]):
        st.w[r] = 0.0
    for i in range(rows.n):
        if st.c[i] != 0.0:
            st.c[i] = min(max(st.c[i], box.lo[i]), box.hi[i])
            _add_row(st.w, st.c[i], rows.Z, i)
            total += st.c[i]
    pushed = st.number[PUSHED] - 1
    if pushed >= rows.n and not st.inside[pushed]:
        _add_row(st.w, st.c[pushed], rows.Z, pushed)
        total += st.c[pushed]
    for a in range(q):
        i = st.members[a]
        st.inside[i] = 0
        if i >= rows.n:
            st.c[i] = min(max(st.c[i], box.lo[i]), box.hi[i])
    for a in range(q):
        i = st.members[a]
        gamma = prepare(rows.Z, st.R, st.members, st.number[SIZE], tmp.u, tmp.beta, tmp.dw, i)
        if st.number[SIZE] == 0 or gamma > gamma_floor(rows):
            expand(rows.Z, st, tmp.beta, i, gamma)
            if i >= rows.n:
                _add_row(st.w, st.c[i], rows.Z, i)
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
        tmp.u[0] = -total
        for a in range(q):
            i = st.members[a]
            tmp.u[a + 1] = box.p[i] - row_dot(rows.Z, i, st.w) - st.value[INTERCEPT]
        beyond, who = 0.0, NO_ROW
        for a in range(q + 1):
            moved = 0.0
            for x in range(q + 1):
                moved += st.R[a, x] * tmp.u[x]
            tmp.beta[a] = moved
            if a > 0:
                i = st.members[a - 1]
                c = st.c[i] + moved
                out = max(box.lo[i] - c, c - box.hi[i])
                if out > max(beyond, _CLIPPED * (1.0 + abs(st.c[i]))):
                    beyond, who = out, a - 1
        if beyond > 0.0:
            i = st.members[who]
            bound = box.hi[i] if tmp.beta[who + 1] > 0.0 else box.lo[i]
            _add_row(st.w, bound - st.c[i], rows.Z, i)
            total += bound - st.c[i]
            st.c[i] = bound
            contract(st, who)
    q = st.number[SIZE]
    if q == 0:
        return
    st.value[INTERCEPT] += tmp.beta[0]
    for a in range(q):
        i = st.members[a]
        changed = min(max(st.c[i] + tmp.beta[a + 1], box.lo[i]), box.hi[i])
        _add_row(st.w, changed - st.c[i], rows.Z, i)
        st.c[i] = changed


@inner_kernel
def _add_row(w: FloatArray, factor: float, Z: FloatArray, i: int) -> None:
    for r in range(w.shape[0]):
        w[r] += factor * Z[i, r]
