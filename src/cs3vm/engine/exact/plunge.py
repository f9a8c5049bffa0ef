"""A plunge: from a node to one of its children, and on, in one call without Python's lock.

The other children are put aside in a *stock*, which Python empties into the frontier. Where it ends, it
goes on with the next of a few nodes that Python has laid ready. It comes back where Python has something to
do: to lay others ready, to look at the clock, to look for a better incumbent, to insist on a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ..core.active_set import reset, set_side
from ..core.arrays import (
    AGE,
    BOUND,
    BRANCH_ROW,
    FLIP_BOUND,
    FLIP_LIMIT,
    FLIPS_CLOSED,
    FRESH,
    GROUP_SIGN,
    INTERCEPT,
    LEAST_PRICE,
    MISS_PRICE,
    N_HELD,
    OBJ,
    SIZE,
    STALE,
    STAY_BOUND,
    SVM_CLOSED,
    WORK,
    WORK_LIMIT,
    Box,
    Limits,
    NodeArrays,
    Rows,
    Scratch,
    State,
)
from ..jit import YES, ZERO, inner_kernel, integer, kernel, spliced
from .counts import count_relaxed
from .flips import USEFUL, drop_outdated, flip_all, goes_along, hold, update_scores
from .groups import tighten_by_groups
from .node import BRANCH, FATHOMED, PAUSED, UNDECIDED, leaf, relax, tighten
from .pairs import DIRECTION, LOCAL, Graph, switch_off_if_useless

ENDED = 4  #: an outcome beside those of a node: all children are closed or in the stock
#: What a plunge begins with: the first of the nodes that lie ready; the rest of the work on the node at hand;
#: or its children.
LOAD, RESUME, DIVIDE = range(3)
SLICE = 20_000_000  #: work between two looks at the clock: a twentieth of a second or so
_MAX_ROUNDS = 12  # of a node: relaxation, flips, fixings
_RAISES = integer(5)  # steps in which groups raise the bound of the root
# Python looks for an incumbent at the first nodes, then at every 64th, and in a large tree at every 512th.
_EARLY, _SOMETIMES, _LATE, _SELDOM = 50, 64, 4096, 512
LARGEST, READY = 32, 8  #: places for nodes that are put aside, and for those that lie ready,
BYTES = 8_000_000  #: if that is not more than this

# Positions in a row of Stock.real: the node's bound and its intercept; the multipliers of the labelled rows,
# those of the margin set, and last the bounds on the values of flips follow. In a row of Stock.whole: the
# node's depth, the side and total of its groups, and the size of the margin set; its members, the sides and
# the groups of the unlabelled rows follow.
PLACE_BOUND, PLACE_INTERCEPT, REALS = range(3)
PLACE_DEPTH, PLACE_GROUPS, PLACE_SIZE, WHOLES = range(4)
# Positions in Stock.num: nodes in the stock; the depth of the node at hand; nodes of this searcher that are
# done, and at which number Python wants to know; the work at which it wants to look at the clock; the work
# in which flips are evaluated below the root; whether their values are kept; whether a plunge goes on
# whatever the child's bound is; nodes that lie ready; and the places for nodes that are put aside.
STORED, DEPTH, NODES, NODES_STOP, WORK_STOP, FLIP_WORK, KEEPS_V, GOES_ON, LEFT, ASIDE = range(10)
# Positions in Stock.level: the least bound of the open nodes that do not lie ready; one with which the gap is
# small enough; and how far above the least of all a plunge may go, as a share of what is left to the cutoff.
BEST, ENOUGH, REACH = range(3)


class Stock(NamedTuple):
    """Nodes put aside, and in the last places those that lie ready: their sides, and what their parents knew.

    A node has one row of each of two arrays, so that Python copies it at once.
    """

    real: FloatArray  #: see above
    whole: NDArray[np.int32]  #: see above
    num: IntArray  #: see above
    level: FloatArray  #: see above


def new_stock(n: int, m: int, rank: int) -> Stock:
    """Allocate; of many rows there is room for one node that lies ready, and for its children."""
    most = rank + 4  #: members of a margin set
    reals, wholes = REALS + n + most + 2 * m, WHOLES + most + 2 * m
    room = BYTES // (8 * reals + 4 * wholes)
    ready, aside = READY if room > 2 * READY else 1, int(np.clip(room, 2, LARGEST))
    stock = Stock(
        real=np.zeros((aside + ready, reals)),
        whole=np.zeros((aside + ready, wholes), dtype=np.int32),
        num=np.zeros(10, dtype=np.int64),
        level=np.zeros(3),
    )
    stock.num[ASIDE] = aside
    return stock


@kernel
def plunge(
    rows: Rows,
    box: Box,
    base: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    graph: Graph,
    lim: Limits,
    stock: Stock,
    begin: int,
) -> int:
    """Go down from nodes until they and their children are closed or put aside, or Python is needed.

    Return the outcome of the last node, or that the plunge has ended. The rounds of a node stand here and not
    in a kernel of their own, for they would be compiled twice: alone, and as a part of this.
    """
    num = stock.num
    while True:
        if begin == DIVIDE:
            if _divide(rows, box, base, node, graph, lim, stock):
                graph.num[LOCAL] = 0
            elif _goes_on(tmp.counter, lim.cutoff, stock):
                begin = LOAD
            else:
                return ENDED
        if begin == LOAD:
            _load(rows, box, base, node, stock)
        if begin != RESUME and num[DEPTH] > 0:
            tmp.counter[FLIP_LIMIT] = tmp.counter[WORK] + num[FLIP_WORK]
        # slices of work, not of seconds: where a node pauses must not depend on the machine
        tmp.counter[WORK_LIMIT] = tmp.counter[WORK] + SLICE
        root, outcome = num[DEPTH] == 0, UNDECIDED
        for _ in range(_MAX_ROUNDS):
            outcome = relax(rows, box, base, tmp, node, lim)
            if outcome != UNDECIDED:
                tmp.counter[SVM_CLOSED] += outcome == FATHOMED
                break
            update_scores(rows, base, node, tmp)
            count_relaxed(node)
            if node.out[MISS_PRICE] + node.out[OBJ] <= node.out[BOUND]:
                outcome = leaf(rows, node)
                break
            drop_outdated(rows, box, node, tmp)
            stop = lim.cutoff - node.out[LEAST_PRICE]
            complete, useful = YES, USEFUL
            for _ in range(2 if root else 1):  # at the root the other rows, too: more fixings, at a price
                complete = complete and flip_all(rows, box, base, st, tmp, node, lim, useful, stop)
                useful = ZERO
            changed = tighten(box, node, graph, lim, complete)
            if node.out[BOUND] >= lim.cutoff:
                outcome = FATHOMED
                tmp.counter[FLIPS_CLOSED] += 1
            elif not complete:
                outcome = PAUSED
            if outcome != UNDECIDED or changed == 0:
                break
        if outcome == UNDECIDED:
            tighten_by_groups(rows, box, base, st, tmp, node, lim, _RAISES if root else ZERO)
            outcome = FATHOMED if node.out[BOUND] >= lim.cutoff else BRANCH
        if outcome == PAUSED:
            return PAUSED
        switch_off_if_useless(graph.num)
        if outcome == FATHOMED and not root and _goes_on(tmp.counter, lim.cutoff, stock):
            num[NODES] += 1
            begin = LOAD
            continue
        if outcome != BRANCH or _wants_python(tmp.counter, node.out, node.info, lim.cutoff, stock):
            return outcome
        num[NODES] += 1
        begin = DIVIDE


@spliced
def _wants_python(counter: IntArray, out: FloatArray, info: IntArray, cutoff: float, stock: Stock) -> bool:
    """Whether there is something to do at this open node that only Python can do."""
    num, level = stock.num, stock.level
    if num[DEPTH] == 0 or info[BRANCH_ROW] < 0:
        return True
    n_nodes = num[NODES] + 1
    if promises(out, cutoff, n_nodes) or min(_best_open(stock), out[BOUND]) >= level[ENOUGH]:
        return True
    if counter[WORK] >= num[WORK_STOP] or n_nodes >= num[NODES_STOP]:
        return True
    return bool(num[STORED] + 2 > num[ASIDE])


@inner_kernel
def _goes_on(counter: IntArray, cutoff: float, stock: Stock) -> bool:
    """Whether a node lies ready, and Python has nothing to do before it is taken."""
    num = stock.num
    drop_closed(stock, cutoff)
    return bool(num[LEFT] > 0 and counter[WORK] < num[WORK_STOP] and num[STORED] + 2 <= num[ASIDE])


@kernel
def drop_closed(stock: Stock, cutoff: float) -> None:
    """Pass over nodes that lie ready but are closed by now, because a better incumbent is known."""
    while stock.num[LEFT] > 0 and first_ready(stock) >= cutoff:
        stock.num[LEFT] -= 1


@kernel
def first_ready(stock: Stock) -> float:
    """The bound of the first of the nodes that lie ready, the least of them; infinite if there is none."""
    left = stock.num[LEFT]
    return float(stock.real[stock.real.shape[0] - left, PLACE_BOUND] if left > 0 else np.inf)


@inner_kernel
def _best_open(stock: Stock) -> float:
    """The least bound of the open nodes but the one at hand."""
    return min(float(stock.level[BEST]), first_ready(stock))


@kernel
def promises(out: FloatArray, cutoff: float, n_nodes: int) -> bool:
    """Whether to look for a better incumbent here: the relaxed solution promises one, or now and then."""
    attained = out[OBJ] + out[MISS_PRICE]
    every = _SOMETIMES if n_nodes <= _LATE else _SELDOM
    return bool(attained < cutoff or n_nodes < _EARLY or n_nodes % every == 0)


@spliced
def _load(rows: Rows, box: Box, base: State, node: NodeArrays, stock: Stock) -> None:
    """Make the first of those that lie ready the node at hand; no flip solution is known."""
    place, n, m = stock.real.shape[0] - stock.num[LEFT], rows.n, node.side.shape[0]
    stock.num[LEFT] -= 1
    real, whole = stock.real[place], stock.whole[place]
    most = whole.shape[0] - WHOLES - 2 * m
    labelled, values, V = real[REALS : REALS + n], real[REALS + n :], real[REALS + n + most :]
    members, sides, groups = whole[WHOLES:], whole[WHOLES + most :], whole[WHOLES + most + m :]
    held = 0
    for j in range(m):
        side = ZERO + sides[j]  # else set_side is compiled for two kinds of numbers
        node.side[j], node.group[j] = side, groups[j]
        node.flips.V[0, j], node.flips.V[1, j] = V[j], V[m:][j]
        node.flips.have[j], node.flips.witness[j] = 0, -1
        set_side(box, n + j, side)
        if side != 0 and (node.twin[j] <= j or sides[node.twin[j]] != side):  # of equal rows the last
            node.held[held] = n + j
            held += 1
    for x in range(node.info.shape[0]):
        node.info[x] = 0
    node.info[N_HELD], node.info[FRESH], node.info[GROUP_SIGN] = held, 1, whole[PLACE_GROUPS]
    node.out[OBJ], node.out[BOUND] = 0.0, real[PLACE_BOUND]
    stock.num[DEPTH] = whole[PLACE_DEPTH]
    reset(base)
    size = whole[PLACE_SIZE]
    if size > 0:
        for i in range(n):
            base.c[i] = labelled[i]
        for a in range(size):
            base.members[a] = members[a]
            base.c[members[a]] = values[a]
        base.number[SIZE], base.number[AGE] = size, STALE
        base.value[INTERCEPT] = real[PLACE_INTERCEPT]


@spliced
def _divide(
    rows: Rows, box: Box, base: State, node: NodeArrays, graph: Graph, lim: Limits, stock: Stock
) -> bool:
    """Put one child aside and make the other the node at hand; return whether there is one to go on with."""
    j = node.info[BRANCH_ROW]
    direction = 1 if node.score[j] > 0.0 else -1
    stay, flip = node.out[STAY_BOUND], node.out[FLIP_BOUND]
    stock.num[DEPTH] += 1
    first, first_bound, second_bound = direction, stay, flip
    if stay >= lim.cutoff:
        first, first_bound, second_bound = -direction, flip, stay
    best = min(_best_open(stock), first_bound)
    if second_bound < lim.cutoff:
        best = min(best, second_bound)
    ends = first_bound > best + stock.level[REACH] * (lim.cutoff - best) and stock.num[GOES_ON] == 0
    # the second child is put aside, then the first, where the plunge does not go on with it
    for turn in range(2):
        side, bound = (-first, second_bound) if turn == 0 else (first, first_bound)
        if bound < lim.cutoff and (turn == 0 or ends):
            _put_aside(rows, base, node, graph, stock, j, side, bound)
    if ends or first_bound >= lim.cutoff:
        return False
    hold(box, node, j, first)
    _raise_values(node.flips.V, graph.value, graph.num[DIRECTION], j, first)
    node.out[BOUND] = first_bound
    return True


@spliced
def _put_aside(
    rows: Rows, base: State, node: NodeArrays, graph: Graph, stock: Stock, j: int, side: int, bound: float
) -> None:
    """Store the node at hand with one more row held."""
    n, m = rows.n, node.side.shape[0]
    real, whole = stock.real[stock.num[STORED]], stock.whole[stock.num[STORED]]
    most = whole.shape[0] - WHOLES - 2 * m
    labelled, values, V = real[REALS : REALS + n], real[REALS + n :], real[REALS + n + most :]
    members, sides, groups = whole[WHOLES:], whole[WHOLES + most :], whole[WHOLES + most + m :]
    for i in range(m):
        sides[i], groups[i] = node.side[i], node.group[i]
    sides[j] = side
    t = node.twin[j]
    while t != j:
        if sides[t] == 0 and goes_along(node, j, side, t, rows.margin > 0.0):
            sides[t] = side
        t = node.twin[t]
    if stock.num[KEEPS_V] != 0:
        for i in range(m):
            V[i], V[m:][i] = node.flips.V[0, i], node.flips.V[1, i]
        _raise_values(V.reshape(2, m), graph.value, graph.num[DIRECTION], j, side)
    for i in range(n):
        labelled[i] = base.c[i]
    size = base.number[SIZE]
    for a in range(size):
        members[a], values[a] = base.members[a], base.c[base.members[a]]
    real[PLACE_BOUND], real[PLACE_INTERCEPT] = bound, base.value[INTERCEPT]
    whole[PLACE_DEPTH], whole[PLACE_GROUPS] = stock.num[DEPTH], node.info[GROUP_SIGN]
    whole[PLACE_SIZE] = size
    stock.level[BEST] = min(stock.level[BEST], bound)
    stock.num[STORED] += 1


@inner_kernel
def _raise_values(V: FloatArray, pairs: NDArray[np.float32], direction: int, j: int, side: int) -> None:
    """Once row j is over, the value of flipping another row is at least that of flipping both."""
    if side == -direction:
        row = 1 if side > 0 else 0
        for i in range(V.shape[1]):
            V[row, i] = max(V[row, i], pairs[j, i])
