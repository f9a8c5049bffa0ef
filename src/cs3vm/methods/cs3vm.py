"""P3: the mixed-integer model CS³VM, handed to a solver as it is."""

from __future__ import annotations

from typing import Any

from .._typing import FloatArray
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback
from ..solvers import find_solver
from .phases import prove


def cs3vm(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    random_state: int = 0,
    callback: Callback | None = None,
    work_limit: float | None = None,
    start: Result | FloatArray | None = None,
    heuristic: bool = True,
    **native: Any,
) -> Result:
    """Solve P3 (with weights: P4; with fixed sides: P5, P6) to the given gap or time limit.

    Parameters
    ----------
    start
        A result or a normal vector to start from.
    heuristic
        Look for a good point before the search, if the solver is one that gains by it (our own).
    native
        Options of the solver.
    """
    return prove(
        problem,
        find_solver(solver, problem.norm),
        start=start,
        heuristic=heuristic,
        time_limit=time_limit,
        gap=gap,
        random_state=random_state,
        callback=callback,
        work_limit=work_limit,
        **native,
    )
