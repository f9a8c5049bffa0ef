"""Compile before the clock starts: once ever, some twenty seconds; later processes load the cached code."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import DEVNULL, Popen, TimeoutExpired
from time import perf_counter

import numpy as np

from ..convex.svm import solve_convex
from ..model.problem import Problem
from ..model.status import Status
from .core.relaxation import Relaxation
from .exact.crew import Options
from .exact.incumbent import Incumbent
from .exact.tree import Tree
from .heuristic.local_search import improve
from .jit import is_compiled

logger = logging.getLogger(__name__)
_done = False
#: Seconds after which a helper is given up: this process then compiles its share, too.
_PATIENCE = 20.0
#: Marks a helper: it starts none itself.
_MARK = "CS3VM_COMPILES"


def warm_up() -> None:
    """Load or compile the kernels by solving a tiny problem; time limits do not count this."""
    global _done
    if _done:
        return
    helper = None
    if not is_compiled():
        logger.warning("compiling the exact engine: this happens once and takes about 20 seconds")
        helper = _start_helper()
    with _no_garbage_collection():
        try:
            _search()
            if helper is not None:
                helper.wait(_PATIENCE)
        except TimeoutExpired:
            pass
        finally:
            if helper is not None:
                helper.kill()
                helper.wait()
        warm_up_heuristic()
    _done = True


def warm_up_heuristic() -> None:
    """The heuristic's part."""
    if improve(_tiny_problem(), time_limit=60.0, patience=0).status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def _search() -> None:
    """The exact search's part."""
    problem = _tiny_problem()
    options = Options(np.inf)
    svm = solve_convex(problem)
    tree = Tree(problem, Incumbent(problem), options, perf_counter(), Relaxation(problem), 0.0, svm)
    if tree.run() == "interrupted":
        raise KeyboardInterrupt


def _tiny_problem() -> Problem:
    rng = np.random.default_rng(0)
    return Problem(rng.normal(size=(12, 4)), np.array([1.0, -1.0] * 6), rng.normal(size=(30, 4)), 8)


def _start_helper() -> Popen[bytes] | None:
    """On a second core another process compiles the heuristic meanwhile; they meet in the cache on disk.

    If it fails, for whatever reason, nothing is lost but time.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    plain = sys.executable and not getattr(sys, "frozen", False)  # else it is no Python but a program
    if cores < 2 or not plain or _MARK in os.environ:
        return None
    command = f"from {__name__} import warm_up_heuristic; warm_up_heuristic()"
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
