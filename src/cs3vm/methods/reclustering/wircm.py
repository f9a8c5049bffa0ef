"""Algorithm 3: the improved and warm-started re-clustering method (WIRCM)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.problem import Problem
from ...model.result import Result
from ...model.status import DEFAULT_GAP, Callback, Status
from ..shares import PAPER_FIX_SHARE, REST_SHARE
from .clusters import paper_n_clusters, plane_tolerance
from .ircm import iterate
from .run import Run, SubproblemLimit, check_options

#: P5 looks for points better than the incumbent by more than this, relative; far below any gap of interest.
IMPROVEMENT = 1e-7


def wircm(
    problem: Problem,
    *,
    n_clusters: int | None = None,
    max_clusters: int = 50,
    far_quantile: float = 0.8,
    far_step: float = 0.1,
    max_fixed: int | None = None,
    fix_factor: float = 1.2,
    fix_time_limit: float | None = None,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = 1e-6,
    random_state: int = 0,
    callback: Callback | None = None,
    subproblem_time_limit: SubproblemLimit = "auto",
    **native: Any,
) -> Result:
    """Run IRCM, prove the sides of far points one by one (P5), then solve what is left exactly (P6).

    Parameters
    ----------
    n_clusters, max_clusters, far_quantile, far_step, subproblem_time_limit
        As in IRCM.
    max_fixed
        B_max: at most this many points are fixed. Default: the paper's share of the points, 20 to 45 %.
    fix_factor
        γ: up to γ·B_max points are tried.
    fix_time_limit
        T_max: seconds for one P5. Default: the paper's 40 of 3600 seconds, as a share of the time limit.
        All P5 together take at most half of the time that IRCM leaves, so that P6 has some.
    native
        Options of the solver, such as ``big_m="paper"``.
    """
    check_options(
        n_clusters=n_clusters,
        max_clusters=max_clusters,
        far_quantile=far_quantile,
        far_step=far_step,
        max_fixed=max_fixed,
        fix_factor=fix_factor,
        fix_time_limit=fix_time_limit,
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
    n_fixed = 0
    with run:
        # Step 1: Algorithm 2
        k1 = n_clusters or paper_n_clusters(problem.m)
        big_m = iterate(run, k1, max_clusters, far_quantile, far_step)
        run.subproblem_time_limit = None
        if run.status is Status.FEASIBLE:
            run.status = Status.TIME_LIMIT  # from here on the aim is a proof
            fixed, proven_above = fix_far_points(
                run,
                paper_max_fixed(problem.m) if max_fixed is None else max_fixed,
                fix_factor,
                PAPER_FIX_SHARE * time_limit if fix_time_limit is None else fix_time_limit,
                big_m,
            )
            n_fixed = int(np.count_nonzero(fixed)) - int(np.count_nonzero(problem.side))
            solve_rest(run, fixed, proven_above)
    return run.result(n_fixed=n_fixed)


def fix_far_points(
    run: Run, max_fixed: int, fix_factor: float, fix_time_limit: float, big_m: float
) -> tuple[Any, float]:
    """Steps 2–17: try to flip the farthest points; one that cannot flip is fixed (Lemma 8).

    Returns the sides S_p and S_n, and the smallest value below which the proofs say nothing.
    """
    problem = run.problem
    side = problem.side.copy()  # S_p (+1) and S_n (-1)
    proven_above = np.inf
    if run.best is None or run.best.coef is None:
        return side, proven_above
    # Step 2: far points first; β
    order = np.argsort(-np.abs(problem.scores(run.best.coef, run.best.intercept)), kind="stable")
    beta = min(problem.m, int(np.ceil(fix_factor * max_fixed)))
    n_fixed, reserved = 0, REST_SHARE * run.left  # for P6
    for s in order[:beta]:  # Step 3, with s = α(i)
        if n_fixed >= max_fixed or run.left <= reserved:  # Step 4
            break
        if side[s] != 0:
            continue
        scores = problem.scores(run.best.coef, run.best.intercept)
        if abs(scores[s]) <= plane_tolerance(scores):
            continue
        # Steps 5–6, 12–13: P5 forces s to the other side and asks for any point below f̄
        here = 1 if scores[s] > 0 else -1
        side[s] = -here
        cutoff = run.best.objective * (1 - IMPROVEMENT)
        began = run.seconds
        step = run.solve(
            problem.with_side(side),
            cutoff=cutoff,
            first_improvement=True,
            time_limit=fix_time_limit,
            gap=min(run.gap, DEFAULT_GAP),  # a loose proof would weaken every bound that rests on it
            big_m=min(big_m, problem.big_m(run.best.objective)),
        )
        proven = step.status in (Status.CUTOFF, Status.INFEASIBLE)
        side[s] = here if proven else 0
        if proven:  # Steps 9–10, 16–17
            n_fixed += 1
            if step.status is Status.CUTOFF:  # proven to the solver's own precision
                proven_above = min(proven_above, step.lower_bound)
        else:  # Steps 7–8, 14–15: an improvement
            run.offer(step)
        run.record("P5", step, began, run.best.objective, point=int(s), fixed=proven)
    return side, proven_above


def solve_rest(run: Run, side: Any, proven_above: float) -> None:
    """Step 18: P6, from the incumbent."""
    if run.left <= 0:
        return
    began = run.seconds
    rest = run.problem.with_side(side)
    incumbent = run.best
    start = None
    if incumbent is not None and rest.violation(incumbent.coef, incumbent.intercept, incumbent.z) < np.inf:  # type: ignore[arg-type]
        start = Result(rest, Status.FEASIBLE, incumbent.coef, incumbent.intercept, incumbent.z)
    step = run.solve(rest, start=start)
    if step.coef is not None:
        run.offer(step)
        # A point better than every proof's cutoff has all the fixed sides, so P6's bound is one for P3.
        run.lower_bound = max(run.lower_bound, min(step.lower_bound, proven_above))
        run.status = step.status
    run.record("P6", step, began, float("inf") if run.best is None else run.best.objective)


def paper_max_fixed(m: int) -> int:
    """B_max of Sect. 5.2 to the nearest integer, at least 1."""
    share = 0.2 if m <= 100 else 0.25 if m <= 500 else 0.35 if m <= 1000 else 0.45
    return max(1, round(share * m))
