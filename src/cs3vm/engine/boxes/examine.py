"""One box: bound it, settle the sides of rows, and choose how it is divided."""

from __future__ import annotations

from ..._typing import FloatArray, IntArray
from ..jit import strict_kernel
from .arrays import (
    AXIS,
    BASE,
    BLOCK,
    BOUND,
    BRANCH_ROW,
    CUTOFF,
    CUTS,
    FEW_OPEN,
    HELD,
    HIGH,
    INTERCEPT,
    LEVEL,
    LOW,
    MARGIN,
    N_CUTS,
    N_HELD,
    N_OPEN,
    NEGATIVE,
    POSITIVE,
    PRICE,
    SPLIT,
    TARGET_HIGH,
    TARGET_LOW,
    VALUE,
    WORK,
    Cone,
    Data,
    Scratch,
)
from .cone_svm import solve_in_box
from .counts import limit_classes, make_classes, move_pivot, score_rows
from .cuts import cut_value

#: Convex programmes that are solved in one box, at most.
_SOLVES = 8
#: A plane has the bound of its box if what is missing is this share of the way to the cutoff.
_ATTAINED = 0.25


@strict_kernel
def examine(
    data: Data,
    cone: Cone,
    rows: IntArray,
    kept: IntArray,
    moves: bool,
    row_limit: int,
    lim: FloatArray,
    tmp: Scratch,
) -> bool:
    """Whether a box may hold a point below the cutoff; if so, all that its children need is in it.

    Of the open ``rows`` those whose side is still open are written to ``kept``. ``moves`` lets the pivot
    follow them; ``row_limit`` is the number of open rows up to which a row is divided instead of the box.
    """
    n_open = cone.integer[N_OPEN]
    if moves and n_open > 0:
        move_pivot(data, cone, rows, n_open)
    score_rows(data, cone, rows, n_open, tmp)
    cone.integer[FEW_OPEN] = n_open <= row_limit
    n = make_classes(data, cone, lim, tmp)
    if n == 0:
        return False
    limit_classes(data, cone, rows, n_open, n, lim, tmp)
    if not bound_classes(data, cone, n, lim, tmp):
        return False
    settle(data, cone, rows, kept, n, lim, tmp)
    stuck = look_at_plane(data, cone, kept, lim, tmp)
    choose_axis(data, cone, kept)
    if (cone.integer[N_OPEN] > row_limit and not stuck) or cone.integer[N_HELD] >= HELD:
        cone.integer[BRANCH_ROW] = -1
    return True


@strict_kernel
def bound_classes(data: Data, cone: Cone, n: int, lim: FloatArray, tmp: Scratch) -> bool:
    """Bound every class of misses, by the cuts at hand and by new ones; return whether one is left.

    The SVM value does not rise with the miss, so the last class of a block bounds the others until one of
    them has the least bound of all.
    """
    for i in range(n):
        empty = tmp.lo[i] > tmp.hi[i]  # only (w, b) = 0 is left, which is accounted for elsewhere
        tmp.svm[i] = lim[LEVEL] if empty else cone.number[BASE]
        tmp.solved[i] = tmp.fine[i // BLOCK] = 0
    for c in range(min(cone.integer[N_CUTS], CUTS)):
        apply_cut(cone, cone.cuts[c], n, lim, tmp)
    solves = 0
    while True:
        i = least_class(cone, n, lim, tmp)
        if i < 0:
            return False
        if tmp.fine[i // BLOCK] == 0:
            tmp.fine[i // BLOCK] = 1
            for c in range(min(cone.integer[N_CUTS], CUTS)):
                apply_to_block(cone, cone.cuts[c], i // BLOCK, n, lim, tmp)
        elif tmp.solved[i] == 1 or solves == _SOLVES:
            return True
        else:
            cut = cone.cuts[cone.integer[N_CUTS] % CUTS]
            cone.integer[N_CUTS] += 1
            solves += 1
            target = lim[CUTOFF] - lim[PRICE] * tmp.start[i]
            value = solve_in_box(data, cone, tmp.lo[i], tmp.hi[i], target, lim, tmp, cut)
            tmp.svm[i] = max(tmp.svm[i], value)
            tmp.solved[i] = 1
            apply_cut(cone, cut, n, lim, tmp)


@strict_kernel
def apply_cut(cone: Cone, cut: FloatArray, n: int, lim: FloatArray, tmp: Scratch) -> None:
    """Raise the bounds of all classes."""
    value = 0.0
    for block in range((n - 1) // BLOCK, -1, -1):
        if tmp.fine[block] == 1:
            apply_to_block(cone, cut, block, n, lim, tmp)
            continue
        last = min((block + 1) * BLOCK, n) - 1
        if tmp.svm[last] + lim[PRICE] * tmp.start[block * BLOCK] < lim[CUTOFF]:
            value = max(value, cut_value(cone, cut, tmp.lo[last], tmp.hi[last], lim))
            cone.integer[WORK] += 30 * cone.low.shape[0]
        for i in range(block * BLOCK, last + 1):
            tmp.svm[i] = max(tmp.svm[i], value)


@strict_kernel
def apply_to_block(cone: Cone, cut: FloatArray, block: int, n: int, lim: FloatArray, tmp: Scratch) -> None:
    """Raise the bounds of the classes of a block, each for itself."""
    for i in range(block * BLOCK, min((block + 1) * BLOCK, n)):
        if tmp.svm[i] + lim[PRICE] * tmp.start[i] < lim[CUTOFF]:
            tmp.svm[i] = max(tmp.svm[i], cut_value(cone, cut, tmp.lo[i], tmp.hi[i], lim))
            cone.integer[WORK] += 30 * cone.low.shape[0]


@strict_kernel
def least_class(cone: Cone, n: int, lim: FloatArray, tmp: Scratch) -> int:
    """The class with the least bound; -1 if that reaches the cutoff."""
    least, best = -1, lim[CUTOFF]
    for i in range(n):
        tmp.bound[i] = (tmp.svm[i] + lim[PRICE] * tmp.start[i]) * (1.0 - 2.0**-50)
        if tmp.bound[i] < best:
            least, best = i, tmp.bound[i]
    cone.number[BOUND] = max(cone.number[BOUND], best)
    return least if cone.number[BOUND] < lim[CUTOFF] else -1


@strict_kernel
def settle(
    data: Data, cone: Cone, rows: IntArray, kept: IntArray, n: int, lim: FloatArray, tmp: Scratch
) -> None:
    """Take over the limits of the classes that are left, and settle the rows that these decide.

    A row whose score is positive at all these intercepts, (w, b) = 0 aside, is on the positive side.
    """
    last = n - 1
    while tmp.bound[last] >= lim[CUTOFF] and last > 0:
        last -= 1
    number = cone.number
    number[BASE] = max(number[BASE], min(tmp.svm[last], lim[CUTOFF]))
    number[LOW], number[HIGH] = tmp.lo[last], tmp.hi[last]
    left = 0
    for k in range(cone.integer[N_OPEN]):
        if tmp.lower[k] + number[LOW] > 0.0:
            number[POSITIVE] += data.weight[rows[k]]
        elif tmp.upper[k] + number[HIGH] < 0.0:
            number[NEGATIVE] += data.weight[rows[k]]
        else:
            kept[left] = rows[k]
            left += 1
    cone.integer[N_OPEN] = left


@strict_kernel
def look_at_plane(data: Data, cone: Cone, kept: IntArray, lim: FloatArray, tmp: Scratch) -> bool:
    """The objective of the plane of the last solve, about, and the open row that most deserves a side.

    Return whether that row is too near to the plane, and nothing else is wrong: then no smaller box helps.
    """
    d, w = data.X.shape[1], tmp.w
    value = 0.0
    for r in range(d):
        value += 0.5 * w[r] * w[r]
    for i in range(data.X.shape[0]):
        score = w[d]
        for r in range(d):
            score += w[r] * data.X[i, r]
        value += data.C[i] * max(0.0, 1.0 - data.y[i] * score)
    count, inside, nearest = cone.number[POSITIVE], -1, lim[MARGIN] * (1.0 - 1e-6)
    farthest_up = farthest_down = 0.0
    up = down = -1
    for k in range(cone.integer[N_OPEN]):
        score = w[d]
        for r in range(d):
            score += w[r] * data.U[kept[k], r]
        count += data.weight[kept[k]] if score > 0.0 else 0.0
        if abs(score) < nearest:
            inside, nearest = kept[k], abs(score)
        if score > farthest_up or up < 0:
            up, farthest_up = kept[k], float(score)
        if score < farthest_down or down < 0:
            down, farthest_down = kept[k], float(score)
    row = inside
    if count > lim[TARGET_HIGH]:
        row = up
    elif count < lim[TARGET_LOW]:
        row = down
    elif row < 0:
        row = up if farthest_up > -farthest_down else down
    cone.integer[BRANCH_ROW] = row
    cone.number[VALUE] = value + lim[PRICE] * max(0.0, count - lim[TARGET_HIGH], lim[TARGET_LOW] - count)
    cone.number[INTERCEPT] = w[d]
    cone.integer[WORK] += d * (data.X.shape[0] + cone.integer[N_OPEN])
    attained = cone.number[VALUE] - cone.number[BOUND] <= _ATTAINED * (lim[CUTOFF] - cone.number[BOUND])
    if inside >= 0 and attained:
        cone.integer[BRANCH_ROW] = inside
        return True
    return False


@strict_kernel
def choose_axis(data: Data, cone: Cone, kept: IntArray) -> None:
    """Divide where that narrows the scores of the open rows most; -1 if the box is a single direction."""
    best, widest = -1, -1.0
    for r in range(data.U.shape[1]):
        width, spread = cone.high[r] - cone.low[r], 0.0
        middle = cone.low[r] + 0.5 * width
        if r == cone.integer[AXIS] or not cone.low[r] < middle < cone.high[r]:
            continue
        for k in range(cone.integer[N_OPEN]):
            spread += abs(data.U[kept[k], r] - cone.pivot[r])
        if width * spread > widest:
            best, widest = r, width * spread
    cone.integer[SPLIT] = best
