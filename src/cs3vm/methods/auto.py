"""The default: a good answer first, then the proof."""

from __future__ import annotations

from typing import Any

from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback
from ..solvers import find_solver
from . import shares
from .direct import direct
from .phases import Phases, load_heuristic
from .reclustering.ircm import ircm


def auto(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    random_state: int = 0,
    callback: Callback | None = None,
    work_limit: float | None = None,
    **native: Any,
) -> Result:
    """Run the heuristic, then the exact solver from its answer inside the time that is left.

    A handful of rows needs no heuristic; else it is ``direct``, or ``ircm`` where the norm is not ``"l2"``.
    """
    exact = find_solver(solver, problem.norm)
    search = exact.load()
    if problem.norm == "l2":
        load_heuristic()
    phases = Phases(problem, time_limit, gap, random_state, callback, work_limit)
    share, work = shares.HEURISTIC_SHARE, shares.HEURISTIC_WORK
    if problem.m > shares.PROOF_ROWS:
        share, work = shares.LARGE_HEURISTIC_SHARE, shares.LARGE_HEURISTIC_WORK
    if exact.wants_start and problem.m <= shares.START_ROWS and exact.is_practical(problem, time_limit):
        pass  # the proof takes less than the heuristic
    elif problem.norm == "l2":
        phases.run(direct, share, work, nodes=shares.FIRST_NODES if exact.quick and not native else 0)
    else:  # each P4 gets a share of the time only: they can be as hard as the problem itself
        limit = shares.SUBPROBLEM_SHARE * time_limit
        phases.run(ircm, share, solver=exact.name, subproblem_time_limit=limit, **native)
    hopeless = problem.m > shares.NODE_ROWS and phases.result.gap > shares.NODE_GAP
    if solver == "auto" and (hopeless or not exact.is_practical(problem, phases.clock.left)):
        return phases.result
    return phases.run(search, **native)
