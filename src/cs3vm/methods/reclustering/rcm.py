"""Algorithm 1: the re-clustering method (RCM)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.problem import Problem
from ...model.result import Result, answer
from ...model.status import Callback, Status
from .clusters import Clustering, paper_n_clusters
from .reduction import Reduction
from .run import Run, SubproblemLimit, check_options


def rcm(
    problem: Problem,
    *,
    n_clusters: int | None = None,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = 1e-6,
    random_state: int = 0,
    callback: Callback | None = None,
    subproblem_time_limit: SubproblemLimit = "auto",
    **native: Any,
) -> Result:
    """Solve P4 on cluster centroids, split the clusters that the plane cuts, repeat until it cuts none.

    Parameters
    ----------
    n_clusters
        k¹, the initial number of clusters. Default: as in the paper, 10, 20 or 50 by the number of points.
    subproblem_time_limit
        Seconds for one P4; None solves each to the end, as the paper does. Default: to the end with SCIP
        and Gurobi, 2.5 % of the time limit with our engine. Each step of ``Result.iterations`` tells by its
        status whether it was proven.
    native
        Options of the solver, such as ``big_m="paper"``.
    """
    check_options(n_clusters=n_clusters)
    run = Run(
        problem,
        solver=solver,
        time_limit=time_limit,
        gap=gap,
        random_state=random_state,
        callback=callback,
        subproblem_time_limit=subproblem_time_limit,
        **native,
    )
    with run:
        # Step 1: M^1 (eq. validM) and k^1 clusters
        big_m = run.first_big_m()
        clusters = Clustering.by_kmeans(problem, n_clusters or paper_n_clusters(problem.m), random_state)
        reduction = Reduction.of(clusters)  # nothing is ever discarded here
        start: Result | None = None
        while run.left > 0:
            # Step 2: solve P4
            began = run.seconds
            step = run.solve(reduction.problem(), start=start, big_m=big_m)
            if step.coef is None:
                break
            # Step 3: does the plane cut a cluster?
            view = reduction.look(step)
            run.record(
                "P4",
                step,
                began,
                run.offer(step),
                big_m=big_m,
                clusters=reduction.clusters.k,
                active=reduction.clusters.k,
                discarded=0,
                reactivated=0,
                cut=int(view.cut.sum()),
            )
            if not view.cut.any():
                run.status = Status.FEASIBLE
                break
            # Steps 4–7: split; points on the plane go with their cluster's side
            none = np.zeros(reduction.clusters.k, dtype=bool)
            reduction = reduction.next(view, discard=none, reactivate=none)
            start = answer(reduction.problem(), step.coef, Status.FEASIBLE)
    return run.result()
