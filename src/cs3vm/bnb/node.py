"""One node of the tree: relaxation, flip values, bound, fixings, and the row to branch on."""

from __future__ import annotations

import numpy as np

from ..intercept import FloatArray
from ._arrays import Box, Limits, NodeArrays, Rows, Scratch, State, compiled, inner
from ._kernels import DONE, WORK, WORK_LIMIT, reset, solve
from .bounds import bound_without, order_statistic, safe_bound, sort_together
from .flips import (
    N_HELD,
    drop_outdated,
    flip_all,
    held_weight,
    hold,
    nearest_in_strip,
    update_scores,
)

FATHOMED, LEAF, BRANCH, PAUSED = 0, 1, 2, 3
BOUND, OBJ, EXCESS, D_MIN, STAY_BOUND, FLIP_BOUND = 0, 1, 2, 3, 4, 5
BRANCH_ROW, DIRECTION, SOLVED, ROUNDS = 2, 3, 4, 5
_MAX_PIVOTS = 20_000
_MAX_ROUNDS = 12


@compiled
def process(
    rows: Rows, box: Box, base: State, st: State, tmp: Scratch, node: NodeArrays, lim: Limits, both: bool
) -> int:
    """Work on the node until it is closed, can be branched, or the work limit is reached.

    With ``both`` the rows on the other side of the plane are evaluated too: more fixings, at a price.
    """
    for _ in range(_MAX_ROUNDS):
        node.info[ROUNDS] += 1
        outcome = _relax(rows, box, base, tmp, node, lim)
        if outcome != BRANCH:
            return outcome
        update_scores(rows, base, node, tmp)
        _excess(rows, node, lim)
        if lim.penalty * node.out[EXCESS] + node.out[OBJ] <= node.out[BOUND]:
            return _leaf(rows, node)
        drop_outdated(rows, box, node, tmp)
        stop = lim.cutoff - lim.penalty * node.out[D_MIN]
        direction = node.info[DIRECTION]
        if not flip_all(rows, box, base, st, tmp, node, lim, direction, stop):
            _tighten(rows, box, node, lim, False)
            return PAUSED
        if both and not flip_all(rows, box, base, st, tmp, node, lim, -direction, stop):
            return PAUSED
        changed = _tighten(rows, box, node, lim, True)
        if node.out[BOUND] >= lim.cutoff:
            return FATHOMED
        if changed == 0:
            break
    return BRANCH


@inner
def _relax(rows: Rows, box: Box, base: State, tmp: Scratch, node: NodeArrays, lim: Limits) -> int:
    """Solve the node's relaxation; a failure costs only strength, because any multipliers give a bound."""
    positive, negative = held_weight(rows, node)
    d_min = max(0.0, positive - lim.target, lim.target - (lim.total - negative)) - lim.slack
    node.out[D_MIN] = d_min = max(0.0, d_min)
    stop = lim.cutoff - lim.penalty * d_min
    outcome = solve(rows, box, base, tmp, node.held, node.info[N_HELD], stop, _MAX_PIVOTS, True)
    if tmp.counter[WORK] >= tmp.counter[WORK_LIMIT] and outcome != DONE and base.value[1] < stop:
        return PAUSED
    obj = safe_bound(rows, box, base, tmp, lim)
    if obj < base.value[1] - 1e-7 * (1.0 + abs(base.value[1])) or (outcome != DONE and obj < stop):
        reset(rows, base)
        outcome = solve(rows, box, base, tmp, node.held, node.info[N_HELD], stop, _MAX_PIVOTS, True)
        obj = max(obj, safe_bound(rows, box, base, tmp, lim))
    node.info[SOLVED] = outcome == DONE
    node.out[OBJ] = max(node.out[OBJ], obj)
    node.out[BOUND] = max(node.out[BOUND], node.out[OBJ] + lim.penalty * d_min)
    return FATHOMED if node.out[BOUND] >= lim.cutoff else BRANCH


@inner
def _excess(rows: Rows, node: NodeArrays, lim: Limits) -> None:
    """By how much the count of the relaxed solution misses the target, and in which direction."""
    count, _ = held_weight(rows, node)
    for j in range(node.side.shape[0]):
        if node.side[j] == 0 and node.score[j] > 0.0:
            count += rows.weight[j]
    k = count - lim.target
    node.info[DIRECTION] = 1 if k > 0.0 else -1
    node.out[EXCESS] = max(0.0, abs(k) - lim.slack)


@inner
def _leaf(rows: Rows, node: NodeArrays) -> int:
    """The relaxed solution attains the node's bound, unless rows lie in the forbidden strip."""
    if rows.margin > 0.0:
        j = nearest_in_strip(rows, node)
        if j >= 0:
            node.info[BRANCH_ROW] = j
            node.info[DIRECTION] = 1 if node.score[j] > 0.0 else -1
            node.out[STAY_BOUND] = node.out[FLIP_BOUND] = node.out[BOUND]
            return BRANCH
    return LEAF


@inner
def _tighten(rows: Rows, box: Box, node: NodeArrays, lim: Limits, fix: bool) -> int:
    """Bound the node by the order statistic; fix what the bound decides; choose the branching row.

    Return the number of rows that were fixed.
    """
    direction = node.info[DIRECTION]
    row = 0 if direction > 0 else 1
    obj, k, d_min = node.out[OBJ], node.out[EXCESS], node.out[D_MIN]
    candidates = np.empty(node.side.shape[0], dtype=np.int64)
    v = np.empty(node.side.shape[0])
    n = 0
    for j in range(node.side.shape[0]):
        if node.side[j] == 0 and (node.score[j] > 0.0) == (direction > 0):
            candidates[n] = j
            v[n] = max(obj, node.V[row, j])
            n += 1
    v = v[:n]
    sort_together(v, candidates)
    e = np.empty(n)
    for a in range(n):
        e[a] = rows.weight[candidates[a]]
    suffix = np.empty(n)
    bound = order_statistic(obj, v, e, k, d_min, lim.penalty, suffix)
    node.out[BOUND] = max(node.out[BOUND], bound)
    if not fix or node.out[BOUND] >= lim.cutoff:
        return 0
    changed = _fix_others(rows, box, node, lim, v, e)
    left = n
    while left > 0 and suffix[left - 1] >= lim.cutoff:
        left -= 1
        hold(rows, box, node, candidates[left], direction)
        changed += 1
    flipped = 0
    for a in range(left):
        if bound_without(obj, v[:left], e[:left], k, d_min, lim.penalty, a, 0.0) < lim.cutoff:
            break
        hold(rows, box, node, candidates[a], -direction)
        flipped += 1
    if left > flipped:
        node.info[BRANCH_ROW] = candidates[left - 1]
        node.out[FLIP_BOUND] = max(node.out[BOUND], suffix[left - 1])
        stay = bound_without(obj, v[:left], e[:left], k, d_min, lim.penalty, left - 1, 0.0)
        node.out[STAY_BOUND] = max(node.out[BOUND], stay)
    else:
        node.info[BRANCH_ROW] = -1
    return changed + flipped


@inner
def _fix_others(rows: Rows, box: Box, node: NodeArrays, lim: Limits, v: FloatArray, e: FloatArray) -> int:
    """Fix rows that are no candidates where moving them, too, would cost too much."""
    direction = node.info[DIRECTION]
    row = 1 if direction > 0 else 0
    obj, k, d_min = node.out[OBJ], node.out[EXCESS], node.out[D_MIN]
    lightest = np.inf
    for j in range(node.side.shape[0]):
        if node.side[j] == 0:
            lightest = min(lightest, rows.weight[j])
    everything = bound_without(obj, v, e, k + lightest, d_min, lim.penalty, -1, 0.0) >= lim.cutoff
    changed = 0
    for j in range(node.side.shape[0]):
        if node.side[j] != 0 or (node.score[j] > 0.0) == (direction > 0):
            continue
        value = node.V[row, j]
        if everything or (
            value > obj
            and bound_without(obj, v, e, k + rows.weight[j], d_min, lim.penalty, -1, value) >= lim.cutoff
        ):
            hold(rows, box, node, j, -direction)
            changed += 1
    return changed
