"""Compile before the clock starts: once ever, about half a minute; later processes load the cached code."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from time import perf_counter
from typing import Any

import numba
import numpy as np

from ..convex.svm import solve_convex
from ..model.budget import Budget
from ..model.problem import Problem
from ..model.status import Status
from ..model.totals import Total, Totals
from .compiling import ready
from .core.arrays import new_state
from .core.relaxation import Relaxation
from .exact.crew import Options
from .exact.flips import USEFUL, to_evaluate
from .exact.incumbent import Incumbent
from .exact.node import tighten
from .exact.pair_values import pair_values
from .exact.pairs import new_graph
from .exact.tree import Tree
from .heuristic.grid_search import GridSearch
from .heuristic.improve import improve
from .heuristic.incumbent import Search
from .heuristic.judge import SEVERAL_WINDOW_ROWS, WINDOW_ROWS, Ranking
from .jit import YES
from .passes import warm_up_passes

_done = False
_one_thread = Lock()


def warm_up() -> None:
    """Load or compile the kernels by solving a tiny problem; time limits do not count this."""
    global _done
    with _one_thread:
        if not _done:
            with ready("exact engine", compile_tree, compile_early):
                compile_tree()
                compile_heuristic()
            _done = True


def compile_tree() -> None:
    """The exact search's part."""
    problem = _tiny_problem()
    options = Options(np.inf)
    svm = solve_convex(problem)
    tree = Tree(problem, Incumbent(problem), options, perf_counter(), Relaxation(problem), 0.0, svm)
    if tree.run() == "interrupted":
        raise KeyboardInterrupt


def compile_heuristic() -> None:
    """The heuristic's part, what many rows, several totals and grids need besides, and rows in pieces."""
    warm_up_passes()
    problem = _tiny_problem()
    if improve(problem, time_limit=60.0, patience=0).status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    several = replace(_tiny_problem(SEVERAL_WINDOW_ROWS + 1), n_positive=Totals([Total(None, 7, 9)]))
    for larger in (_tiny_problem(WINDOW_ROWS + 1), several):
        Ranking(larger).judge(larger.X[:, 0], larger.U[:, 0])
    whole = replace(problem, X=np.rint(problem.X), U=np.rint(problem.U))
    GridSearch(Search(whole, Budget(work=1e6)), np.random.default_rng(0)).run([])


def compile_early() -> None:
    """What the second of two helpers does, in an order in which neither has to compile what the other is at.

    First what the exact search needs late, while the other is at the node solver; then the heuristic, which
    finds the solver compiled; then the kernel that the exact search needs last.
    """
    problem = _tiny_problem()
    r = Relaxation(problem)
    limits = r.limits(1.0, 1.0)
    _compile(to_evaluate, r.node, USEFUL)
    _compile(tighten, r.box, r.node, new_graph(problem, True), limits, YES)
    compile_heuristic()
    first = new_state(r.rows.n, len(r.box.p), r.rows.Z.shape[1])
    nobody, no_values = np.zeros(0, dtype=np.int64), np.zeros(0)
    pair_values(
        r.rows, r.box, r.base, first, r.spare, r.tmp, r.node, limits, 0.0, r.rows.n, nobody, no_values
    )


def _compile(kernel: Any, *arguments: object) -> None:
    """Compile a kernel, which Python may not be able to call, for arguments like these."""
    kernel.compile(tuple(map(numba.typeof, arguments)))


def _tiny_problem(m: int = 30) -> Problem:
    rng = np.random.default_rng(0)
    return Problem(rng.normal(size=(12, 4)), np.array([1.0, -1.0] * 6), rng.normal(size=(m, 4)), 8)
