"""The group bound: rows that cannot all flip, packed into disjoint groups.

If forcing every row of a group over costs at least L, a point with a smaller SVM value leaves one of them
where it is. So disjoint groups mean as many rows that stay, and what these weigh beyond the room that the
count leaves is miscount, at C₂ each. Points with a value below L but not below L' = cutoff - C₂·miscount are
thus no better than the cutoff; below L' groups are smaller, hence there are more of them, and so on down to
the relaxed value. The order statistic is the case of groups of one row. A group of a node is one in all its
descendants. Of some groups several rows stay (:mod:`.blocks`): their number says how many, and each row that
is held where it is leaves one fewer.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray
from ..core.active_set import DONE, TO_THE_END, copy_state, set_side, solve
from ..core.arrays import (
    BLOCK_CLOSED,
    BOUND,
    CLOSING,
    FRESH,
    GROUP_CLOSED,
    GROUP_RAISED,
    GROUP_SIGN,
    GROUP_SIZE,
    GROUP_TESTS,
    INTERCEPT,
    LEAD,
    LEAST_PRICE,
    N_HELD,
    OBJ,
    RAISED_BOUND,
    ROOM,
    SIGN,
    WORK,
    Box,
    Limits,
    NodeArrays,
    Rows,
    Scratch,
    State,
)
from ..core.products import all_scores
from ..jit import ZERO, inner_kernel, integer, spliced
from .blocks import STAYS, unite_groups
from .bounds import safe_bound
from .counts import is_in, own_side

_MAX_PIVOTS = integer(400)
_EXTEND, _ANEW, _LOWER = 0, 1, 2  # the parent's groups and more; all formed anew; groups for a lower level
_LARGE = 1.4  # at a lower level, groups larger than this multiple of the average are formed anew
_PROMISING = 0.8  # all groups are formed anew where their usual size, so much reduced, would suffice
_FEW_DIMENSIONS = 10
_NO_LIMIT, _RAISE_WORK = integer(2**62), integer(10**9)  # of raising the bound of the root
_REACH = 0.05  # groups are united where so much more weight that stays would suffice at a level,
_PAYS, _RECENT = 0.12, 0.005  # and of the last few hundred nodes groups have closed such a share
_MOST = 3000  # with more rows that may flip, one test takes seconds


@spliced
def tighten_by_groups(
    rows: Rows, box: Box, base: State, st: State, tmp: Scratch, node: NodeArrays, lim: Limits, raises: int
) -> None:
    """Close the node where groups show that it has no point below the cutoff."""
    lead, direction, sums = node.info[LEAD], node.info[SIGN], node.sums
    if direction > 0:
        room = sums.high[lead] - sums.up[lead]
    else:
        room = sums.weight[lead] - sums.low[lead] - sums.down[lead]
    node.out[ROOM] = room + 2.0 * sums.slack[lead]  # two sums of weights are compared
    if node.info[GROUP_SIGN] != direction * (1 + lead):
        _fill(node.group, ZERO)
        node.info[GROUP_SIGN] = direction * (1 + lead)
    others = 0.0  # what the other totals cost at least
    for g in range(sums.low.shape[0]):
        if g != lead:
            others += sums.penalty[g] * sums.least[g]
    available, n_available = 0.0, 0
    for j in range(node.side.shape[0]):
        if node.side[j] == 0 and own_side(node.score, j) == direction and is_in(sums, j, lead):
            available += sums.row[j]
            n_available += node.first[j] == j
    enough = available >= 2.0 * room  # every group has two rows at least
    too_many = n_available > _MOST or node.side.shape[0] >= STAYS
    if too_many or not (enough or raises > 0):
        return
    tmp.counter[GROUP_TESTS] += enough
    low, high, target = node.out[BOUND], lim.cutoff, lim.cutoff
    level, limit = lim.cutoff - node.out[LEAST_PRICE], _NO_LIMIT
    weight = _keep_groups(sums.row, node.side, node.group, node.listed.suffix, node.listed.v, direction)
    _copy(node.group, node.mark)
    phase, extended, united = _EXTEND, 0.0, 0
    tries, pays = 0 if enough else 1, enough and node.out[CLOSING] >= _PAYS
    while tries <= raises:
        if tries > 0:
            if limit == _NO_LIMIT:
                limit = tmp.counter[WORK] + _RAISE_WORK
            target = 0.5 * (low + high)
            level = target - node.out[LEAST_PRICE]
            _fill(node.mark, ZERO)
            phase, weight = _LOWER, 0.0
        while level > node.out[OBJ]:
            weight = _pack(rows, box, base, st, tmp, node, lim, weight, level, limit)
            wanted = node.out[ROOM] + (target - level - others) / sums.penalty[lead]
            if phase == _ANEW and weight <= extended:
                _copy(node.group, node.mark)
                weight = extended
            elif pays and weight <= wanted <= (1.0 + _REACH) * weight:
                before = weight
                weight = unite_groups(rows, box, base, st, tmp, node, lim, weight, wanted, level)
                united += weight > before
            if phase != _LOWER:
                _copy(node.mark, node.group)
            if phase == _EXTEND:
                promising = available > _PROMISING * node.out[GROUP_SIZE] * room
                if node.info[FRESH] > 0 and weight <= room and promising:
                    phase, extended, weight = _ANEW, weight, 0.0
                    _fill(node.mark, ZERO)
                    continue
            phase = _LOWER
            miscount = max(weight - node.out[ROOM], sums.least[lead])
            reached = target - (others + sums.penalty[lead] * miscount)
            if reached >= level:
                break
            level = reached
            weight = _dissolve_large(
                sums.row, node.side, node.mark, tmp.scores, node.listed.suffix, node.listed.v
            )
        if level <= node.out[OBJ]:
            if tries == 0:
                tmp.counter[GROUP_CLOSED] += 1
                tmp.counter[BLOCK_CLOSED] += united > 0
                node.out[BOUND] = lim.cutoff
                break
            low = target
        else:
            high = target
        tries, pays = tries + 1, False
    if enough:
        closed = 1.0 if node.out[BOUND] >= lim.cutoff else 0.0
        node.out[CLOSING] += _RECENT * (closed - node.out[CLOSING])
    node.info[FRESH] = 0
    if raises > 0:
        tmp.counter[GROUP_RAISED] += low > node.out[BOUND]
        node.out[RAISED_BOUND] = max(node.out[RAISED_BOUND], low)


@spliced
def _pack(
    rows: Rows,
    box: Box,
    base: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    lim: Limits,
    weight: float,
    level: float,
    limit: int,
) -> float:
    """Form more groups for this level until none is found or they cannot suffice; return their weight."""
    group, side, held, n_held = node.mark, node.side, node.held, node.info[N_HELD]
    copies, least = node.listed.copies, node.listed.suffix
    direction = node.info[SIGN]
    flips = node.flips.V[0 if direction > 0 else 1]
    last, free, left, used = 0, 0, 0.0, 0
    for j in range(group.shape[0]):
        last = max(last, group[j] % STAYS)
        copies[j] = 0.0
    for j in range(group.shape[0]):
        if side[j] != 0 or group[j] != 0 or not is_in(node.sums, j, node.info[LEAD]):
            continue
        if flips[j] >= level:  # a group of its own
            last += 1
            group[j] = last
            weight += node.sums.row[j]
        else:
            if copies[node.first[j]] == 0.0:
                set_side(box, rows.n + j, -direction)
                held[n_held + free] = rows.n + j
                free += 1
            copies[node.first[j]] += 1.0
            left += node.sums.row[j]
    start, size = last, 2.0
    while weight + left / size > node.out[ROOM] and tmp.counter[WORK] < limit:
        copy_state(base, st)
        _flip_some(rows, box, st, tmp, node, free, level)
        if safe_bound(rows, box, st, tmp.wx, lim) < level:
            break
        members, times = 0, node.side.shape[0]
        for a in range(n_held, n_held + free):
            if st.c[held[a]] != 0.0:  # the bound needs it
                members += 1
                times = min(times, int(copies[node.first[held[a] - rows.n]]))
        if members == 0:  # the node itself costs so much
            weight = np.inf
            break
        for turn in range(times):
            least[turn] = np.inf
        remain = 0
        for a in range(n_held, n_held + free):
            i = held[a]
            if st.c[i] != 0.0:
                set_side(box, i, ZERO)
                for turn in range(times):  # equal rows form the same group once more
                    j = _next_free(node, group, i - rows.n) if turn > 0 else i - rows.n
                    group[j] = last + 1 + turn
                    least[turn] = min(least[turn], node.sums.row[j])
                    left -= node.sums.row[j]
                copies[node.first[i - rows.n]] -= times
                if copies[node.first[i - rows.n]] == 0.0:
                    continue
                i = rows.n + _next_free(node, group, i - rows.n)
                set_side(box, i, -direction)
            held[n_held + remain] = i
            remain += 1
        for turn in range(times):
            weight += least[turn]
        last += times
        used += members * times
        free = remain
        size = max(2.0, used / (last - start))
    for a in range(n_held, n_held + free):
        set_side(box, held[a], ZERO)
    if last > start + 3:
        node.out[GROUP_SIZE] = 0.9 * node.out[GROUP_SIZE] + 0.1 * size
    return weight


@inner_kernel
def _next_free(node: NodeArrays, group: IntArray, j: int) -> int:
    """The next of the rows that are equal to row j which may flip and is in no group; there is one."""
    t = int(node.twin[j])
    while node.side[t] != 0 or group[t] != 0 or not is_in(node.sums, t, node.info[LEAD]):
        t = int(node.twin[t])
    return t


@spliced
def _flip_some(
    rows: Rows, box: Box, st: State, tmp: Scratch, node: NodeArrays, free: int, level: float
) -> None:
    """Force free rows over, the most expensive flip first, then what violates most, until it costs ``level``.

    In few dimensions each choice pays to be made at the optimum for the previous ones: smaller groups.
    """
    held, n_held, n = node.held, node.info[N_HELD], rows.n
    direction = node.info[SIGN]
    flips = node.flips.V[0 if direction > 0 else 1]
    chosen, largest = -1, 0.0
    for a in range(n_held, n_held + free):
        j = held[a] - n
        if flips[j] > largest and direction * node.score[j] > 0.0:
            chosen, largest = a, flips[j]
    members = 0
    while chosen >= 0:
        i = held[chosen]
        held[chosen] = held[n_held + members]
        held[n_held + members] = i
        members += 1
        together = free if st.w.shape[0] > _FEW_DIMENSIONS else members
        outcome = solve(rows, box, st, tmp, held, n_held + together, level, _MAX_PIVOTS, TO_THE_END, i)
        if outcome != DONE or together == free:
            return
        all_scores(rows.ZT, n, st.w, st.value[INTERCEPT], tmp.scores)
        tmp.counter[WORK] += tmp.scores.shape[0] * st.w.shape[0]
        chosen, largest = -1, 0.0
        for a in range(n_held + members, n_held + free):
            if direction * tmp.scores[held[a] - n] > largest:
                chosen, largest = a, direction * tmp.scores[held[a] - n]


@inner_kernel
def _keep_groups(
    weights: FloatArray,
    side: SignArray,
    group: IntArray,
    stays: FloatArray,
    least: FloatArray,
    direction: int,
) -> float:
    """Dissolve the groups of which enough rows stay by now, number the others anew, return their weight."""
    _note_stays(group, stays, least)
    for j in range(side.shape[0]):
        g = group[j] % STAYS - 1
        if g >= 0 and side[j] == direction:
            stays[g] -= 1.0
            group[j] = 0
        elif g >= 0 and side[j] == 0:
            least[g] = min(least[g], weights[j])
    weight, last = 0.0, 0
    for g in range(side.shape[0]):
        kept = stays[g] > 0.0 and least[g] < np.inf
        weight += stays[g] * least[g] if kept else 0.0
        last += kept
        stays[g] = last + (stays[g] - 1.0) * STAYS if kept else 0.0
    _number_anew(group, stays)
    return weight


@inner_kernel
def _dissolve_large(
    weights: FloatArray,
    side: SignArray,
    group: IntArray,
    size: FloatArray,
    stays: FloatArray,
    least: FloatArray,
) -> float:
    """Dissolve groups much larger than the average, number the others anew and return their weight."""
    _note_stays(group, stays, least)
    _fill(size, 0.0)
    total, n, weight, last = 0.0, 0.0, 0.0, 0
    for j in range(group.shape[0]):
        g = group[j] % STAYS - 1
        if g >= 0 and side[j] == 0:
            n += stays[g] if size[g] == 0.0 else 0.0
            total += 1.0
            size[g] += 1.0
            least[g] = min(least[g], weights[j])
    for g in range(group.shape[0]):
        kept = size[g] > 0.0 and (size[g] == stays[g] or size[g] * n <= _LARGE * total * stays[g])
        weight += stays[g] * least[g] if kept else 0.0
        last += kept
        stays[g] = last + (stays[g] - 1.0) * STAYS if kept else 0.0  # there are no more groups than rows
    _number_anew(group, stays)
    return weight


@inner_kernel
def _note_stays(group: IntArray, stays: FloatArray, least: FloatArray) -> None:
    """How many rows of each group stay; nothing is known about their weights yet."""
    _fill(stays, 0.0)
    _fill(least, np.inf)
    for j in range(group.shape[0]):
        if group[j] > 0:
            g = group[j] % STAYS - 1
            stays[g] = max(stays[g], group[j] // STAYS + 1)


@inner_kernel
def _number_anew(group: IntArray, number: FloatArray) -> None:
    for j in range(group.shape[0]):
        if group[j] > 0:
            group[j] = int(number[group[j] % STAYS - 1])


@inner_kernel
def _fill(array: FloatArray | IntArray, value: float) -> None:
    for j in range(array.shape[0]):
        array[j] = value


@inner_kernel
def _copy(source: IntArray, target: IntArray) -> None:
    for j in range(source.shape[0]):
        target[j] = source[j]
