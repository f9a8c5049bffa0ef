"""SCIP: the open reference for the mixed-integer models P3 to P6, quadratic or, with other norms, linear."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import SCIP_EVENTTYPE, Eventhdlr, Model, quicksum

from .._typing import FloatArray
from ..exceptions import CS3VMError
from ..model.norms import parts
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback, Status, TracePoint
from .big_m import BigM, variable_bounds
from .mip import (
    FEASIBILITY_TOLERANCE,
    GAP_SHARE,
    NO_POINT,
    Outcome,
    Task,
    counts_of,
    ending,
    run,
)

#: Time kept back for each unlabelled row.
SECONDS_PER_ROW = 4e-5

logger = logging.getLogger(__name__)


def solve(
    problem: Problem,
    *,
    start: Result | None = None,
    cutoff: float | None = None,
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    callback: Callback | None = None,
    random_state: int = 0,
    first_improvement: bool = False,
    node_limit: int | None = None,
    big_m: BigM = "tight",
    threads: int = 1,
    parameters: dict[str, Any] | None = None,
) -> Result:
    """Solve the problem with SCIP.

    Parameters
    ----------
    start
        A result whose point SCIP starts from.
    cutoff
        Only points with a smaller objective are of interest.
    first_improvement
        Stop at the first point below the cutoff (P5 is a feasibility problem).
    big_m
        ``"paper"`` is P3 as printed, ``"tight"`` has one bound per point, ``"indicator"`` none; a number
        is taken as M.
    parameters
        Further SCIP parameters by SCIP's own names.
    """
    return run(
        "scip",
        _search,
        problem,
        start=start,
        cutoff=cutoff,
        time_limit=time_limit,
        gap=gap,
        callback=callback,
        random_state=random_state,
        first_improvement=first_improvement,
        node_limit=node_limit,
        big_m=big_m,
        threads=threads,
        parameters=parameters,
    )


def _search(task: Task) -> Outcome:
    try:
        scip = _ScipModel(task)
    except CS3VMError:
        raise
    except Exception as error:  # PySCIPOpt raises plain exceptions
        raise CS3VMError(
            f"SCIP does not take the model ({error}): it has numbers beyond 1e20, or far too different ones. "
            "Scale the rows, the weights and the prices, or use solver='bnb' with norm='l2'"
        ) from error
    watch = _Watch(task)
    if not scip.complete:
        return Outcome(Status.TIME_LIMIT, 0.0, *NO_POINT, 0, (), {})
    scip.set_parameters(task)
    if task.start is not None and task.start.found:
        scip.add_start(task.start)
    status, bound = scip.run(watch)
    w, z = scip.best_point()
    extras = {"backend_objective": float(scip.model.getObjVal())} if len(w) else {}
    return Outcome(status, bound, w, z, int(scip.model.getNTotalNodes()), watch.trace, extras)


class _ScipModel:
    """P3 with weights and fixed sides, equation by equation."""

    def __init__(self, task: Task) -> None:
        problem = self.problem = task.problem
        limit = variable_bounds(problem, task.big_m, task.value)
        model = self.model = Model()
        model.hideOutput()
        model.setParam("numerics/feastol", FEASIBILITY_TOLERANCE)
        self.w = [model.addVar(f"w{k}", lb=-limit.w, ub=limit.w) for k in range(problem.d)]
        self.b = model.addVar("b", lb=-limit.b, ub=limit.b)
        self.xi = [model.addVar(f"xi{i}", lb=0.0) for i in range(problem.n)]
        totals = problem.totals
        self.eta = [model.addVar(f"eta{i + 1}", lb=0.0) for i in range(2 * len(totals))]
        self.z = [
            model.addVar(f"z{j}", vtype="B", lb=float(s > 0), ub=float(s >= 0))
            for j, s in enumerate(problem.side)
        ]
        self.a = self._add_norm()
        slack = quicksum(float(c) * x for c, x in zip(problem.C, self.xi, strict=True))
        prices = np.tile(totals.penalty, 2)
        penalty = quicksum(float(c) * eta for c, eta in zip(prices, self.eta, strict=True))
        model.setObjective(quicksum(self.a) + slack + penalty)  # (P3 objective)
        for i in range(problem.n):  # (labelled rows)
            model.addCons(float(problem.y[i]) * self._score(problem.X[i]) + self.xi[i] >= 1.0)
        self._add_counts()
        self.complete = self._add_sides(limit.low, limit.high, task.big_m == "indicator", task.deadline)

    def _add_counts(self) -> None:
        """(cardinality): η₁ of all totals, then η₂ of all."""
        problem, counts = self.problem, counts_of(self.problem)
        for g, rows in enumerate(problem.totals.rows):
            count = quicksum(float(problem.weights[j]) * self.z[j] for j in rows)
            self.model.addCons(count >= float(counts.low[g]) - self.eta[g])
            if counts.high[g] < np.inf:
                over = self.eta[len(problem.totals) + g]
                self.model.addCons(count <= float(counts.high[g]) + over)

    def _add_norm(self) -> list[Any]:
        """Variables whose sum is at least what the model pays for w."""
        model, norm = self.model, self.problem.norm
        if norm == "l2":
            # ½‖w‖² through one epigraph variable: measured faster than one per coordinate.
            square = model.addVar("t", lb=0.0)
            model.addCons(0.5 * quicksum(w * w for w in self.w) <= square)
            return [square]
        n_parts = self.problem.d if norm == "l1" else 1
        a = [model.addVar(f"a{k}", lb=0.0) for k in range(n_parts)]
        for k, w in enumerate(self.w):
            model.addCons(w <= a[k % n_parts])
            model.addCons(-w <= a[k % n_parts])
        return a

    def _add_sides(self, low: FloatArray, high: FloatArray, indicator: bool, deadline: float) -> bool:
        """The side constraints of all unlabelled rows; False if the time is up before they are complete."""
        model, margin = self.model, self.problem.side_margin
        for j, z in enumerate(self.z):
            if j % 256 == 0 and time.perf_counter() > deadline:
                return False
            score, side = self._score(self.problem.U[j]), self.problem.side[j]
            if side > 0:
                model.addCons(score >= margin)
            elif side < 0:
                model.addCons(score <= -margin)
            elif indicator:
                model.addConsIndicator(score <= -margin, z, activeone=False)
                model.addConsIndicator(-score <= -margin, z)
            else:
                model.addCons(score <= -margin + (high[j] + margin) * z)
                model.addCons(score >= margin - (low[j] + margin) * (1 - z))
        return True

    def _score(self, x: FloatArray) -> Any:
        return quicksum(float(a) * w for a, w in zip(x, self.w, strict=True) if a != 0.0) + self.b

    def set_parameters(self, task: Task) -> None:
        """When SCIP stops, and how it searches."""
        # On large models SCIP looks at the clock late, and freeing them takes time as well.
        reserve = min(0.15 * (task.deadline - task.began), SECONDS_PER_ROW * self.problem.m)
        parameters = {
            "limits/time": min(max(0.0, task.left - reserve), 1e20),
            "limits/gap": GAP_SHARE * task.gap,
            "randomization/randomseedshift": task.seed,
            "lp/threads": task.threads,
            **({} if task.node_limit is None else {"limits/totalnodes": task.node_limit}),
            **({"limits/solutions": 1} if task.first_improvement else {}),
            **task.parameters,
        }
        for name, setting in parameters.items():
            self.model.setParam(name, setting)
        if task.cutoff is not None:
            self.model.setObjlimit(task.cutoff)

    def run(self, watch: _Watch) -> tuple[Status, float]:
        """Search; a numerical failure inside SCIP ends the search, but loses nothing."""
        self.model.includeEventhdlr(watch, "watch", "records incumbents and bounds")
        try:
            self.model.optimize()
        except Exception as error:  # PySCIPOpt raises plain exceptions
            if watch.error is None:
                logger.warning("SCIP ended early: %s", error)
                return Status.FEASIBLE, 0.0
        if isinstance(watch.error, KeyboardInterrupt):
            return Status.INTERRUPTED, _finite(self.model.getDualbound())
        if watch.error is not None:
            raise watch.error
        return ending(self.model.getStatus()), _finite(self.model.getDualbound())

    def add_start(self, start: Result) -> None:
        """Hand a known point to SCIP, nudged so that its tolerances accept it."""
        assert start.coef is not None
        assert start.z is not None
        problem, model = self.problem, self.model
        solution = model.createSol()
        slack = np.maximum(0.0, 1.0 - problem.y * (problem.X @ start.coef + start.intercept))
        short, over = problem.totals.eta(problem.totals.counts(start.z))
        values = zip(
            [*self.w, self.b, *self.xi, *self.eta, *self.z, *self.a],
            [
                *start.coef,
                start.intercept,
                *slack,
                *short,
                *over,
                *start.z,
                *parts(problem.norm, start.coef),
            ],
            strict=True,
        )
        for variable, number in values:
            model.setSolVal(solution, variable, float(number))
        model.addSol(solution)

    def best_point(self) -> tuple[FloatArray, NDArray[np.int8]]:
        """SCIP's best plane and sides; empty if it has none."""
        if self.model.getNSols() == 0:
            return NO_POINT
        solution = self.model.getBestSol()
        w = np.array([self.model.getSolVal(solution, v) for v in self.w])
        z = np.array([self.model.getSolVal(solution, v) > 0.5 for v in self.z], dtype=np.int8)
        return w, z


class _Watch(Eventhdlr):  # type: ignore[misc]
    """Records the trace and tells the caller about each new incumbent and each 100th node."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.trace: list[TracePoint] = []
        self.nodes = 0
        self.error: BaseException | None = None  # SCIP cannot carry an exception of the callback

    def eventinit(self) -> None:
        """Listen to new incumbents and solved nodes."""
        self.model.catchEvent(SCIP_EVENTTYPE.BESTSOLFOUND, self)
        self.model.catchEvent(SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexec(self, event: Any) -> None:
        """Note the state of the search."""
        if event.getType() == SCIP_EVENTTYPE.BESTSOLFOUND or self.nodes % 100 == 0:
            point = TracePoint(
                self.task.seconds,
                _finite(self.model.getPrimalbound(), float("inf")),
                _finite(self.model.getDualbound()),
                self.nodes,
            )
            self.trace.append(point)
            try:
                if self.task.callback is not None:
                    self.task.callback(point)
            except BaseException as error:
                self.error = error
                self.model.interruptSolve()
        self.nodes += event.getType() != SCIP_EVENTTYPE.BESTSOLFOUND


def _finite(value: float, otherwise: float = 0.0) -> float:
    return float(value) if abs(value) < 1e19 else otherwise
