"""Equal unlabelled rows as one row with their weight, for searches that need not tell them apart.

With a side margin ε > 0 no row lies on the plane, so equal rows are on the same side of every plane, and a
problem in which they are one row has the same points with the same values. With ε = 0 it would not: rows on
the plane may be counted on either side, each for itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._typing import RowArray
from ..exceptions import InvalidProblemError
from .problem import Problem
from .profiles import profiles
from .result import Result

#: Rows are joined where at most this share of them is left: weights make a search a bit slower.
WORTH_IT = 0.95


class Joined(NamedTuple):
    """A problem without equal rows, and which of its rows each row of the original is."""

    problem: Problem
    of_row: RowArray
    first: RowArray  #: an original row of each

    def shortened(self, result: Result) -> Result:
        """A result of the original problem as one of this."""
        if result.z is None or len(result.z) != len(self.of_row):
            return result
        return replace(result, problem=self.problem, z=result.z[self.first])

    def original(self, problem: Problem, result: Result) -> Result:
        """A result of this problem as one of the original."""
        return replace(result, problem=problem, z=None if result.z is None else result.z[self.of_row])


def join_equal_rows(problem: Problem) -> Joined | None:
    """Join rows that are equal, in the same totals and fixed to the same side; None where that does not pay.

    Sums of weights are rounded in another order: the original's bound on that rounding is the joined one's.
    """
    if problem.side_margin <= 0.0 or problem.m < 2:
        return None
    columns = [problem.U, problem.side[:, None].astype(float)]
    if not problem.one_total:
        columns.append(problem.totals.cells[:, None].astype(float))
    _, first, of_row = np.unique(profiles(np.hstack(columns)), return_index=True, return_inverse=True)
    of_row = of_row.ravel()
    if len(first) > WORTH_IT * problem.m:
        return None
    weights = np.asarray(np.bincount(of_row, problem.weights), dtype=float)
    try:
        joined = problem.with_clusters(problem.U[first], weights, problem.side[first], of_row)
    except InvalidProblemError:  # a total that is the weight of all rows, but for the last digit
        return None
    totals = replace(joined.totals, least_rounding=problem.totals.rounding)
    object.__setattr__(joined, "totals", totals)  # as the problem itself does when it is made
    return Joined(joined, of_row, first)
