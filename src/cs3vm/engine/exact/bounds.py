"""Bounds that a proof rests on: dual values on the user's data, and the order statistic of flip values."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray
from ..core.arrays import PUSHED, SIZE, Box, Candidates, Limits, Rows, State, Sums
from ..jit import strict_inner_kernel, strict_kernel
from .counts import let_go, none_gone, price_left

UNIT_ROUNDOFF = 2.0**-53


@strict_kernel
def safe_bound(rows: Rows, box: Box, st: State, wx: FloatArray, lim: Limits) -> float:
    """A lower bound on the SVM value over the held sides, valid in floating point.

    D = Σa + εΣβ - ½‖Σ c x‖² - B·|Σ c| - r from clipped multipliers, on the rows as given and with exact
    right-hand sides; r covers rounding. It holds where the value is at most ``lim.level``, so the smaller of
    the two holds everywhere. Whatever the multipliers are, the bound is valid; good ones make it tight.
    """
    _balance(rows, box, st)
    for r in range(wx.shape[0]):
        wx[r] = 0.0
    linear = total = mass = reach = 0.0
    terms = rows.X.shape[1] + 4
    for i in range(rows.n):
        c = st.c[i]
        if c != 0.0:
            terms += 1
            linear += abs(c)
            total += c
            mass += abs(c)
            reach += abs(c) * rows.norm[i]
            _add(wx, c, rows.X, i)
    q = st.number[SIZE]
    for a in range(q + 1):
        i = st.members[a] if a < q else st.number[PUSHED] - 1
        if i < rows.n or st.c[i] == 0.0 or (a == q and st.inside[i]):
            continue
        c = st.c[i]
        terms += 1
        linear += rows.margin * abs(c)
        total += c
        mass += abs(c)
        reach += abs(c) * rows.norm[i]
        _add(wx, c, rows.X, i)
    square = 0.0
    for r in range(wx.shape[0]):
        square += wx[r] * wx[r]
    error = terms * UNIT_ROUNDOFF
    rounding = linear + square + np.sqrt(square) * reach + lim.intercept * mass
    value = linear - 0.5 * square - lim.intercept * abs(total) - error / (1.0 - error) * rounding
    if value >= lim.level:
        return lim.level
    return value if value > 0.0 else 0.0  # also where it is NaN


@strict_inner_kernel
def _add(w: FloatArray, factor: float, X: FloatArray, i: int) -> None:
    for r in range(w.shape[0]):
        w[r] += factor * X[i, r]


@strict_inner_kernel
def _balance(rows: Rows, box: Box, st: State) -> None:
    """Clip the multipliers, then let one member of M absorb what is left of their sum."""
    total = 0.0
    for i in range(rows.n):
        st.c[i] = min(max(st.c[i], box.lo[i]), box.hi[i])
        total += st.c[i]
    q = st.number[SIZE]
    for a in range(q + 1):
        i = st.members[a] if a < q else st.number[PUSHED] - 1
        if i >= rows.n and not (a == q and st.inside[i]):
            st.c[i] = min(max(st.c[i], box.lo[i]), box.hi[i])
            total += st.c[i]
    for a in range(q):
        i = st.members[a]
        if box.lo[i] <= st.c[i] - total <= box.hi[i]:
            st.c[i] -= total
            return


@strict_inner_kernel
def order_statistic(
    sums: Sums, listed: Candidates, score: FloatArray, useful: SignArray, obj: float, n: int
) -> float:
    """Bound a node from the ascending flip values of its n candidates.

    If i is the most expensive candidate that flips, the SVM value is at least v_i and each total is mended
    by at most the weight of the candidates up to i. ``suffix[i]`` bounds every point in which i or a more
    expensive candidate flips; the return value bounds them all.
    """
    v, suffix = listed.v, listed.suffix
    none_gone(sums)
    none = obj + price_left(sums)
    for i in range(n):
        let_go(sums, score, useful, listed.row[i])
        suffix[i] = max(obj, v[i]) + price_left(sums)
    for i in range(n - 2, -1, -1):
        suffix[i] = min(suffix[i], suffix[i + 1])
    return float(min(none, suffix[0])) if n > 0 else none


@strict_inner_kernel
def bound_without(
    sums: Sums, listed: Candidates, score: FloatArray, useful: SignArray, obj: float, n: int, left_out: int
) -> float:
    """The order statistic when one of the n candidates does not flip."""
    none_gone(sums)
    bound = obj + price_left(sums)
    for i in range(n):
        if i != left_out:
            let_go(sums, score, useful, listed.row[i])
            bound = min(bound, max(obj, listed.v[i]) + price_left(sums))
    return float(bound)


@strict_kernel
def sort_together(keys: FloatArray, items: IntArray, n: int) -> None:
    """Sort the first n keys ascending, and the items with them (Shell sort: no memory, short to compile)."""
    step = 1
    while step < n // 3:
        step = 3 * step + 1
    while step > 0:
        for i in range(step, n):
            key, item = keys[i], items[i]
            j = i
            while j >= step and keys[j - step] > key:
                keys[j] = keys[j - step]
                items[j] = items[j - step]
                j -= step
            keys[j] = key
            items[j] = item
        step //= 3
