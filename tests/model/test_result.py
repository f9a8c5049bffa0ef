"""A result carries its problem, checks itself, and survives a file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cs3vm import Problem, Result, Status, solve
from cs3vm.exceptions import InvalidProblemError
from cs3vm.model.result import answer, as_given
from cs3vm.model.status import relative_gap


def weighted() -> Problem:
    """All rows tie, and too many for an exact subset sum."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(1.0, 2.0, 40)
    return Problem([[3.0], [1.0]], [1, -1], np.full((40, 1), 2.0), 20.0, weights=weights)


def test_an_answer_leaves_the_callers_extras_alone():
    extras = {"who": "me"}
    result = answer(weighted(), np.ones(1), Status.FEASIBLE, extras=extras)
    assert result.extras == {"who": "me", "inexact_subset_sum": True}
    assert extras == {"who": "me"}


def test_sides_that_contradict_the_plane_give_no_result():
    problem = Problem([[3.0], [1.0]], [1, -1], [[4.0], [0.0]], 1)
    right, wrong = np.array([1, 0], dtype=np.int8), np.array([0, 1], dtype=np.int8)
    assert as_given(problem, np.ones(1), -2.0, right, Status.FEASIBLE).count == 1
    assert as_given(problem, np.ones(1), -2.0, wrong, Status.FEASIBLE) is None
    assert as_given(problem, np.array([np.nan]), -2.0, right, Status.FEASIBLE) is None
    assert as_given(problem, None, 0.0, None, Status.FEASIBLE) is None


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (2.0, 1.0, 0.5),
        (2.0, 2.0, 0.0),
        (2e-20, 1e-20, 0.5),
        (0.0, 0.0, 0.0),
        (0.0, -1.0, float("inf")),
        (float("inf"), 1.0, float("inf")),
    ],
)
def test_the_gap_is_relative_to_the_objective(objective, bound, gap):
    assert relative_gap(objective, bound) == gap


def test_an_unknown_status_is_explained():
    problem = Problem([[3.0], [1.0]], [1, -1], [[4.0], [0.0]], 1)
    document = json.loads(solve(problem, "svm").to_json())
    document["status"] = "nearly optimal"
    message = r"unknown status 'nearly optimal' \(known: 'optimal'.*upgrade"
    with pytest.raises(InvalidProblemError, match=message):
        Result.from_json(json.dumps(document))


@pytest.mark.parametrize("damage", [{"z": 5}, {"trace": [[1]]}, {"coef": ["x"]}, {"n_nodes": "many"}])
def test_a_damaged_result_is_refused_with_a_reason(damage):
    problem = Problem([[3.0], [1.0]], [1, -1], [[4.0], [0.0]], 1)
    document = json.loads(solve(problem, "svm").to_json())
    with pytest.raises(InvalidProblemError, match="the result is"):
        Result.from_json(json.dumps(document | damage))
