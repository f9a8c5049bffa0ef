"""``direct``: the fast heuristic alone, the everyday answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._typing import FloatArray
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback, Status
from ..solvers import get_solver
from .phases import Phases

#: Up to so many unlabelled rows the first nodes of an exact search come before the long search. After a short
#: one they settle most problems at once, and they find points that no local search finds.
SMALL_ROWS, NODES, NODE_SHARE = 500, 1500, 0.25
#: The patience of that short search.
FIRST_PATIENCE = 6


def direct(
    problem: Problem,
    *,
    starts: Sequence[FloatArray] = (),
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    random_state: int = 0,
    callback: Callback | None = None,
    patience: int | None = None,
    nodes: int = NODES,
    **_: Any,
) -> Result:
    """Search for a good plane; ends by itself when the search stagnates, or at the time limit.

    The answer comes with an honest lower bound: the SVM's value, or on small problems that of a few nodes of
    the exact search.

    Parameters
    ----------
    starts
        Vectors w to begin from, besides its own.
    patience
        The number of vain attempts in a row after which the search ends.
    nodes
        How many nodes of the exact search small problems get, in at most a quarter of the time.
    """
    problem.require_l2("method 'direct'", "use method='auto', 'ircm' or 'top_tau'")
    from ..engine.heuristic.local_search import PATIENCE  # compiled code: loaded when first needed
    from ..engine.warm_up import warm_up

    warm_up()
    patience = PATIENCE if patience is None else patience
    phases = Phases(problem, time_limit, gap, random_state, callback)
    if 0 < problem.m <= SMALL_ROWS and nodes > 0:
        found = phases.run(_improve, starts=starts, patience=min(patience, FIRST_PATIENCE))
        if found.found:
            phases.run(get_solver("bnb"), NODE_SHARE, node_limit=nodes, heuristic=False, joint=False)
    phases.run(_improve, starts=starts, patience=patience)
    best = phases.result
    return best if phases.is_over else replace(best, status=Status.FEASIBLE if best.found else best.status)


def _improve(problem: Problem, gap: float, **options: Any) -> Result:
    from ..engine.heuristic.local_search import improve

    found = improve(problem, **options)
    return replace(found, status=Status.OPTIMAL) if found.gap <= gap else found
