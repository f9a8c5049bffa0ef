"""One node of the tree: its relaxation, bound, fixings, and the row to branch on; see :mod:`.plunge`."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, SignArray
from ..core.active_set import DONE, PAUSABLE, reset, solve
from ..core.arrays import (
    AGE,
    BOUND,
    BRANCH_ROW,
    DUAL,
    FLIP_BOUND,
    LEAST_PRICE,
    N_HELD,
    OBJ,
    SIGN,
    STALE,
    STAY_BOUND,
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
from ..jit import NO, NO_ROW, ZERO, inner_kernel, integer, spliced
from .bounds import bound_without, order_statistic, safe_bound
from .counts import count_held, is_in, let_go, none_gone, own_side, price_left
from .flips import USEFUL, candidates, hold, nearest_in_strip
from .pairs import BISECTIONS, DIRECTION, FIXED, HITS, LOCAL, RAISED, TESTS, Graph, survivors

#: What becomes of a node; while its rounds last it is undecided.
FATHOMED, LEAF, BRANCH, PAUSED, UNDECIDED = 0, 1, 2, 3, -1
_MAX_PIVOTS = integer(20_000)


@spliced
def relax(rows: Rows, box: Box, base: State, tmp: Scratch, node: NodeArrays, lim: Limits) -> int:
    """Solve the node's relaxation; a failure costs only strength, because any multipliers give a bound."""
    count_held(node)
    stop = lim.cutoff - node.out[LEAST_PRICE]
    outcome, obj = DONE, 0.0
    for attempt in range(3):  # where the bound disappoints: what has drifted corrected, then from scratch
        outcome = solve(
            rows, box, base, tmp, node.held, node.info[N_HELD], stop, _MAX_PIVOTS, PAUSABLE, NO_ROW
        )
        late = tmp.counter[WORK] >= tmp.counter[WORK_LIMIT]
        if attempt == 0 and late and outcome != DONE and base.value[DUAL] < stop:
            return PAUSED
        obj = max(obj, safe_bound(rows, box, base, tmp.wx, lim))
        drift = obj < base.value[DUAL] - 1e-7 * (1.0 + abs(base.value[DUAL]))
        if not (drift or (outcome != DONE and obj < stop)):
            break
        base.number[AGE] = STALE
        if attempt == 1:
            reset(base)
    node.out[OBJ] = max(node.out[OBJ], obj)
    node.out[BOUND] = max(node.out[BOUND], node.out[OBJ] + node.out[LEAST_PRICE])
    return FATHOMED if node.out[BOUND] >= lim.cutoff else UNDECIDED


@spliced
def leaf(rows: Rows, node: NodeArrays) -> int:
    """The relaxed solution attains the node's bound, unless rows lie in the forbidden strip."""
    if rows.margin > 0.0:
        j = nearest_in_strip(rows.margin, node.side, node.score)
        if j >= 0:
            node.info[BRANCH_ROW] = j
            node.info[SIGN] = 1 if node.score[j] > 0.0 else -1
            node.out[STAY_BOUND] = node.out[FLIP_BOUND] = node.out[BOUND]
            return BRANCH
    return LEAF


@inner_kernel
def tighten(box: Box, node: NodeArrays, graph: Graph, lim: Limits, fix: bool) -> int:
    """Bound the node by the order statistic; fix what the bound decides; choose the branching row.

    Return the number of rows that were fixed.
    """
    n = candidates(node, USEFUL)
    suffix, order = node.listed.suffix, node.listed.row
    sums, listed, score, useful, obj = node.sums, node.listed, node.score, node.useful, node.out[OBJ]
    bound = order_statistic(sums, listed, score, useful, obj, n)
    node.out[BOUND] = max(node.out[BOUND], bound)
    if not fix or node.out[BOUND] >= lim.cutoff:
        return 0
    changed = _fix_others(box, node, lim, n)
    left = n
    while left > 0 and suffix[left - 1] >= lim.cutoff:
        left -= 1
        hold(box, node, order[left], own_side(score, order[left]))
        changed += 1
    flipped = 0
    for a in range(left):
        if bound_without(sums, listed, score, useful, obj, left, a) < lim.cutoff:
            break
        hold(box, node, order[a], -own_side(score, order[a]))
        flipped += 1
    if changed + flipped == 0 and graph.num[DIRECTION] == node.info[SIGN]:
        changed = _tighten_jointly(box, node, graph, lim, n)
    while left > flipped and node.side[order[left - 1]] != 0:  # fixed with an equal row, or by the graph
        left -= 1
    if left > flipped:
        node.info[BRANCH_ROW] = order[left - 1]
        node.out[FLIP_BOUND] = max(node.out[BOUND], suffix[left - 1])
        stay = bound_without(sums, listed, score, useful, obj, left, left - 1)
        node.out[STAY_BOUND] = max(node.out[BOUND], stay)
    else:
        node.info[BRANCH_ROW] = -1
    return changed + flipped


@spliced
def _tighten_jointly(box: Box, node: NodeArrays, graph: Graph, lim: Limits, n: int) -> int:
    """Use the joint-flip graph: close the node, raise its bound, or fix candidates that cannot flip."""
    listed, direction = node.listed, node.info[SIGN]
    graph.num[TESTS] += 1
    left = survivors(graph, listed, n, node.out, lim, 0.0, graph.num[LOCAL] > 0)
    if left < 0:
        graph.num[HITS] += 1
        node.out[BOUND] = lim.cutoff
        return 0
    changed = 0
    if left < n:
        for a in range(n):
            j = listed.row[a]
            if not graph.union[j // 64] >> np.uint64(j % 64) & np.uint64(1):
                hold(box, node, j, direction)
                changed += 1
        graph.num[FIXED] += changed
        return changed
    low, high = node.out[BOUND], lim.cutoff
    for _ in range(graph.num[BISECTIONS]):
        middle = 0.5 * (low + high)
        if survivors(graph, listed, n, node.out, lim, lim.cutoff - middle, NO) < 0:
            low = middle
        else:
            high = middle
    if low > node.out[BOUND]:
        graph.num[RAISED] += 1
    node.out[BOUND] = low
    return 0


@spliced
def _fix_others(box: Box, node: NodeArrays, lim: Limits, n: int) -> int:
    """Fix rows that are no candidates where moving them, too, would cost too much."""
    sums = node.sums
    alone = sums.k.shape[0] == 1
    changed = 0
    weight = needed = -1.0
    for j in range(node.side.shape[0]):
        if node.side[j] != 0 or node.useful[j] != 0:
            continue
        # one total is missed by so much more; of several, a row may belong to any
        more = sums.row[j] if alone and is_in(sums, j, ZERO) else 0.0
        if more != weight:
            weight = more
            needed = _value_needed(
                sums, node.listed, node.score, node.useful, node.out[OBJ], n, more, lim.cutoff
            )
        own = own_side(node.score, j)
        if node.flips.V[0 if own > 0 else 1, j] >= needed:
            hold(box, node, j, own)
            changed += 1
    return changed


@inner_kernel
def _value_needed(
    sums: Sums,
    listed: Candidates,
    score: FloatArray,
    useful: SignArray,
    obj: float,
    n: int,
    more: float,
    cutoff: float,
) -> float:
    """The SVM value from which on no point lies below the cutoff, whatever the candidates do.

    ``more`` is what the first total is missed by in addition.
    """
    none_gone(sums)
    if more > 0.0:
        sums.gone[0] = -more
    price = price_left(sums)
    needed = cutoff - price if obj + price < cutoff else 0.0
    for a in range(n):
        let_go(sums, score, useful, listed.row[a])
        price = price_left(sums)
        if max(obj, listed.v[a]) + price < cutoff:
            needed = max(needed, cutoff - price)
    return needed
