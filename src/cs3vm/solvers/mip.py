"""What the MIP backends share: their task, tolerances, bounds for P3, and the way from an answer to a Result.

A backend builds its model from a :class:`Task`, searches, and returns an :class:`Outcome`. :func:`run` does
all that comes before and after.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._typing import FloatArray, SignArray
from ..convex.gate import checked
from ..convex.svm import first_answer, root_bound, solve_convex
from ..model.problem import Problem
from ..model.result import Result, answer
from ..model.status import Callback, Status, TracePoint
from .big_m import BigM, as_number

#: The tolerance of every backend on constraints and integrality; a default of 1e-6 times a big-M exceeds a
#: margin. The tightest that Gurobi takes.
FEASIBILITY_TOLERANCE = 1e-9
#: A backend stops at this share of the gap: the margin of its bound and our evaluation need the rest.
GAP_SHARE = 0.5
#: Backends keep constraints to a tolerance only; a bound above our objective by more is broken.
CLAIM_TOLERANCE = 1e-6
#: A backend's bound holds to its tolerances only: it is reported lower by this at least, relative.
BOUND_MARGIN = 1e-7
#: So many times a tolerance a backend's optimum was off where variables have a wide range.
INEXACT = 10.0
#: A bound counts only if a tolerance, at its worst place, is worth less than this share of the objective.
SUPPORTED = 1e-4
#: Sums beyond 10¹⁵ are "huge" to SCIP, which no longer adds them up like others.
LARGEST_COUNT = 1e12
#: And a row's score may be off by so much at most, in units of the labelled margin.
MEANT = 1e-2
#: A narrower side margin is next to nothing beside a tolerance: with 10⁻⁶ and features as small Gurobi called
#: a point optimal that costs twice the optimum.
LEAST_MARGIN = 1e4 * FEASIBILITY_TOLERANCE
#: Rows that differ by less than this share of their size are one row to any arithmetic.
ONE_ROW = 1e-12
#: The largest value of a feature, and C and the count penalty, between which the bounds of HiGHS and SCIP on
#: linear models held. Measured: beyond, both take optimal weights or prices for zero, and claim too much.
SAFE_FEATURES, SAFE_PRICES = (1e-5, 1e6), (1e-5, np.inf)
#: The same for the ratio of the largest to the smallest of them.
SAFE_SPREAD = 1e9
#: Beyond this many rows a backend's sides are not polished: that would take longer than it is worth.
POLISH_ROWS = 5000

#: A total may exceed the weight of its rows by this, relative, and still be one that they can reach.
BEYOND = 1e-9

logger = logging.getLogger(__name__)


#: How a search ended, by the backends' own words in lower case, without "_". A search of the whole tree is
#: OPTIMAL here, whatever was found: :func:`finish` tells a cutoff from an infeasible problem.
_ENDINGS = {
    Status.OPTIMAL: ("optimal", "gaplimit", "infeasible", "inforunbd", "unboundedorinfeasible", "cutoff"),
    Status.NODE_LIMIT: ("nodelimit", "totalnodelimit"),
    Status.TIME_LIMIT: ("timelimit",),
    Status.INTERRUPTED: ("interrupt", "interrupted", "userinterrupt"),
}
_STATUS = {word: status for status, words in _ENDINGS.items() for word in words}


def ending(word: str) -> Status:
    """What a backend's own word for the end of its search means; what is not known proves nothing."""
    return _STATUS.get(word.replace("_", "").lower(), Status.FEASIBLE)


@dataclass(frozen=True, eq=False)
class Task:
    """What a backend is asked to do."""

    problem: Problem  #: with the origin in the middle of its rows
    start: Result | None  #: a point to begin from
    first: Result | None  #: the first answer there is, which every problem has
    cutoff: float | None  #: only points below it are of interest
    deadline: float
    gap: float
    callback: Callback | None
    seed: int
    first_improvement: bool  #: stop at the first point below the cutoff
    node_limit: int | None
    big_m: BigM
    threads: int
    parameters: dict[str, Any]  #: native ones
    began: float
    value: float  #: of a known point: it bounds all variables

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(0.0, self.deadline - time.perf_counter())

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began


class Outcome(NamedTuple):
    """What a backend found: its status in our words, its bound, its point (empty if none), what it did."""

    status: Status
    bound: float
    w: FloatArray
    z: SignArray
    n_nodes: int
    trace: Sequence[TracePoint]
    extras: dict[str, Any]


#: What a backend returns where it has no point.
NO_POINT = np.zeros(0), np.zeros(0, dtype=np.int8)


def run(
    name: str,
    search: Callable[[Task], Outcome],
    problem: Problem,
    *,
    start: Result | None,
    cutoff: float | None,
    time_limit: float,
    gap: float,
    callback: Callback | None,
    random_state: int,
    first_improvement: bool,
    node_limit: int | None,
    big_m: BigM,
    threads: int,
    parameters: dict[str, Any] | None,
) -> Result:
    """Solve a problem by a backend's search. Ctrl-C during the set-up keeps the best point known.

    Planes do not care where the origin is, but a backend loses digits where rows are far from it.
    """
    began = time.perf_counter()
    known: list[Result | None] = [None if first_improvement else start]
    margin = BOUND_MARGIN
    try:
        known.append(first_answer(problem))
        value = known_value(problem, known[1], start, cutoff)
        shift = np.vstack([problem.X, problem.U]).mean(axis=0)
        task = Task(
            replace(problem, X=problem.X - shift, U=problem.U - shift),
            _moved(known[0], shift),
            _moved(known[1], shift),
            cutoff,
            began + time_limit,
            gap,
            callback,
            int(random_state),
            first_improvement,
            node_limit,
            as_number(problem, big_m, value),
            threads,
            parameters or {},
            began,
            value,
        )
        outcome, margin = search(task), bound_margin(task)
    except KeyboardInterrupt:
        if best_answer(problem, *NO_POINT, known) is None:
            raise
        outcome = Outcome(Status.INTERRUPTED, 0.0, *NO_POINT, 0, (), {})
    return finish(
        problem,
        best_answer(problem, outcome.w, outcome.z, known),
        outcome.status,
        outcome.bound,
        cutoff,
        gap,
        margin,
        seconds=time.perf_counter() - began,
        n_nodes=outcome.n_nodes,
        trace=tuple(outcome.trace),
        extras={"solver": name, "big_m": big_m, **outcome.extras},
    )


def _moved(point: Result | None, shift: FloatArray) -> Result | None:
    """The same plane, seen from another origin."""
    if point is None or point.coef is None:
        return point
    return replace(point, intercept=point.intercept + float(point.coef @ shift))


class Counts(NamedTuple):
    """The totals as rows of a model: ``matrix @ z + η₁ ≥ low`` and ``matrix @ z - η₂ ≤ high``.

    ``high`` is infinite where no count exceeds it: there is no such row then.
    """

    matrix: Any  # sparse, G × m
    low: FloatArray
    high: FloatArray


def counts_of(problem: Problem) -> Counts:
    """One row per total, with the weights of the rows that it counts."""
    totals = problem.totals
    ends = np.append(0, np.cumsum([len(rows) for rows in totals.rows]))
    columns = np.concatenate([*totals.rows, np.zeros(0, dtype=np.intp)])
    shape = len(totals), problem.m
    matrix = sparse.csr_array((problem.weights[columns], columns, ends), shape=shape)
    beyond = totals.high > totals.weight * (1.0 + BEYOND)
    return Counts(matrix, totals.low, np.where(beyond, np.inf, totals.high))


def known_value(problem: Problem, first: Result | None, start: Result | None, cutoff: float | None) -> float:
    """The smallest objective value known to be reachable, or of interest."""
    values = [result.objective for result in (first, start) if result is not None and result.found]
    if cutoff is not None:
        values.append(cutoff)
    worst = 2.0 * float(problem.C.sum()) + float(problem.totals.penalty @ problem.totals.weight)
    return float(min(values, default=1e6 * (1.0 + worst)))  # with no point known: far above any sensible one


def unsafe_scale(problem: Problem) -> str | None:
    """What lies outside the scale on which the bounds of linear models hold; None if nothing does."""
    if problem.norm == "l2":
        return None
    sizes = np.maximum(np.abs(problem.X).max(axis=0), np.abs(problem.U).max(axis=0, initial=0.0))
    prices = np.append(problem.C, problem.totals.penalty)
    for name, values, (low, high) in (
        ("features", sizes[sizes > 0], SAFE_FEATURES),
        ("prices (C, count_penalty)", prices, SAFE_PRICES),
    ):
        spread = values.max(initial=0.0) > SAFE_SPREAD * values.min(initial=np.inf)
        if spread or np.any((values < low) | (values > high)):
            return f"{name} from {values.min():.1g} to {values.max():.1g}"
    return None


def supports(problem: Problem, value: float) -> bool:
    """Whether a backend's tolerance leaves a meaning to its bound, where points of this ``value`` are known.

    A row that is violated by t costs t times its multiplier, which is the price of a labelled row, or of the
    count; a reduced cost that is off by t costs t times the range of its variable among better points; a side
    that is off by t counts as t times the weight of its row, in each of its totals. So prices or weights over
    many orders of magnitude leave nothing of a bound.
    """
    totals = problem.totals
    if totals.weight.max(initial=0.0) > LARGEST_COUNT:
        return False
    ranges = problem.reach(value), problem.intercept_bound(value), float((value / problem.C).max())
    of_rows = (problem.weights * totals.prices_of_rows).max(initial=0.0)
    miscounts = max(float(totals.penalty.max(initial=0.0)), float(of_rows))
    etas = value / float(totals.penalty.min(initial=np.inf))
    largest = max(float(problem.C.max()), miscounts, etas, *ranges)
    return FEASIBILITY_TOLERANCE * largest <= SUPPORTED * value


def means_sides(problem: Problem, best: Result | None) -> bool:
    """Whether a side that is off by a backend's tolerance is still one.

    Its row then moves by as much of the range of scores among better points.
    """
    if 0.0 < problem.side_margin < LEAST_MARGIN:
        return False
    if best is None:
        return True
    reach = problem.reach(best.objective)
    if reach > 0.0 and _nearly_equal(problem.U, ONE_ROW * problem.radius, LEAST_MARGIN / reach):
        return False
    return FEASIBILITY_TOLERANCE * reach * problem.radius <= MEANT


def _nearly_equal(rows: FloatArray, least: float, most: float) -> bool:
    """Whether the distance of two rows lies between these: they differ, but no good plane shows it.

    Gurobi claimed a bound 16 % above the optimum whose plane splits two rows by 10⁻⁶.
    """
    rows = np.unique(rows, axis=0)
    direction = np.random.default_rng(0).normal(size=rows.shape[1])
    along = rows @ (direction / max(float(np.linalg.norm(direction)), 1e-300))
    order = np.argsort(along, kind="stable")
    rows, along = rows[order], along[order]
    for apart in range(1, len(rows)):
        near = np.flatnonzero(along[apart:] - along[:-apart] <= most)
        if len(near) == 0:
            return False
        distance = np.linalg.norm(rows[near + apart] - rows[near], axis=1)
        if np.any((distance > least) & (distance < most)):
            return True
    return False


def bound_margin(task: Task) -> float:
    """By what share a backend's bound may be too high.

    A quadratic model is solved up to reduced costs that are off by a tolerance, which cost that times the
    range of their variable, and the intercept's is the widest. Linear ones are solved at a vertex.
    """
    if task.problem.norm != "l2":
        return BOUND_MARGIN
    widest = task.problem.intercept_bound(task.value)
    return max(BOUND_MARGIN, INEXACT * FEASIBILITY_TOLERANCE * widest / max(task.value, 1e-300))


def best_answer(
    problem: Problem, w: FloatArray, z: SignArray, known: Iterable[Result | None]
) -> Result | None:
    """The best of the backend's plane by rank, its sides polished, and what was known before."""
    planes = [w] if len(w) else []
    if len(w) and problem.m <= POLISH_ROWS:
        planes.append(solve_convex(problem, (2 * z - 1).astype(np.int8)).w)
    candidates = [answer(problem, plane, Status.FEASIBLE) for plane in planes]
    found = [c for c in [*known, *candidates] if c is not None and c.found]
    return min(found, key=lambda c: c.objective, default=None)


def finish(
    problem: Problem,
    best: Result | None,
    status: Status,
    bound: float,
    cutoff: float | None,
    gap: float,
    margin: float,
    **fields: Any,
) -> Result:
    """Judge the backend's claim by our own evaluation and build the Result.

    Its bound holds but for a ``margin``, relative.
    """
    known = known_value(problem, best, None, cutoff)
    if cutoff is not None:
        bound = min(bound, cutoff)  # the bounds of the model hold below the cutoff only
    bound *= 1.0 - margin
    unsafe = unsafe_scale(problem)
    if unsafe is None and not (supports(problem, known) and means_sides(problem, best)):
        unsafe = (
            "prices (C, count_penalty) or features of such different sizes, so small a side_margin, or rows "
            "so nearly equal"
        )
    if unsafe is not None:
        logger.warning(
            "%s are beyond the solver's tolerances, its bound is ignored: scale or round the rows", unsafe
        )
        bound, status = 0.0, Status.FEASIBLE if status is Status.OPTIMAL else status
    if best is not None and bound > best.objective * (1.0 + CLAIM_TOLERANCE) + 1e-9:
        logger.warning("the solver's bound %g exceeds the objective %g: ignored", bound, best.objective)
        bound, status = 0.0, Status.FEASIBLE
    bound = max(root_bound(problem), bound)
    if cutoff is not None and (best is None or best.objective >= cutoff):
        best = None
        if status is Status.OPTIMAL:  # the whole space was searched
            status, bound = Status.CUTOFF, cutoff * (1.0 - margin)
    if best is None:
        no_point = {Status.OPTIMAL: Status.INFEASIBLE, Status.FEASIBLE: Status.TIME_LIMIT}
        return checked(Result(problem, no_point.get(status, status), lower_bound=bound, **fields), gap)
    result = Result(problem, status, best.coef, best.intercept, best.z, lower_bound=bound, **fields)
    return checked(result, gap)
