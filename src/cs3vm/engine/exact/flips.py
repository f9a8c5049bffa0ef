"""Flip values: the relaxation with one more row forced to the other side."""

from __future__ import annotations

from ..._typing import FloatArray, SignArray
from ..core.active_set import DONE, TO_THE_END, copy_state, set_side, solve
from ..core.arrays import (
    FLIP_LIMIT,
    FLIPS,
    INTERCEPT,
    N_HELD,
    N_NEW,
    OBJ,
    WORK,
    WORK_LIMIT,
    Box,
    Candidates,
    Limits,
    NodeArrays,
    Rows,
    Scratch,
    State,
    Sums,
)
from ..core.products import all_scores, know_scores
from ..jit import ZERO, inner_kernel, integer, kernel, spliced
from .bounds import safe_bound, sort_together
from .counts import let_go, none_gone, own_side, price_left

#: What is asked of :func:`candidates`: rows whose flip mends a total; ZERO are the others.
USEFUL = integer(1)
_MAX_PIVOTS = integer(400)
_LARGE_ROWS = 2000  # with more, flips that do not mend a total are not evaluated
_REFRESH = 12  # flips after which the threshold is computed anew


@spliced
def drop_outdated(rows: Rows, box: Box, node: NodeArrays, tmp: Scratch) -> None:
    """Forget the flip solutions that violate a side set since; the others are still optimal."""
    rank = rows.Z.shape[1]
    Z, plane, side, have, new = rows.Z, node.flips.plane, node.side, node.flips.have, node.new
    for j in range(side.shape[0]):
        if have[j] == 0 or side[j] != 0:
            continue
        for a in range(node.info[N_NEW]):
            t = new[a]
            f = plane[j, rank]
            for x in range(rank):
                f += plane[j, x] * Z[rows.n + t, x]
            if side[t] * f < rows.margin - 2e-9 * (1.0 + abs(f)):
                have[j] = 0
                break
        tmp.counter[WORK] += rank
    node.info[N_NEW] = 0


@kernel
def candidates(node: NodeArrays, useful: int) -> int:
    """List the free rows that mend a total by a flip (1), or those that do not (0), cheapest flip first.

    Return their number.
    """
    floor = node.out[OBJ]
    side, score, order, v, V = node.side, node.score, node.listed.row, node.listed.v, node.flips.V
    n = ZERO
    for j in range(side.shape[0]):
        if side[j] == 0 and node.useful[j] == useful:
            order[n] = j
            v[n] = max(floor, V[0 if score[j] > 0.0 else 1, j])
            n += 1
    sort_together(v, order, n)
    return n


@inner_kernel
def _threshold(
    sums: Sums, listed: Candidates, score: FloatArray, useful: SignArray, obj: float, n: int
) -> float:
    """The flip value that decides the order-statistic bound of the first n candidates."""
    none_gone(sums)
    value = obj
    best = price_left(sums) + value
    for a in range(n):
        let_go(sums, score, useful, listed.row[a])
        h = listed.v[a] + price_left(sums)
        if h < best:
            best, value = h, listed.v[a]
    return value


@spliced
def flip_all(
    rows: Rows,
    box: Box,
    base: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    lim: Limits,
    useful: int,
    stop: float,
) -> bool:
    """Evaluate the useful (1) or the other (0) free rows for the other side, where it can matter.

    A row that is over in the solution of another, cheap one is not evaluated if that one lies below the value
    that decides the bound: its own value could not change the bound.
    Return False if the work limit came first; what has been evaluated is kept. At the limit for flips the
    others are left as they are.
    """
    rank, flips = st.w.shape[0], node.flips
    todo = flips.todo
    if useful == ZERO and node.side.shape[0] > _LARGE_ROWS:
        return True
    changed = True
    while changed:
        changed = False
        n = to_evaluate(node, useful)
        threshold, since = 0.0, _REFRESH
        for a in range(n - 1, -1, -1):
            j = todo[a]
            own = own_side(node.score, j)
            row = 0 if own > 0 else 1
            if flips.have[j] == -own or flips.V[row, j] >= stop:
                continue
            if since == _REFRESH:
                since = 0
                n_left = candidates(node, useful)
                threshold = _threshold(node.sums, node.listed, node.score, node.useful, node.out[OBJ], n_left)
            other = flips.witness[j]
            if other >= 0 and flips.have[other] == -own and flips.V[row, other] <= threshold:
                continue
            if tmp.counter[WORK] >= tmp.counter[WORK_LIMIT]:
                return False
            if tmp.counter[WORK] >= tmp.counter[FLIP_LIMIT]:
                return True
            i = rows.n + j
            copy_state(base, st)
            set_side(box, i, -own)
            outcome = solve(
                rows, box, st, tmp, node.held, node.info[N_HELD], stop, _MAX_PIVOTS, TO_THE_END, i
            )
            for x in range(rank):
                flips.plane[j, x] = st.w[x]
            flips.plane[j, rank] = st.value[INTERCEPT]
            flips.have[j] = -own
            tmp.counter[FLIPS] += 1
            value = flips.V[row, j] = max(flips.V[row, j], safe_bound(rows, box, st, tmp.wx, lim))
            set_side(box, i, ZERO)
            _tell_equals(node, j, row)
            if outcome == DONE and value < stop:
                _testify(rows.Z, node, a, j, row)
                tmp.counter[WORK] += a * rows.Z.shape[1]
            since += 1
            changed = useful == USEFUL
    return True


@inner_kernel
def _tell_equals(node: NodeArrays, j: int, row: int) -> None:
    """What is known of the flip of row j holds for the rows that are equal to it."""
    flips, t = node.flips, node.twin[j]
    while t != j:
        flips.V[row, t] = max(flips.V[row, t], flips.V[row, j])
        flips.have[t] = flips.have[j]
        for x in range(flips.plane.shape[1]):
            flips.plane[t, x] = flips.plane[j, x]
        t = node.twin[t]


@inner_kernel
def to_evaluate(node: NodeArrays, useful: int) -> int:
    """List the rows to be evaluated, the most important last; return their number.

    Of those that mend a total only the ones are listed whose known value does not exceed the one that decides
    the bound: the others could not change it. Those far from the plane are probably the most expensive, so
    they raise that value soonest; when it has passed others, these are listed in turn. Rows that are never
    evaluated keep what their parent knew, or the value of the node itself, which are bounds, too.
    """
    todo, key, score = node.flips.todo, node.listed.suffix, node.score
    n = candidates(node, useful)
    if useful == ZERO:
        for a in range(n):
            todo[a] = node.listed.row[a]
        return n
    threshold = _threshold(node.sums, node.listed, score, node.useful, node.out[OBJ], n)
    last = ZERO
    for a in range(n):
        j = node.listed.row[a]
        if node.listed.v[a] <= threshold and node.flips.have[j] != -own_side(score, j):
            todo[last], key[last] = j, abs(score[j])
            last += 1
    sort_together(key, todo, last)
    return last


@inner_kernel
def _testify(Z: FloatArray, node: NodeArrays, n: int, j: int, row: int) -> None:
    """Note for the first n rows of the list which of them are over in the solution of row j."""
    flips, score = node.flips, node.score
    V, have, plane, witness = flips.V, flips.have, flips.plane, flips.witness
    rank, n_labelled = Z.shape[1], Z.shape[0] - have.shape[0]
    side = have[j]
    for a in range(n):
        i = flips.todo[a]
        if (score[i] > 0.0) != (side < 0):
            continue
        other = witness[i]
        if other >= 0 and have[other] == side and V[row, other] <= V[row, j]:
            continue
        f = plane[j, rank]
        for x in range(rank):
            f += plane[j, x] * Z[n_labelled + i, x]
        if side * f > 0.0:
            witness[i] = j


@spliced
def update_scores(rows: Rows, st: State, node: NodeArrays, tmp: Scratch) -> None:
    """Scores of the unlabelled rows at the node's solution."""
    all_scores(rows.ZT, rows.n, st.w, st.value[INTERCEPT], node.score)
    tmp.counter[WORK] += node.side.shape[0] * st.w.shape[0]
    if rows.K.shape[0] > 0:
        know_scores(st, node.score)


@inner_kernel
def hold(box: Box, node: NodeArrays, j: int, side: int) -> None:
    """Fix the side of the unlabelled row j in this node, unless that was done with an equal row."""
    if node.side[j] != 0:
        return
    i = box.p.shape[0] - node.side.shape[0] + j
    node.side[j] = side
    set_side(box, i, side)
    node.held[node.info[N_HELD]] = i
    node.info[N_HELD] += 1
    node.new[node.info[N_NEW]] = j
    node.info[N_NEW] += 1
    t = node.twin[j]
    while t != j:  # the node solver need not know of them
        if node.side[t] == 0 and goes_along(node, j, side, t, box.strip[i] > 0.0):
            node.side[t] = side
        t = node.twin[t]


@inner_kernel
def goes_along(node: NodeArrays, j: int, side: int, t: int, apart: bool) -> bool:
    """Whether row t, which is equal to row j, has its side, too.

    If rows keep apart from the plane, all equal ones are on one side. Else they may be split; but where it
    makes no difference which of them are positive, these are the first ones.
    """
    sums = node.sums
    alike = sums.row[t] == sums.row[j]
    length = sums.start[j + 1] - sums.start[j]
    alike = alike and sums.start[t + 1] - sums.start[t] == length
    if alike:
        for k in range(length):
            alike = alike and sums.total[sums.start[t] + k] == sums.total[sums.start[j] + k]
    return apart or (alike and (t > j) == (side < 0))


@inner_kernel
def nearest_in_strip(margin: float, side: SignArray, score: FloatArray) -> int:
    """With ε > 0: the free row deepest inside the forbidden strip, or -1."""
    who, depth = -1, 0.0
    for j in range(side.shape[0]):
        if side[j] == 0:
            inside = margin - abs(score[j])
            if inside > depth + 4e-9 * (1.0 + abs(score[j])):
                who, depth = j, inside
    return who
