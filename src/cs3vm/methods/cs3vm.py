"""P3: the mixed-integer model CS³VM, handed to a solver as it is."""

from __future__ import annotations

from typing import Any

from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Callback
from ..solvers import get_solver


def cs3vm(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = 1e-6,
    random_state: int = 0,
    callback: Callback | None = None,
    **native: Any,
) -> Result:
    """Solve P3 (with weights: P4; with fixed sides: P5, P6) to the given gap or time limit."""
    return get_solver(solver, problem.norm)(
        problem,
        time_limit=time_limit,
        gap=gap,
        random_state=random_state,
        callback=callback,
        **native,
    )
