"""Methods that run one after the other within one time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Callback, Status, TracePoint


class Phases:
    """The best answer of the phases so far; each starts from it, and their clocks are one."""

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

    @property
    def is_over(self) -> bool:
        """Whether the problem is solved, or someone has interrupted."""
        return self.best is not None and (self.best.is_optimal or self.best.status is Status.INTERRUPTED)

    def run(self, method: Callable[..., Result], share: float = 1.0, **options: Any) -> Result:
        """Run the next phase for that share of the time, unless all is over.

        A method takes the best answer as ``start``; where ``starts`` is given, its normal vector joins them.
        """
        if self.is_over:
            return self.result
        first, spent = self.best, time.perf_counter() - self.began
        if first is not None and "starts" in options:
            options["starts"] = [*options["starts"], *([first.coef] if first.found else [])]
        elif first is not None:
            options["start"] = first
        limit = max(0.0, min(share * self.time_limit, self.time_limit - spent))

        def shifted(point: TracePoint) -> None:
            if self.callback is not None:
                self.callback(point._replace(seconds=point.seconds + spent))

        try:
            found = method(self.problem, time_limit=limit, callback=shifted, **self.common, **options)
        except KeyboardInterrupt:  # before the phase could take over
            if first is None:
                raise
            seconds = time.perf_counter() - self.began
            self.best = replace(first, status=Status.INTERRUPTED, seconds=seconds)
            return self.best
        trace = tuple(point._replace(seconds=point.seconds + spent) for point in found.trace)
        self.best = self._joined(first, replace(found, seconds=found.seconds + spent, trace=trace))
        return self.best

    def _joined(self, first: Result | None, second: Result) -> Result:
        """The second phase's outcome, with what only the first one knew."""
        if first is None:
            return second
        if first.found and second.found and second.objective > first.objective:
            second = replace(second, coef=first.coef, intercept=first.intercept, z=first.z)
        second = replace(
            second,
            lower_bound=max(first.lower_bound, second.lower_bound),
            n_nodes=first.n_nodes + second.n_nodes,
            trace=first.trace + second.trace,
        )
        proven = second.found and second.gap <= self.common["gap"]
        return replace(second, status=Status.OPTIMAL) if proven else second
