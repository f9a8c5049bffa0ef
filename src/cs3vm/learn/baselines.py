"""The simple rules that every answer is shown beside: the plain SVM, and its τ highest scores."""

from __future__ import annotations

from collections.abc import Sequence

from ..methods.front_door import solve
from ..model.result import Result

#: The baselines and the names they are shown under.
BASELINES = {"svm": "SVM", "top_tau": "SVM + top-τ"}


def title_of(method: str) -> str:
    """What a method is called in tables."""
    return BASELINES.get(method, f"CS³VM ({method})")


def solve_baselines(results: Sequence[Result], method: str) -> dict[str, tuple[Result, ...]]:
    """The answers of the baselines to the problems of these results, by method; both are convex and fast.

    A baseline that is the method itself is not solved again. Several planes have the SVM alone: labels that
    meet their totals come from all of them together, not from the τ highest scores of each.
    """
    names = ["svm"] if len(results) > 1 or results[0].problem.m == 0 else list(BASELINES)
    return {
        name: tuple(results) if name == method else tuple(solve(result.problem, name) for result in results)
        for name in names
    }
