"""What the totals cost in a node: at least, at its relaxed solution, and after some of its rows flipped.

Every total is a term of its own: by how much the relaxed solution misses it (k), less the weight of the rows
that flip to mend it, but no less than what the held sides make unavoidable. The terms add up, also where rows
are in several totals.
"""

from __future__ import annotations

from ..._typing import FloatArray, SignArray
from ..core.arrays import (
    D_MIN,
    EXCESS,
    LEAD,
    LEAST_PRICE,
    MISS_PRICE,
    SIGN,
    NodeArrays,
    Sums,
)
from ..jit import ZERO, inner_kernel, spliced


@spliced
def count_held(node: NodeArrays) -> None:
    """Add up the held rows of each total: what it misses at least, and the price of that."""
    sums, side = node.sums, node.side
    for g in range(sums.low.shape[0]):
        sums.up[g] = sums.down[g] = 0.0
    for j in range(side.shape[0]):
        if side[j] != 0:
            for t in range(sums.start[j], sums.start[j + 1]):
                if side[j] > 0:
                    sums.up[sums.total[t]] += sums.row[j]
                else:
                    sums.down[sums.total[t]] += sums.row[j]
    price = 0.0
    for g in range(sums.low.shape[0]):
        least = max(0.0, sums.up[g] - sums.high[g], sums.low[g] - (sums.weight[g] - sums.down[g]))
        sums.least[g] = max(0.0, least - sums.slack[g])
        price += sums.penalty[g] * sums.least[g]
        node.out[D_MIN] = sums.least[0]  # where there is one total
    node.out[LEAST_PRICE] = price


@spliced
def count_relaxed(node: NodeArrays) -> None:
    """By how much the relaxed solution misses each total, in which direction, and the price of that."""
    sums, side = node.sums, node.side
    for g in range(sums.low.shape[0]):
        sums.gone[g] = sums.up[g]
    for j in range(side.shape[0]):
        if side[j] == 0 and node.score[j] > 0.0:
            for t in range(sums.start[j], sums.start[j + 1]):
                sums.gone[sums.total[t]] += sums.row[j]
    price, dearest = 0.0, -1.0
    for g in range(sums.low.shape[0]):
        k = max(sums.gone[g] - sums.high[g], sums.low[g] - sums.gone[g])
        sums.sign[g] = 0 if k <= 0.0 else 1 if sums.gone[g] > sums.high[g] else -1
        sums.k[g] = max(0.0, k - sums.slack[g])
        price += sums.penalty[g] * sums.k[g]
        if sums.penalty[g] * sums.k[g] > dearest:
            dearest = sums.penalty[g] * sums.k[g]
            node.info[LEAD] = g
            node.info[SIGN] = 1 if sums.sign[g] > 0 else -1
            node.out[EXCESS] = sums.k[g]
    node.out[MISS_PRICE] = price
    for j in range(side.shape[0]):
        node.useful[j] = 0
        for t in range(sums.start[j], sums.start[j + 1]):
            if sums.sign[sums.total[t]] == (1 if node.score[j] > 0.0 else -1):
                node.useful[j] = 1


@inner_kernel
def none_gone(sums: Sums) -> None:
    """Begin with no row flipped."""
    for g in range(sums.gone.shape[0]):
        sums.gone[g] = 0.0


@inner_kernel
def let_go(sums: Sums, score: FloatArray, useful: SignArray, j: int) -> None:
    """Let row j flip, too: the totals that it mends are missed by so much less."""
    own = 1 if score[j] > 0.0 else -1
    for t in range(sums.start[j], sums.start[j + 1]):
        g = sums.total[t]
        if sums.sign[g] == own or useful[j] == 0:
            sums.gone[g] += sums.row[j]


@inner_kernel
def price_left(sums: Sums) -> float:
    """What the totals still cost at least once the rows that went have flipped."""
    price = 0.0
    for g in range(sums.penalty.shape[0]):
        price += sums.penalty[g] * max(sums.least[g], sums.k[g] - sums.gone[g])
    return price


@inner_kernel
def is_in(sums: Sums, j: int, g: int) -> bool:
    """Whether total g counts row j."""
    found = False
    for t in range(sums.start[j], sums.start[j + 1]):
        found = found or sums.total[t] == g
    return found


@inner_kernel
def own_side(score: FloatArray, j: int) -> int:
    """The side of a free row in the relaxed solution."""
    return ZERO + 1 if score[j] > 0.0 else ZERO - 1
