"""The node solver: a parametric active-set method for the SVM with held rows, compiled.

Every row has a signed multiplier cᵢ in [loᵢ, hiᵢ] and a target pᵢ for its score fᵢ = w·zᵢ + b. The dual is
max Σ pᵢcᵢ - ½‖Σ cᵢzᵢ‖² with Σ cᵢ = 0, its gradient pᵢ - fᵢ. A state is optimal for the rows it knows of;
a violated row j is pushed: c_j grows in the direction that moves f_j to p_j, the rows of the margin set M
keep their scores, and the step ends at the first event. Labelled rows are watched during a step, held rows
enter only when they are violated (as in the method of Goldfarb and Idnani).
"""

from __future__ import annotations

import numpy as np

from ..intercept import FloatArray
from ._arrays import Box, IntArray, Rows, Scratch, State, inlined, kernel, spliced
from ._margin import (
    FLIPS,
    PIVOTS,
    PUSHES,
    WORK,
    WORK_LIMIT,
    _contract,
    dot,
    expand,
    gamma_floor,
    prepare,
    rebuild,
    row_dot,
)

DONE, STOPPED, STUCK = 0, 1, 2
_TARGET, _BOUND, _LEAVE, _ENTER, _NONE = 0, 1, 2, 3, 4
_REFRESH = 30  # pivots after which the inverse is rebuilt

__all__ = [
    "DONE",
    "FLIPS",
    "PIVOTS",
    "STOPPED",
    "STUCK",
    "WORK",
    "WORK_LIMIT",
    "_contract",
    "all_scores",
    "copy_state",
    "dot",
    "load_state",
    "push",
    "rebuild",
    "reset",
    "set_side",
    "solve",
]


@spliced
def tolerance(rows: Rows, st: State) -> float:
    """Violations of a target up to this are rounding."""
    return float(max(1e-10, 1e-13 * rows.size * np.sqrt(dot(st.w, st.w))))


@spliced
def score(rows: Rows, st: State, j: int) -> float:
    """``w·z_j + b``."""
    return float(st.f[j] if j < rows.n else row_dot(rows.Z, j, st.w) + st.value[0])


@spliced
def _watch(rows: Rows, box: Box, st: State, tmp: Scratch, j: int, s: float, db: float, t: float, push: int):
    """The first labelled row outside M that reaches its target, if before t."""
    who = -1 + 0 * j  # a literal would compile the callees once more
    floor = 1e-12 * rows.size * np.sqrt(dot(tmp.dw, tmp.dw)) + 1e-300
    ZT, dw, slope, inside, skip = rows.ZT, tmp.dw, tmp.df, st.inside, tmp.skip
    c, f, p, lo, hi = st.c, st.f, box.p, box.lo, box.hi
    for i in range(rows.n):
        slope[i] = db
    for r in range(dw.shape[0]):
        factor = s * dw[r]
        for i in range(rows.n):
            slope[i] += factor * ZT[r, i]
    for i in range(rows.n):
        df = slope[i]
        if inside[i] or i == j or skip[i] == push:
            continue
        g = p[i] - f[i]
        falls = df < -floor and c[i] <= lo[i] and g <= 1e-9
        rises = df > floor and c[i] >= hi[i] and g >= -1e-9
        if (falls or rises) and g / df < t:
            t, who = max(0.0, g / df), i
    tmp.counter[WORK] += rows.n * rows.Z.shape[1]
    return t, who


@spliced
def _shift_intercept(rows: Rows, box: Box, st: State, tmp: Scratch, j: int, s: float, g: float) -> bool:
    """With M empty only b can move: until j is on target (return True) or a labelled row enters M."""
    t, who = s * g, j
    for i in range(rows.n):
        if i != j:
            ahead = s * (box.p[i] - st.f[i])
            watched = st.c[i] >= box.hi[i] if s > 0 else st.c[i] <= box.lo[i]
            if watched and -1e-9 <= ahead < t:
                t, who = max(0.0, ahead), i
    st.value[0] += s * t
    for i in range(rows.n):
        st.f[i] += s * t
    expand(rows, st, tmp, who, 1.0)
    return who == j


@spliced
def _step(rows: Rows, st: State, tmp: Scratch, j: int, s: float, t: float) -> None:
    for a in range(st.count[0]):
        st.c[st.members[a]] += t * s * tmp.beta[a + 1]
    st.c[j] += s * t
    w, dw = st.w, tmp.dw
    for r in range(w.shape[0]):
        w[r] += s * t * dw[r]
    st.value[0] += t * s * tmp.beta[0]
    f, df, inside = st.f, tmp.df, st.inside
    for i in range(rows.n):
        if not inside[i]:
            f[i] += t * df[i]


@spliced
def _leaving(box: Box, st: State, tmp: Scratch, s: float, t: float) -> tuple[float, int]:
    """The first member of M whose multiplier reaches a bound, if before t."""
    who = -1 + 0 * st.count[0]
    members, beta, c, lo, hi = st.members, tmp.beta, st.c, box.lo, box.hi
    for a in range(st.count[0]):
        i = members[a]
        dc = s * beta[a + 1]
        if dc > 1e-14 and hi[i] - c[i] < t * dc:
            t, who = max(0.0, (hi[i] - c[i]) / dc), a
        elif dc < -1e-14 and lo[i] - c[i] > t * dc:
            t, who = max(0.0, (lo[i] - c[i]) / dc), a
    return t, who


@kernel
def push(rows: Rows, box: Box, st: State, tmp: Scratch, j: int, stop: float, max_pivots: int) -> int:
    """Raise the multiplier of row j until its score is on target or the dual value reaches ``stop``."""
    st.count[2] = j + 1  # until it is done, c_j counts although j is not in M
    tmp.counter[PUSHES] += 1
    number = tmp.counter[PUSHES]
    s = 0.0
    for _ in range(max_pivots):
        if st.count[1] > _REFRESH:
            rebuild(rows, box, st, tmp)
        g = box.p[j] - score(rows, st, j)
        if s == 0.0:
            s = 1.0 if g > 0.0 else -1.0
        gain = s * g
        if gain <= 0.0:
            _settle(rows, box, st, tmp, j)
            break
        st.count[1] += 1
        tmp.counter[PIVOTS] += 1
        if st.count[0] == 0:
            if _shift_intercept(rows, box, st, tmp, j, s, g):
                break
            continue
        gamma = prepare(rows, st, tmp, j)
        t, kind = np.inf, _NONE
        if gamma > gamma_floor(rows):
            t, kind = gain / gamma, _TARGET
        room = box.hi[j] - st.c[j] if s > 0.0 else st.c[j] - box.lo[j]
        if room < t:
            t, kind = room, _BOUND
        t, leaver = _leaving(box, st, tmp, s, t)
        t, enterer = _watch(rows, box, st, tmp, j, s, s * tmp.beta[0], t, number)
        kind = _ENTER if enterer >= 0 else (_LEAVE if leaver >= 0 else kind)
        if kind == _NONE:  # the dual is unbounded: follow the ray as far as it is needed
            t = (2.0 * abs(stop - st.value[1]) + 1.0) / gain
        _step(rows, st, tmp, j, s, t)
        if j < rows.n:
            st.f[j] = row_dot(rows.Z, j, st.w) + st.value[0]
        st.value[1] += t * gain - 0.5 * gamma * t * t
        if kind == _NONE or st.value[1] >= stop:
            return STOPPED
        if kind == _TARGET:
            expand(rows, st, tmp, j, gamma)
            break
        if kind == _BOUND:
            st.c[j] = box.hi[j] if s > 0.0 else box.lo[j]
            break
        if kind == _LEAVE:
            i = st.members[leaver]
            st.c[i] = box.hi[i] if s * tmp.beta[leaver + 1] > 0.0 else box.lo[i]
            if i < rows.n:
                st.f[i] = box.p[i]
            _contract(st, leaver)
        else:
            gamma = prepare(rows, st, tmp, enterer)
            if gamma > gamma_floor(rows):
                st.f[enterer] = box.p[enterer]
                expand(rows, st, tmp, enterer, gamma)
            else:
                tmp.skip[enterer] = number
    else:
        return STUCK
    st.count[2] = 0
    return DONE


@spliced
def _settle(rows: Rows, box: Box, st: State, tmp: Scratch, j: int) -> None:
    """Row j is on target without having been stepped there: it belongs to M if its multiplier is inside."""
    if box.lo[j] < st.c[j] < box.hi[j] and not st.inside[j]:
        gamma = prepare(rows, st, tmp, j)
        if st.count[0] == 0 or gamma > gamma_floor(rows):
            expand(rows, st, tmp, j, gamma)


@inlined
def all_scores(rows: Rows, st: State, scores: FloatArray) -> None:
    """Scores of all unlabelled rows."""
    ZT, n, b = rows.ZT, rows.n, st.value[0]
    for j in range(scores.shape[0]):
        scores[j] = b
    for r in range(st.w.shape[0]):
        factor = st.w[r]
        for j in range(scores.shape[0]):
            scores[j] += factor * ZT[r, n + j]


@spliced
def _worst(rows: Rows, box: Box, st: State, tmp: Scratch, held: IntArray, n_held: int) -> int:
    """The most violated row, or -1."""
    worst, who = tolerance(rows, st), -1
    Z, w, b, inside = rows.Z, st.w, st.value[0], st.inside
    c, f, p, lo, hi = st.c, st.f, box.p, box.lo, box.hi
    for i in range(rows.n):
        if not inside[i]:
            g = p[i] - f[i]
            if (g > worst and c[i] < hi[i]) or (-g > worst and c[i] > lo[i]):
                worst, who = abs(g), i
    together = 4 * n_held > tmp.scores.shape[0]
    if together:
        all_scores(rows, st, tmp.scores)
    for a in range(n_held):
        i = held[a]
        if not inside[i]:
            g = p[i] - (tmp.scores[i - rows.n] if together else row_dot(Z, i, w) + b)
            if (g > worst and hi[i] > 0.0) or (-g > worst and lo[i] < 0.0):
                worst, who = abs(g), i
    tmp.counter[WORK] += rows.n + n_held * rows.Z.shape[1]
    return who


@kernel
def solve(
    rows: Rows,
    box: Box,
    st: State,
    tmp: Scratch,
    held,
    n_held: int,
    stop: float,
    max_pivots: int,
    pausable: bool,
    first: int,
) -> int:
    """Push violated rows, ``first`` before the others if not -1, until the dual value reaches ``stop``."""
    limit = tmp.counter[PIVOTS] + max_pivots
    while tmp.counter[PIVOTS] < limit and not (pausable and tmp.counter[WORK] >= tmp.counter[WORK_LIMIT]):
        j = first if first >= 0 else _worst(rows, box, st, tmp, held, n_held)
        if j < 0:
            return DONE
        first = -1
        outcome = push(rows, box, st, tmp, j, stop, max_pivots)
        if outcome != DONE:
            return outcome
    return STUCK


@inlined
def _clear(st: State) -> None:
    for a in range(st.count[0]):
        i = st.members[a]
        st.inside[i] = 0
        st.c[i] = 0.0
    if st.count[2] > 0:
        st.c[st.count[2] - 1] = 0.0


@kernel
def reset(rows: Rows, st: State) -> None:
    """Back to no multipliers and an empty margin set."""
    _clear(st)
    st.c[: rows.n] = 0.0
    st.count[:] = 0
    st.w[:] = 0.0
    st.f[:] = 0.0
    st.value[:] = 0.0


@kernel
def copy_state(rows: Rows, source: State, target: State) -> None:
    """Copy without touching the zeros of the unlabelled rows."""
    _clear(target)
    n, q = rows.n, source.count[0]
    tc, tf, sc, sf, tR, sR = target.c, target.f, source.c, source.f, target.R, source.R
    for i in range(n):
        tc[i] = sc[i]
        tf[i] = sf[i]
    for a in range(q):
        i = source.members[a]
        target.members[a] = i
        target.inside[i] = 1
        target.c[i] = source.c[i]
    for x in range(q + 1):
        for y in range(q + 1):
            tR[x, y] = sR[x, y]
    for x in range(source.w.shape[0]):
        target.w[x] = source.w[x]
    for x in range(2):
        target.value[x] = source.value[x]
    for x in range(3):
        target.count[x] = source.count[x]


@kernel
def load_state(
    rows: Rows,
    box: Box,
    st: State,
    tmp: Scratch,
    labelled: FloatArray,
    members: IntArray,
    values: FloatArray,
    b: float,
) -> None:
    """Start from stored multipliers: of the labelled rows, and of the members of M."""
    reset(rows, st)
    for i in range(rows.n):
        st.c[i] = labelled[i]
    for a in range(members.shape[0]):
        i = members[a]
        st.members[a] = i
        st.c[i] = values[a]
    st.count[0] = members.shape[0]
    st.value[0] = b
    rebuild(rows, box, st, tmp)
    dual = -0.5 * dot(st.w, st.w)
    for i in range(rows.n):
        dual += box.p[i] * st.c[i]
    for a in range(st.count[0]):
        i = st.members[a]
        if i >= rows.n:
            dual += box.p[i] * st.c[i]
    st.value[1] = dual


@kernel
def set_side(rows: Rows, box: Box, j: int, side: int) -> None:
    """Hold the unlabelled row with index j among all rows on a side, or release it (0)."""
    box.p[j] = side * (rows.margin - rows.relax[j])
    box.hi[j] = np.inf if side > 0 else 0.0
    box.lo[j] = -np.inf if side < 0 else 0.0
