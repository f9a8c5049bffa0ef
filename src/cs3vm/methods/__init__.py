"""The methods: the paper's algorithms and ours, each a function ``Problem → Result`` in a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ..exceptions import UnknownNameError
from ..model.result import Result

METHODS = {
    "svm": "P1 on the labelled rows alone",
    "top_tau": "the SVM's scores, the τ highest are positive",
    "cs3vm": "the exact model P3",
    "rcm": "Algorithm 1: re-clustering",
    "ircm": "Algorithm 2: improved re-clustering",
    "wircm": "Algorithm 3: warm-started, exact",
    "direct": "our heuristic alone",
    "auto": "our heuristic, then the exact engine in the time that is left",
}
#: Those that obey a work limit, with a solver that does; and those that do not search, and need none.
COUNTING, SEARCHLESS = ("direct", "auto", "cs3vm"), ("svm", "top_tau")
#: The estimator knows one more, which compares models and so is none of a single problem: ``learn.safe``.
SAFE = "safe"
#: Those that have a folder of their own.
RECLUSTERING = ("rcm", "ircm", "wircm")


def get_method(name: str) -> Callable[..., Result]:
    """Import a method by name."""
    if name not in METHODS:
        raise UnknownNameError(f"unknown method {name!r}: choose one of {', '.join(METHODS)}")
    folder = f"{__name__}.reclustering" if name in RECLUSTERING else __name__
    method: Callable[..., Result] = getattr(import_module(f"{folder}.{name}"), name)
    return method
