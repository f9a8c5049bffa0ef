"""The default: a good answer first, then the proof."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..problem import Problem
from ..result import Callback, Result, Status, TracePoint
from ..solvers import get_solver, solver_name
from .direct import direct
from .ircm import ircm

#: The heuristic stops by itself when it stagnates; it never takes more than this share of the time.
HEURISTIC_SHARE = 0.25
#: With more unlabelled rows a proof is out of reach: most of the time goes to the heuristic.
PROOF_ROWS, LARGE_HEURISTIC_SHARE = 2000, 0.75
#: The engine first rotates all rows, in about rows·d² steps and with several copies of them. Beyond so many
#: (a million rows with a kernel's 300 landmarks have 9e10) that alone takes minutes: the heuristic answers.
MAX_ROTATION = 1e10
#: For the norms that ``direct`` does not know, IRCM comes first; one of its P4 gets this share of the time.
P4_SHARE = 0.025
#: Up to so many unlabelled rows, a few attempts of the heuristic and so many nodes come first.
SMALL_ROWS, FIRST_PATIENCE, FIRST_NODES = 500, 6, 400


def auto(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = 1e-6,
    random_state: int = 0,
    callback: Callback | None = None,
    **native: Any,
) -> Result:
    """Run the heuristic, then the exact solver from its answer inside the time that is left.

    The heuristic is ``direct``, or ``ircm`` where the norm is not ``"l2"``. Small problems get a short
    version of both first: it settles most of them.
    """
    asked, solver = solver, solver_name(solver, problem.norm)
    exact = get_solver(solver, problem.norm)
    patience: dict[str, Any] = {}
    if problem.norm == "l2":
        from ..bnb.primal import QUICK_PATIENCE  # compiled code: loaded when first needed
        from ..bnb.warm import warm_up

        warm_up()
        patience = {"patience": QUICK_PATIENCE}
    clock = _Phases(problem, time_limit, gap, random_state, callback)
    share = HEURISTIC_SHARE if problem.m <= PROOF_ROWS else LARGE_HEURISTIC_SHARE
    if solver == "bnb" and problem.m <= SMALL_ROWS and not native:
        clock.run(direct, share, patience=FIRST_PATIENCE)
        clock.run(exact, share, node_limit=FIRST_NODES, heuristic=False, joint=False)
    if problem.norm == "l2":
        clock.run(direct, share, **patience)
    else:  # each P4 gets a share of the time only: they can be as hard as the problem itself
        clock.run(ircm, share, solver=solver, subproblem_time_limit=P4_SHARE * time_limit, **native)
    if asked == "auto" and solver == "bnb" and (problem.n + problem.m) * problem.d**2 > MAX_ROTATION:
        return clock.result
    if solver == "bnb":
        native.setdefault("heuristic", False)  # it has just run
    return clock.run(exact, 1.0, **native)


class _Phases:
    """Methods that run one after the other, each from the best answer so far, within one time limit."""

    def __init__(
        self, problem: Problem, time_limit: float, gap: float, random_state: int, callback: Callback | None
    ) -> None:
        self.problem, self.time_limit, self.callback = problem, time_limit, callback
        self.common: dict[str, Any] = {"gap": gap, "random_state": random_state}
        self.began = time.perf_counter()
        self.best: Result | None = None

    @property
    def result(self) -> Result:
        """The outcome of all phases so far."""
        assert self.best is not None, "no phase has run"
        return self.best

    def run(self, function: Callable[..., Result], share: float, **options: Any) -> Result:
        """Run the next phase for that share of the time, unless it is all solved or interrupted."""
        first, spent = self.best, time.perf_counter() - self.began
        if first is not None:
            if first.is_optimal or first.status is Status.INTERRUPTED:
                return first
            if function is direct:
                options["starts"] = [first.coef] if first.found else []
            else:
                options["start"] = first
        limit = max(0.0, min(share * self.time_limit, self.time_limit - spent))

        def shifted(point: TracePoint) -> None:
            if self.callback is not None:
                self.callback(point._replace(seconds=point.seconds + spent))

        try:
            found = function(self.problem, time_limit=limit, callback=shifted, **self.common, **options)
        except KeyboardInterrupt:  # before the phase could take over
            if first is None:
                raise
            seconds = time.perf_counter() - self.began
            found = replace(first, status=Status.INTERRUPTED, seconds=seconds - spent, trace=(), n_nodes=0)
        trace = tuple(point._replace(seconds=point.seconds + spent) for point in found.trace)
        self.best = replace(found, seconds=found.seconds + spent, trace=trace)
        if first is not None:
            self._join(first, self.best)
        return self.best

    def _join(self, first: Result, second: Result) -> None:
        """The second phase's outcome, with what only the first one knew."""
        if first.found and second.found and second.objective > first.objective:
            second = replace(second, coef=first.coef, intercept=first.intercept, z=first.z)
        second = replace(
            second,
            lower_bound=max(first.lower_bound, second.lower_bound),
            n_nodes=first.n_nodes + second.n_nodes,
            trace=first.trace + second.trace,
        )
        proven = second.found and second.gap <= self.common["gap"]
        self.best = replace(second, status=Status.OPTIMAL) if proven else second
