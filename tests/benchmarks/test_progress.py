"""Figures of a trace."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import progress
from cs3vm import Problem, Result, Status
from cs3vm.model.status import TracePoint


def run_of(*points: tuple[float, float, float], seconds: float) -> Result:
    """A run with these moments: seconds, incumbent, bound."""
    problem = Problem([[1.0], [-1.0]], [1, -1], [[0.5]], 1)
    trace = tuple(TracePoint(*point, 0) for point in points)
    coef, z = np.array([1.0]), np.array([1], dtype=np.int8)
    return Result(problem, Status.FEASIBLE, coef, 0.0, z, lower_bound=0.4, seconds=seconds, trace=trace)


def test_primal_integral_by_hand():
    run = run_of((1.0, 4.0, 0.0), (3.0, 2.0, 1.0), seconds=5.0)
    # nothing for a second, then 50 % too much for two, then the best there is
    assert progress.primal_integral(run, 2.0) == pytest.approx(1.0 + 2.0 * 0.5)
    assert progress.primal_integral(run_of(seconds=5.0), 2.0) == 5.0


def test_times_are_those_of_the_first_moment():
    run = run_of((1.0, 4.0, 0.0), (3.0, 2.0, 1.0), (4.0, 2.0, 1.9), seconds=5.0)
    assert progress.seconds_to_value(run, 1.99) == 3.0
    assert progress.seconds_to_value(run, 1.0) is None
    assert progress.seconds_to_gap(run, 0.1) == 4.0
    assert progress.seconds_to_gap(run, 0.01) is None


def test_where_it_never_happened_the_median_may_not_exist():
    rows = [{"t": "1.00"}, {"t": ""}, {"t": ""}]
    assert progress.summary(rows, "t") == "1 (33%), –"
    assert progress.summary(rows[:2], "t") == "1 (50%), 1.00 s"
