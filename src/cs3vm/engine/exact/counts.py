"""What the totals cost in a node: at least, at its relaxed solution, and after some of its rows flipped.

Every total is a term of its own: by how much the relaxed solution misses it (k), less the weight of the rows
that flip to mend it, but no less than what the held sides make unavoidable. The terms add up, also where rows
are in several totals.
"""

from __future__ import annotations

from ..core.arrays import (
    D_MIN,
    EXCESS,
    LEAD,
    LEAST_PRICE,
    MISS_PRICE,
    SIGN,
    NodeArrays,
    Rows,
)
from ..jit import ZERO, kernel, spliced


@spliced
def count_held(rows: Rows, node: NodeArrays) -> None:
    """Add up the held rows of each total: what it misses at least, and the price of that."""
    sums, missed, side = rows.sums, node.missed, node.side
    for g in range(sums.low.shape[0]):
        missed.up[g] = missed.down[g] = 0.0
    for j in range(side.shape[0]):
        if side[j] != 0:
            for t in range(sums.start[j], sums.start[j + 1]):
                if side[j] > 0:
                    missed.up[sums.total[t]] += rows.weight[j]
                else:
                    missed.down[sums.total[t]] += rows.weight[j]
    price = 0.0
    for g in range(sums.low.shape[0]):
        least = max(0.0, missed.up[g] - sums.high[g], sums.low[g] - (sums.weight[g] - missed.down[g]))
        missed.least[g] = max(0.0, least - sums.slack[g])
        price += sums.penalty[g] * missed.least[g]
        node.out[D_MIN] = missed.least[0]  # where there is one total
    node.out[LEAST_PRICE] = price


@spliced
def count_relaxed(rows: Rows, node: NodeArrays) -> None:
    """By how much the relaxed solution misses each total, in which direction, and the price of that."""
    sums, missed, side = rows.sums, node.missed, node.side
    for g in range(sums.low.shape[0]):
        missed.gone[g] = missed.up[g]
    for j in range(side.shape[0]):
        if side[j] == 0 and node.score[j] > 0.0:
            for t in range(sums.start[j], sums.start[j + 1]):
                missed.gone[sums.total[t]] += rows.weight[j]
    price, dearest = 0.0, -1.0
    for g in range(sums.low.shape[0]):
        k = max(missed.gone[g] - sums.high[g], sums.low[g] - missed.gone[g])
        missed.sign[g] = 0 if k <= 0.0 else 1 if missed.gone[g] > sums.high[g] else -1
        missed.k[g] = max(0.0, k - sums.slack[g])
        price += sums.penalty[g] * missed.k[g]
        if sums.penalty[g] * missed.k[g] > dearest:
            dearest = sums.penalty[g] * missed.k[g]
            node.info[LEAD] = g
            node.info[SIGN] = 1 if missed.sign[g] > 0 else -1
            node.out[EXCESS] = missed.k[g]
    node.out[MISS_PRICE] = price
    for j in range(side.shape[0]):
        node.useful[j] = 0
        for t in range(sums.start[j], sums.start[j + 1]):
            if missed.sign[sums.total[t]] == (1 if node.score[j] > 0.0 else -1):
                node.useful[j] = 1


@kernel
def none_gone(node: NodeArrays) -> None:
    """Begin with no row flipped."""
    for g in range(node.missed.gone.shape[0]):
        node.missed.gone[g] = 0.0


@kernel
def let_go(rows: Rows, node: NodeArrays, j: int) -> None:
    """Let row j flip, too: the totals that it mends are missed by so much less."""
    sums, missed = rows.sums, node.missed
    own = 1 if node.score[j] > 0.0 else -1
    for t in range(sums.start[j], sums.start[j + 1]):
        g = sums.total[t]
        if missed.sign[g] == own or node.useful[j] == 0:
            missed.gone[g] += rows.weight[j]


@kernel
def price_left(rows: Rows, node: NodeArrays) -> float:
    """What the totals still cost at least once the rows that went have flipped."""
    penalty, missed = rows.sums.penalty, node.missed
    price = 0.0
    for g in range(penalty.shape[0]):
        price += penalty[g] * max(missed.least[g], missed.k[g] - missed.gone[g])
    return price


@kernel
def is_in(rows: Rows, j: int, g: int) -> bool:
    """Whether total g counts row j."""
    found = False
    for t in range(rows.sums.start[j], rows.sums.start[j + 1]):
        found = found or rows.sums.total[t] == g
    return found


@kernel
def own_side(node: NodeArrays, j: int) -> int:
    """The side of a free row in the relaxed solution."""
    return ZERO + 1 if node.score[j] > 0.0 else ZERO - 1
