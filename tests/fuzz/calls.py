"""Ways to ask for an answer, as plain data that a report can hold and repeat."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import cs3vm
from cs3vm import Problem
from cs3vm.solvers import get_solver
from tests.fuzz.referee import GAP, Answer

TIME_LIMIT = 5.0
#: An answer to a tiny problem that takes longer than this is a finding.
SLOW = 20.0
#: Options with which a search may end without a proof.
LIMITS = {"node_limit", "cutoff", "first_improvement"}
HEURISTIC = {"direct", "svm", "top_tau", "rcm", "ircm", "auto", "wircm"}


def call(problem: Problem, how: dict[str, Any]) -> Answer:
    """``how`` has a solver or a method, and options."""
    options = {"time_limit": TIME_LIMIT, **how.get("options", {})}
    began = perf_counter()
    if "method" in how:
        result = cs3vm.solve(problem, how["method"], solver=how.get("solver", "auto"), **options)
    else:
        result = get_solver(how["solver"], problem.norm)(problem, **options)
    seconds = perf_counter() - began
    ours = how.get("solver", "bnb") == "bnb" and problem.norm == "l2"
    exact = ours and how.get("method", "cs3vm") not in HEURISTIC
    complete = exact and not LIMITS & options.keys() and options["time_limit"] >= TIME_LIMIT
    cutoff = options.get("cutoff")
    level = np.inf if cutoff is None else float(cutoff)
    return Answer(how, result, seconds, complete, level, 0.0 if ours else GAP)
