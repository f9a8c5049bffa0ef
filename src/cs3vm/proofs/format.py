"""What the writer of a proof and its checker agree on: the name of the format, and what a problem is."""

from __future__ import annotations

import hashlib

import numpy as np

from ..model.problem import Problem

FORMAT, VERSION = "cs3vm-proof", 1
#: The kind of a proof that shows rows to be on one side in every point below a cutoff; else of optimality.
CERTAIN = "certain rows"


def digest(problem: Problem) -> str:
    """A fingerprint of everything that defines the problem."""
    sha = hashlib.sha256()
    for array in (problem.X, problem.y, problem.U, problem.weights, problem.side, problem.C):
        sha.update(str(array.shape).encode() + np.ascontiguousarray(array, dtype="<f8").tobytes())
    total = problem.n_positive if problem.one_total else np.nan
    sha.update(np.array([total, problem.count_penalty, problem.side_margin], dtype="<f8").tobytes())
    if not problem.one_total:
        totals = problem.totals
        for numbers in (totals.low, totals.high, totals.penalty, *totals.rows):
            sha.update(str(len(numbers)).encode() + np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    return sha.hexdigest()
