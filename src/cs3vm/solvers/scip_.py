"""SCIP: the open reference for the mixed-integer quadratic models P3 to P6."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import SCIP_EVENTTYPE, Eventhdlr, Model, quicksum

from ..intercept import FloatArray
from ..problem import Problem
from ..result import DEFAULT_GAP, Callback, Result, Status, TracePoint
from ._miqp import BigM, best_answer, bounds, finish, known_value

#: SCIP's own tolerance on every constraint; its default of 1e-6 times a big-M exceeds a margin.
FEASIBILITY_TOLERANCE = 1e-9
#: SCIP's bound holds to its tolerances only: it is reported lower by this, relative.
BOUND_MARGIN = 1e-7

STATUS = {
    "optimal": Status.OPTIMAL,
    "gaplimit": Status.OPTIMAL,
    "infeasible": Status.OPTIMAL,  # the search is complete; _miqp.finish tells cutoff from infeasible
    "nodelimit": Status.NODE_LIMIT,
    "totalnodelimit": Status.NODE_LIMIT,
    "userinterrupt": Status.INTERRUPTED,
    "sollimit": Status.FEASIBLE,
}


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
    began = time.perf_counter()
    value = known_value(problem, start, cutoff)
    scip = _ScipModel(problem, big_m, value, deadline=began + time_limit)
    status, bound, best, nodes = Status.TIME_LIMIT, 0.0, None, 0
    watch = _Watch(began, callback)
    if scip.complete:
        model = scip.model
        model.setParam("limits/time", max(0.0, time_limit - (time.perf_counter() - began)))
        model.setParam("limits/gap", gap)
        model.setParam("randomization/randomseedshift", int(random_state))
        model.setParam("lp/threads", threads)
        if node_limit is not None:
            model.setParam("limits/totalnodes", node_limit)
        if first_improvement:
            model.setParam("limits/solutions", 1)
        elif start is not None and start.found:
            scip.add_start(start)
        if cutoff is not None:
            model.setObjlimit(cutoff)
        for name, setting in (parameters or {}).items():
            model.setParam(name, setting)
        model.includeEventhdlr(watch, "watch", "records incumbents and bounds")
        model.optimize()
        status = STATUS.get(model.getStatus(), Status.TIME_LIMIT)
        bound = _finite(model.getDualbound())
        nodes = int(model.getNTotalNodes())
        w, z = scip.best_point()
        best = best_answer(problem, w, z, None if first_improvement else start)
    elif start is not None and start.found:
        best = start
    else:
        best = best_answer(problem, np.zeros(0), np.zeros(0, dtype=np.int8), start)
    return finish(
        problem,
        best,
        status,
        bound - BOUND_MARGIN * max(1.0, abs(bound)),
        cutoff,
        gap,
        seconds=time.perf_counter() - began,
        n_nodes=nodes,
        trace=tuple(watch.trace),
        extras={"solver": "scip", "big_m": big_m},
    )


class _ScipModel:
    """P3 with weights and fixed sides, equation by equation."""

    def __init__(self, problem: Problem, big_m: BigM, value: float, deadline: float) -> None:
        self.problem = problem
        limit = bounds(problem, big_m, value)
        model = self.model = Model()
        model.hideOutput()
        model.setParam("numerics/feastol", FEASIBILITY_TOLERANCE)
        self.w = [model.addVar(f"w{k}", lb=-limit.w, ub=limit.w) for k in range(problem.d)]
        self.b = model.addVar("b", lb=-limit.b, ub=limit.b)
        self.xi = [model.addVar(f"xi{i}", lb=0.0) for i in range(problem.n)]
        self.eta = [model.addVar(f"eta{i}", lb=0.0) for i in (1, 2)]
        self.z = [
            model.addVar(f"z{j}", vtype="B", lb=float(s > 0), ub=float(s >= 0))
            for j, s in enumerate(problem.side)
        ]
        # ½‖w‖² through one epigraph variable: measured faster than one per coordinate.
        self.square = model.addVar("t", lb=0.0)
        model.addCons(0.5 * quicksum(w * w for w in self.w) <= self.square)
        slack = quicksum(float(c) * x for c, x in zip(problem.C, self.xi, strict=True))
        penalty = problem.count_penalty * (self.eta[0] + self.eta[1])
        model.setObjective(self.square + slack + penalty)  # (P3 objective)
        for i in range(problem.n):  # (labelled rows)
            model.addCons(float(problem.y[i]) * self._score(problem.X[i]) + self.xi[i] >= 1.0)
        count = quicksum(float(e) * z for e, z in zip(problem.weights, self.z, strict=True))
        model.addCons(count >= problem.n_positive - self.eta[0])  # (cardinality)
        model.addCons(count <= problem.n_positive + self.eta[1])
        self.complete = self._add_sides(limit.low, limit.high, big_m == "indicator", deadline)

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

    def add_start(self, start: Result) -> None:
        """Hand a known point to SCIP, nudged so that its tolerances accept it."""
        assert start.coef is not None
        assert start.z is not None
        problem, model = self.problem, self.model
        solution = model.createSol()
        slack = np.maximum(0.0, 1.0 - problem.y * (problem.X @ start.coef + start.intercept))
        values = zip(
            [*self.w, self.b, *self.xi, *self.eta, *self.z, self.square],
            [
                *start.coef,
                start.intercept,
                *slack,
                *problem.eta(start.z),
                *start.z,
                0.5 * float(start.coef @ start.coef),
            ],
            strict=True,
        )
        for variable, number in values:
            model.setSolVal(solution, variable, float(number))
        model.addSol(solution)

    def best_point(self) -> tuple[FloatArray, NDArray[np.int8]]:
        """SCIP's best plane and sides; empty if it has none."""
        if self.model.getNSols() == 0:
            return np.zeros(0), np.zeros(0, dtype=np.int8)
        solution = self.model.getBestSol()
        w = np.array([self.model.getSolVal(solution, v) for v in self.w])
        z = np.array([self.model.getSolVal(solution, v) > 0.5 for v in self.z], dtype=np.int8)
        return w, z


class _Watch(Eventhdlr):  # type: ignore[misc]
    """Records the trace and tells the caller about each new incumbent and each 100th node."""

    def __init__(self, began: float, callback: Callback | None) -> None:
        self.began, self.callback = began, callback
        self.trace: list[TracePoint] = []
        self.nodes = 0

    def eventinit(self) -> None:
        """Listen to new incumbents and solved nodes."""
        self.model.catchEvent(SCIP_EVENTTYPE.BESTSOLFOUND, self)
        self.model.catchEvent(SCIP_EVENTTYPE.NODESOLVED, self)

    def eventexec(self, event: Any) -> None:
        """Note the state of the search."""
        if event.getType() == SCIP_EVENTTYPE.BESTSOLFOUND or self.nodes % 100 == 0:
            point = TracePoint(
                time.perf_counter() - self.began,
                _finite(self.model.getPrimalbound(), float("inf")),
                _finite(self.model.getDualbound()),
                self.nodes,
            )
            self.trace.append(point)
            if self.callback is not None:
                self.callback(point)
        self.nodes += event.getType() != SCIP_EVENTTYPE.BESTSOLFOUND


def _finite(value: float, otherwise: float = 0.0) -> float:
    return float(value) if abs(value) < 1e19 else otherwise
