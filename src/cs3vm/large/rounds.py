"""Better planes in rounds: solve in memory, look at all rows in a pass, go on from what was seen.

In a round the rows near the plane enter one by one and the others by a sample that weighs as much as they do.
A pass then judges some steps towards the plane that was found, exactly and on all rows. It ends when the true
objective no longer improves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from .._typing import FloatArray
from ..convex.svm import root_bound, solve_convex
from ..engine.heuristic.improve import improve
from ..exceptions import CS3VMError, Note
from ..model import norms
from ..model.line import HingeSum
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Status
from ..model.totals import Total, Totals
from .order_statistic import NEAREST, Counter, Reader, Threshold, Weighing
from .pieces import Piece, Source
from .representatives import Representatives
from .selection import LADDER, Chosen, Counts, choose

T = TypeVar("T")
#: The method without a search: the SVM of the labelled rows, moved to the total.
TOP_TAU = "top_tau"
#: How much dearer than any hinge loss a miss is then; scores of rows that were not drawn may be larger.
DEAR = 1e3
#: Rounds at most.
ROUNDS = 6
#: Steps from the plane towards the one that a round found.
STEPS = (1.0, 0.6, 0.3, 0.1)
#: Bins of so many planes and totals are in memory at once, 0.2 MB each: many totals leave fewer steps.
MOST_BINS = 400
#: A round that improves the objective by less, relative, is the last.
IMPROVEMENT = 1e-4
#: The work of the search on the sample and of that in a round, and when the former gives up.
FIRST_WORK, ROUND_WORK, PATIENCE = 4e9, 3e8, 20
#: Passes for one plane at most: two are usual.
MOST_PASSES = 8
#: So many times more rows than different scores mean that all scores can be kept.
FEW = 5
#: Drawn rows beyond those near the plane that a round has.
FAR_ROWS = 60_000


class PassDone(NamedTuple):
    """One pass over all rows."""

    name: str
    seconds: float


@dataclass
class Passes:
    """Runs passes and writes them down."""

    source: Source
    callback: Callable[[PassDone], None] | None = None
    done: list[PassDone] = field(default_factory=list)

    def run(self, name: str, function: Callable[[Piece], T], combine: Callable[[T, T], T]) -> T:
        """One pass."""
        began = perf_counter()
        found = self.source.reduce(function, combine)
        self.done.append(PassDone(name, perf_counter() - began))
        if self.callback is not None:
            self.callback(self.done[-1])
        return found


def known_counts(table: Representatives) -> Counts:
    """The totals of a table by cell."""
    survey, totals, of = table.survey, table.problem.totals, table.totals_of_cells
    start = np.append(0, np.cumsum([len(own) for own in of])).astype(np.int64)
    total = np.concatenate([*of, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    weighing = Weighing.of(survey.unweighted, survey.largest)
    return Counts(totals.low, totals.high, totals.penalty, start, total, weighing)


class Judged(NamedTuple):
    """A plane in the features of the problem, judged on all rows."""

    w: FloatArray
    chosen: Chosen
    value: float  #: the objective


class Judge:
    """Judges normal vectors on all rows."""

    def __init__(self, table: Representatives, passes: Passes, most: int = NEAREST) -> None:
        self.table, self.passes, self.most = table, passes, most
        survey = table.survey
        self.counts = known_counts(table)
        if table.parameters.method == TOP_TAU:
            self.counts = self.counts._replace(penalty=_dear(table.problem))
        self.reader = Reader(survey.cells, survey.asked.mark, self.counts.weighing)
        margin = table.problem.side_margin
        automatic = isinstance(table.parameters.side_margin, str)
        self.margins = tuple(margin * part for part in LADDER) if automatic else (margin,)
        self.rows_per_drawn = float(survey.counts.sum()) / len(survey.drawn)

    def judge(self, name: str, normals: FloatArray, guesses: list[Threshold]) -> list[Judged]:
        """What one pass tells about these planes."""
        scores = self.table.plane_scores(normals)
        counts = self.counts
        counter = Counter(
            self.reader, scores, tuple(guesses), counts.start, counts.total, len(counts.low), self.most
        )
        found = self.passes.run(name, counter, counter.combine)
        labelled = scores(self.table.survey.labelled.X)
        problem = self.table.problem
        judged = []
        for w, counted, guess, own in zip(normals, found, guesses, labelled, strict=True):
            hinge = HingeSum(own - guess.at, problem.y, problem.C)
            chosen = choose(counted, guess, hinge, counts, self.margins, self.most)
            judged.append(Judged(w, chosen, norms.price(problem.norm, w) + chosen.cost))
        return judged

    def settle(self, name: str, judged: Judged) -> Judged:
        """Look again until the intercept is proven to be the best."""
        best = judged
        for _ in range(MOST_PASSES):
            if judged.chosen.proven:
                return judged
            (judged,) = self.judge(name, judged.w[None], [judged.chosen.next])
            best = min(best, judged, key=lambda one: (not one.chosen.proven, one.value))
        return best

    def guess(self, problem: Problem, w: FloatArray) -> Threshold:
        """Where the intercept probably is, by rows in memory, and how far rows are to be kept around it."""
        best = replace(problem, side_margin=0.0).best_intercept(w)
        at = 0.0 if best is None else -best.b
        drawn = self.table.plane_scores(w)(self.table.survey.drawn.X)[0]
        if FEW * len(np.unique(drawn)) <= min(len(drawn), self.most):  # equal rows are kept together
            return Threshold(at, np.inf)
        distance = np.abs(drawn - at)
        wanted = max(20, int(0.5 * self.most / self.rows_per_drawn))
        if wanted >= len(distance):
            return Threshold(at, np.inf)
        radius = float(np.partition(distance, wanted)[wanted])
        return Threshold(at, max(np.nextafter(radius, np.inf), 4.0 * self.margins[0]))


def search(judge: Judge, seconds: float) -> tuple[Judged, Result]:
    """The best plane of all rounds, with its exact intercept; and the answer of the first sample.

    The seconds are for the searches in memory: passes take as long as they take.
    """
    table = judge.table
    if table.parameters.method == TOP_TAU:
        return _of_labelled_rows(judge)
    problem = alike_weights(table.problem)
    first = _solve(judge, problem, seconds, FIRST_WORK)
    left = seconds - first.seconds
    w = np.zeros(problem.d) if first.coef is None else first.coef
    best = judge.settle("intercept", judge.judge("intercept", w[None], [judge.guess(table.problem, w)])[0])
    known = False  # whether a search has seen all rows
    for _ in range(ROUNDS):
        if left <= 0.0:
            break
        problem = round_problem(judge, best)
        thorough = not known and best.chosen.near.complete == np.inf  # all rows, equal ones together
        known |= thorough
        work = FIRST_WORK if thorough else ROUND_WORK
        step = _solve(judge, problem, left, work, best.w, thorough=thorough)
        left, end = left - step.seconds, step.coef
        if end is None:
            break
        steps = STEPS[: max(1, MOST_BINS // len(judge.counts.low))]
        normals = np.array([best.w + t * (end - best.w) for t in steps])
        found = judge.judge("round", normals, [judge.guess(problem, w) for w in normals])
        before, challenger = best.value, min(found, key=lambda one: one.value)
        if challenger.value < before:
            best = min(best, judge.settle("round", challenger), key=lambda one: one.value)
        if not best.value < before * (1.0 - IMPROVEMENT):
            break
    if not np.isfinite(best.value):
        raise _no_room(table.problem.side_margin)
    return best, first


def _of_labelled_rows(judge: Judge) -> tuple[Judged, Result]:
    """The plane of the labelled rows' SVM, moved until the totals are met as nearly as they can be."""
    problem = judge.table.problem
    began = perf_counter()
    w, bound = solve_convex(problem).w.copy(), root_bound(problem)
    first = Result(problem, Status.FEASIBLE, w, 0.0, None, lower_bound=bound, seconds=perf_counter() - began)
    (found,) = judge.judge("intercept", w[None], [judge.guess(problem, w)])
    best = judge.settle("intercept", found)
    if not np.isfinite(best.value):
        raise _no_room(problem.side_margin)
    return best, first


def _dear(problem: Problem) -> FloatArray:
    """Prices of the totals, in the same proportions, that make a miss dearer than any hinge loss."""
    w = solve_convex(problem).w
    spread = 1.0 + sum(float(np.abs(rows @ w).max(initial=0.0)) for rows in (problem.X, problem.U))
    penalty = problem.totals.penalty
    return np.asarray(DEAR * spread * float(problem.C.sum()) * penalty / penalty.min(initial=np.inf))


def _no_room(margin: float) -> CS3VMError:
    start = f"no hyperplane was found that keeps all rows {margin:g} away: lower"
    return CS3VMError(
        Note(f"{start} side_margin, or leave it 'auto'", f"{start} --side-margin, or leave it out")
    )


def _solve(
    judge: Judge,
    problem: Problem,
    seconds: float,
    work: float,
    start: FloatArray | None = None,
    thorough: bool = True,
) -> Result:
    """What the heuristic finds on rows in memory; its answer is only a direction to look in.

    Where hardly any two rows are equal, a plane through some of them is as good, and found faster. A search
    that is not thorough stays near its start.
    """
    parameters = judge.table.parameters
    options = parameters.further_options()
    with threadpool_limits(1, user_api="blas"):
        return improve(
            replace(problem, side_margin=0.0) if judge.table.mostly_distinct else problem,
            [] if start is None else [start],
            time_limit=max(0.0, seconds),
            work_limit=min(work, parameters.work_limit or np.inf),
            random_state=parameters.seed,
            callback=options.get("callback"),
            patience=int(options.get("patience", PATIENCE)) if thorough else 0,
            again=not thorough,
            nearby=not thorough,
        )


def alike_weights(problem: Problem) -> Problem:
    """The same problem with rows of weight 1 where all weigh about the same: that is searched faster."""
    low, high = float(problem.weights.min()), float(problem.weights.max())
    if low == high == 1.0 or high > 1.05 * low + 1.0:
        return problem
    totals, unit = problem.totals, problem.total_weight / problem.m
    scaled = []
    for g, rows in enumerate(totals.rows):
        low, high = min(totals.low[g] / unit, float(len(rows))), totals.high[g] / unit
        ends = (round(low),) * 2 if low >= high else (np.floor(low), np.ceil(high))
        price = float(totals.penalty[g]) * unit
        scaled.append(Total(rows, float(ends[0]), float(ends[1]), price, totals.names[g]))
    price = problem.count_penalty * unit
    return replace(problem, n_positive=Totals(scaled), weights=np.ones(problem.m), count_penalty=price)


def round_problem(judge: Judge, best: Judged) -> Problem:
    """The rows near the plane one by one, and drawn ones for all others.

    These weigh as much as the rows that they stand for in each cell on each side, so that the counts of the
    plane are the true ones.
    """
    table, near = judge.table, best.chosen.near
    survey, weighing = table.survey, judge.counts.weighing
    drawn = survey.drawn
    scores = table.plane_scores(best.w)(drawn.X)[0]
    far = np.flatnonzero(np.abs(scores - best.chosen.at) >= near.complete)
    if len(far) > FAR_ROWS:
        far = far[np.sort(np.argsort(drawn.hash[far], kind="stable")[:FAR_ROWS])]
    near_weight, whole = weighing.values(near.weight), best.chosen.beyond.ravel()
    stratum = 2 * drawn.cell[far] + (scores[far] >= best.chosen.at)
    mass = np.bincount(stratum, drawn.weight[far], minlength=len(whole))
    weight = drawn.weight[far] * (whole / np.where(mass > 0.0, mass, 1.0))[stratum]
    kept = weight > 0.0
    far, weight = far[kept], weight[kept]
    cell = np.append(near.cell, drawn.cell[far])
    weights = np.append(near_weight, weight)
    U = np.vstack([table.features(near.X), table.problem.U[far]])
    return replace(
        table.problem,
        U=U,
        n_positive=table.totals_over(cell, weights),
        weights=weights,
        side=np.zeros(len(U), dtype=np.int8),
    )
