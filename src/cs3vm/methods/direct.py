"""``direct``: the fast heuristic alone, the everyday answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._typing import FloatArray
from ..model.problem import Problem
from ..model.result import Result
from ..model.row_order import in_order
from ..model.status import DEFAULT_GAP, Callback, Status
from ..solvers import find_solver
from . import shares
from .phases import Phases, improve, load_heuristic


def direct(
    problem: Problem,
    *,
    starts: Sequence[FloatArray] = (),
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    random_state: int = 0,
    callback: Callback | None = None,
    work_limit: float | None = None,
    patience: int | None = None,
    nodes: int = shares.NODES,
    **_: Any,
) -> Result:
    """Search for a good plane; ends by itself when the search stagnates, or at a limit.

    The answer comes with an honest lower bound: the SVM's value, or on small problems that of a few nodes of
    the exact search.

    Parameters
    ----------
    starts
        Vectors w to begin from, besides its own.
    patience
        The number of vain attempts in a row after which the search ends.
    nodes
        How many nodes of the exact search small problems get, in at most a quarter of the limits.
    """
    problem.require_l2("method 'direct'", "use method='auto', 'ircm' or 'top_tau'")
    load_heuristic()
    patience = shares.PATIENCE if patience is None else patience
    work_limit = shares.DIRECT_WORK if work_limit is None else work_limit
    phases = Phases(problem, time_limit, gap, random_state, callback, work_limit)
    ordered = in_order(problem)  # the answer shall not depend on the order of the rows
    whole, problem = problem, ordered.problem
    phases.problem = problem
    exact = find_solver("auto", problem.norm)
    if 0 < problem.m <= shares.SMALL_ROWS and nodes > 0 and exact.quick and exact.is_practical(problem):
        search = exact.load()
        if shares.NODE_SHARE * work_limit >= shares.AT_ONCE_WORK:
            phases.run(search, work=shares.AT_ONCE_WORK, node_limit=nodes, joint=False, boxes=False)
        phases.run(improve, starts=starts, patience=min(patience, shares.FIRST_PATIENCE))
        if phases.result.found:
            phases.run(search, shares.NODE_SHARE, node_limit=nodes, joint=False, boxes=False)
    phases.run(improve, starts=starts, patience=patience, again=phases.best is not None)
    best = ordered.original(whole, phases.result)
    return best if phases.is_over else replace(best, status=Status.FEASIBLE if best.found else best.status)
