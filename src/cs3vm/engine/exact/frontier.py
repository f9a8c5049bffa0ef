"""The open nodes: how they are stored, best first, and depth first once they take too much memory."""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...convex.svm import ConvexSolution
from ...model.problem import Problem
from ..core.relaxation import Relaxation
from .plunge import KEEPS_V, PLACE_BOUND, PLACE_DEPTH, PLACE_INTERCEPT, PLACE_SIZE, REALS, WHOLES, Stock


class Node(NamedTuple):
    """An open node: its sides and what its parent knew, as they lie in a :class:`~.plunge.Stock`.

    Where memory is short, and at the root, the bounds on the values of flips are missing.
    """

    real: FloatArray
    whole: NDArray[np.int32]

    @property
    def bound(self) -> float:
        """A lower bound on every point in it."""
        return float(self.real[PLACE_BOUND])

    @property
    def depth(self) -> int:
        """How many branchings it is away from the root."""
        return int(self.whole[PLACE_DEPTH])

    @classmethod
    def root(cls, r: Relaxation, bound: float, svm: ConvexSolution) -> Node:
        """The node that holds only the sides that the user fixed."""
        labelled, members, values, b = r.warm_start(svm)
        n, m, most, size = r.problem.n, r.problem.m, r.rows.Z.shape[1] + 4, len(members)
        real, whole = np.zeros(REALS + n + most), np.zeros(WHOLES + most + 2 * m, dtype=np.int32)
        real[PLACE_BOUND], real[PLACE_INTERCEPT] = bound, b
        real[REALS : REALS + n], real[REALS + n : REALS + n + size] = labelled, values
        whole[PLACE_SIZE], whole[WHOLES : WHOLES + size] = size, members
        whole[WHOLES + most : WHOLES + most + m] = r.problem.side
        return cls(real, whole)

    @classmethod
    def taken(cls, stock: Stock, place: int, m: int) -> Node:
        """A node that was put aside during a plunge."""
        real = stock.real[place] if stock.num[KEEPS_V] else stock.real[place, : -2 * m]
        return cls(real.copy(), stock.whole[place].copy())

    def hand_over(self, stock: Stock, place: int, root_V: FloatArray) -> None:
        """Lay it ready for a plunge."""
        known = len(self.real)
        stock.real[place, :known], stock.whole[place] = self.real, self.whole
        if known < stock.real.shape[1]:
            stock.real[place, known:] = root_V.ravel()


class Frontier:
    """A heap of nodes by their bounds; beyond the memory limit a stack, which is emptied first."""

    def __init__(self, problem: Problem, memory_limit: float) -> None:
        # of numbers and arrays only: what has neither cycles nor other objects the garbage collector forgets
        self._heap: list[tuple[float, int, FloatArray, NDArray[np.int32]]] = []
        self._stack: list[Node] = []
        self._ticket = itertools.count()  # of equal nodes the older comes first
        self._memory_limit = memory_limit
        self._node_size = 24 * problem.m + 8 * problem.n + 400  # bytes, about

    def __len__(self) -> int:
        return len(self._heap) + len(self._stack)

    @property
    def bound(self) -> float:
        """The least bound of an open node; infinite if there is none."""
        best = self._heap[0][0] if self._heap else float("inf")
        return min([best, *(node.bound for node in self._stack)])

    @property
    def is_depth_first(self) -> bool:
        """Whether nodes have gone to the stack."""
        return bool(self._stack)

    @property
    def has_room(self) -> bool:
        """Whether nodes may store the values of flips, which are most of their size."""
        return self._memory < 0.5 * self._memory_limit

    @property
    def _memory(self) -> int:
        return self._node_size * len(self)

    def push(self, node: Node) -> None:
        """Store a node."""
        if self._memory >= self._memory_limit:
            self._stack.append(node)
        else:
            heapq.heappush(self._heap, (node.bound, next(self._ticket), *node))

    def next(self) -> Node:
        """The node to work on next; it stays here, lest an interrupt lose it, until it is removed."""
        return self._stack[-1] if self._stack else Node(*self._heap[0][2:])

    def remove_next(self) -> None:
        """Remove it."""
        if self._stack:
            self._stack.pop()
        else:
            heapq.heappop(self._heap)
