"""What a model file must look like: a test per field, and messages that name the field."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..exceptions import ModelFileError

#: Raised whenever an older version of the package could misread a file. 2 has kernels, 3 several classes, 4 a
#: student, 5 probabilities, 6 thresholds of groups; a model is written as the least that holds it, so that
#: older versions of the package can read it.
LINEAR_VERSION, KERNEL_VERSION, SEVERAL_VERSION, TAUGHT_VERSION, PROBABLE_VERSION, VERSION = 1, 2, 3, 4, 5, 6
#: Kernels that a file can hold: a function is code, and a matrix belongs to the fitted rows alone.
KERNELS = ("rbf", "laplacian", "poly")

Test = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _list_of(test: Test) -> Test:
    return lambda value: isinstance(value, list) and all(test(item) for item in value)


def _record(fields: dict[str, Test]) -> Test:
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == fields.keys()
        and all(t(value[k]) for k, t in fields.items())
    )


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _column(value: Any) -> bool:
    fields: dict[str, Test] = {
        "name": _text,
        "kind": lambda kind: kind in ("number", "flag", "category"),
        "categories": _list_of(_text),
        "fill": lambda fill: fill is None or _text(fill) or _number(fill),
    }
    if not _record(fields)(value):
        return False
    known, fill = value["categories"], value["fill"]
    if value["kind"] == "category":
        return len(known) == len(set(known)) > 0 and (fill is None or fill in known)
    return not known and not isinstance(fill, str)


DOCUMENT: dict[str, Test] = {
    "format": _text,
    "version": _number,
    "library": _text,
    "checksum": _text,
    "model": _mapping,
}
_linear_scaling = _record({"shift": _list_of(_number), "factor": _list_of(_number)})
_columns_of_numbers = _list_of(_list_of(_number))


def _any_scaling(value: Any) -> bool:
    """A linear one or ranks, whose values ascend and have a position each."""
    if _linear_scaling(value):
        return True
    if not _record({"values": _columns_of_numbers, "positions": _columns_of_numbers})(value):
        return False
    columns, positions = value["values"], value["positions"]
    return [len(c) for c in columns] == [len(c) for c in positions] and all(
        c and all(a < b for a, b in pairwise(c)) for c in columns
    )


#: One of several totals, and how it was met.
_a_total = _record({"name": _text, **dict.fromkeys(("low", "high", "count", "weight", "missed"), _number)})
_MODEL: dict[str, Test] = {
    "label": _text,
    "positive": _text,
    "negative": _text,
    "n_positive": lambda value: _number(value) and value >= 0,
    "columns": _list_of(_column),
    "features": _list_of(_text),
    "coef": _list_of(_number),
    "intercept": _number,
    "scaling": _linear_scaling,
    "result": _mapping,
    "settings": _mapping,
}
_a_kernel = _record(
    {
        "name": lambda name: name in KERNELS,
        "gamma": lambda value: _number(value) and value > 0,
        "degree": lambda value: _number(value) and isinstance(value, int) and value >= 0,
        "coef0": _number,
        "landmarks": _list_of(_list_of(_number)),
    }
)
_SEVERAL = {name: test for name, test in _MODEL.items() if name not in ("positive", "negative", "n_positive")}
_SEVERAL |= {
    "classes": _list_of(_text),
    "totals": _list_of(_MODEL["n_positive"]),
    "coef": _list_of(_list_of(_number)),
    "intercept": _list_of(_number),
    "kernel": lambda value: value is None or _a_kernel(value),
    "scaling": _any_scaling,
}
_KERNEL_MODEL = _MODEL | {"kernel": _a_kernel, "scaling": _any_scaling}
#: Of two classes or several, and written alike: two have one plane, that of the second.
_a_student = _record({name: _SEVERAL[name] for name in ("coef", "intercept")})
_TAUGHT = _SEVERAL | {"student": _a_student}
_PROBABLE = _SEVERAL | {
    "student": lambda value: value is None or _a_student(value),
    "probabilities": _record({"slope": _number, "shifts": _list_of(_number)}),
}
#: What a group adds to the scores by the planes, and by those of the student, if there is one.
_thresholds = _record(
    {
        "column": _text,
        "groups": _list_of(_text),
        "planes": _columns_of_numbers,
        "student": lambda value: value is None or _columns_of_numbers(value),
    }
)
_GROUPED = _PROBABLE | {
    "probabilities": lambda value: value is None or _PROBABLE["probabilities"](value),
    "thresholds": lambda value: len(value) > 0 and _list_of(_thresholds)(value),
}
SCHEMAS = {
    LINEAR_VERSION: _MODEL,
    KERNEL_VERSION: _KERNEL_MODEL,
    SEVERAL_VERSION: _SEVERAL,
    TAUGHT_VERSION: _TAUGHT,
    PROBABLE_VERSION: _PROBABLE,
    VERSION: _GROUPED,
}


def check(data: dict[str, Any], schema: dict[str, Test], name: str, place: str) -> None:
    """Refuse data whose fields are not those of the schema."""
    for key, test in schema.items():
        if key not in data:
            raise ModelFileError(f"{name} is not a valid model: {place} has no {key!r}. Fit the model again")
        if not test(data[key]):
            raise ModelFileError(f"{name} is not a valid model: {key!r} in {place} has a wrong value")
    unknown = sorted(set(data) - set(schema))
    if unknown:
        raise ModelFileError(f"{name} is not a valid model: {place} has the unknown field {unknown[0]!r}")


def check_totals(facts: dict[str, Any], name: str) -> None:
    """Refuse lists of totals, which the facts about a fit or its classes may have, with gaps."""
    for fact in (facts, *(value for value in facts.values() if isinstance(value, dict))):
        if "totals" in fact and not _list_of(_a_total)(fact["totals"]):
            raise ModelFileError(f"{name} is not a valid model: 'totals' in result has a wrong value")
