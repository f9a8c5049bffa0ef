"""The open nodes: how they are stored, best first, and depth first once they take too much memory."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...convex.svm import ConvexSolution
from ...model.problem import Problem
from ..core.relaxation import Relaxation
from .plunge import KEEPS_V, PLACE_BOUND, PLACE_INTERCEPT, PLACE_SIZE, REALS, STORED, WHOLES, Stock

#: An open node: a lower bound on every point in it, its turn among those with the same bound, and its rows of
#: the two arrays of a :class:`~.plunge.Stock`. Where memory is short, and at the root, bounds on values of
#: flips are missing. It consists of numbers and arrays only, so that the garbage collector forgets it.
Node = tuple[float, int, FloatArray, NDArray[np.int32]]


class Frontier:
    """A heap of nodes by their bounds; beyond the memory limit a stack, which is emptied first."""

    def __init__(self, problem: Problem, memory_limit: float) -> None:
        self._heap: list[Node] = []
        self._stack: list[Node] = []
        self._ticket = itertools.count()  # of equal nodes the older comes first
        self._most = memory_limit / (24 * problem.m + 8 * problem.n + 400)  # bytes of a node, about

    def __len__(self) -> int:
        return len(self._heap) + len(self._stack)

    @property
    def bound(self) -> float:
        """The least bound of an open node; infinite if there is none."""
        best = self._heap[0][0] if self._heap else float("inf")
        return min([best, *(node[0] for node in self._stack)])

    @property
    def is_depth_first(self) -> bool:
        """Whether nodes have gone to the stack."""
        return bool(self._stack)

    @property
    def has_room(self) -> bool:
        """Whether nodes may store the values of flips, which are most of their size."""
        return len(self) < 0.5 * self._most

    def push(self, bound: float, real: FloatArray, whole: NDArray[np.int32]) -> None:
        """Store a node."""
        node = (bound, next(self._ticket), real, whole)
        if len(self._heap) + len(self._stack) >= self._most:
            self._stack.append(node)
        else:
            heapq.heappush(self._heap, node)

    def push_root(self, r: Relaxation, bound: float, svm: ConvexSolution) -> None:
        """Store the node that holds only the sides that the user fixed."""
        labelled, members, values, b = r.warm_start(svm)
        n, m, most, size = r.problem.n, r.problem.m, r.rows.Z.shape[1] + 4, len(members)
        real, whole = np.zeros(REALS + n + most), np.zeros(WHOLES + most + 2 * m, dtype=np.int32)
        real[PLACE_BOUND], real[PLACE_INTERCEPT] = bound, b
        real[REALS : REALS + n], real[REALS + n : REALS + n + size] = labelled, values
        whole[PLACE_SIZE], whole[WHOLES : WHOLES + size] = size, members
        whole[WHOLES + most : WHOLES + most + m] = r.problem.side
        self.push(bound, real, whole)

    def empty(self, stock: Stock, m: int) -> int:
        """Store what was put aside during a plunge; return how many nodes."""
        stored = int(stock.num[STORED])
        end = stock.real.shape[1] - (0 if stock.num[KEEPS_V] else 2 * m)
        for place, bound in enumerate(stock.real[:stored, PLACE_BOUND].tolist()):
            self.push(bound, stock.real[place, :end].copy(), stock.whole[place].copy())
        stock.num[STORED] = 0
        return stored

    def next(self) -> Node:
        """The node to work on next; it stays here, lest an interrupt lose it, until it is removed."""
        return self._stack[-1] if self._stack else self._heap[0]

    def remove_next(self) -> None:
        """Remove it."""
        if self._stack:
            self._stack.pop()
        else:
            heapq.heappop(self._heap)
