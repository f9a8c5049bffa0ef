"""Classification with few, biased labels and a known total of positives."""

from importlib import import_module
from typing import Any

from .problem import Problem
from .result import Result, Status
from .solve import solve
from .solvers import available_solvers
from .verify import verify

__all__ = [
    "CS3VMClassifier",
    "CS3VMSearch",
    "LabeledKFold",
    "Problem",
    "Result",
    "Status",
    "available_solvers",
    "solve",
    "verify",
]
__version__ = "0.1.0"

_LAZY = {  # these load scikit-learn
    "CS3VMClassifier": "estimator",
    "CS3VMSearch": "search",
    "LabeledKFold": "model_selection",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
