"""The open nodes: how they are stored, best first, and depth first once they take too much memory."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray
from ...convex.svm import ConvexSolution
from ...model.problem import Problem
from ..core.relaxation import Relaxation
from .plunge import KEEPS_V, Stock


@dataclass(slots=True)
class Node:
    """An open node: its sides and what its parent knew."""

    bound: float
    depth: int
    side: SignArray
    group: IntArray
    group_sign: int
    V: FloatArray | None  #: bounds on the value of flips; None for those of the root
    labelled: FloatArray  #: multipliers of the labelled rows,
    members: IntArray  #: the margin set,
    values: FloatArray  #: its multipliers
    b: float  #: and the intercept, from which the relaxation starts

    @classmethod
    def root(cls, r: Relaxation, bound: float, svm: ConvexSolution) -> Node:
        """The node that holds only the sides that the user fixed."""
        labelled, members, values, b = r.warm_start(svm)
        return cls(
            bound=bound,
            depth=0,
            side=np.array(r.problem.side),
            group=np.zeros(r.problem.m, dtype=np.int64),
            group_sign=0,
            V=None,
            labelled=labelled,
            members=members,
            values=values,
            b=b,
        )

    @classmethod
    def taken(cls, stock: Stock, place: int) -> Node:
        """A node that was put aside during a plunge."""
        bound, b = stock.real[place].tolist()
        depth, groups, size = stock.whole[place].tolist()
        return cls(
            bound=bound,
            depth=depth,
            side=stock.side[place].copy(),
            group=stock.group[place].copy(),
            group_sign=groups,
            V=stock.V[place].copy() if stock.num[KEEPS_V] else None,
            labelled=stock.labelled[place].copy(),
            members=stock.members[place, :size].copy(),
            values=stock.values[place, :size].copy(),
            b=b,
        )

    def hand_over(self, stock: Stock, root_V: FloatArray) -> None:
        """Lay it into the last place of the stock, where a plunge begins."""
        size = len(self.members)
        stock.side[-1] = self.side
        stock.group[-1] = self.group
        stock.V[-1] = root_V if self.V is None else self.V
        stock.labelled[-1] = self.labelled
        stock.members[-1, :size] = self.members
        stock.values[-1, :size] = self.values
        stock.real[-1] = self.bound, self.b
        stock.whole[-1] = self.depth, self.group_sign, size


class Frontier:
    """A heap of nodes by their bounds; beyond the memory limit a stack, which is emptied first."""

    def __init__(self, problem: Problem, memory_limit: float) -> None:
        self._heap: list[tuple[float, int, Node]] = []
        self._stack: list[Node] = []
        self._ticket = itertools.count()  # of equal nodes the older comes first
        self._memory_limit = memory_limit
        self._node_size = 25 * problem.m + 8 * problem.n + 400  # bytes, about

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
            heapq.heappush(self._heap, (node.bound, next(self._ticket), node))

    def next(self) -> Node:
        """The node to work on next; it stays here, lest an interrupt lose it, until it is removed."""
        return self._stack[-1] if self._stack else self._heap[0][2]

    def remove_next(self) -> None:
        """Remove it."""
        if self._stack:
            self._stack.pop()
        else:
            heapq.heappop(self._heap)
