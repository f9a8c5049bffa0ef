"""Gurobi: the solver of the paper, for those who have a licence."""

from __future__ import annotations

import time
from typing import Any

import gurobipy as gp
import numpy as np
from gurobipy import GRB

from ..convex.linear_program import epigraph
from ..convex.svm import first_answer, solve_convex
from ..exceptions import SolverLicenseError
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback, Status, TracePoint
from .mip import BOUND_MARGIN, BigM, best_answer, bounds, finish, known_value

#: Gurobi's own tolerance on every constraint, the tightest it takes.
FEASIBILITY_TOLERANCE = 1e-9
#: Gurobi stops at this share of the gap: the margin of its bound and our evaluation need the rest.
GAP_SHARE = 0.5

STATUS = {
    GRB.OPTIMAL: Status.OPTIMAL,
    GRB.INFEASIBLE: Status.OPTIMAL,  # the search is complete; _miqp.finish tells cutoff from infeasible
    GRB.INF_OR_UNBD: Status.OPTIMAL,
    GRB.CUTOFF: Status.OPTIMAL,
    GRB.NODE_LIMIT: Status.NODE_LIMIT,
    GRB.TIME_LIMIT: Status.TIME_LIMIT,
    GRB.INTERRUPTED: Status.INTERRUPTED,
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
    """Solve the problem with Gurobi; the options are those of the SCIP backend."""
    began = time.perf_counter()
    try:
        svm = solve_convex(problem)
        first = first_answer(problem, svm)
        with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
            return _solve(
                _GurobiModel(problem, model, big_m, known_value(problem, first, start, cutoff)),
                began,
                None if first_improvement else start,
                first,
                max(0.0, svm.bound) + problem.count_penalty * problem.min_miscount,
                cutoff,
                gap,
                callback,
                {
                    "TimeLimit": min(max(0.0, time_limit - (time.perf_counter() - began)), 1e20),
                    "MIPGap": GAP_SHARE * gap,
                    "Seed": int(random_state),
                    "Threads": threads,
                    "FeasibilityTol": FEASIBILITY_TOLERANCE,
                    "IntFeasTol": FEASIBILITY_TOLERANCE,
                    **({} if node_limit is None else {"NodeLimit": node_limit}),
                    **({"SolutionLimit": 1} if first_improvement else {}),
                    **(parameters or {}),
                },
            )
    except gp.GurobiError as error:
        if error.errno in (GRB.Error.SIZE_LIMIT_EXCEEDED, GRB.Error.NO_LICENSE):
            raise SolverLicenseError(
                f"Gurobi's licence does not cover a problem of this size (n={problem.n}, m={problem.m}, "
                f"d={problem.d}): {error}. The licence that comes with the package is limited in size; "
                "install a full one, "
                f"or use {' or '.join(_unlimited(problem))}, which have no limit"
            ) from error
        raise


def _unlimited(problem: Problem) -> list[str]:
    names = ("bnb", "scip") if problem.norm == "l2" else ("highs", "scip")
    return [f"solver={name!r}" for name in names]


class _GurobiModel:
    """P3 with weights and fixed sides, in matrix form."""

    def __init__(self, problem: Problem, model: Any, big_m: BigM, value: float) -> None:
        self.problem, self.model = problem, model
        limit = bounds(problem, big_m, value)
        n, m, margin = problem.n, problem.m, problem.side_margin
        self.w = model.addMVar(problem.d, lb=-limit.w, ub=limit.w)
        self.b = model.addMVar(1, lb=-limit.b, ub=limit.b)
        self.xi = model.addMVar(n, lb=0.0)
        self.eta = model.addMVar(2, lb=0.0)
        self.z = model.addMVar(m, vtype=GRB.BINARY, lb=(problem.side > 0) * 1.0, ub=(problem.side >= 0) * 1.0)
        penalty = problem.count_penalty * self.eta.sum()
        model.setObjective(self._price() + problem.C @ self.xi + penalty)
        labelled = problem.X @ self.w + np.ones((n, 1)) @ self.b
        model.addConstr(problem.y * labelled + self.xi >= 1.0)
        if m == 0:
            return
        model.addConstr(problem.weights @ self.z + self.eta[0] >= problem.n_positive)
        model.addConstr(problem.weights @ self.z - self.eta[1] <= problem.n_positive)
        scores = problem.U @ self.w + np.ones((m, 1)) @ self.b
        if big_m == "indicator":
            for j in range(m):
                score = problem.U[j] @ self.w + self.b[0]
                model.addGenConstrIndicator(self.z[j].item(), False, score.item() <= -margin)
                model.addGenConstrIndicator(self.z[j].item(), True, score.item() >= margin)
        else:
            model.addConstr(scores - (limit.high + margin) * self.z <= -margin)
            model.addConstr(scores - (limit.low + margin) * self.z >= -limit.low)

    def _price(self) -> Any:
        """What the model pays for w."""
        if self.problem.norm == "l2":
            return 0.5 * (self.w @ self.w)
        rows = epigraph(self.problem.norm, self.problem.d)
        a = self.model.addMVar(rows.of_a.shape[1], lb=0.0)
        self.model.addConstr(rows.of_w @ self.w + rows.of_a @ a <= 0.0)
        return a.sum()


def _solve(
    gurobi: _GurobiModel,
    began: float,
    start: Result | None,
    first: Result | None,
    svm_bound: float,
    cutoff: float | None,
    gap: float,
    callback: Callback | None,
    parameters: dict[str, Any],
) -> Result:
    problem, model = gurobi.problem, gurobi.model
    if start is not None and start.coef is not None and start.z is not None:
        gurobi.w.Start, gurobi.b.Start, gurobi.z.Start = start.coef, [start.intercept], start.z
    if cutoff is not None:
        model.Params.Cutoff = cutoff
    for name, setting in parameters.items():
        model.setParam(name, setting)
    trace: list[TracePoint] = []
    errors: list[BaseException] = []  # Gurobi cannot carry an exception of the callback

    def watch(_: Any, where: int) -> None:
        if where == GRB.Callback.MIPSOL:
            incumbent = _finite(model.cbGet(GRB.Callback.MIPSOL_OBJBST))
            bound = _finite(model.cbGet(GRB.Callback.MIPSOL_OBJBND), 0.0)
            nodes = int(model.cbGet(GRB.Callback.MIPSOL_NODCNT))
            trace.append(TracePoint(time.perf_counter() - began, incumbent, bound, nodes))
            try:
                if callback is not None:
                    callback(trace[-1])
            except BaseException as error:
                errors.append(error)
                model.terminate()

    model.optimize(watch)
    if errors and not isinstance(errors[0], KeyboardInterrupt):
        raise errors[0]
    w, z = np.zeros(0), np.zeros(0, dtype=np.int8)
    if model.SolCount:
        w, z = gurobi.w.X, (gurobi.z.X > 0.5).astype(np.int8)
    best = best_answer(problem, w, z, [start, first])
    status = STATUS.get(model.Status, Status.FEASIBLE)
    bound = _finite(model.ObjBound, 0.0) if model.IsMIP else _finite(getattr(model, "ObjVal", 0.0), 0.0)
    return finish(
        problem,
        best,
        status,
        bound * (1.0 - BOUND_MARGIN),
        svm_bound,
        cutoff,
        gap,
        seconds=time.perf_counter() - began,
        n_nodes=int(model.NodeCount),
        trace=tuple(trace),
        extras={"solver": "gurobi"},
    )


def _finite(value: float, otherwise: float = float("inf")) -> float:
    return float(value) if abs(value) < 1e99 else otherwise
