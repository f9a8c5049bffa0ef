"""Scores by products of rows, where rows have many more directions than a margin set has members.

A push changes the multipliers of the margin set and of one row, so scores change by as many rows of the
matrix of products K = ZZᵀ; by w it would be one column for every direction. The scores of the unlabelled rows
are wanted only now and then, so the changes are collected and made up for when they are.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray
from ..jit import ZERO, inner_kernel, kernel, small_kernel
from .arrays import INTERCEPT, INTERCEPT_THEN, MOVED, SIZE, UNKNOWN, WORK, Rows, Scratch, State

#: With fewer directions there are as many members as directions.
_DIRECTIONS = 32
#: More products are not kept, and not more time is spent on them.
_NUMBERS, _WORK = 10_000_000, 3_000_000_000
#: How short a direction may be, as a share of the rows it is made of, for its scores to come from products.
_DIGITS = 1e-5
#: Changes of multipliers, times the square of the longest row, after which scores are not caught up with.
_CHANGES = 1e6


def products(Z: FloatArray) -> FloatArray:
    """The products of all rows where they pay, else an empty matrix."""
    rows, directions = Z.shape
    if directions < _DIRECTIONS or rows**2 > _NUMBERS or rows**2 * directions > _WORK:
        return np.zeros((0, 0))
    return np.asarray(Z @ Z.T)


@kernel
def all_scores(ZT: FloatArray, first: int, w: FloatArray, b: float, scores: FloatArray) -> None:
    """``w·z + b`` of the rows from ``first`` on, as many as there are scores.

    An index ``first + j`` could be negative for all that the compiler knows, and would keep it from
    taking eight rows at a time: hence the view.
    """
    for j in range(scores.shape[0]):
        scores[j] = b
    d = w.shape[0]
    for r in range(0, d - 3, 4):
        _add_four(ZT, first, r, r + 1, r + 2, r + 3, w[r], w[r + 1], w[r + 2], w[r + 3], scores)
    for r in range(d - d % 4, d):
        add_to_scores(ZT, first, r, w[r], scores)


@inner_kernel
def add_to_scores(columns: FloatArray, first: int, r: int, factor: float, scores: FloatArray) -> None:
    """Add a part of a row of ZT or K."""
    column = columns[r, first:]
    for j in range(scores.shape[0]):
        scores[j] += factor * column[j]


@inner_kernel
def _add_four(
    columns: FloatArray,
    first: int,
    r0: int,
    r1: int,
    r2: int,
    r3: int,
    f0: float,
    f1: float,
    f2: float,
    f3: float,
    scores: FloatArray,
) -> None:
    """Add parts of four rows of ZT or K: a quarter of the calls, and of the times that scores are written."""
    c0, c1, c2, c3 = columns[r0, first:], columns[r1, first:], columns[r2, first:], columns[r3, first:]
    for j in range(scores.shape[0]):
        scores[j] += (f0 * c0[j] + f1 * c1[j]) + (f2 * c2[j] + f3 * c3[j])


@inner_kernel
def _add_rows(
    K: FloatArray, first: int, rows: IntArray, f: FloatArray, number: int, scores: FloatArray
) -> None:
    """Add the first rows of a list, each times its factor."""
    for a in range(0, number - 3, 4):
        b, c, d = a + 1, a + 2, a + 3
        _add_four(K, first, rows[a], rows[b], rows[c], rows[d], f[a], f[b], f[c], f[d], scores)
    for a in range(number - number % 4, number):
        add_to_scores(K, first, rows[a], f[a], scores)


@small_kernel
def moved_scores(rows: Rows, st: State, tmp: Scratch, j: int, gamma: float) -> None:
    """By how much the scores of the labelled rows change with a push of row j."""
    q, mass = st.number[SIZE], 1.0
    for a in range(q):
        mass += abs(tmp.beta[a + 1])
    exact = gamma > (_DIGITS * mass * rows.size) ** 2  # else most digits of the products cancel
    if q + 1 < rows.Z.shape[1] and rows.K.shape[0] > 0 and exact:
        for i in range(rows.n):
            tmp.df[i] = tmp.beta[0]
        add_to_scores(rows.K, ZERO, j, 1.0, tmp.df)
        _add_rows(rows.K, ZERO, st.members, tmp.beta[1:], q, tmp.df)
        tmp.counter[WORK] += (q + 1) * (rows.n + 2 * rows.Z.shape[1])  # the direction itself is no less
    else:
        all_scores(rows.ZT, ZERO, tmp.dw, tmp.beta[0], tmp.df)
        tmp.counter[WORK] += rows.n * rows.Z.shape[1]


@small_kernel
def note_step(st: State, beta: FloatArray, size: float, j: int, t: float) -> None:
    """Remember which multipliers a step t of row j has changed, while ``g`` can be caught up with."""
    q, by, moved, number = st.number[SIZE], st.by, st.moved, st.number[MOVED]
    if number + q + 1 > moved.shape[0]:  # only by rows that moved to and fro are there so many
        forget_scores(st)
        return
    mass = 0.0
    for a in range(q + 1):
        i = st.members[a] if a < q else j
        if by[i] == 0.0:
            moved[number] = i
            number += 1
        change = t * beta[a + 1] if a < q else t
        mass += abs(change)
        by[i] += change
    st.number[MOVED] = number
    if mass * size * size > _CHANGES:
        forget_scores(st)


@inner_kernel
def forget_scores(st: State) -> None:
    """The scores of the unlabelled rows are not known any more."""
    for a in range(st.number[MOVED]):
        st.by[st.moved[a]] = 0.0
    st.number[MOVED] = UNKNOWN


@inner_kernel
def know_scores(st: State, scores: FloatArray) -> None:
    """Take the scores of the unlabelled rows, which are right."""
    forget_scores(st)
    for j in range(scores.shape[0]):
        st.g[j] = scores[j]
    st.number[MOVED] = 0
    st.value[INTERCEPT_THEN] = st.value[INTERCEPT]


@small_kernel
def catch_up(rows: Rows, st: State, tmp: Scratch) -> None:
    """Make the scores of the unlabelled rows right: from what has moved, or where that is much, anew."""
    number, directions = st.number[MOVED], rows.Z.shape[1]
    if UNKNOWN < number < directions:
        shift = st.value[INTERCEPT] - st.value[INTERCEPT_THEN]
        for j in range(st.g.shape[0]):
            st.g[j] += shift
        for a in range(number):
            tmp.other_u[a] = st.by[st.moved[a]]
            st.by[st.moved[a]] = 0.0
        _add_rows(rows.K, rows.n, st.moved, tmp.other_u, number, st.g)
        tmp.counter[WORK] += st.g.shape[0] * number
    else:
        forget_scores(st)
        all_scores(rows.ZT, rows.n, st.w, st.value[INTERCEPT], st.g)
        tmp.counter[WORK] += st.g.shape[0] * directions
    st.number[MOVED] = 0
    st.value[INTERCEPT_THEN] = st.value[INTERCEPT]
