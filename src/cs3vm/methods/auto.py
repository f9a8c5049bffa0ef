"""The default: a good answer first, then the proof."""

from __future__ import annotations

from typing import Any

from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Callback
from ..solvers import get_solver, solver_name
from .direct import direct
from .phases import Phases
from .reclustering.ircm import ircm

#: The heuristic stops by itself when it stagnates; it never takes more than this share of the time.
HEURISTIC_SHARE = 0.25
#: With more unlabelled rows a proof is out of reach: most of the time goes to the heuristic.
PROOF_ROWS, LARGE_HEURISTIC_SHARE = 2000, 0.75
#: The engine first rotates all rows, in about rows·d² steps and with several copies of them. Beyond so many
#: (a million rows with a kernel's 300 landmarks have 9e10) that alone takes minutes: the heuristic answers.
MAX_ROTATION = 1e10
#: For the norms that ``direct`` does not know, IRCM comes first; one of its P4 gets this share of the time.
P4_SHARE = 0.025
#: Nodes of the exact search that the heuristic gets on small problems: they settle most of them.
FIRST_NODES = 400


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
    exact = get_solver(solver, problem.norm)
    if problem.norm == "l2":
        from ..engine.warm_up import warm_up  # compiled code: loaded when first needed

        warm_up()
    phases = Phases(problem, time_limit, gap, random_state, callback)
    share = HEURISTIC_SHARE if problem.m <= PROOF_ROWS else LARGE_HEURISTIC_SHARE
    if problem.norm == "l2":
        phases.run(direct, share, starts=[], nodes=FIRST_NODES if solver == "bnb" and not native else 0)
    else:  # each P4 gets a share of the time only: they can be as hard as the problem itself
        phases.run(ircm, share, solver=solver, subproblem_time_limit=P4_SHARE * time_limit, **native)
    if asked == "auto" and solver == "bnb" and (problem.n + problem.m) * problem.d**2 > MAX_ROTATION:
        return phases.result
    if solver == "bnb":
        native.setdefault("heuristic", False)  # it has just run
    return phases.run(exact, **native)
