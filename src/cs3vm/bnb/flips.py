"""Flip values: the relaxation with one more row forced to the other side."""

from __future__ import annotations

from ._arrays import Box, Limits, NodeArrays, Rows, Scratch, SignArray, State, compiled, inner
from ._kernels import (
    DONE,
    FLIPS,
    WORK,
    WORK_LIMIT,
    copy_state,
    dot,
    push,
    set_side,
    solve,
)
from .bounds import safe_bound

N_HELD, N_NEW = 0, 1
_MAX_PIVOTS = 400


@inner
def drop_outdated(rows: Rows, box: Box, node: NodeArrays, tmp: Scratch) -> None:
    """Forget the flip solutions that violate a side set since; the others are still optimal."""
    rank = rows.Z.shape[1]
    for j in range(node.side.shape[0]):
        if node.have[j] == 0 or node.side[j] != 0:
            continue
        for a in range(node.info[N_NEW]):
            t = node.new[a]
            f = node.plane[j, rank]
            for x in range(rank):
                f += node.plane[j, x] * rows.Z[rows.n + t, x]
            if node.side[t] * f < rows.margin - 2e-9 * (1.0 + abs(f)):
                node.have[j] = 0
                break
        tmp.counter[WORK] += rank
    node.info[N_NEW] = 0


@inner
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

    Return False if the work limit came first; what has been evaluated is kept.
    """
    row = 0 if direction > 0 else 1
    rank = st.w.shape[0]
    for j in range(node.side.shape[0]):
        if node.side[j] != 0 or (node.score[j] > 0.0) != (direction > 0):
            continue
        if node.have[j] != -direction and node.V[row, j] < stop:
            if tmp.counter[WORK] >= tmp.counter[WORK_LIMIT]:
                return False
            i = rows.n + j
            copy_state(rows, base, st)
            set_side(rows, box, i, -direction)
            if push(rows, box, st, tmp, i, stop, _MAX_PIVOTS) == DONE:
                solve(rows, box, st, tmp, node.held, node.info[N_HELD], stop, _MAX_PIVOTS, False)
            node.V[row, j] = max(node.V[row, j], safe_bound(rows, box, st, tmp, lim))
            for x in range(rank):
                node.plane[j, x] = st.w[x]
            node.plane[j, rank] = st.value[0]
            node.have[j] = -direction
            tmp.counter[FLIPS] += 1
            set_side(rows, box, i, 0)
    return True


@inner
def update_scores(rows: Rows, st: State, node: NodeArrays, tmp: Scratch) -> None:
    """Scores of the free rows at the node's solution."""
    for j in range(node.side.shape[0]):
        if node.side[j] == 0:
            node.score[j] = dot(rows.Z[rows.n + j], st.w) + st.value[0]
    tmp.counter[WORK] += node.side.shape[0] * st.w.shape[0]


@compiled
def hold(rows: Rows, box: Box, node: NodeArrays, j: int, side: int) -> None:
    """Fix the side of the unlabelled row j in this node."""
    node.side[j] = side
    set_side(rows, box, rows.n + j, side)
    node.held[node.info[N_HELD]] = rows.n + j
    node.info[N_HELD] += 1
    node.new[node.info[N_NEW]] = j
    node.info[N_NEW] += 1


@compiled
def load_sides(rows: Rows, box: Box, node: NodeArrays, sides: SignArray) -> None:
    """Start a node from stored sides; no flip solution is known."""
    node.info[:] = 0
    for j in range(sides.shape[0]):
        node.have[j] = 0
        node.side[j] = 0
        set_side(rows, box, rows.n + j, 0)
        if sides[j] != 0:
            hold(rows, box, node, j, sides[j])
    node.info[N_NEW] = 0


@inner
def held_weight(rows: Rows, node: NodeArrays) -> tuple[float, float]:
    """Weights of the rows held positive and negative."""
    positive = negative = 0.0
    for j in range(node.side.shape[0]):
        if node.side[j] > 0:
            positive += rows.weight[j]
        elif node.side[j] < 0:
            negative += rows.weight[j]
    return positive, negative


@inner
def nearest_in_strip(rows: Rows, node: NodeArrays) -> int:
    """With ε > 0: the free row deepest inside the forbidden strip, or -1."""
    who, depth = -1, 0.0
    for j in range(node.side.shape[0]):
        if node.side[j] == 0:
            inside = rows.margin - abs(node.score[j])
            if inside > depth + 4e-9 * (1.0 + abs(node.score[j])):
                who, depth = j, inside
    return who
