"""Compile before the clock starts: once ever, about half a minute; later processes load the cached code.

Where several processes find the cache empty, one compiles and the others wait for it. Where there is a second
core, a helper of that one compiles half of it meanwhile: see :func:`help_to_compile`.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from errno import EACCES, EAGAIN
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from threading import Lock
from time import perf_counter, sleep
from typing import IO, Any

import numba
import numpy as np

from ..convex.svm import solve_convex
from ..model.budget import Budget
from ..model.problem import Problem
from ..model.status import Status
from ..model.totals import Total, Totals
from .core.arrays import new_state
from .core.relaxation import Relaxation
from .exact.crew import Options
from .exact.flips import USEFUL, to_evaluate
from .exact.incumbent import Incumbent
from .exact.node import tighten
from .exact.pair_values import pair_values
from .exact.pairs import new_graph
from .exact.plunge import plunge
from .exact.tree import Tree
from .heuristic.grid_search import GridSearch
from .heuristic.improve import improve
from .heuristic.incumbent import Search
from .heuristic.judge import SEVERAL_WINDOW_ROWS, WINDOW_ROWS, Ranking
from .jit import YES, is_compiled, remove_stale
from .passes import warm_up_passes

try:
    import fcntl
except ImportError:  # no such locks here: every process compiles for itself
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)
_done = False
_one_thread = Lock()
#: Seconds after which a helper is given up: this process then compiles its share, too.
_PATIENCE = 20.0
#: Seconds to wait for another process that compiles, and between two looks at its lock.
_WAIT, _LOOK = 300.0, 0.1
#: Marks a helper: it starts none itself.
_MARK = "CS3VM_COMPILES"


def warm_up() -> None:
    """Load or compile the kernels by solving a tiny problem; time limits do not count this."""
    global _done
    with _one_thread:
        if not _done:
            with _turn():
                _load_or_compile()
            _done = True


def _load_or_compile() -> None:
    """Call every kernel; with a helper where that compiles them."""
    helper = None
    if not is_compiled():
        logger.warning("compiling the exact engine: this happens once and takes about half a minute")
        remove_stale()
        helper = _start_helper()
    with _no_garbage_collection():
        try:
            _search()
            if helper is not None:
                with suppress(TimeoutExpired):
                    helper.wait(_PATIENCE)
        finally:
            if helper is not None:
                helper.kill()
                helper.wait()
        warm_up_heuristic()


@contextmanager
def _turn() -> Iterator[None]:
    """Wait while another process compiles; then it is our turn, if anything is left to compile."""
    file = None if is_compiled() else _lock_file()
    try:
        if file is not None:
            _wait_for(file)
            if is_compiled():  # by another process: the next one need not wait for this one
                file.close()
        yield
    finally:
        if file is not None:
            file.close()


def _lock_file() -> IO[bytes] | None:
    """The file whose lock has the process that compiles; None where nothing is cached or locks are unknown.

    The system gives up the lock of a process that ends. The file stays: removed, it would be another one for
    the next process than for those that wait.
    """
    folder = _cache_folder()
    if folder is None or fcntl is None:
        return None
    try:
        return open(Path(folder) / f"cs3vm-compiling.{sys.implementation.cache_tag}.lock", "ab")
    except OSError:
        return None


def _wait_for(file: IO[bytes]) -> None:
    """Return once this process has the lock, or the others have had time enough.

    A kernel may be compiled for more than one kind of arguments, so that none is missing does not mean that
    whoever compiles is done.
    """
    deadline, told = perf_counter() + _WAIT, False
    while perf_counter() < deadline:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (EACCES, EAGAIN):  # a folder without locks
                return
        if not told:
            logger.warning("another process is compiling the exact engine: waiting for it")
            told = True
        sleep(_LOOK)


def _cache_folder() -> str | None:
    """Where the longest kernel is kept; None where nothing is."""
    folder: str | None = plunge.stats.cache_path  # type: ignore[attr-defined]
    return folder


def warm_up_heuristic() -> None:
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


def help_to_compile() -> None:
    """What a second process does, in an order in which neither has to compile what the other is at.

    First what the exact search needs late, while the other process is at the node solver; then the heuristic,
    which finds the solver compiled; then the kernel that the exact search needs last.
    """
    problem = _tiny_problem()
    r = Relaxation(problem)
    limits = r.limits(1.0, 1.0)
    _compile(to_evaluate, r.node, USEFUL)
    _compile(tighten, r.box, r.node, new_graph(problem, True), limits, YES)
    warm_up_heuristic()
    first = new_state(r.rows.n, len(r.box.p), r.rows.Z.shape[1])
    nobody, no_values = np.zeros(0, dtype=np.int64), np.zeros(0)
    pair_values(
        r.rows, r.box, r.base, first, r.spare, r.tmp, r.node, limits, 0.0, r.rows.n, nobody, no_values
    )


def _compile(kernel: Any, *arguments: object) -> None:
    """Compile a kernel, which Python may not be able to call, for arguments like these."""
    kernel.compile(tuple(map(numba.typeof, arguments)))


def _search() -> None:
    """The exact search's part."""
    problem = _tiny_problem()
    options = Options(np.inf)
    svm = solve_convex(problem)
    tree = Tree(problem, Incumbent(problem), options, perf_counter(), Relaxation(problem), 0.0, svm)
    if tree.run() == "interrupted":
        raise KeyboardInterrupt


def _tiny_problem(m: int = 30) -> Problem:
    rng = np.random.default_rng(0)
    return Problem(rng.normal(size=(12, 4)), np.array([1.0, -1.0] * 6), rng.normal(size=(m, 4)), 8)


def _start_helper() -> Popen[bytes] | None:
    """On a second core another process compiles a part meanwhile; they meet in the cache on disk.

    If it fails, for whatever reason, nothing is lost but time.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    plain = sys.executable and not getattr(sys, "frozen", False)  # else it is no Python but a program
    if cores < 2 or not plain or _MARK in os.environ or _cache_folder() is None:
        return None
    command = f"from {__name__} import help_to_compile; help_to_compile()"
    path = os.pathsep.join(filter(None, sys.path))
    try:
        return Popen(
            [sys.executable, "-P", "-c", command],
            env={**os.environ, "PYTHONPATH": path, _MARK: "1"},
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
        )
    except OSError:
        return None


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """The compiler makes millions of objects that stay: to look through them takes an eighth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
