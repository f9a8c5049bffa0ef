"""Compile before the clock starts: once ever, a few ten seconds; later processes load the cached code."""

from __future__ import annotations

import logging
from time import perf_counter

import numpy as np

from ..convex import solve_convex
from ..problem import Problem
from ._arrays import is_compiled
from .crew import Options
from .incumbent import Incumbent
from .primal import improve
from .relaxation import Relaxation
from .tree import Tree

logger = logging.getLogger(__name__)
_done = False


def warm_up() -> None:
    """Load or compile the kernels by solving a tiny problem; time limits do not count this."""
    global _done
    if _done:
        return
    _done = True
    if not is_compiled():
        logger.warning("compiling the exact engine: this happens once and takes some seconds")
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(12, 4)), np.array([1.0, -1.0] * 6), rng.normal(size=(30, 4)), 8)
    incumbent = Incumbent(problem)
    improve(problem, time_limit=60.0, patience=0)
    svm = solve_convex(problem)
    began = perf_counter()
    tree = Tree(problem, incumbent, Options(np.inf), began, Relaxation(problem), 0.0, svm)
    tree.update_limits()
    tree.run()
