"""Phases that run one after the other within one time limit: the heuristic, then a solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..convex.svm import first_answer
from ..model.problem import Problem
from ..model.result import Result, answer, as_given
from ..model.status import Callback, Status, TracePoint
from ..solvers import Solver
from . import shares
from .clock import Clock


class Phases:
    """The best answer of the phases so far; each starts from it, and their clock is one."""

    def __init__(
        self,
        problem: Problem,
        time_limit: float,
        gap: float,
        random_state: int,
        callback: Callback | None,
        work_limit: float | None = None,
    ) -> None:
        self.work_limit = float("inf") if work_limit is None else work_limit
        self.problem, self.clock, self.callback = problem, Clock(time_limit), callback
        self.common: dict[str, Any] = {"gap": gap, "random_state": random_state}
        self.best: Result | None = None

    @property
    def result(self) -> Result:
        """The outcome of all phases so far."""
        assert self.best is not None, "no phase has run"
        return self.best

    @property
    def is_over(self) -> bool:
        """Whether the problem is solved, or someone has interrupted."""
        return self.best is not None and (self.best.is_optimal or self.best.status is Status.INTERRUPTED)

    def begin_with(self, start: Result | FloatArray | None) -> None:
        """Take a start from outside: a point of this or a like problem, or a normal vector."""
        if isinstance(start, Result):
            points = [
                answer(self.problem, start.coef, Status.FEASIBLE) if start.coef is not None else None,
                as_given(self.problem, start.coef, start.intercept, start.z, Status.FEASIBLE),
            ]
        else:
            w = None if start is None else np.asarray(start, dtype=float)
            points = [None if w is None else answer(self.problem, w, Status.FEASIBLE)]
        for point in [self.best, *points]:
            if point is not None and (self.best is None or point.objective < self.best.objective):
                self.best = point

    def run(
        self, phase: Callable[..., Result], share: float = 1.0, work: float = float("inf"), **options: Any
    ) -> Result:
        """Run the next phase for that share of the limits, from the best answer so far, unless all is over.

        It does at most that much work, if it counts any.
        A proof that was asked for is written by the solver, even if the answer is known to be optimal.
        """
        wanted = options.get("proof") is not None and self.best is not None and self.best.is_optimal
        if self.is_over and not wanted:
            return self.result
        first, spent = self.best, self.clock.seconds
        if first is not None:
            options["start"] = first

        def shifted(point: TracePoint) -> None:
            if self.callback is not None:
                self.callback(point._replace(seconds=point.seconds + spent))

        limit = self.clock.part(share)
        done = 0.0 if first is None else first.work
        work = min(work, share * self.work_limit, self.work_limit - done)
        if work < float("inf"):
            options["work_limit"] = work
        try:
            found = phase(self.problem, time_limit=limit, callback=shifted, **self.common, **options)
        except KeyboardInterrupt:  # before the phase could take over
            if first is None:
                raise
            self.best = replace(first, status=Status.INTERRUPTED, seconds=self.clock.seconds)
            return self.best
        trace = tuple(point._replace(seconds=point.seconds + spent) for point in found.trace)
        self.best = self._joined(first, replace(found, seconds=found.seconds + spent, trace=trace))
        return self.best

    def _joined(self, first: Result | None, second: Result) -> Result:
        """The second phase's outcome, with what only the first one knew."""
        if first is None or second.status is Status.CUTOFF:  # that no point lies below it is the answer
            return second
        if first.objective < second.objective:  # also where the second phase has no point at all
            status = first.status if second.status is Status.INFEASIBLE else second.status
            second = replace(second, status=status, coef=first.coef, intercept=first.intercept, z=first.z)
        second = replace(
            second,
            lower_bound=max(first.lower_bound, second.lower_bound),
            n_nodes=first.n_nodes + second.n_nodes,
            work=first.work + second.work,
            hurried=first.hurried or second.hurried,
            trace=first.trace + second.trace,
        )
        proven = second.found and second.gap <= self.common["gap"]
        return replace(second, status=Status.OPTIMAL) if proven else second


def load_heuristic() -> None:
    """Compile the heuristic, or load what was compiled, before a clock starts."""
    from ..engine.warm_up import warm_up  # compiled code: loaded when first needed

    warm_up()


def improve(
    problem: Problem,
    *,
    gap: float,
    start: Result | None = None,
    starts: Sequence[FloatArray] = (),
    **options: Any,
) -> Result:
    """The heuristic as a phase: look for a better point than the start until the search stagnates."""
    from ..engine.heuristic.improve import improve as search  # compiled code: loaded when first needed

    best = [] if start is None or start.coef is None else [start.coef]
    found = search(problem, [*starts, *best], **options)
    # the relaxation of the root, which is the SVM, closes the problem
    return replace(found, status=Status.OPTIMAL, n_nodes=1) if found.gap <= gap else found


def prove(
    problem: Problem,
    solver: Solver,
    *,
    start: Result | FloatArray | None = None,
    heuristic: bool = True,
    time_limit: float,
    gap: float,
    random_state: int,
    callback: Callback | None = None,
    work_limit: float | None = None,
    **native: Any,
) -> Result:
    """Hand a problem to a solver, with a start from the heuristic where the solver wants one."""
    search = solver.load()
    phases = Phases(problem, time_limit, gap, random_state, callback, work_limit)
    phases.begin_with(start)
    if heuristic and solver.wants_start and problem.m > shares.START_ROWS:
        phases.begin_with(first_answer(problem))
        phases.run(improve, shares.START_SHARE, shares.START_WORK)
    found, cutoff = phases.run(search, **native), native.get("cutoff")
    if cutoff is None or found.objective < cutoff:
        return found
    return replace(found, coef=None, z=None)  # only points below the cutoff are of interest
