from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem
from cs3vm.exceptions import CS3VMError, InvalidProblemError

X, Y, U = [[1.0, 0.0], [-1.0, 0.0]], [1, -1], [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0]]


def make(**changes) -> Problem:
    fields = {"X": X, "y": Y, "U": U, "n_positive": 1} | changes
    return Problem(**fields)


def test_objective_is_norm_plus_hinge_plus_count():
    problem = make(C=[2.0, 3.0], count_penalty=5.0)
    w, b = np.array([0.5, 0.0]), 0.25
    hinge = 2.0 * (1 - 0.75) + 3.0 * (1 - 0.25)
    assert problem.objective(w, b, np.array([1, 1, 1])) == pytest.approx(0.125 + hinge + 5.0 * 2)
    assert problem.count(np.array([1, 0, 1])) == 2
    assert problem.eta(np.array([1, 1, 1])) == (0.0, 2.0)
    assert problem.eta(np.array([0, 0, 0])) == (1.0, 0.0)


def test_weights_enter_the_count():
    problem = make(weights=[3, 2, 5], n_positive=8)
    assert problem.count(np.array([1, 0, 1])) == 8
    assert problem.total_weight == 10


def test_violation_names_points_on_the_wrong_side():
    problem = make(side=[1, 0, 0])
    w = np.array([1.0, 0.0])
    assert problem.violation(w, 0.0, np.array([1, 0, 0])) == 0.0
    assert problem.violation(w, 0.0, np.array([1, 1, 0])) == pytest.approx(2.0)
    assert problem.violation(w, 0.0, np.array([0, 0, 0])) == np.inf
    assert make(side_margin=0.5).violation(w, 0.0, np.array([1, 0, 0])) == pytest.approx(0.5)


def test_min_miscount_comes_from_fixed_sides():
    assert make(side=[1, 1, 0], n_positive=1).min_miscount == 1
    assert make(side=[-1, -1, 0], n_positive=3).min_miscount == 2
    assert make().min_miscount == 0


def test_arrays_are_copies_and_read_only():
    data = np.array(U)
    problem = make(U=data)
    data[0, 0] = 99.0
    assert problem.U[0, 0] == 2.0
    with pytest.raises(ValueError, match="read-only"):
        problem.U[0, 0] = 1.0


def test_no_unlabelled_rows_is_p1():
    problem = Problem(X, Y, np.zeros((0, 2)), 0)
    assert (problem.m, problem.total_weight) == (0, 0.0)
    assert problem.objective(np.zeros(2), 0.0, np.zeros(0)) == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros((0, 2)), "y": []}, "no rows"),
        ({"X": [1.0, 2.0]}, "two dimensions"),
        ({"X": [["a", "b"], ["c", "d"]]}, "table of numbers"),
        ({"X": [[1.0, np.nan], [0.0, 0.0]]}, "row 0, column 1"),
        ({"U": [[1.0, 1.0], [np.inf, 0.0]]}, "row 1, column 0"),
        ({"U": [[1.0]]}, "2 columns but U has 1"),
        ({"y": [1, 0]}, "row 1 has"),
        ({"y": [1, -1, 1]}, "one value per row"),
        ({"n_positive": -1}, "zero or positive"),
        ({"n_positive": 4}, "weigh only 3"),
        ({"n_positive": 1.5}, "round it"),
        ({"n_positive": 0.4}, "for a share of the rows use positive_rate=0.4"),
        ({"n_positive": "2"}, "must be a number"),
        ({"n_positive": None}, "must be a number"),
        ({"n_positive": True}, "must be a number"),
        ({"n_positive": float("nan")}, "zero or positive"),
        ({"C": 0.0}, "C must be positive"),
        ({"C": -1.0}, "C must be positive"),
        ({"C": [1.0, np.nan]}, "row 1"),
        ({"C": [1.0]}, "one value per row"),
        ({"C": "much"}, "numeric"),
        ({"weights": [1, 0, 1]}, "weights must be positive and finite; row 1"),
        ({"side": [0, 2, 0]}, "row 1 has"),
        ({"count_penalty": 0}, "count_penalty must be positive"),
        ({"count_penalty": "x"}, "count_penalty must be a positive number"),
        ({"side_margin": -0.1}, "side_margin must be zero or positive"),
    ],
)
def test_bad_input_says_what_and_where(changes, message):
    with pytest.raises(InvalidProblemError, match=message) as caught:
        make(**changes)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, CS3VMError)


def test_fractional_total_is_fine_with_fractional_weights():
    assert make(weights=[0.5, 1.5, 1.0], n_positive=1.5).n_positive == 1.5


def test_on_plane_is_relative_to_the_scores():
    problem = make(U=[[1e6, 0.0], [1e-3, 0.0], [1.0, 0.0]])
    assert list(problem.on_plane(np.array([1.0, 0.0]), 0.0)) == [False, True, False]
    assert problem.on_plane(np.zeros(2), 0.0).all()


def test_intercept_bound_holds_on_the_level_set():
    rng = np.random.default_rng(0)
    for _ in range(200):
        problem = Problem(
            rng.normal(size=(4, 2)), [1, -1, 1, -1], rng.normal(size=(3, 2)), 1, C=rng.uniform(0.1, 5)
        )
        w, b = rng.normal(size=2), rng.normal() * 5
        assert abs(b) <= problem.intercept_bound(problem.svm_value(w, b))
