"""How a run ended, and the record of its steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

#: The default relative gap below which an answer is called optimal.
DEFAULT_GAP = 1e-6


class Status(Enum):
    """How a run ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"  #: a heuristic's answer
    TIME_LIMIT = "time limit"
    WORK_LIMIT = "work limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    CUTOFF = "cutoff"  #: proven: no point below the cutoff
    INFEASIBLE = "infeasible"  #: only with side_margin > 0 or conflicting sides


def relative_gap(objective: float, lower_bound: float) -> float:
    """``(objective - lower_bound) / |objective|``; 0 where they are equal, infinite where no point is known.

    There is no floor under the objective: with features near 10⁸ all objectives are near 10⁻¹⁶, and a share
    of anything larger would call every point optimal.
    """
    if not objective < float("inf"):
        return float("inf")
    distance = objective - lower_bound
    if distance == 0.0:
        return 0.0
    return distance / abs(objective) if objective != 0.0 else math.copysign(float("inf"), distance)


class TracePoint(NamedTuple):
    """Progress at one moment; also what a callback receives."""

    seconds: float
    incumbent: float
    bound: float
    nodes: int


Trace = tuple[TracePoint, ...]
Callback = Callable[[TracePoint], None]


@dataclass(frozen=True)
class Iteration:
    """One step of a re-clustering method (P4), of the fixing phase (P5), or the final solve (P6)."""

    phase: str
    status: Status
    value: float  #: objective of the subproblem's answer
    bound: float  #: the subproblem's lower bound
    objective: float  #: the true objective on the points, with the best intercept
    seconds: float
    big_m: float | None = None
    clusters: int | None = None  #: k^t, all clusters
    active: int | None = None
    discarded: int | None = None
    reactivated: int | None = None
    cut: int | None = None
    point: int | None = None  #: the point s of P5
    fixed: bool | None = None  #: whether P5 proved its side
