"""A result's fields as JSON and back. Numbers that JSON does not have (infinity, NaN) are written as text."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from enum import Enum
from typing import Any

import numpy as np

from ..exceptions import InvalidProblemError
from .problem import Problem
from .status import Iteration, Status, Trace, TracePoint
from .totals import Total, Totals

FORMAT = "cs3vm-result"
VERSION = 1
_PROBLEM = ("X", "y", "U", "n_positive", "weights", "side", "C", "count_penalty", "side_margin", "norm")
_TOTAL = ("rows", "low", "high", "penalty", "name")
_FLOATS = ("value", "bound", "objective", "seconds")


def encode(fields: dict[str, Any], problem: Problem | None) -> str:
    """The fields of a result as text, with its problem or without."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        **fields,
        "problem": None if problem is None else _problem_fields(problem),
    }
    return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)


def _problem_fields(problem: Problem) -> dict[str, Any]:
    fields = {name: getattr(problem, name) for name in _PROBLEM}
    if not problem.one_total:
        totals = problem.totals
        columns = totals.rows, totals.low, totals.high, totals.penalty, totals.names
        fields["n_positive"] = [dict(zip(_TOTAL, total, strict=True)) for total in zip(*columns, strict=True)]
    return fields


def decode(text: str, problem: Problem | None) -> dict[str, Any]:
    """The arguments of the result that the text describes, for the given problem or the one it holds."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidProblemError(f"the text is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidProblemError("the JSON is not a result of cs3vm: use the text that Result.to_json gave")
    if data.get("version") != VERSION:
        raise InvalidProblemError(
            f"the result has the format version {data.get('version')}, this cs3vm reads {VERSION}: "
            "pip install --upgrade cs3vm"
        )
    try:
        return _fields(data, problem or _problem(data["problem"]))
    except InvalidProblemError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        raise InvalidProblemError(f"the result is incomplete or damaged: {error!r}") from error


def _problem(data: dict[str, Any] | None) -> Problem:
    if data is None:
        raise InvalidProblemError("the result was written without its problem: pass it as problem=...")
    fields = dict(data)
    U = np.array(fields.pop("U"), dtype=float).reshape(-1, len(fields["X"][0]))
    total = fields.pop("n_positive")
    if isinstance(total, list):
        total = Totals(_total(**{name: each[name] for name in _TOTAL}) for each in total)
    return Problem(fields.pop("X"), fields.pop("y"), U, total, **fields)


def _total(rows: list[int], low: Any, high: Any, penalty: Any, name: str) -> Total:
    return Total(np.array(rows, dtype=np.intp), float(low), float(high), float(penalty), str(name))


def _fields(data: dict[str, Any], problem: Problem) -> dict[str, Any]:
    coef, z = data["coef"], data["z"]
    if coef is not None and (len(coef), len(z)) != (problem.d, problem.m):
        raise InvalidProblemError(
            f"the result is for {len(coef)} features and {len(z)} unlabelled rows, but the problem has "
            f"{problem.d} and {problem.m}: pass the problem that was solved"
        )
    plane = None if coef is None else np.array(coef, dtype=float)
    sides = None if z is None else np.array(z, dtype=np.int8)
    if any(values is not None and values.ndim != 1 for values in (plane, sides)):
        raise ValueError("coef and z must be lists of numbers")
    return {
        "problem": problem,
        "status": _status(data["status"]),
        "coef": plane,
        "intercept": float(data["intercept"]),
        "z": sides,
        "lower_bound": float(data["lower_bound"]),
        "seconds": float(data["seconds"]),
        "n_nodes": int(data["n_nodes"]),
        "work": float(data.get("work", 0.0)),  # not written by the first versions
        "hurried": bool(data.get("hurried", False)),
        "iterations": tuple(_iteration(step) for step in data["iterations"]),
        "trace": _trace(data["trace"]),
        "extras": data["extras"],
    }


def _status(name: Any) -> Status:
    try:
        return Status(name)
    except ValueError as error:
        known = ", ".join(repr(status.value) for status in Status)
        raise InvalidProblemError(
            f"the result has the unknown status {name!r} (known: {known}): it was damaged, or written by a "
            "newer version. pip install --upgrade cs3vm"
        ) from error


def _trace(points: list[list[Any]]) -> Trace:
    return tuple(TracePoint(float(t), float(f), float(b), int(k)) for t, f, b, k in points)


def _iteration(step: dict[str, Any]) -> Iteration:
    numbers = {name: float(step[name]) for name in _FLOATS}
    return Iteration(**{**step, **numbers, "status": _status(step["status"])})


def _plain(value: Any) -> Any:
    """The same with JSON's types only."""
    if isinstance(value, Iteration):
        value = asdict(value)
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
