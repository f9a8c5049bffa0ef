"""The search: branch and bound, best first with plunging, by one or more threads."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from ...convex.svm import ConvexSolution
from ...model.problem import Problem
from ...model.status import TracePoint, relative_gap
from ..core.arrays import (
    BOUND,
    BRANCH_ROW,
    FLIP_BOUND,
    FLIP_LIMIT,
    INTERCEPT,
    MISS_PRICE,
    OBJ,
    RAISED_BOUND,
    SIGN,
    STAY_BOUND,
    WORK,
    Limits,
)
from ..core.margin_set import counters
from ..core.relaxation import Relaxation, unbeatable_level
from .crew import Crew, Options, Stopped
from .frontier import Frontier
from .incumbent import Incumbent
from .node import BRANCH, FATHOMED, PAUSED
from .pair_values import LOCAL_ROWS, PairValues
from .pairs import BISECTIONS, DIRECTION, LOCAL, joint_counters, new_graph, own_graph, set_levels
from .plunge import (
    ASIDE,
    BEST,
    DEPTH,
    DIVIDE,
    ENDED,
    ENOUGH,
    FLIP_WORK,
    GOES_ON,
    KEEPS_V,
    LEFT,
    LOAD,
    NODES,
    NODES_STOP,
    PLACE_DEPTH,
    REACH,
    RESUME,
    SLICE,
    WORK_STOP,
    drop_closed,
    first_ready,
    new_stock,
    plunge,
    promises,
)

_JOINT_ROWS = 2500  # the joint-flip matrix has the square of this size
_BISECTIONS = 5  # steps in which the joint bound of a node is found
#: The flips of the root and of every other node are evaluated until this much work, or at the root this share
#: of the limit, is done.
_ROOT_FLIPS, _NODE_FLIPS, _FLIP_SHARE = 4e9, 1e9, 0.3
#: Before branching, pairs are evaluated until this much work, or this share of the limits, is done.
_PAIR_WORK, _PAIR_SHARE = 2e9, 0.3
#: Later they go on while the bound of all is that of the root: up to this share of all work, in portions that
#: grow by this factor.
_LATER_SHARE, _PORTION = 0.5, 1.5
_MANY = 10**9  # nodes: more than there are in one plunge
_SMALLEST_GAP = 1e-8
_SHARE = 8  # of the open nodes one searcher takes no more than one in so many at once
_PLUNGE = 0.25  # how far above the best open bound a plunge may go, as a share of the gap


@dataclass
class Tree:
    """A search for one problem: what one thread does, and the nodes that all threads share."""

    problem: Problem
    incumbent: Incumbent
    options: Options
    start: float
    relaxation: Relaxation
    root_bound: float
    svm: ConvexSolution
    n_nodes: int = 0
    unresolved: float = float("inf")
    n_unresolved: int = 0
    trace: list[TracePoint] = field(default_factory=list)
    crew: Crew = field(default_factory=Crew)

    def __post_init__(self) -> None:
        self.crew.members.append(self)
        self.frontier = Frontier(self.problem, self.options.memory_limit)
        self.current = self.root_bound
        self.depth = 0
        self.svm_value = self.root_bound
        self.pairs: PairValues | None = None
        self.root_V = np.zeros((2, self.problem.m))
        self._last_trace = 0.0
        joint = self.options.joint and len(self.problem.totals) == 1 and 3 <= self.problem.m <= _JOINT_ROWS
        self.graph = new_graph(self.problem, joint)
        self._new_stock()
        self.update_limits()

    def _new_stock(self) -> None:
        rank = self.relaxation.rows.Z.shape[1]
        self.stock = new_stock(self.problem.n, self.problem.m, rank)
        self.stock.num[FLIP_WORK], self.stock.level[REACH] = int(_NODE_FLIPS), _PLUNGE

    @property
    def leads(self) -> bool:
        """Whether this is the caller's own thread, which alone calls back."""
        return self.crew.members[0] is self

    # -- limits ----------------------------------------------------------------------------------
    def update_limits(self) -> None:
        """Take the incumbent's value into the limits that the kernels see."""
        gap = max(self.options.gap, _SMALLEST_GAP)
        shrink = 1.0 - min(0.9 * gap, gap - 2e-9)  # the crew takes 1e-9 of it for rounding
        best = min(self.incumbent.value, self.options.cutoff)
        self.level = best if np.isfinite(best) else unbeatable_level(self.problem)
        self.limits: Limits = self.relaxation.limits(self.level * shrink, self.level)
        if self.graph.num[DIRECTION] != 0:
            set_levels(self.graph, self.problem, self.limits, self.svm_value)

    @property
    def bound(self) -> float:
        """A lower bound on the optimum: of what is open, unresolved or cut off."""
        return max(self.root_bound, min(self.crew.bound, self.frontier.bound))

    # -- the loop --------------------------------------------------------------------------------
    def run(self) -> str:
        """Search; return why it ended: "done", "gap", "improved", "interrupted", "pause" or a limit."""
        with self.crew.lock:
            reason = "error"
            try:
                self.frontier.push_root(self.relaxation, self.root_bound, self.svm)
                self.n_nodes = 1  # its bound is known: it counts even if it is closed by that alone
                reason = self._search()
            finally:
                self.crew.regain()
                if reason != "done":
                    self.crew.stop(reason)
                self.crew.join()
            return self.crew.reason or reason

    def _search(self) -> str:
        """Branch and bound. A plunge goes from a node to one of its children; the other is stored."""
        try:
            while self._take_node():
                begin = LOAD
                while self._go_down(begin):
                    begin = DIVIDE
                self._work_on()
                self._call_assistants()
                self._go_on_with_pairs()
        except Stopped as stop:
            return stop.reason
        except KeyboardInterrupt:
            return "interrupted"
        self.current = float("inf")
        return "done"

    def _take_node(self) -> bool:
        """Lay the next open nodes ready that are still of interest, if none is left."""
        self._look_at_clock(perf_counter())
        if self.incumbent.value < self.level:  # another searcher's find
            self.update_limits()
        drop_closed(self.stock, self.limits.cutoff)
        while self.stock.num[LEFT] == 0:
            self._work_on()
            if not self._has_work():
                return False
            self._lay_ready()
            drop_closed(self.stock, self.limits.cutoff)
        self._work_on()
        return True

    def _lay_ready(self) -> None:
        """Take the best of the open nodes; what is interrupted here counts as being worked on."""
        num, places = self.stock.num, len(self.stock.real)
        share = len(self.frontier) // (_SHARE * len(self.crew.members))
        number = 1 if self.frontier.is_depth_first else min(places - int(num[ASIDE]), max(1, share))
        for place in range(places - number, places):
            bound, _, real, whole = self.frontier.next()
            self.current = min(self.current, bound)
            self.stock.real[place, : len(real)], self.stock.whole[place] = real, whole
            if len(real) < self.stock.real.shape[1]:
                self.stock.real[place, len(real) :] = self.root_V.ravel()
            self.frontier.remove_next()
            if whole[PLACE_DEPTH] == 0:
                self._limit_root()
        num[LEFT] = number

    def _work_on(self, bound: float = float("inf")) -> None:
        """Note the least bound of the node at hand, if any, and of those that lie ready."""
        self.current = min(bound, first_ready(self.stock))

    def _has_work(self) -> bool:
        """Whether there is an open node, after waiting for the others if they may still store some."""
        while not self.frontier:
            if self.crew.current == float("inf"):
                return False
            self.crew.wait()
            self._look_at_clock(perf_counter())
        return True

    def _go_down(self, begin: int) -> bool:
        """Plunge from the node at hand; return whether that has led to an open node, to be divided next."""
        outcome = self._plunge(begin)
        if self.depth == 0 and outcome == BRANCH and self.graph.value.size:
            self._begin_with_pairs()
            self._limit_root()
            outcome = self._plunge(RESUME)
        if outcome in (ENDED, FATHOMED) or not self._examine(outcome):
            return False
        self._obey_node_limit()
        if self.depth == 0:
            out = self.relaxation.node.out
            self.root_V[:] = self.relaxation.node.flips.V
            self._raise_root(float(max(out[BOUND], out[RAISED_BOUND])))
        return True

    def _obey_node_limit(self) -> None:
        if self.crew.n_nodes >= self.options.node_limit:
            self._work_on(float(self.relaxation.node.out[BOUND]))
            raise Stopped("nodes")

    def _call_assistants(self) -> None:
        """Once the root is divided, let the other threads join in."""
        if self.leads:
            for _ in range(len(self.crew.members), self.options.n_jobs):
                self.crew.start(self._assistant()._search)

    def _assistant(self) -> Tree:
        """Another searcher of the same nodes, with arrays of its own."""
        other = copy(self)
        other.relaxation = Relaxation(self.problem, self.relaxation.random_state)
        other.graph = own_graph(self.graph)
        other._new_stock()
        other.n_nodes, other.n_unresolved, other.current = 0, 0, float("inf")
        other.crew.members.append(other)
        return other

    @property
    def effort(self) -> int:
        """The numbers that this thread has touched."""
        return int(self.relaxation.tmp.counter[WORK])

    def work(self) -> dict[str, int]:
        """What this thread has done, by name."""
        return counters(self.relaxation.tmp) | joint_counters(self.graph)

    def counters(self) -> dict[str, int]:
        """What all threads have done, by name."""
        return self.crew.work()

    # -- the node at hand ------------------------------------------------------------------------
    def _limit_root(self) -> None:
        """Let flips and the graph do at the root what is too much elsewhere, up to their share."""
        self.graph.num[LOCAL] = int(self.problem.m <= LOCAL_ROWS)
        flips = min(_ROOT_FLIPS, _FLIP_SHARE * self.options.work_limit)
        self.relaxation.tmp.counter[FLIP_LIMIT] = self.effort + int(flips)

    def _begin_with_pairs(self) -> None:
        """Find out which candidates of the root can flip together, of as many pairs as its share allows."""
        now = perf_counter()
        self.pairs = PairValues(self.relaxation, self.problem, self.graph, self.limits)
        self.graph.num[DIRECTION] = self.relaxation.node.info[SIGN]
        self.graph.num[BISECTIONS] = _BISECTIONS
        work = min(_PAIR_WORK, _PAIR_SHARE * self.options.work_limit)
        self._evaluate_pairs(work, now + _PAIR_SHARE * (self.options.deadline - now))

    def _go_on_with_pairs(self) -> None:
        """Evaluate more of them where that may raise the bound of all, and the share is not used up."""
        pairs = self.pairs
        bound = min(self.frontier.bound, self.current)
        if pairs is None or pairs.complete or not self.leads or bound > self.root_bound:
            return
        work = _LATER_SHARE * self.crew.effort
        if work > _PORTION * pairs.work:
            self._evaluate_pairs(work)

    def _evaluate_pairs(self, work: float, deadline: float = float("inf")) -> None:
        """Evaluate pairs until this much work has been spent on them, then raise the root's bound."""
        assert self.pairs is not None
        for _ in self.pairs.evaluate(work, self.crew):
            now = perf_counter()
            self._look_at_clock(now)
            if now > deadline:
                break
        with self.crew:
            bound = self.pairs.bound(self.limits)
        self._raise_root(bound)
        set_levels(self.graph, self.problem, self.limits, self.svm_value)

    def _raise_root(self, bound: float) -> None:
        """Take a bound of all points, which may be better than that of every open node."""
        self.root_bound = max(self.root_bound, min(bound, self.limits.cutoff))

    def _plunge(self, begin: int) -> int:
        """Go down in compiled code until the plunge ends or there is something to do here; say which."""
        r, stock = self.relaxation, self.stock
        while True:
            self._set_out()
            with self.crew:
                outcome = plunge(
                    r.rows, r.box, r.base, r.spare, r.tmp, r.node, self.graph, self.limits, stock, begin
                )
            self._take_over()
            if outcome == ENDED:
                return ENDED
            self._work_on(float(r.node.out[BOUND]))
            self._look_at_clock(perf_counter())
            if outcome != PAUSED:
                self.n_nodes += int(self.depth > 0)  # the root has been counted
                return int(outcome)
            begin = RESUME

    def _set_out(self) -> None:
        """Tell a plunge where it has to come back."""
        num, level = self.stock.num, self.stock.level
        nodes_left = (self.options.node_limit - self.crew.n_nodes) / len(self.crew.members)
        work_left = self.options.work_limit - self.crew.effort
        num[NODES] = self.n_nodes
        num[NODES_STOP] = self.n_nodes + int(min(nodes_left, _MANY))
        num[WORK_STOP] = self.effort + int(min(SLICE, work_left))
        num[KEEPS_V], num[GOES_ON] = self.frontier.has_room, self.frontier.is_depth_first
        level[BEST] = self.frontier.bound
        level[ENOUGH] = self.incumbent.value * (1.0 - self.options.gap) - 1e-9 * abs(self.incumbent.value)

    def _take_over(self) -> None:
        """Move what was put aside to the open nodes.

        Until then ``current`` is the bound with which the plunge began, and holds for them, too.
        """
        num = self.stock.num
        stored = self.frontier.empty(self.stock, self.problem.m)
        self.crew.lock.notify(stored)
        self.n_nodes, self.depth = int(num[NODES]), int(num[DEPTH])

    def _look_at_clock(self, now: float) -> None:
        if now - self._last_trace > 0.5:
            self._last_trace = now
            if self.leads:
                self.record(now)
        if self.crew.reason:
            raise Stopped(self.crew.reason)
        if now > self.options.deadline:
            raise Stopped("time")
        if self.crew.effort >= self.options.work_limit:
            raise Stopped("work")
        if self.crew.effort >= self.options.pause:
            raise Stopped("pause")
        value = self.incumbent.value
        if relative_gap(value, self.bound) <= self.options.gap:
            raise Stopped("gap")

    def record(self, now: float) -> None:
        """Append a trace point and tell the callback."""
        point = TracePoint(now - self.start, self.incumbent.value, self.bound, self.crew.n_nodes)
        self.trace.append(point)
        if self.options.callback is not None and self.leads:
            self.options.callback(point)

    # -- what a processed node gives ---------------------------------------------------------------
    def _examine(self, outcome: int) -> bool:
        """Look for a better incumbent; return whether the node is still open."""
        r = self.relaxation
        out = r.node.out
        if promises(out, self.limits.cutoff, self.n_nodes):
            self._round(float(out[OBJ] + out[MISS_PRICE]))
        if out[BOUND] >= self.limits.cutoff:
            return False
        return (outcome == BRANCH and r.node.info[BRANCH_ROW] >= 0) or self._insist()

    def _round(self, attained: float) -> None:
        """Offer the relaxed solution; where its sides promise more, the exact solution for those sides."""
        r = self.relaxation
        before = self.incumbent.value
        w, _ = r.original(r.base.w, float(r.base.value[INTERCEPT]))
        self.incumbent.offer_plane(w)
        if attained < min(self.limits.cutoff, self.incumbent.value * (1.0 - 1e-7)):
            z = np.where(r.node.side != 0, r.node.side > 0, r.node.score > 0).astype(np.int8)
            self.incumbent.offer_sides(z, r.exact_plane(z), attained)
        if self.incumbent.value < before:
            self.improved()

    def improved(self) -> None:
        """React to a better incumbent."""
        self.update_limits()
        self.record(perf_counter())
        if self.options.first_improvement and self.incumbent.value < self.options.cutoff:
            raise Stopped("improved")

    def _insist(self) -> bool:
        """A node whose bound is attained but not proven: solve it anew, else branch on a free row."""
        r = self.relaxation
        node = r.node
        bound = r.careful_bound(np.array(node.side), self.level)
        node.out[BOUND] = max(node.out[BOUND], bound + self.problem.price_of_sides(node.side))
        if node.out[BOUND] >= self.limits.cutoff:
            return False
        free = np.flatnonzero(node.side == 0)
        if len(free) == 0:
            self.n_unresolved += 1
            self.unresolved = min(self.unresolved, float(node.out[BOUND]))
            return False
        j = int(free[np.argmin(np.abs(node.score[free]))])
        node.info[BRANCH_ROW] = j
        node.info[SIGN] = 1 if node.score[j] > 0 else -1
        node.out[STAY_BOUND] = node.out[FLIP_BOUND] = node.out[BOUND]
        return True
