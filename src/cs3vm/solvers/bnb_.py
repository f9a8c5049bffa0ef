"""Our exact engine: branch on the sides of the unlabelled rows; with few features, on boxes of planes."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._typing import FloatArray
from ..convex.gate import checked
from ..convex.svm import first_answer, root_bound, solve_convex
from ..engine.boxes.scope import AUTO_FEATURES, MOST_FEATURES, refusal
from ..engine.core.relaxation import Relaxation
from ..engine.exact.crew import Options
from ..engine.exact.incumbent import Incumbent
from ..engine.exact.tree import Tree
from ..engine.warm_up import warm_up
from ..exceptions import CS3VMWarning, InvalidProblemError, OutputError
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Callback, Status

if TYPE_CHECKING:
    from ..engine.boxes.search import BoxSearch

#: Where boxes apply, the tree over rows comes first for so much work, which settles most small problems.
_TREE_WORK = 2e9
_STATUS = {
    "time": Status.TIME_LIMIT,
    "work": Status.WORK_LIMIT,
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
    work_limit: float | None = None,
    gap: float = 1e-6,
    callback: Callback | None = None,
    random_state: int = 0,
    node_limit: int | None = None,
    memory_limit: float | None = 2e9,
    n_jobs: int = 1,
    first_improvement: bool = False,
    joint: bool = True,
    boxes: bool | Literal["auto"] = "auto",
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
    work_limit
        Stop after so many numbers touched: with one thread, at the same node on every machine.
    node_limit, memory_limit
        Stop after so many nodes; search depth-first once open nodes need more than so many bytes.
    first_improvement
        Stop at the first point below the cutoff.
    n_jobs
        Threads that search; -1 for one per core. More than one makes the order of nodes, and so the last
        digits and the answer at a time limit, a matter of chance.
    joint
        Use the joint-flip graph where it pays.
    boxes
        Branch on boxes of directions of the plane instead of on rows, where the problem allows it and no
        proof is to be written: ``"auto"`` where few features vary and one thread has not ended soon with the
        tree over rows, True from the beginning. The first use ever compiles for half a minute, which no
        limit counts.
    proof
        Write a proof of optimality to this file, for :func:`cs3vm.verify`, if there is one and the time
        suffices; ``extras["proof"]`` tells whether it was written.
    proof_note
        A remark to be kept in the proof, such as where the features come from; ``verify`` repeats it.
    """
    problem.require_l2("solver 'bnb'", "use solver='auto', 'highs' or 'scip'")
    prepare()
    boxes = _usable(boxes, problem, _threads(n_jobs)) if proof is None else False
    began = perf_counter()
    options = Options(
        deadline=began + time_limit,
        gap=gap,
        work_limit=np.inf if work_limit is None else work_limit,
        node_limit=np.inf if node_limit is None else node_limit,
        memory_limit=np.inf if memory_limit is None else memory_limit,
        cutoff=np.inf if cutoff is None else float(cutoff),
        first_improvement=first_improvement,
        joint=joint,
        pause=_TREE_WORK if boxes == "auto" else np.inf,
        callback=callback,
        n_jobs=_threads(n_jobs),
    )
    incumbent, tree, box_search = Incumbent(problem), None, None
    try:
        _offer_start(incumbent, start)
        if options.cutoff <= root_bound(problem):
            seconds = perf_counter() - began
            return Result(problem, Status.CUTOFF, lower_bound=root_bound(problem), seconds=seconds)
        incumbent.offer(first_answer(problem))
        relaxation = Relaxation(problem, random_state)
        svm = solve_convex(problem)
        tree = Tree(problem, incumbent, options, began, relaxation, root_bound(problem), svm)
        done = first_improvement and incumbent.value < options.cutoff
        reason = "improved" if done else "pause" if boxes is True else tree.run()
        if reason == "pause":
            waited = _prepare_boxes()
            began += waited
            box_search = _box_search(tree, svm.bound, waited)
            reason = box_search.run()
    except KeyboardInterrupt:
        reason = "interrupted"
    if tree is None:
        return _interrupted(incumbent, perf_counter() - began)
    result = checked(_result(tree, box_search, reason, perf_counter() - began), gap)
    if result.found and result.objective >= options.cutoff:  # the gate took another point
        status = {Status.OPTIMAL: Status.CUTOFF, Status.FEASIBLE: Status.TIME_LIMIT}.get(result.status)
        result = replace(result, status=status or result.status, coef=None, intercept=float("nan"), z=None)
    return result if proof is None else _with_proof(result, proof, proof_note, gap, began, time_limit)


def prepare() -> None:
    """Compile, or load what was compiled, before any clock runs."""
    warm_up()


def _prepare_boxes() -> float:
    """Compile the search over boxes, or load what was compiled; return the seconds that took."""
    from ..engine.boxes.search import prepare  # when first needed: most problems never do

    began = perf_counter()
    prepare()
    return perf_counter() - began


def _usable(boxes: bool | Literal["auto"], problem: Problem, threads: int) -> bool | Literal["auto"]:
    """What was asked for, or False where the problem does not allow boxes; they have one thread."""
    if boxes not in (True, False, "auto"):
        raise InvalidProblemError(f"boxes must be True, False or 'auto', got {boxes!r}")
    if boxes == "auto" and threads > 1:
        return False
    most = AUTO_FEATURES if boxes == "auto" else MOST_FEATURES
    return boxes if boxes and not refusal(problem, most) else False


def _box_search(tree: Tree, svm_bound: float, waited: float) -> BoxSearch:
    """The search over boxes that goes on from what the tree knows, within what is left of the limits.

    The clock did not run while they were compiled, which took so many seconds.
    """
    from ..engine.boxes.search import BoxSearch

    options = replace(
        tree.options,
        deadline=tree.options.deadline + waited,
        node_limit=tree.options.node_limit - tree.crew.n_nodes,
        work_limit=tree.options.work_limit - tree.crew.effort,
    )
    return BoxSearch(tree.problem, tree.incumbent, options, tree.start + waited, tree.bound, svm_bound)


def _interrupted(incumbent: Incumbent, seconds: float) -> Result:
    """What is known when an interrupt comes during the set-up."""
    if incumbent.best is None:
        raise KeyboardInterrupt
    return replace(incumbent.best, status=Status.INTERRUPTED, lower_bound=0.0, seconds=seconds)


def _threads(n_jobs: int) -> int:
    """The number of threads, with -1, -2, … counted from the number of cores, as in scikit-learn."""
    if n_jobs == 0:
        raise InvalidProblemError("n_jobs=0 means no search at all: give 1 or more, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def _with_proof(
    result: Result, path: str | Path, note: str, gap: float, began: float, time_limit: float
) -> Result:
    """Write the proof of an optimal result in the time that is left; the result outlives a full disk."""
    from ..engine.exact.proof_writer import write_proof

    deadline = began + time_limit
    try:
        written = result.is_optimal and write_proof(result, path, note=note, gap=gap, deadline=deadline)
    except OutputError as error:
        warnings.warn(CS3VMWarning(f"there is no proof: {error}"), stacklevel=2)
        written = False
    return replace(result, seconds=perf_counter() - began, extras={**result.extras, "proof": written})


def _offer_start(incumbent: Incumbent, start: Result | FloatArray | None) -> None:
    """Offer the plane of the start with its best intercept, and with the sides it came with."""
    if start is None:
        return
    if not isinstance(start, Result):
        incumbent.offer_plane(np.asarray(start, dtype=float))
    elif start.coef is not None:
        incumbent.offer_plane(start.coef)
        if start.z is not None and len(start.z) == incumbent.problem.m:
            incumbent.offer_as_given(start.coef, start.intercept, start.z)


def _result(tree: Tree, box_search: BoxSearch | None, reason: str, seconds: float) -> Result:
    incumbent, cutoff = tree.incumbent, tree.options.cutoff
    best = incumbent.best if incumbent.value < cutoff else None
    closed = reason in ("done", "gap")
    bound, unresolved, n_nodes, work, trace = (
        tree.bound,
        tree.crew.n_unresolved,
        tree.crew.n_nodes,
        tree.crew.effort,
        tree.trace,
    )
    counters = tree.counters()
    if box_search is not None:
        bound, unresolved = max(bound, box_search.bound), len(box_search.unresolved)
        n_nodes, work = n_nodes + box_search.n_boxes, work + box_search.effort
        trace, counters = trace + box_search.trace, counters | {"boxes": box_search.n_boxes}
    status = _STATUS.get(reason, Status.FEASIBLE)
    if closed and best is None and unresolved == 0:
        # without a cutoff the search has one far above all sensible points: the gate wants a certificate
        status = Status.CUTOFF if np.isfinite(cutoff) else Status.INFEASIBLE
    fields: dict[str, Any] = {
        "lower_bound": bound,
        "seconds": seconds,
        "n_nodes": n_nodes,
        "work": float(work),
        "hurried": reason == "time",
        "trace": tuple(trace),
        "extras": {
            "root_bound": tree.root_bound,
            "unresolved": unresolved,
            **counters,
            **({} if best is None else best.extras),
        },
    }
    if best is None:
        return Result(tree.problem, status, **fields)
    return Result(tree.problem, status, best.coef, best.intercept, best.z, **fields)
