"""Flip values: the relaxation with one more row forced to the other side."""

from __future__ import annotations

from ._arrays import (
    D_MIN,
    EXCESS,
    FRESH,
    GROUP_SIGN,
    N_HELD,
    N_NEW,
    OBJ,
    Box,
    IntArray,
    Limits,
    NodeArrays,
    Rows,
    Scratch,
    SignArray,
    State,
    inlined,
    inner,
    kernel,
    spliced,
)
from ._kernels import (
    DONE,
    FLIPS,
    WORK,
    WORK_LIMIT,
    all_scores,
    copy_state,
    set_side,
    solve,
)
from .bounds import safe_bound, sort_together

_MAX_PIVOTS = 400
_REFRESH = 12  # flips after which the threshold is computed anew


@spliced
def drop_outdated(rows: Rows, box: Box, node: NodeArrays, tmp: Scratch) -> None:
    """Forget the flip solutions that violate a side set since; the others are still optimal."""
    rank = rows.Z.shape[1]
    Z, plane, side, have, new = rows.Z, node.plane, node.side, node.have, node.new
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


@inner
def candidates(node: NodeArrays, direction: int, floor: float) -> int:
    """List the free rows on the side ``direction``, cheapest flip first; return their number."""
    row = 0 if direction > 0 else 1
    n = 0
    for j in range(node.side.shape[0]):
        if node.side[j] == 0 and (node.score[j] > 0.0) == (direction > 0):
            node.order[n] = j
            node.v[n] = max(floor, node.V[row, j])
            n += 1
    sort_together(node.v[:n], node.order)
    return n


@inlined
def _threshold(rows: Rows, node: NodeArrays, lim: Limits, n: int) -> float:
    """The flip value that decides the order-statistic bound of the first n candidates."""
    best, value = lim.penalty * node.out[EXCESS] + node.out[OBJ], node.out[OBJ]
    gone = 0.0
    for a in range(n):
        gone += rows.weight[node.order[a]]
        h = node.v[a] + lim.penalty * max(node.out[D_MIN], node.out[EXCESS] - gone)
        if h < best:
            best, value = h, node.v[a]
    return float(value)


@spliced
def flip_all(
    rows: Rows,
    box: Box,
    base: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    lim: Limits,
    direction: int,
    stop: float,
) -> bool:
    """Evaluate the free rows on the side ``direction`` for the other side, where it can matter.

    The most expensive come first. A row that is over in the solution of another, cheap one is not evaluated
    if that one lies below the value that decides the bound: its own value could not change the bound.
    Return False if the work limit came first; what has been evaluated is kept.
    """
    row = 0 if direction > 0 else 1
    n = candidates(node, direction, node.out[OBJ])
    threshold = _threshold(rows, node, lim, n)
    since = 0
    todo = node.todo
    for a in range(n):
        todo[a] = node.order[a]
    for a in range(n - 1, -1, -1):
        j = todo[a]
        if node.have[j] == -direction or node.V[row, j] >= stop:
            continue
        other = node.witness[j]
        if other >= 0 and node.have[other] == -direction and node.V[row, other] <= threshold:
            continue
        if tmp.counter[WORK] >= tmp.counter[WORK_LIMIT]:
            return False
        outcome = _flip(rows, box, base, st, tmp, node, j, -direction, stop)
        value = node.V[row, j] = max(node.V[row, j], safe_bound(rows, box, st, tmp, lim))
        set_side(rows, box, rows.n + j, 0 * rows.n)
        if outcome == DONE and value < stop:
            _testify(rows, node, tmp, todo, a, j, row)
        since += 1
        if since == _REFRESH:
            since = 0
            threshold = _threshold(rows, node, lim, candidates(node, direction, node.out[OBJ]))
    return True


@spliced
def _flip(
    rows: Rows,
    box: Box,
    base: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    j: int,
    side: int,
    stop: float,
) -> int:
    """Solve with the unlabelled row j on ``side``, starting from the node's own solution."""
    rank = st.w.shape[0]
    i = rows.n + j
    copy_state(rows, base, st)
    set_side(rows, box, i, side)
    outcome = solve(
        rows, box, st, tmp, node.held, node.info[N_HELD], stop, _MAX_PIVOTS + 0 * rows.n, rows.n < 0, i
    )
    for x in range(rank):
        node.plane[j, x] = st.w[x]
    node.plane[j, rank] = st.value[0]
    node.have[j] = side
    tmp.counter[FLIPS] += 1
    return outcome


@spliced
def _testify(rows: Rows, node: NodeArrays, tmp: Scratch, todo: IntArray, n: int, j: int, row: int) -> None:
    """Note for the first n rows of the list which of them are over in the solution of row j."""
    rank = rows.Z.shape[1]
    Z, plane, witness, have, V = rows.Z, node.plane, node.witness, node.have, node.V
    side = have[j]
    for a in range(n):
        i = todo[a]
        other = witness[i]
        if other >= 0 and have[other] == side and V[row, other] <= V[row, j]:
            continue
        f = plane[j, rank]
        for x in range(rank):
            f += plane[j, x] * Z[rows.n + i, x]
        if side * f > 0.0:
            witness[i] = j
    tmp.counter[WORK] += n * rank


@spliced
def update_scores(rows: Rows, st: State, node: NodeArrays, tmp: Scratch) -> None:
    """Scores of the unlabelled rows at the node's solution."""
    all_scores(rows, st, node.score)
    tmp.counter[WORK] += node.side.shape[0] * st.w.shape[0]


@kernel
def hold(rows: Rows, box: Box, node: NodeArrays, j: int, side: int) -> None:
    """Fix the side of the unlabelled row j in this node."""
    node.side[j] = side
    set_side(rows, box, rows.n + j, side)
    node.held[node.info[N_HELD]] = rows.n + j
    node.info[N_HELD] += 1
    node.new[node.info[N_NEW]] = j
    node.info[N_NEW] += 1


@kernel
def load_node(
    rows: Rows, box: Box, node: NodeArrays, sides: SignArray, group: IntArray, group_sign: int
) -> None:
    """Start a node from stored sides and groups; no flip solution is known."""
    node.info[:] = 0
    node.info[FRESH] = 1
    node.info[GROUP_SIGN] = group_sign
    for j in range(sides.shape[0]):
        node.have[j] = 0
        node.witness[j] = -1
        node.group[j] = group[j]
        node.side[j] = 0
        set_side(rows, box, rows.n + j, 0 * rows.n)
        if sides[j] != 0:
            hold(rows, box, node, j, 0 * rows.n + sides[j])
    node.info[N_NEW] = 0


@inlined
def held_weight(rows: Rows, node: NodeArrays) -> tuple[float, float]:
    """Weights of the rows held positive and negative."""
    positive = negative = 0.0
    for j in range(node.side.shape[0]):
        if node.side[j] > 0:
            positive += rows.weight[j]
        elif node.side[j] < 0:
            negative += rows.weight[j]
    return positive, negative


@spliced
def nearest_in_strip(rows: Rows, node: NodeArrays) -> int:
    """With ε > 0: the free row deepest inside the forbidden strip, or -1."""
    who, depth = -1, 0.0
    for j in range(node.side.shape[0]):
        if node.side[j] == 0:
            inside = rows.margin - abs(node.score[j])
            if inside > depth + 4e-9 * (1.0 + abs(node.score[j])):
                who, depth = j, inside
    return who
