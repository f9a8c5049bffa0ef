"""Gurobi: the solver of the paper, for those who have a licence."""

from __future__ import annotations

from typing import Any

import gurobipy as gp
import numpy as np
from gurobipy import GRB

from ..convex.linear_program import epigraph
from ..exceptions import SolverLicenseError
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import DEFAULT_GAP, Callback, TracePoint
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

#: Gurobi's names for the ways in which a search ends.
ENDINGS = {getattr(GRB.Status, name): name for name in dir(GRB.Status) if name.isupper()}


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
    try:
        return run(
            "gurobi",
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
        limit = variable_bounds(problem, big_m, value)
        n, m, margin = problem.n, problem.m, problem.side_margin
        self.w = model.addMVar(problem.d, lb=-limit.w, ub=limit.w)
        self.b = model.addMVar(1, lb=-limit.b, ub=limit.b)
        self.xi = model.addMVar(n, lb=0.0)
        n_totals = len(problem.totals)
        self.eta = model.addMVar(2 * n_totals, lb=0.0)
        self.z = model.addMVar(m, vtype=GRB.BINARY, lb=(problem.side > 0) * 1.0, ub=(problem.side >= 0) * 1.0)
        penalty = np.tile(problem.totals.penalty, 2) @ self.eta
        model.setObjective(self._price() + problem.C @ self.xi + penalty)
        labelled = problem.X @ self.w + np.ones((n, 1)) @ self.b
        model.addConstr(problem.y * labelled + self.xi >= 1.0)
        if m == 0:
            return
        counts = counts_of(problem)
        bounded = np.flatnonzero(counts.high < np.inf)
        if n_totals:
            model.addConstr(counts.matrix @ self.z + self.eta[:n_totals] >= counts.low)
        if len(bounded):
            over = self.eta[n_totals + bounded]
            model.addConstr(counts.matrix[bounded] @ self.z - over <= counts.high[bounded])
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


def _search(task: Task) -> Outcome:
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        gurobi = _GurobiModel(task.problem, model, task.big_m, task.value)
        start = task.start
        if start is not None and start.coef is not None and start.z is not None:
            gurobi.w.Start, gurobi.b.Start, gurobi.z.Start = start.coef, [start.intercept], start.z
        _set_parameters(model, task)
        watch = _Watch(model, task)
        model.optimize(watch)
        if watch.error is not None and not isinstance(watch.error, KeyboardInterrupt):
            raise watch.error
        w, z = NO_POINT
        if model.SolCount:
            w, z = gurobi.w.X, (gurobi.z.X > 0.5).astype(np.int8)
        bound = model.ObjBound if model.IsMIP else getattr(model, "ObjVal", 0.0)
        status = ending(ENDINGS.get(model.Status, ""))
        return Outcome(status, _finite(bound, 0.0), w, z, int(model.NodeCount), watch.trace, {})


def _set_parameters(model: Any, task: Task) -> None:
    parameters = {
        "TimeLimit": min(task.left, 1e20),
        "MIPGap": GAP_SHARE * task.gap,
        "Seed": task.seed,
        "Threads": task.threads,
        "FeasibilityTol": FEASIBILITY_TOLERANCE,
        "IntFeasTol": FEASIBILITY_TOLERANCE,
        **({} if task.cutoff is None else {"Cutoff": task.cutoff}),
        **({} if task.node_limit is None else {"NodeLimit": task.node_limit}),
        **({"SolutionLimit": 1} if task.first_improvement else {}),
        **task.parameters,
    }
    for name, setting in parameters.items():
        model.setParam(name, setting)


class _Watch:
    """Records each new incumbent and tells the caller about it."""

    def __init__(self, model: Any, task: Task) -> None:
        self.model, self.task = model, task
        self.trace: list[TracePoint] = []
        self.error: BaseException | None = None  # Gurobi cannot carry an exception of the callback

    def __call__(self, _: Any, where: int) -> None:
        if where != GRB.Callback.MIPSOL:
            return
        incumbent = _finite(self.model.cbGet(GRB.Callback.MIPSOL_OBJBST))
        bound = _finite(self.model.cbGet(GRB.Callback.MIPSOL_OBJBND), 0.0)
        nodes = int(self.model.cbGet(GRB.Callback.MIPSOL_NODCNT))
        self.trace.append(TracePoint(self.task.seconds, incumbent, bound, nodes))
        try:
            if self.task.callback is not None:
                self.task.callback(self.trace[-1])
        except BaseException as error:
            self.error = error
            self.model.terminate()


def _finite(value: float, otherwise: float = float("inf")) -> float:
    return float(value) if abs(value) < 1e99 else otherwise
