"""The default: a good answer first, then the proof."""

from __future__ import annotations

import time
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

    The heuristic is ``direct``, or ``ircm`` where the norm is not ``"l2"``.
    """
    asked, solver = solver, solver_name(solver, problem.norm)
    if problem.norm == "l2":
        from ..bnb.primal import QUICK_PATIENCE  # compiled code: loaded when first needed
        from ..bnb.warm import warm_up

        warm_up()
    began = time.perf_counter()
    share = HEURISTIC_SHARE if problem.m <= PROOF_ROWS else LARGE_HEURISTIC_SHARE
    common: dict[str, Any] = {
        "time_limit": share * time_limit,
        "gap": gap,
        "random_state": random_state,
        "callback": callback,
    }
    if problem.norm == "l2":
        quick = direct(problem, patience=QUICK_PATIENCE, **common)
    else:  # each P4 gets a share of the time only: they can be as hard as the problem itself
        quick = ircm(problem, solver=solver, subproblem_time_limit=P4_SHARE * time_limit, **common, **native)
    spent = time.perf_counter() - began
    if quick.status is Status.INTERRUPTED or quick.is_optimal:
        return quick
    if asked == "auto" and solver == "bnb" and (problem.n + problem.m) * problem.d**2 > MAX_ROTATION:
        return quick

    def shifted(point: TracePoint) -> None:
        if callback is not None:
            callback(point._replace(seconds=point.seconds + spent))

    if solver == "bnb":
        native.setdefault("heuristic", False)  # it has just run
    try:
        exact = get_solver(solver, problem.norm)(
            problem,
            start=quick,
            time_limit=max(0.0, time_limit - spent),
            gap=gap,
            random_state=random_state,
            callback=shifted,
            **native,
        )
    except KeyboardInterrupt:  # before the solver could take over
        return replace(quick, status=Status.INTERRUPTED, seconds=time.perf_counter() - began)
    later = tuple(point._replace(seconds=point.seconds + spent) for point in exact.trace)
    bound = max(quick.lower_bound, exact.lower_bound)
    both = replace(exact, lower_bound=bound, seconds=exact.seconds + spent, trace=quick.trace + later)
    return replace(both, status=Status.OPTIMAL) if both.gap <= gap else both
