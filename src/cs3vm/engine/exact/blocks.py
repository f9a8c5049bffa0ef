"""The block bound: of the rows of several groups more may have to stay than one of each.

At most T of the rows of a block flip in a point whose SVM value is below a level. That number is found by
hitting sets, and exactly unless less is enough or there are too many conflicts. A *conflict* is a set of rows
that costs at least the level when all of it is forced over, so one of its rows stays where it is: the rows
that stay hit all conflicts that are known, at first the groups. Take the fewest rows that do, and force the
others over: if that costs less than the level, so many flip; else the rows with a multiplier are another
conflict. Where no r rows hit all conflicts, more stay.

A block is a group of which several rows stay, see :mod:`.groups`; like a group it holds in all descendants.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray
from ..core.active_set import TO_THE_END, copy_state, set_side, solve
from ..core.arrays import (
    BLOCK_SOLVES,
    BLOCK_STAYS,
    BLOCK_TESTS,
    N_HELD,
    SIGN,
    Box,
    Limits,
    NodeArrays,
    Rows,
    Scratch,
    State,
)
from ..jit import ZERO, inner_kernel, integer, kernel, spliced
from .bounds import safe_bound

#: A group's number plus this for each row but the first that stays; there are fewer groups than this.
STAYS = integer(2**20)
_MAX_PIVOTS = integer(400)
_MOST_GROUPS, _MOST_ROWS, _MOST_CONFLICTS = 3, 16, 64  # of a block
# Positions in NodeArrays.block: the rows of a block; its conflicts, as bits; and two stacks of a search.
ROWS, CONFLICTS, CHOSEN, OPEN = 0, 64, 128, 192


@spliced
def unite_groups(
    rows: Rows,
    box: Box,
    base: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    lim: Limits,
    weight: float,
    wanted: float,
    level: float,
) -> float:
    """Unite groups to blocks until their weight exceeds what is wanted or none is left; return the weight."""
    group, first, following, block = node.mark, node.flips.todo, node.listed.row, node.block
    last = _list_members(group, node.side, first, following)
    g = ZERO + 1
    while g <= last and weight <= wanted:
        g, n_rows, n_groups = _next_block(block, first, following, node.sums.row, g, last)
        if n_groups < 2:
            continue
        tmp.counter[BLOCK_TESTS] += 1
        number, each = group[block[ROWS]], node.sums.row[block[ROWS]]
        stay, n = n_groups, n_groups
        while n < _MOST_CONFLICTS and stay < n_rows and weight <= wanted:
            chosen = hitting_set(block, n, stay)
            if chosen == 0:
                stay += 1
                weight += each
                tmp.counter[BLOCK_STAYS] += 1
                continue
            n_held = _force_others_over(rows, box, node, n_rows, chosen)
            copy_state(base, st)
            i = node.held[node.info[N_HELD]]
            solve(rows, box, st, tmp, node.held, n_held, level, _MAX_PIVOTS, TO_THE_END, i)
            tmp.counter[BLOCK_SOLVES] += 1
            enough = safe_bound(rows, box, st, tmp.wx, lim) >= level
            conflict = 0
            for a in range(n_rows):
                if chosen >> a & 1 == 0:
                    i = rows.n + block[ROWS + a]
                    conflict |= 1 << a if st.c[i] != 0.0 else 0
                    set_side(box, i, ZERO)
            if not enough:
                break
            if conflict == 0:  # the node itself costs so much
                return np.inf
            block[CONFLICTS + n] = conflict
            n += 1
        if stay > n_groups:
            for a in range(n_rows):
                group[block[ROWS + a]] = number + (stay - 1) * STAYS
    return weight


@inner_kernel
def _next_block(
    block: IntArray, first: IntArray, following: IntArray, weights: FloatArray, g: int, last: int
) -> tuple[int, int, int]:
    """Make a block of the next few groups from number g on of which one row stays.

    Return the number after them, and how many rows and groups there are. Rows of unequal weight make no
    block: the lightest would count for all.
    """
    n_rows, n_groups, each = 0, 0, 0.0
    while g <= last and n_groups < _MOST_GROUPS:
        size, alike, j = 0, True, first[g]
        while j >= 0:
            each = weights[j] if n_rows + size == 0 else each
            alike = alike and weights[j] == each
            size, j = size + 1, following[j]
        if n_groups > 0 and (n_rows + size > _MOST_ROWS or not alike):
            break
        if alike and 1 < size <= _MOST_ROWS:
            block[CONFLICTS + n_groups], j = 0, first[g]
            while j >= 0:
                block[ROWS + n_rows] = j
                block[CONFLICTS + n_groups] |= 1 << n_rows
                n_rows, j = n_rows + 1, following[j]
            n_groups += 1
        g += 1
    return g, n_rows, n_groups


@inner_kernel
def _force_others_over(rows: Rows, box: Box, node: NodeArrays, n_rows: int, chosen: int) -> int:
    """Force all rows of the block over that are not chosen, the most expensive first; count what is held."""
    direction, last = node.info[SIGN], node.info[N_HELD]
    flips, held, start = node.flips.V[0 if direction > 0 else 1], node.held, last
    for a in range(n_rows):
        if chosen >> a & 1 == 0:
            i = rows.n + node.block[ROWS + a]
            set_side(box, i, -direction)
            held[last] = i
            if flips[i - rows.n] > flips[held[start] - rows.n]:
                held[last], held[start] = held[start], i
            last += 1
    return int(last)


@inner_kernel
def _list_members(group: IntArray, side: SignArray, first: IntArray, following: IntArray) -> int:
    """Chain the free rows of each group of which one stays; return the largest number of a group."""
    last = ZERO
    for j in range(group.shape[0]):
        last = max(last, group[j] % STAYS)
    for g in range(min(last + 1, first.shape[0])):
        first[g] = -1
    last = min(last, first.shape[0] - 1)
    for j in range(group.shape[0]):
        if 0 < group[j] <= last and side[j] == 0:
            following[j] = first[group[j]]
            first[group[j]] = j
    return int(last)


@kernel
def hitting_set(block: IntArray, n: int, most: int) -> int:
    """At most so many rows of a block that hit its first n conflicts, as bits; 0 if there are none."""
    depth, chosen = 0, 0
    block[CHOSEN], block[OPEN] = 0, block[CONFLICTS]
    while depth >= 0:
        left = block[OPEN + depth]
        if left == 0:
            depth -= 1
            continue
        bit = left & -left
        block[OPEN + depth] = left ^ bit
        chosen = block[CHOSEN + depth] | bit
        missed, apart, taken = 0, 0, chosen
        for a in range(n):
            mask = block[CONFLICTS + a]
            if mask & chosen == 0 and missed == 0:
                missed = mask
            if mask & taken == 0:  # conflicts without a common row, each of which takes another row
                taken |= mask
                apart += 1
        if missed == 0:
            return int(chosen)
        if depth + 1 + apart <= most:
            depth += 1
            block[CHOSEN + depth], block[OPEN + depth] = chosen, missed
    return 0
