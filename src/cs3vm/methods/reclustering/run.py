"""What the methods share: the clock, the calls to a solver, the incumbent and the record of the steps."""

from __future__ import annotations

from numbers import Real
from types import TracebackType
from typing import Any, Literal

import numpy as np

from ...convex.gate import checked
from ...convex.svm import first_answer, root_bound
from ...exceptions import InvalidProblemError
from ...model.problem import Problem
from ...model.result import Result, answer, as_given
from ...model.status import Callback, Iteration, Status, TracePoint
from ...solvers import find_solver
from ...solvers.mip import known_value
from ..clock import Clock
from ..phases import prove
from ..shares import SUBPROBLEM_SHARE

SubproblemLimit = float | None | Literal["auto"]


#: Where the paper's parameters make sense: (smallest, largest).
RANGES = {
    "n_clusters": (1, np.inf),
    "max_clusters": (1, np.inf),
    "far_quantile": (0, 1),
    "far_step": (0, 1),
    "max_fixed": (0, np.inf),
    "fix_factor": (1, np.inf),
    "fix_time_limit": (0, np.inf),
}


def check_options(**options: Any) -> None:
    """Refuse parameters outside their range; None stands for the default."""
    for name, value in options.items():
        low, high = RANGES[name]
        if value is not None and not (isinstance(value, Real) and low <= float(value) <= high):
            limits = f"at least {low}" if high == np.inf else f"between {low} and {high}"
            raise InvalidProblemError(f"{name} must be a number {limits}, got {value!r}")


class Run:
    """One run of a method on a problem. As a context it turns Ctrl-C into the best answer so far."""

    def __init__(
        self,
        problem: Problem,
        *,
        solver: str,
        time_limit: float,
        gap: float,
        random_state: int,
        callback: Callback | None,
        subproblem_time_limit: SubproblemLimit = "auto",
        **native: Any,
    ) -> None:
        self.solver = find_solver(solver, problem.norm)
        self.solver.load()  # before the clock starts
        self.clock = Clock(time_limit)
        self.problem, self.gap, self.random_state, self.callback = problem, gap, random_state, callback
        if subproblem_time_limit == "auto":
            subproblem_time_limit = SUBPROBLEM_SHARE * time_limit if self.solver.quick else None
        self.subproblem_time_limit, self.native = subproblem_time_limit, native
        self.status = Status.TIME_LIMIT  # until the method says otherwise
        self.iterations: list[Iteration] = []
        self.trace: list[TracePoint] = []
        self.n_nodes = 0
        self.best = first_answer(problem)
        self.lower_bound = root_bound(problem)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if kind is KeyboardInterrupt:
            self.status = Status.INTERRUPTED
            return True
        return False

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self.clock.seconds

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.clock.left

    def first_big_m(self) -> float:
        """M^1: eq. (validM), or from the first point known where the point behind it is not feasible."""
        if np.any(self.problem.side) or self.problem.side_margin > 0:
            return self.problem.big_m(known_value(self.problem, self.best, None, None))
        return self.problem.paper_big_m

    def offer(self, step: Result) -> float:
        """Keep a step's plane if it is the best, with its best intercept or its own sides; its objective.

        Its own sides may be better: a tie of unequal weights can be split by them in ways that no rank has.
        """
        if step.coef is None:
            return float("inf")
        by_rank = answer(self.problem, step.coef, Status.FEASIBLE)
        given = as_given(self.problem, step.coef, step.intercept, step.z, Status.FEASIBLE)
        found = [point for point in (by_rank, given) if point is not None]
        for point in found:
            if self.best is None or point.objective < self.best.objective:
                self.best = point
        return min((point.objective for point in found), default=float("inf"))

    def solve(
        self, subproblem: Problem, *, start: Result | None = None, big_m: float | None = None, **options: Any
    ) -> Result:
        """Hand a subproblem to the solver within the time that is left."""
        native = dict(self.native)
        if self.solver.big_m and native.get("big_m") == "paper" and big_m is not None:
            native["big_m"] = big_m  # the method's own M^t
        limits = [self.left, options.pop("time_limit", None), self.subproblem_time_limit]
        # P5 asks for a proof, and most proofs are immediate: no heuristic there.
        native.setdefault("heuristic", not options.get("first_improvement", False))
        step = prove(
            subproblem,
            self.solver,
            start=start,
            time_limit=max(0.0, min(t for t in limits if t is not None)),
            gap=options.pop("gap", self.gap),
            random_state=self.random_state,
            **native,
            **options,
        )
        if step.status is Status.INTERRUPTED:
            self.offer(step)
            raise KeyboardInterrupt
        return step

    def record(self, phase: str, step: Result, began: float, objective: float, **fields: Any) -> None:
        """Write down one step and tell the caller about it."""
        seconds = self.seconds
        self.iterations.append(
            Iteration(
                phase, step.status, step.objective, step.lower_bound, objective, seconds - began, **fields
            )
        )
        self.n_nodes += step.n_nodes
        incumbent = float("inf") if self.best is None else self.best.objective
        self.trace.append(TracePoint(seconds, incumbent, self.lower_bound, self.n_nodes))
        if self.callback is not None:
            self.callback(self.trace[-1])

    def result(self, **extras: Any) -> Result:
        """The best answer so far; the SVM's direction and the trivial point are among them."""
        best, status = self.best, self.status
        if best is None:  # nothing was found, which proves nothing
            return Result(self.problem, Status.TIME_LIMIT, lower_bound=self.lower_bound, seconds=self.seconds)
        result = Result(
            self.problem,
            status,
            best.coef,
            best.intercept,
            best.z,
            lower_bound=self.lower_bound,
            seconds=self.seconds,
            n_nodes=self.n_nodes,
            iterations=tuple(self.iterations),
            trace=tuple(self.trace),
            extras={**best.extras, "solver": self.solver.name, **extras},
        )
        return checked(result, self.gap)
