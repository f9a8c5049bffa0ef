"""One node of the tree: relaxation, flip values, bound, fixings, and the row to branch on."""

from __future__ import annotations

import numpy as np

from ..core.active_set import DONE, PAUSABLE, reset, solve
from ..core.arrays import (
    AGE,
    BOUND,
    BRANCH_ROW,
    DUAL,
    FLIP_BOUND,
    LEAST_PRICE,
    MISS_PRICE,
    N_HELD,
    OBJ,
    SIGN,
    STALE,
    STAY_BOUND,
    WORK,
    WORK_LIMIT,
    Box,
    Limits,
    NodeArrays,
    Rows,
    Scratch,
    State,
)
from ..jit import NO, NO_ROW, YES, ZERO, integer, kernel, spliced
from .bounds import bound_without, order_statistic, safe_bound
from .counts import count_held, count_relaxed, is_in, let_go, none_gone, own_side, price_left
from .flips import USEFUL, candidates, drop_outdated, flip_all, hold, nearest_in_strip, update_scores
from .groups import tighten_by_groups
from .pairs import BISECTIONS, DIRECTION, FIXED, HITS, LOCAL, RAISED, TESTS, Graph, survivors

FATHOMED, LEAF, BRANCH, PAUSED = 0, 1, 2, 3
_MAX_PIVOTS = integer(20_000)
_MAX_ROUNDS = 12
_RAISES = integer(5)  # steps in which groups raise the bound of the root


@kernel
def process(
    rows: Rows,
    box: Box,
    base: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    graph: Graph,
    lim: Limits,
    both: bool,
) -> int:
    """Work on the node until it is closed, can be branched, or the work limit is reached.

    With ``both`` the rows on the other side of the plane are evaluated too: more fixings, at a price.
    """
    for _ in range(_MAX_ROUNDS):
        outcome = _relax(rows, box, base, tmp, node, lim)
        if outcome != BRANCH:
            return outcome
        update_scores(rows, base, node, tmp)
        count_relaxed(rows, node)
        if node.out[MISS_PRICE] + node.out[OBJ] <= node.out[BOUND]:
            return _leaf(rows, node)
        drop_outdated(rows, box, node, tmp)
        stop = lim.cutoff - node.out[LEAST_PRICE]
        complete, useful = YES, USEFUL
        for _ in range(2 if both else 1):
            complete = complete and flip_all(rows, box, base, st, tmp, node, lim, useful, stop)
            useful = ZERO
        changed = _tighten(rows, box, node, graph, lim, complete)
        if node.out[BOUND] >= lim.cutoff:
            return FATHOMED
        if not complete:
            return PAUSED
        if changed == 0:
            break
    tighten_by_groups(rows, box, base, st, tmp, node, lim, _RAISES if both else ZERO)
    return FATHOMED if node.out[BOUND] >= lim.cutoff else BRANCH


@spliced
def _relax(rows: Rows, box: Box, base: State, tmp: Scratch, node: NodeArrays, lim: Limits) -> int:
    """Solve the node's relaxation; a failure costs only strength, because any multipliers give a bound."""
    count_held(rows, node)
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
    return FATHOMED if node.out[BOUND] >= lim.cutoff else BRANCH


@spliced
def _leaf(rows: Rows, node: NodeArrays) -> int:
    """The relaxed solution attains the node's bound, unless rows lie in the forbidden strip."""
    if rows.margin > 0.0:
        j = nearest_in_strip(rows.margin, node.side, node.score)
        if j >= 0:
            node.info[BRANCH_ROW] = j
            node.info[SIGN] = 1 if node.score[j] > 0.0 else -1
            node.out[STAY_BOUND] = node.out[FLIP_BOUND] = node.out[BOUND]
            return BRANCH
    return LEAF


@kernel
def _tighten(rows: Rows, box: Box, node: NodeArrays, graph: Graph, lim: Limits, fix: bool) -> int:
    """Bound the node by the order statistic; fix what the bound decides; choose the branching row.

    Return the number of rows that were fixed.
    """
    n = candidates(node, USEFUL)
    suffix, order = node.listed.suffix, node.listed.row
    bound = order_statistic(rows, node, n)
    node.out[BOUND] = max(node.out[BOUND], bound)
    if not fix or node.out[BOUND] >= lim.cutoff:
        return 0
    changed = _fix_others(rows, box, node, lim, n)
    left = n
    while left > 0 and suffix[left - 1] >= lim.cutoff:
        left -= 1
        hold(box, node, order[left], own_side(node, order[left]))
        changed += 1
    flipped = 0
    for a in range(left):
        if bound_without(rows, node, left, a) < lim.cutoff:
            break
        hold(box, node, order[a], -own_side(node, order[a]))
        flipped += 1
    if changed + flipped == 0 and graph.num[DIRECTION] == node.info[SIGN]:
        changed = _tighten_jointly(box, node, graph, lim, n)
    if left > flipped:
        node.info[BRANCH_ROW] = order[left - 1]
        node.out[FLIP_BOUND] = max(node.out[BOUND], suffix[left - 1])
        node.out[STAY_BOUND] = max(node.out[BOUND], bound_without(rows, node, left, left - 1))
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
def _fix_others(rows: Rows, box: Box, node: NodeArrays, lim: Limits, n: int) -> int:
    """Fix rows that are no candidates where moving them, too, would cost too much."""
    alone = node.missed.k.shape[0] == 1
    changed = 0
    weight = needed = -1.0
    for j in range(node.side.shape[0]):
        if node.side[j] != 0 or node.useful[j] != 0:
            continue
        # one total is missed by so much more; of several, a row may belong to any
        more = rows.weight[j] if alone and is_in(rows, j, ZERO) else 0.0
        if more != weight:
            weight = more
            needed = _value_needed(rows, node, n, more, lim)
        own = own_side(node, j)
        if node.flips.V[0 if own > 0 else 1, j] >= needed:
            hold(box, node, j, own)
            changed += 1
    return changed


@kernel
def _value_needed(rows: Rows, node: NodeArrays, n: int, more: float, lim: Limits) -> float:
    """The SVM value from which on no point lies below the cutoff, whatever the candidates do.

    ``more`` is what the first total is missed by in addition.
    """
    obj, missed = node.out[OBJ], node.missed
    none_gone(node)
    if more > 0.0:
        missed.gone[0] = -more
    price = price_left(rows, node)
    needed = lim.cutoff - price if obj + price < lim.cutoff else 0.0
    for a in range(n):
        let_go(rows, node, node.listed.row[a])
        price = price_left(rows, node)
        if max(obj, node.listed.v[a]) + price < lim.cutoff:
            needed = max(needed, lim.cutoff - price)
    return needed
