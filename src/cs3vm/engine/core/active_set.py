"""The node solver: a parametric active-set method for the SVM with held rows, compiled.

Every row has a signed multiplier cᵢ in [loᵢ, hiᵢ] and a target pᵢ for its score fᵢ = w·zᵢ + b. The dual is
max Σ pᵢcᵢ - ½‖Σ cᵢzᵢ‖² with Σ cᵢ = 0, its gradient pᵢ - fᵢ. A state is optimal for the rows it knows of;
a violated row j is pushed: c_j grows in the direction that moves f_j to p_j, the rows of the margin set M
keep their scores, and the step ends at the first event. Labelled rows are watched during a step, held rows
enter only when they are violated (as in the method of Goldfarb and Idnani).
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray
from ..jit import NO, NO_ROW, YES, inner_kernel, kernel, spliced
from .arrays import (
    AGE,
    DUAL,
    INTERCEPT,
    MOVED,
    PIVOTS,
    PUSHED,
    PUSHES,
    SIZE,
    STALE,
    UNKNOWN,
    WORK,
    WORK_LIMIT,
    Box,
    Rows,
    Scratch,
    State,
)
from .margin_set import (
    combine,
    contract,
    curvature,
    dot,
    enter,
    expand,
    gamma_floor,
    project,
    rebuild,
    row_dot,
)
from .products import all_scores, catch_up, forget_scores, moved_scores, note_step

#: How a run ends: optimal; the value has reached ``stop``; out of pivots, or of work where that is limited.
DONE, STOPPED, STUCK = 0, 1, 2
#: Whether a run obeys the work limit.
PAUSABLE, TO_THE_END = YES, NO
# What ends a step: the pushed row is on target or at a bound, a row leaves or enters M, or nothing does.
_TARGET, _BOUND, _LEAVE, _ENTER, _NONE = 0, 1, 2, 3, 4
#: What violations of labelled rows may cost all together, as a share of the value, if they are many. Where
#: w = 0 is optimal hundreds of rows are on target but for the perturbation: pivots among them never end.
_NEGLIGIBLE = 2e-7
_REFRESH = 100  # pivots after which what has drifted is corrected
_CAUGHT_UP, _ALL, _EACH = 0, 1, 2  # where the scores of held rows come from


@spliced
def _score(rows: Rows, st: State, j: int) -> float:
    """``w·z_j + b``."""
    return float(st.f[j] if j < rows.n else row_dot(rows.Z, j, st.w) + st.value[INTERCEPT])


@kernel
def _look_ahead(
    ahead: FloatArray,
    df: FloatArray,
    s: float,
    floor: float,
    c: FloatArray,
    f: FloatArray,
    p: FloatArray,
    lo: FloatArray,
    hi: FloatArray,
) -> None:
    """How far a push in the direction s goes until a row is on target, or infinity; df gets that direction.

    One loop without branches over few arrays, apart from the choice among them: eight rows at a time.
    """
    for i in range(ahead.shape[0]):
        df[i] *= s
        g = p[i] - f[i]
        falls = (df[i] < -floor) & (c[i] <= lo[i]) & (g <= 1e-9)
        rises = (df[i] > floor) & (c[i] >= hi[i]) & (g >= -1e-9)
        ahead[i] = g / df[i] if falls | rises else np.inf


@spliced
def _watch(
    rows: Rows, box: Box, st: State, tmp: Scratch, j: int, s: float, t: float, gamma: float
) -> tuple[float, int]:
    """The first labelled row outside M that reaches its target, if before t."""
    who = NO_ROW
    floor = 1e-12 * rows.size * np.sqrt(dot(tmp.dw, tmp.dw)) + 1e-300
    moved_scores(rows, st, tmp, j, gamma)
    _look_ahead(tmp.ahead, tmp.df, s, floor, st.c, st.f, box.p, box.lo, box.hi)
    ahead, inside, skip = tmp.ahead, st.inside, tmp.skip
    for i in range(rows.n):
        if ahead[i] < t and not inside[i] and i != j and skip[i] != tmp.counter[PUSHES]:
            t, who = max(0.0, ahead[i]), i
    return t, who


@spliced
def _shift_intercept(rows: Rows, box: Box, st: State, j: int, s: float, g: float) -> int:
    """With M empty only b can move: until j is on target or a labelled row is; return which."""
    t, who = s * g, j
    for i in range(rows.n):
        if i != j:
            ahead = s * (box.p[i] - st.f[i])
            watched = st.c[i] >= box.hi[i] if s > 0 else st.c[i] <= box.lo[i]
            if watched and -1e-9 <= ahead < t:
                t, who = max(0.0, ahead), i
    st.value[INTERCEPT] += s * t
    for i in range(rows.n):
        st.f[i] += s * t
    return who


@spliced
def _step(rows: Rows, st: State, tmp: Scratch, j: int, s: float, t: float) -> None:
    members, beta, c = st.members, tmp.beta, st.c
    for a in range(st.number[SIZE]):
        c[members[a]] += t * s * beta[a + 1]
    c[j] += s * t
    if st.number[MOVED] != UNKNOWN:
        note_step(st, beta, rows.size, j, s * t)
    w, dw = st.w, tmp.dw
    for r in range(w.shape[0]):
        w[r] += s * t * dw[r]
    st.value[INTERCEPT] += t * s * tmp.beta[0]
    f, df = st.f, tmp.df
    for i in range(rows.n):  # also of the members of M, of which nobody asks: no branch, eight at a time
        f[i] += t * df[i]
    if j < rows.n:
        f[j] = row_dot(rows.Z, j, w) + st.value[INTERCEPT]


@spliced
def _leaving(box: Box, st: State, tmp: Scratch, s: float, t: float) -> tuple[float, int]:
    """The first member of M whose multiplier reaches a bound, if before t."""
    who = NO_ROW
    members, beta, c, lo, hi, until = st.members, tmp.beta, st.c, box.lo, box.hi, tmp.other_u
    for a in range(st.number[SIZE]):  # all divisions first: they need not wait for each other
        i = members[a]
        dc = s * beta[a + 1]
        room = hi[i] - c[i] if dc > 0.0 else c[i] - lo[i]
        until[a] = room / abs(dc) if abs(dc) > 1e-14 else np.inf
    for a in range(st.number[SIZE]):
        if until[a] < t:
            t, who = max(0.0, until[a]), a
    return t, who


@spliced
def _leave(rows: Rows, box: Box, st: State, tmp: Scratch, a: int, s: float) -> None:
    """The multiplier of the a-th member of M has reached a bound."""
    i = st.members[a]
    st.c[i] = box.hi[i] if s * tmp.beta[a + 1] > 0.0 else box.lo[i]
    if i < rows.n:
        st.f[i] = box.p[i]
    contract(st, tmp, a)


@spliced
def _enter(rows: Rows, box: Box, st: State, tmp: Scratch, i: int) -> None:
    """A labelled row has come on target: it joins M, or if it depends on M, it is not watched any more."""
    gamma = project(rows.Z, st.Q, st.members, st.number[SIZE], tmp.other_u, tmp.other_dw, i)
    if gamma > gamma_floor(rows):
        st.f[i] = box.p[i]
        expand(st, tmp.other_u, tmp.other_dw, i, gamma)
        enter(st.Q, st.number[SIZE], tmp.u, tmp.dw)
    else:
        tmp.skip[i] = tmp.counter[PUSHES]


@kernel
def _miss(missed: FloatArray, score: FloatArray, p: FloatArray, lo: FloatArray, hi: FloatArray) -> None:
    """By how much each row misses the side it is held on; like :func:`_look_ahead` without branches."""
    for j in range(missed.shape[0]):
        g = p[j] - score[j]
        below = g if hi[j] > 0.0 else 0.0
        above = -g if lo[j] < 0.0 else 0.0
        missed[j] = below if below > above else above


@spliced
def _worst(rows: Rows, box: Box, st: State, tmp: Scratch, held: IntArray, n_held: int) -> int:
    """The most violated row, or -1."""
    # violations of a target up to this are rounding
    rounding = max(1e-10, 1e-13 * rows.size * np.sqrt(dot(st.w, st.w)))
    worst, who, loss, many = rounding, NO_ROW, 0.0, 0
    Z, w, b, inside = rows.Z, st.w, st.value[INTERCEPT], st.inside
    c, f, p, lo, hi = st.c, st.f, box.p, box.lo, box.hi
    for i in range(rows.n):
        if not inside[i]:
            g = p[i] - f[i]
            if (g > rounding and c[i] < hi[i]) or (-g > rounding and c[i] > lo[i]):
                loss += abs(g) * (hi[i] - lo[i])
                many += 1
                if abs(g) > worst:
                    worst, who = abs(g), i
    if many > rows.Z.shape[1] and loss <= _NEGLIGIBLE * st.value[DUAL]:
        worst, who = rounding, NO_ROW
    tmp.counter[WORK] += rows.n
    labelled, most, anew = who, worst, False
    while True:
        worst, who = most, labelled
        kind = _scores_of_held(rows, st, tmp, n_held)
        if kind == _EACH:
            for a in range(n_held):
                i = held[a]
                if not inside[i]:
                    g = p[i] - (row_dot(Z, i, w) + b)
                    if (g > worst and hi[i] > 0.0) or (-g > worst and lo[i] < 0.0):
                        worst, who = abs(g), i
        else:
            missed = tmp.scores
            _miss(missed, st.g if kind == _CAUGHT_UP else missed, p[rows.n :], lo[rows.n :], hi[rows.n :])
            for a in range(n_held):
                i = held[a]
                if missed[i - rows.n] > worst and not inside[i]:
                    worst, who = missed[i - rows.n], i
        if who == labelled or kind != _CAUGHT_UP or anew:
            return who
        if abs(p[who] - row_dot(Z, who, w) - b) > rounding:
            return who
        forget_scores(st)  # a violation that is none: too much rounding has been added up, once
        anew = True


@spliced
def _scores_of_held(rows: Rows, st: State, tmp: Scratch, n_held: int) -> int:
    """Provide the scores of the held rows: caught up with in ``g``, all in ``scores``, or each by itself."""
    m, directions = tmp.scores.shape[0], rows.Z.shape[1]
    together = 4 * n_held > m
    number = st.number[MOVED]
    if rows.K.shape[0] > 0 and (together or (number != UNKNOWN and number * m < 4 * n_held * directions)):
        catch_up(rows, st, tmp)
        return _CAUGHT_UP
    tmp.counter[WORK] += n_held * directions
    if together:
        all_scores(rows.ZT, rows.n, st.w, st.value[INTERCEPT], tmp.scores)
        return _ALL
    return _EACH


@kernel
def solve(
    rows: Rows,
    box: Box,
    st: State,
    tmp: Scratch,
    held: IntArray,
    n_held: int,
    stop: float,
    max_pivots: int,
    pausable: bool,
    first: int,
) -> int:
    """Push violated rows, ``first`` before the others if not -1, until the dual value reaches ``stop``.

    The first ``n_held`` rows of ``held`` have a side. To push row j is to raise its multiplier until its
    score is on target; each pass of the loop is a pivot.
    """
    limit = tmp.counter[PIVOTS] + max_pivots
    if first >= 0:
        st.number[PUSHED] = first + 1  # its multiplier counts if all is rebuilt before its push
    j, s = -1, 0.0  # the row that is pushed, and the direction of the push
    projected = False
    while True:
        if st.number[AGE] > _REFRESH:
            rebuild(rows, box, st, tmp)
            projected = False
        if j < 0:
            late = pausable and tmp.counter[WORK] >= tmp.counter[WORK_LIMIT]
            if late or tmp.counter[PIVOTS] >= limit:
                return STUCK
            j = first if first >= 0 else _worst(rows, box, st, tmp, held, n_held)
            if j < 0:
                return DONE
            first, s, projected = -1, 0.0, False
            st.number[PUSHED] = j + 1  # until it is done, c_j counts although j is not in M
            tmp.counter[PUSHES] += 1
        q, joins, done = st.number[SIZE], -1, False
        gamma = curvature(q, tmp.dw) if projected else project(rows.Z, st.Q, st.members, q, tmp.u, tmp.dw, j)
        projected = q > 0  # from now on it is kept up to date
        independent = gamma > gamma_floor(rows) or q == 0
        if not independent:  # what is left is rounding, and only multipliers move
            gamma = 0.0
            for r in range(tmp.dw.shape[0]):
                tmp.dw[r] = 0.0
        g = box.p[j] - _score(rows, st, j)
        if s == 0.0:
            s = 1.0 if g > 0.0 else -1.0
        gain = s * g
        if gain <= 0.0:  # on target without a step: it belongs to M if its multiplier is inside
            if independent and box.lo[j] < st.c[j] < box.hi[j] and not st.inside[j]:
                joins = j
            done = True
        elif tmp.counter[PIVOTS] >= limit:
            return STUCK
        else:
            st.number[AGE] += 1
            tmp.counter[PIVOTS] += 1
            if q == 0:
                joins = _shift_intercept(rows, box, st, j, s, g)
                done = joins == j
            else:
                combine(rows.Z, st.B, st.members[0], q, tmp.u, tmp.dw, tmp.beta)
                t, kind = (gain / gamma, _TARGET) if independent else (np.inf, _NONE)
                room = box.hi[j] - st.c[j] if s > 0.0 else st.c[j] - box.lo[j]
                if room < t:
                    t, kind = room, _BOUND
                t, leaver = _leaving(box, st, tmp, s, t)
                t, enterer = _watch(rows, box, st, tmp, j, s, t, gamma)
                kind = _ENTER if enterer >= 0 else (_LEAVE if leaver >= 0 else kind)
                if kind == _NONE:  # the dual is unbounded: follow the ray as far as it is needed
                    t = (2.0 * abs(stop - st.value[DUAL]) + 1.0) / gain
                _step(rows, st, tmp, j, s, t)
                st.value[DUAL] += t * gain - 0.5 * gamma * t * t
                if kind == _NONE or st.value[DUAL] >= stop:
                    return STOPPED
                if kind == _TARGET:
                    joins, done = j, True
                elif kind == _BOUND:
                    st.c[j] = box.hi[j] if s > 0.0 else box.lo[j]
                    done = True
                elif kind == _LEAVE:
                    _leave(rows, box, st, tmp, leaver, s)
                    projected = leaver > 0
                else:
                    _enter(rows, box, st, tmp, enterer)
        if joins >= 0:
            expand(st, tmp.u, tmp.dw, joins, gamma)
        if done:
            st.number[PUSHED] = 0
            j = -1


@inner_kernel
def _clear(st: State) -> None:
    for a in range(st.number[SIZE]):
        i = st.members[a]
        st.inside[i] = 0
        st.c[i] = 0.0
    if st.number[PUSHED] > 0:
        st.c[st.number[PUSHED] - 1] = 0.0


@kernel
def reset(st: State) -> None:
    """Back to no multipliers and an empty margin set."""
    _clear(st)
    forget_scores(st)
    for i in range(st.f.shape[0]):
        st.c[i] = st.f[i] = 0.0
    for r in range(st.w.shape[0]):
        st.w[r] = 0.0
    for x in range(st.number.shape[0]):
        st.number[x] = UNKNOWN if x == MOVED else 0
    for x in range(st.value.shape[0]):
        st.value[x] = 0.0


@kernel
def copy_state(source: State, target: State) -> None:
    """Copy without touching the zeros of the unlabelled rows."""
    _clear(target)
    forget_scores(target)
    n, q = source.f.shape[0], source.number[SIZE]
    tc, tf, sc, sf = target.c, target.f, source.c, source.f
    for i in range(n):
        tc[i] = sc[i]
        tf[i] = sf[i]
    for a in range(q):
        i = source.members[a]
        target.members[a] = i
        target.inside[i] = 1
        target.c[i] = source.c[i]
    tQ, sQ, tB, sB = target.Q, source.Q, target.B, source.B
    for a in range(q - 1):
        for k in range(q - 1):
            tB[a, k] = sB[a, k]
        for r in range(tQ.shape[1]):
            tQ[a, r] = sQ[a, r]
    for x in range(source.w.shape[0]):
        target.w[x] = source.w[x]
    for x in range(source.value.shape[0]):
        target.value[x] = source.value[x]
    for x in range(source.number.shape[0]):
        target.number[x] = source.number[x]
    if source.number[MOVED] != UNKNOWN:
        tg, sg = target.g, source.g
        for x in range(tg.shape[0]):
            tg[x] = sg[x]
        for a in range(source.number[MOVED]):
            i = target.moved[a] = source.moved[a]
            target.by[i] = source.by[i]


def load_state(st: State, labelled: FloatArray, members: IntArray, values: FloatArray, b: float) -> None:
    """Start from stored multipliers: of the labelled rows, and of the members of M; the rest comes later."""
    reset(st)
    st.c[: len(labelled)] = labelled
    st.c[members] = values
    st.members[: len(members)] = members
    st.number[SIZE], st.number[AGE] = len(members), STALE
    st.value[INTERCEPT] = b


@kernel
def set_side(box: Box, j: int, side: int) -> None:
    """Hold the unlabelled row with index j among all rows on a side, or release it (0)."""
    box.p[j] = side * box.strip[j]
    box.hi[j] = np.inf if side > 0 else 0.0
    box.lo[j] = -np.inf if side < 0 else 0.0


def set_sides(box: Box, j: IntArray | int, side: SignArray | IntArray | int) -> None:
    """The same for many rows, or one, outside kernels."""
    box.p[j] = side * box.strip[j]
    box.hi[j] = np.where(side > 0, np.inf, 0.0)
    box.lo[j] = np.where(side < 0, -np.inf, 0.0)
