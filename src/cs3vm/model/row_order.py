"""Rows in an order that depends on what is in them: searches then do not depend on the order of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from .._typing import FloatArray, RowArray
from .problem import Problem
from .profiles import fingerprints
from .result import Result

#: With more numbers in the data there is no second copy of them: rows stay in the order they came in.
NUMBERS = 20_000_000


class Ordered(NamedTuple):
    """The same problem with its rows in order, and where each row came from."""

    problem: Problem
    labelled: RowArray
    rows: RowArray  #: the unlabelled ones

    def original(self, problem: Problem, result: Result) -> Result:
        """A result of the ordered problem as one of the original."""
        if result.z is None or self.problem is problem:
            return replace(result, problem=problem)
        z = np.empty_like(result.z)
        z[self.rows] = result.z
        return replace(result, problem=problem, z=z)


#: The order of each problem that is alive: the phases of a run all ask for it.
_KEPT: WeakKeyDictionary[Problem, Ordered] = WeakKeyDictionary()
#: Problems whose rows are known to be in order; an Ordered of one would hold it for ever.
_SORTED: WeakSet[Problem] = WeakSet()


def in_order(problem: Problem) -> Ordered:
    """The problem with its rows in order; equal rows stay as they came. Large problems are left alone."""
    if problem in _KEPT:
        return _KEPT[problem]
    as_it_is = Ordered(problem, np.arange(problem.n), np.arange(problem.m))
    if problem in _SORTED or problem.X.size + problem.U.size > NUMBERS:
        return as_it_is
    labelled = _order(problem.X, problem.y, problem.C)
    of_totals = [] if problem.one_total else [problem.totals.cells.astype(float)]
    unlabelled = _order(problem.U, problem.weights, problem.side.astype(float), *of_totals)
    if _is_sorted(labelled) and _is_sorted(unlabelled):
        _SORTED.add(problem)
        return as_it_is
    ordered = problem.with_rows(labelled, unlabelled)
    _SORTED.add(ordered)
    _KEPT[problem] = Ordered(ordered, labelled, unlabelled)
    return _KEPT[problem]


def _is_sorted(order: RowArray) -> bool:
    return bool(np.all(order[:-1] < order[1:]))


def _order(rows: FloatArray, *columns: FloatArray) -> RowArray:
    """The order of a fingerprint of the rows: exact in integers, so the same wherever a row stands."""
    order: RowArray = np.argsort(fingerprints([*rows.T, *columns], len(rows)), kind="stable")
    return order
