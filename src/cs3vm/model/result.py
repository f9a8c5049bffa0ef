"""What every method and solver returns: an answer that carries its problem and checks itself."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from .._typing import FloatArray, SignArray
from .problem import Problem
from .result_json import decode, encode
from .status import Iteration, Status, Trace, relative_gap

#: A plane may violate the sides it comes with by this much, relative to the largest score.
SIDE_TOLERANCE = 1e-9
#: The last digits of an objective, relative: sums of few terms, none of them negative.
OBJECTIVE_ROUNDING = 2.0**-50
#: What :meth:`Result.to_json` writes of a result, besides its problem.
_WRITTEN = (
    "status",
    "objective",
    "lower_bound",
    "coef",
    "intercept",
    "z",
    "seconds",
    "n_nodes",
    "work",
    "hurried",
    "iterations",
    "trace",
    "extras",
)


@dataclass(frozen=True, eq=False)
class Result:
    """A hyperplane, the sides of the unlabelled rows, and how good they are proven to be.

    The objective is recomputed from the data by the problem, never taken from a backend, and the lower
    bound is always a number: at worst that of the SVM, at the very least 0.
    """

    problem: Problem
    status: Status
    coef: FloatArray | None = None
    intercept: float = float("nan")
    z: SignArray | None = None
    lower_bound: float = 0.0
    seconds: float = 0.0
    n_nodes: int = 0
    work: float = 0.0  #: numbers touched by our own searches: the same on every machine
    hurried: bool = False  #: whether a limit in seconds cut a search short: elsewhere the answer may differ
    iterations: tuple[Iteration, ...] = ()
    trace: Trace = ()
    extras: dict[str, Any] = field(default_factory=dict)
    objective: float = field(init=False, default=float("inf"))

    def __post_init__(self) -> None:
        if self.coef is not None and self.z is not None:
            value = self.problem.objective(self.coef, self.intercept, self.z)
            object.__setattr__(self, "objective", value)
        # the objective is rounded, and no bound may lie above its exact value
        highest = self.objective * (1.0 - OBJECTIVE_ROUNDING)
        object.__setattr__(self, "lower_bound", float(min(self.lower_bound, highest)))

    @property
    def found(self) -> bool:
        """Whether there is an answer at all."""
        return self.coef is not None

    @property
    def gap(self) -> float:
        """``(objective - lower_bound) / |objective|``; infinite where there is no answer."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def is_optimal(self) -> bool:
        """Whether the answer is proven optimal to the gap that was asked for."""
        return self.status is Status.OPTIMAL

    @property
    def count(self) -> float:
        """Weight of the unlabelled rows on the positive side."""
        return float("nan") if self.z is None else self.problem.count(self.z)

    @property
    def eta(self) -> tuple[float, float]:
        """(η₁, η₂): shortfall and excess of the count."""
        return (float("nan"),) * 2 if self.z is None else self.problem.eta(self.z)

    @property
    def violation(self) -> float:
        """How far the worst unlabelled row lies on the wrong side; of the order of rounding."""
        if self.coef is None or self.z is None:
            return float("nan")
        return self.problem.violation(self.coef, self.intercept, self.z)

    @property
    def on_plane(self) -> int:
        """Number of unlabelled rows on the hyperplane, which the model may count on either side."""
        if self.coef is None:
            return 0
        return int(self.problem.on_plane(self.coef, self.intercept).sum())

    @cached_property
    def of_trivial(self) -> float:
        """The objective as a part of that of the best point with ``w = 0``; 0 where there is none.

        All rows are on that plane, and counted on either side whatever the ``side_margin`` is: a plane with
        tiny weights can divide them nearly as cheaply, and says as little.
        """
        problem = self.problem
        trivial = (replace(problem, side_margin=0.0) if problem.side_margin > 0.0 else problem).trivial
        if not self.found or trivial is None:
            return 0.0
        return self.objective / trivial.cost if trivial.cost > 0.0 else 1.0

    @property
    def is_trivial(self) -> bool:
        """Whether the answer is no better than ``w = 0``: the data then say nothing."""
        return self.of_trivial >= 1 - 1e-9

    @property
    def _met(self) -> str:
        """The count beside the total, or how many totals are met."""
        problem = self.problem
        if problem.one_total:
            return f"{self.count:g} of {problem.n_positive:g}"
        assert self.z is not None
        met = int(np.sum(problem.totals.misses(problem.totals.counts(self.z)) <= 0.0))
        return f"{self.count:g}, {met} of {len(problem.totals)} totals met"

    def to_json(self, *, with_problem: bool = True) -> str:
        """The result as JSON; without its problem it is small, and needs the problem to be read again."""
        fields = {name: getattr(self, name) for name in _WRITTEN}
        return encode(fields, self.problem if with_problem else None)

    @classmethod
    def from_json(cls, text: str, problem: Problem | None = None) -> Result:
        """Read what :meth:`to_json` wrote; the objective is recomputed from the problem."""
        return cls(**decode(text, problem))

    def __repr__(self) -> str:
        if not self.found:
            return f"Result(status={self.status.value!r}, no point, lower_bound={self.lower_bound:.6g})"
        return (
            f"Result(status={self.status.value!r}, objective={self.objective:.6g}, "
            f"lower_bound={self.lower_bound:.6g}, gap={self.gap:.3g}, "
            f"count={self._met}, on_plane={self.on_plane}, "
            f"seconds={self.seconds:.2f})"
        )

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        cells = {"status": self.status.value, "lower bound": f"{self.lower_bound:.6g}"}
        if self.found:
            cells |= {
                "objective": f"{self.objective:.6g}",
                "gap": f"{100 * self.gap:.2f} %",
                "positives": self._met,
                "on the plane": str(self.on_plane),
            }
        cells["seconds"] = f"{self.seconds:.2f}"
        rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in cells.items())
        return f"<table><caption>cs3vm.Result</caption>{''.join(rows)}</table>"


def as_given(
    problem: Problem, w: FloatArray | None, b: float, z: SignArray | None, status: Status
) -> Result | None:
    """The result with exactly these sides (a tie of unequal weights may need it); None if they do not fit."""
    if w is None or z is None or len(z) != problem.m or not (np.all(np.isfinite(w)) and np.isfinite(b)):
        return None
    allowed = SIDE_TOLERANCE * (1.0 + float(np.max(np.abs(problem.scores(w)), initial=0.0)))
    if problem.violation(w, b, z) > allowed:
        return None
    return Result(problem, status, np.array(w, dtype=float), float(b), z.astype(np.int8))


def answer(problem: Problem, w: FloatArray, status: Status, **fields: Any) -> Result | None:
    """The result for this ``w`` with its best intercept and sides; None if the fixed sides allow none."""
    best = problem.best_intercept(w)
    if best is None:
        return None
    if not best.exact:
        fields["extras"] = {**fields.get("extras", {}), "inexact_subset_sum": True}
    return Result(problem, status, np.array(w, dtype=float), best.b, best.z, **fields)
