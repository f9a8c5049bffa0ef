"""Algorithm 2: the improved re-clustering method (IRCM)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.problem import Problem
from ...model.result import Result, answer
from ...model.status import Callback, Status
from .clusters import Clustering, paper_n_clusters
from .reduction import Reduction
from .run import Run, SubproblemLimit, check_options


def ircm(
    problem: Problem,
    *,
    n_clusters: int | None = None,
    max_clusters: int = 50,
    far_quantile: float = 0.8,
    far_step: float = 0.1,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = 1e-6,
    random_state: int = 0,
    callback: Callback | None = None,
    subproblem_time_limit: SubproblemLimit = "auto",
    **native: Any,
) -> Result:
    """Re-cluster as Algorithm 1 does, but leave out clusters far from the plane and shrink M.

    Parameters
    ----------
    n_clusters
        k¹, the initial number of clusters. Default: as in the paper, 10, 20 or 50 by the number of points.
    max_clusters
        k⁺: with more clusters than this, far ones are discarded into a residual cluster of their side.
    far_quantile
        Δ̂¹: clusters beyond this quantile of the centroids' distances are far.
    far_step
        Δ̃: added to the quantile whenever a discarded cluster turns out to lie on the other side.
    subproblem_time_limit
        Seconds for one P4; None solves each to the end, as the paper does. Default: to the end with SCIP
        and Gurobi, 2.5 % of the time limit with our engine. Each step of ``Result.iterations`` tells by its
        status whether it was proven.
    native
        Options of the solver, such as ``big_m="paper"``.
    """
    check_options(
        n_clusters=n_clusters, max_clusters=max_clusters, far_quantile=far_quantile, far_step=far_step
    )
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
        iterate(run, n_clusters or paper_n_clusters(problem.m), max_clusters, far_quantile, far_step)
    return run.result()


def iterate(run: Run, n_clusters: int, max_clusters: int, far_quantile: float, far_step: float) -> float:
    """The loop of Algorithm 2; returns the last M. ``run.status`` is FEASIBLE if it came to its end."""
    problem = run.problem
    # Step 1: M^1 (eq. validM), k^1 clusters, nothing discarded
    big_m = run.first_big_m()
    reduction = Reduction.of(Clustering.by_kmeans(problem, n_clusters, run.random_state))
    start: Result | None = None
    while run.left > 0:
        # Step 2: solve P4
        began = run.seconds
        step = run.solve(reduction.problem(), start=start, big_m=big_m)
        if step.coef is None:
            break
        view = reduction.look(step)
        clusters, discarded = reduction.clusters, reduction.discarded
        # Step 3: Δ^t (eq. delta), over the active clusters; rounding must not discard the farthest for ever
        delta = np.quantile(view.centroid_distance, far_quantile) if clusters.k else 0.0
        delta = max(delta * (1 + 1e-9), view.tolerance)
        # Steps 4–8: clusters to discard; never one that is cut
        far = ~discarded & ~view.cut & (view.distance > delta)
        discard = far if clusters.k > max_clusters else np.zeros_like(far)
        # Steps 9–10: discarded clusters that come back: J^t, and those near the plane
        reactivate = discarded & (view.opposite | (view.distance <= delta))
        run.record(
            "P4",
            step,
            began,
            run.offer(step),
            big_m=big_m,
            clusters=clusters.k,
            active=int((~discarded).sum()),
            discarded=int(discarded.sum()),
            reactivated=int(reactivate.sum()),
            cut=int(view.cut.sum()),
        )
        # Steps 17, 25–26: done when no cluster is cut and none is counted on the wrong side
        if not view.cut.any() and not view.opposite.any():
            run.status = Status.FEASIBLE
            break
        # Steps 11–15: Δ̂^{t+1}
        if view.opposite.any():
            far_quantile = min(far_quantile + far_step, 1.0)
        # Steps 18–23: split
        reduction = reduction.next(view, discard, reactivate)
        # Step 16: M^{t+1} (eq. BigM 2), from the value of the current plane on the new clusters (Thm. 5)
        start = answer(reduction.problem(), step.coef, Status.FEASIBLE)
        if start is not None:
            big_m = problem.big_m(start.objective)
    return big_m
