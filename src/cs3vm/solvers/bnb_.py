"""Our exact engine: branch on the sides of the unlabelled rows."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..convex.feasibility import fits
from ..convex.svm import ConvexSolution, first_answer, solve_convex
from ..engine.core.relaxation import Relaxation
from ..engine.exact.crew import Options
from ..engine.exact.incumbent import Incumbent
from ..engine.exact.tree import Tree
from ..engine.heuristic.local_search import improve
from ..engine.warm_up import warm_up
from ..exceptions import InvalidProblemError
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Callback, Status

#: The heuristic before the search gets at most so many seconds, and this share of the time limit.
HEURISTIC_SECONDS, HEURISTIC_SHARE = 2.0, 0.2


_STATUS = {
    "time": Status.TIME_LIMIT,
    "nodes": Status.NODE_LIMIT,
    "interrupted": Status.INTERRUPTED,
    "improved": Status.FEASIBLE,
}


def solve(
    problem: Problem,
    *,
    start: Result | FloatArray | None = None,
    cutoff: float | None = None,
    time_limit: float = 60.0,
    gap: float = 1e-6,
    callback: Callback | None = None,
    random_state: int = 0,
    node_limit: int | None = None,
    memory_limit: float | None = 2e9,
    n_jobs: int = 1,
    first_improvement: bool = False,
    heuristic: bool = True,
    joint: bool = True,
    proof: str | Path | None = None,
    proof_note: str = "",
) -> Result:
    """Solve the problem to the gap, or as far as the limits allow.

    Parameters
    ----------
    start
        A result or a vector w to start from.
    cutoff
        Only points with a smaller objective are of interest. If there is none (to one millionth), the status
        is ``CUTOFF``, there is no point, and the lower bound is the proven one.
    node_limit, memory_limit
        Stop after so many nodes; search depth-first once open nodes need more than so many bytes.
    first_improvement
        Stop at the first point below the cutoff.
    n_jobs
        Threads that search; -1 for one per core. More than one makes the order of nodes, and so the last
        digits and the answer at a time limit, a matter of chance.
    heuristic
        Look for a good point before the search.
    joint
        Use the joint-flip graph where it pays.
    proof
        Write a proof of optimality to this file, for :func:`cs3vm.verify`, if there is one and the time
        suffices; ``extras["proof"]`` tells whether it was written.
    proof_note
        A remark to be kept in the proof, such as where the features come from; ``verify`` repeats it.
    """
    problem.require_l2("solver 'bnb'", "use solver='auto', 'highs' or 'scip'")
    warm_up()
    began = perf_counter()
    options = Options(
        deadline=began + time_limit,
        gap=gap,
        node_limit=np.inf if node_limit is None else node_limit,
        memory_limit=np.inf if memory_limit is None else memory_limit,
        cutoff=np.inf if cutoff is None else float(cutoff),
        first_improvement=first_improvement,
        joint=joint,
        callback=callback,
        n_jobs=_threads(n_jobs),
    )
    incumbent = Incumbent(problem)
    svm = solve_convex(problem)
    root_bound = max(0.0, svm.bound) + problem.count_penalty * problem.min_miscount
    if options.cutoff <= root_bound:
        seconds = perf_counter() - began
        return Result(problem, Status.CUTOFF, lower_bound=root_bound, seconds=seconds)
    relaxation = Relaxation(problem, random_state)
    tree = Tree(problem, incumbent, options, began, relaxation, root_bound, svm)
    try:
        _first_points(problem, incumbent, start, svm)
        if heuristic:
            _run_heuristic(tree, began + time_limit, random_state)
        tree.update_limits()
        done = first_improvement and incumbent.value < options.cutoff
        reason = "improved" if done else tree.run()
    except KeyboardInterrupt:
        reason = "interrupted"
    result = _result(tree, reason, perf_counter() - began)
    return result if proof is None else _with_proof(result, proof, proof_note, gap, began, time_limit)


def _threads(n_jobs: int) -> int:
    """The number of threads, with -1, -2, … counted from the number of cores, as in scikit-learn."""
    if n_jobs == 0:
        raise InvalidProblemError("n_jobs=0 means no search at all: give 1 or more, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def _with_proof(
    result: Result, path: str | Path, note: str, gap: float, began: float, time_limit: float
) -> Result:
    """Write the proof of an optimal result in the time that is left."""
    from ..engine.exact.proof_writer import write_proof

    written = result.is_optimal and write_proof(result, path, note=note, gap=gap, deadline=began + time_limit)
    return replace(result, seconds=perf_counter() - began, extras={**result.extras, "proof": written})


def _run_heuristic(tree: Tree, deadline: float, random_state: int) -> None:
    """Look for a good point, unless the one we have is optimal already."""
    problem, incumbent = tree.problem, tree.incumbent
    left = deadline - perf_counter()
    if problem.m == 0 or left <= 0.0 or incumbent.value <= tree.root_bound * (1.0 + tree.options.gap):
        return
    starts = [] if incumbent.best is None or incumbent.best.coef is None else [incumbent.best.coef]
    budget = min(HEURISTIC_SECONDS, HEURISTIC_SHARE * left)
    found = improve(problem, starts, time_limit=budget, random_state=random_state)
    incumbent.offer(found)
    if found.status is Status.INTERRUPTED:  # whoever interrupts the heuristic wants no search either
        raise KeyboardInterrupt


def _first_points(
    problem: Problem, incumbent: Incumbent, start: Result | FloatArray | None, svm: ConvexSolution
) -> None:
    """Offer the start, the trivial point and the SVM."""
    if isinstance(start, Result):
        if start.coef is not None:
            incumbent.offer_plane(start.coef)
            if start.z is not None and len(start.z) == problem.m:
                incumbent.offer_as_given(start.coef, start.intercept, start.z)
    elif start is not None:
        incumbent.offer_plane(np.asarray(start, dtype=float))
    first = first_answer(problem, svm)
    if first is not None:
        incumbent.offer(first)


def _result(tree: Tree, reason: str, seconds: float) -> Result:
    incumbent, cutoff = tree.incumbent, tree.options.cutoff
    best = incumbent.best if incumbent.value < cutoff else None
    closed = reason in ("done", "gap")
    bound = tree.bound
    status = _STATUS.get(reason, Status.FEASIBLE)
    if closed and best is not None:
        proven = best.objective - bound <= tree.options.gap * max(abs(best.objective), 1e-10)
        status = Status.OPTIMAL if proven else Status.FEASIBLE
    elif closed and tree.crew.n_unresolved == 0:
        if np.isfinite(cutoff):
            status = Status.CUTOFF
        else:  # the search has a cutoff all the same, far above all sensible points: that proves nothing
            status = Status.TIME_LIMIT if fits(tree.problem) else Status.INFEASIBLE
    fields: dict[str, Any] = {
        "lower_bound": bound,
        "seconds": seconds,
        "n_nodes": tree.crew.n_nodes,
        "trace": tuple(tree.trace),
        "extras": {
            "root_bound": tree.root_bound,
            "unresolved": tree.crew.n_unresolved,
            **tree.counters(),
            **({} if best is None else best.extras),
        },
    }
    if best is None:
        return Result(tree.problem, status, **fields)
    return Result(tree.problem, status, best.coef, best.intercept, best.z, **fields)
