"""The values of pairs of flips at the root, evaluated a part at a time.

All pairs are a matter of minutes with a thousand candidates, so they come in an order in which a part of them
says most: the candidates are dealt out into blocks, first all pairs within a block are evaluated, then those
between two blocks, which thereby become one, and so on. What is not evaluated counts as cheap, which is
valid. A twentieth of the pairs, within blocks, gives a third to a half of what all give; as many pairs of a
few rows with all others, or within one large block, give next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from copy import deepcopy

import numpy as np

from ..._typing import FloatArray, IntArray
from ...model.problem import Problem
from ..core.active_set import DONE, TO_THE_END, copy_state, set_side, solve
from ..core.arrays import (
    BOUND,
    EXCESS,
    LEAST_PRICE,
    N_HELD,
    OBJ,
    SIGN,
    WORK,
    Box,
    Limits,
    NodeArrays,
    Rows,
    Scratch,
    State,
    new_state,
)
from ..core.relaxation import Relaxation
from ..jit import NO, YES, ZERO, integer, kernel
from .bounds import safe_bound
from .flips import USEFUL, candidates
from .pairs import PAIRS, Graph, set_levels, survivors

_MAX_PIVOTS = integer(400)
#: The pair values are single precision: this factor makes sure that they are rounded down.
_ROUND_DOWN = 1.0 - 1.2e-7
_BLOCK = 64  # rows in the first blocks
_STEPS = 6  # halvings of the interval in which the root's bound lies
LOCAL_ROWS = 1000  # neighbourhoods are coloured, too, up to so many rows: the work grows with their cube


class PairValues:
    """Fills the matrix of a graph, from a copy of the root: it may go on while the tree is searched."""

    def __init__(self, r: Relaxation, problem: Problem, graph: Graph, lim: Limits) -> None:
        self.rows, self.tmp, self.problem, self.graph, self.limits = r.rows, r.tmp, problem, graph, lim
        node, rank = r.node, r.rows.Z.shape[1]
        self.box, self.base, self.node = deepcopy(r.box), deepcopy(r.base), deepcopy(node)
        self.first, self.spare = (new_state(r.rows.n, len(r.box.p), rank) for _ in range(2))
        # rows may have been fixed since the relaxation was solved
        totals = problem.totals
        count = totals.counts(np.where(node.side != 0, node.side > 0, node.score > 0.0))[0]
        self.node.out[EXCESS] = max(count - totals.high[0], totals.low[0] - count) - 2.0 * totals.rounding[0]
        self.work = 0
        self._tasks = self._in_order(self.node)
        self.complete = False

    def evaluate(self, work: float, unlocked: AbstractContextManager[object]) -> Iterator[None]:
        """Evaluate pairs until so much work has been spent on them; now and then the caller may look up."""
        while self.work < work and not self.complete:
            before = int(self.tmp.counter[WORK])
            with unlocked:
                self.complete = next(self._tasks, None) is None
            self.work += int(self.tmp.counter[WORK]) - before
            yield

    def _in_order(self, node: NodeArrays) -> Iterator[int]:
        """Evaluate a row with some others at a time."""
        n, rank, direction = self.rows.n, self.rows.Z.shape[1], int(node.info[SIGN])
        stop = self.limits.cutoff - float(node.out[LEAST_PRICE])
        cheap = node.flips.V[0 if direction > 0 else 1] < stop
        listed = np.flatnonzero((node.side == 0) & ((node.score > 0.0) == (direction > 0)) & cheap)
        kinds = node.first[listed]
        alike = {int(j): listed[kinds == node.first[j]] for j in listed}  # equal rows have the same pairs
        listed = listed[np.sort(np.unique(kinds, return_index=True)[1])]
        listed = np.random.default_rng(0).permutation(listed)
        # where i is over in the solution with j forced over, v_ij is v_j
        planes = node.flips.plane[listed]
        over = direction * (planes[:, :rank] @ self.rows.Z[n + listed].T + planes[:, rank:]) < 0.0
        over &= (node.flips.have[listed] == -direction)[:, None]
        known = over | over.T
        value = self.graph.value
        for a, first, last in merging_blocks(len(listed), _BLOCK):
            j, partners = int(listed[a]), listed[first:last][~known[a, first:last]]
            values = np.zeros(len(partners))
            pair_values(
                self.rows,
                self.box,
                self.base,
                self.first,
                self.spare,
                self.tmp,
                self.node,
                self.limits,
                stop,
                n + j,
                n + partners,
                values,
            )
            columns = np.concatenate([alike[int(i)] for i in partners] or [partners])
            found = np.repeat(values * _ROUND_DOWN, [len(alike[int(i)]) for i in partners])
            for row in alike[j]:
                value[row, columns] = value[columns, row] = found
            self.graph.num[PAIRS] += len(partners)
            yield len(partners)

    def bound(self, lim: Limits) -> float:
        """The best bound of the root that the graph gives with what is known by now.

        Its levels are chosen for each value that is tried, so those of the search must be set anew.
        """
        node = self.node
        n = candidates(node, USEFUL)
        local = YES if n <= LOCAL_ROWS else NO
        low, high = float(node.out[BOUND]), lim.cutoff
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            tried = lim._replace(cutoff=middle)
            set_levels(self.graph, self.problem, tried, float(node.out[OBJ]))
            if survivors(self.graph, node.listed, n, node.out, tried, 0.0, local) < 0:
                low = middle
            else:
                high = middle
        node.out[BOUND] = low
        return low


def merging_blocks(rows: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Pairs of rows as (row, first partner, end of partners): within blocks, then between two, and so on."""
    for a in range(rows):
        if a % size:
            yield a, a - a % size, a
    while size < rows:
        for start in range(0, rows - size, 2 * size):
            for a in range(start + size, min(start + 2 * size, rows)):
                yield a, start, start + size
        size *= 2


@kernel
def pair_values(
    rows: Rows,
    box: Box,
    base: State,
    first: State,
    st: State,
    tmp: Scratch,
    node: NodeArrays,
    lim: Limits,
    stop: float,
    j: int,
    partners: IntArray,
    values: FloatArray,
) -> None:
    """Bounds with row j and one partner each forced over; 0 where row j alone costs too much already."""
    side, held, n_held = -node.info[SIGN], node.held, node.info[N_HELD]
    copy_state(base, first)
    set_side(box, j, side)
    held[n_held] = j
    if solve(rows, box, first, tmp, held, n_held + 1, stop, _MAX_PIVOTS, TO_THE_END, j) == DONE:
        for a in range(partners.shape[0]):
            copy_state(first, st)
            set_side(box, partners[a], side)
            solve(rows, box, st, tmp, held, n_held + 1, stop, _MAX_PIVOTS, TO_THE_END, partners[a])
            values[a] = safe_bound(rows, box, st, tmp.wx, lim)
            set_side(box, partners[a], ZERO)
    set_side(box, j, ZERO)
