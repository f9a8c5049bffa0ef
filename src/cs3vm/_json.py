"""A result as JSON and back. Numbers that JSON does not have (infinity, NaN) are written as text."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from enum import Enum
from typing import Any

import numpy as np

from .exceptions import InvalidProblemError
from .problem import Problem
from .result import Iteration, Result, Status, TracePoint

FORMAT = "cs3vm-result"
VERSION = 1
_PROBLEM = ("X", "y", "U", "n_positive", "weights", "side", "C", "count_penalty", "side_margin", "norm")
_FLOATS = ("value", "bound", "objective", "seconds")


def result_to_json(result: Result, *, with_problem: bool) -> str:
    """See :meth:`cs3vm.Result.to_json`."""
    problem = {name: getattr(result.problem, name) for name in _PROBLEM} if with_problem else None
    document = {
        "format": FORMAT,
        "version": VERSION,
        "status": result.status,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "coef": result.coef,
        "intercept": result.intercept,
        "z": result.z,
        "seconds": result.seconds,
        "n_nodes": result.n_nodes,
        "iterations": [asdict(step) for step in result.iterations],
        "trace": [list(point) for point in result.trace],
        "extras": result.extras,
        "problem": problem,
    }
    return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)


def result_from_json(text: str, problem: Problem | None) -> Result:
    """See :meth:`cs3vm.Result.from_json`."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InvalidProblemError(f"the text is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidProblemError("the JSON is not a result of cs3vm: use the text that Result.to_json gave")
    if data.get("version") != VERSION:
        raise InvalidProblemError(
            f"the result has the format version {data.get('version')}, this cs3vm reads {VERSION}: "
            "pip install --upgrade cs3vm"
        )
    try:
        return _result(data, problem or _problem(data["problem"]))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise InvalidProblemError(f"the result is incomplete or damaged: {error!r}") from error


def _problem(data: dict[str, Any] | None) -> Problem:
    if data is None:
        raise InvalidProblemError("the result was written without its problem: pass it as problem=...")
    fields = dict(data)
    U = np.array(fields.pop("U"), dtype=float).reshape(-1, len(fields["X"][0]))
    return Problem(fields.pop("X"), fields.pop("y"), U, fields.pop("n_positive"), **fields)


def _result(data: dict[str, Any], problem: Problem) -> Result:
    coef, z = data["coef"], data["z"]
    if coef is not None and (len(coef), len(z)) != (problem.d, problem.m):
        raise InvalidProblemError(
            f"the result is for {len(coef)} features and {len(z)} unlabelled rows, but the problem has "
            f"{problem.d} and {problem.m}: pass the problem that was solved"
        )
    return Result(
        problem,
        Status(data["status"]),
        None if coef is None else np.array(coef, dtype=float),
        float(data["intercept"]),
        None if z is None else np.array(z, dtype=np.int8),
        lower_bound=float(data["lower_bound"]),
        seconds=float(data["seconds"]),
        n_nodes=int(data["n_nodes"]),
        iterations=tuple(_iteration(step) for step in data["iterations"]),
        trace=tuple(TracePoint(float(t), float(f), float(b), int(k)) for t, f, b, k in data["trace"]),
        extras=data["extras"],
    )


def _iteration(step: dict[str, Any]) -> Iteration:
    numbers = {name: float(step[name]) for name in _FLOATS}
    return Iteration(**{**step, **numbers, "status": Status(step["status"])})


def _plain(value: Any) -> Any:
    """The same with JSON's types only."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, str | int | bool | None) else str(value)
