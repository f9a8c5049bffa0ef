"""The front door for code."""

from __future__ import annotations

import inspect
from numbers import Real
from typing import Any

from ..convex.gate import checked
from ..exceptions import InvalidProblemError, UnknownNameError
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback
from ..solvers import find_solver
from . import get_method

#: Options of the solvers that the methods themselves make use of.
RESERVED = {"start", "cutoff", "first_improvement"}


def solve(
    problem: Problem,
    method: str = "auto",
    *,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    random_state: int = 0,
    callback: Callback | None = None,
    **options: Any,
) -> Result:
    """Solve a problem with a method of the paper or one of ours.

    Parameters
    ----------
    method
        One of :data:`cs3vm.methods.METHODS`.
    solver
        One of :func:`cs3vm.available_solvers`, or ``"auto"``.
    time_limit
        Seconds for the whole run. The best answer found so far is returned when they are over.
    gap
        Relative gap below which an answer is called optimal.
    callback
        Called with a :class:`~cs3vm.model.status.TracePoint` as the search goes on.
    options
        Parameters of the method and native options of the solver.
    """
    function = get_method(method)
    backend = find_solver(solver, problem.norm)
    _check_number("time_limit", time_limit)
    _check_number("gap", gap)
    native = backend.options()
    if method != "cs3vm":
        native -= RESERVED
    known = {*inspect.signature(function).parameters, *native}
    unknown = sorted(set(options) - known)
    if unknown:
        raise UnknownNameError(
            f"method {method!r} with solver {solver!r} has no option {', '.join(map(repr, unknown))}: "
            f"it knows {', '.join(sorted(known - {'problem', '_', 'native', 'options'}))}"
        )
    result = function(
        problem,
        solver=solver,
        time_limit=float(time_limit),
        gap=float(gap),
        random_state=random_state,
        callback=callback,
        **options,
    )
    return checked(result, float(gap))


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise InvalidProblemError(f"{name} must be zero or a positive number, got {value!r}")
