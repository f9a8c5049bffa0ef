"""The front door for code."""

from __future__ import annotations

import inspect
from numbers import Real
from typing import Any

from threadpoolctl import threadpool_limits

from ..convex.gate import checked
from ..exceptions import InvalidProblemError, UnknownNameError
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback
from ..solvers import SOLVERS, Solver, find_solver
from . import COUNTING, SEARCHLESS, get_method

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
    work_limit: float | None = None,
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
    work_limit
        How many numbers the search may touch, passes over the data and pivots counted. The same input, limit
        and ``random_state`` give the same answer on every machine, unless the time limit strikes first:
        ``Result.hurried`` tells. Without one, heuristics have a limit of their own and the proof has none.
        Re-clustering, SCIP, Gurobi and HiGHS do not count their work and refuse one.
    gap
        Relative gap below which an answer is called optimal.
    callback
        Called with a :class:`~cs3vm.model.status.TracePoint` as the search goes on.
    options
        Parameters of the method and native options of the solver.
    """
    function = get_method(method)
    backend = find_solver(solver, problem.norm)
    backend.check(problem)
    _check_number("time_limit", time_limit)
    _check_number("gap", gap)
    native = backend.options() - {"work_limit"}
    limits = {} if work_limit is None else _limits(work_limit, method, backend)
    if method != "cs3vm":
        native -= RESERVED
    known = {*inspect.signature(function).parameters, *native}
    unknown = sorted(set(options) - known)
    if unknown:
        raise UnknownNameError(
            f"method {method!r} with solver {solver!r} has no option {', '.join(map(repr, unknown))}: "
            f"it knows {', '.join(sorted(known - {'problem', '_', 'native', 'options'}))}"
        )
    # Most matrices are small: threads cost more than they gain, and their number would decide last digits.
    with threadpool_limits(1, user_api="blas"):
        result = function(
            problem,
            solver=solver,
            time_limit=float(time_limit),
            gap=float(gap),
            random_state=random_state,
            callback=callback,
            **limits,
            **options,
        )
    return checked(result, float(gap))


def _limits(limit: Any, method: str, backend: Solver) -> dict[str, float]:
    """The work limit for a method that searches, if it and its solver obey one."""
    if isinstance(limit, bool) or not isinstance(limit, Real) or not float(limit) > 0:
        raise InvalidProblemError(f"work_limit must be a positive number, or None, got {limit!r}")
    if method in SEARCHLESS:
        return {}
    if method not in COUNTING:
        raise InvalidProblemError(
            f"method {method!r} does not count its work: leave work_limit out, or use {', '.join(COUNTING)}"
        )
    if not backend.counts_work:
        counting = ", ".join(name for name, solver in SOLVERS.items() if solver.counts_work)
        raise InvalidProblemError(
            f"solver {backend.name!r} does not count its work: leave work_limit out, or use {counting}"
        )
    return {"work_limit": float(limit)}


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise InvalidProblemError(f"{name} must be zero or a positive number, got {value!r}")
