"""Whatever the totals and weights are, counts and the best intercept agree with brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs3vm import Problem
from cs3vm.exceptions import InvalidProblemError

STEADY = settings(derandomize=True, deadline=None, max_examples=150)
#: Values that repeat and are exact in floating point, so that ties are ties.
grid = st.integers(-6, 6).map(lambda i: i / 2)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Tiny problems with ties, weights, fixed sides and a margin."""
    n, m, d = draw(st.integers(1, 4)), draw(st.integers(0, 6)), draw(st.integers(1, 2))
    rows = st.lists(grid, min_size=d, max_size=d)
    weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 4), st.sampled_from([0.25, 0.5, 1.75])]))
    weights = draw(st.lists(weight, min_size=m, max_size=m))
    total = draw(st.integers(0, int(sum(weights))))
    return Problem(
        draw(st.lists(rows, min_size=n, max_size=n)),
        draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)),
        np.reshape(draw(st.lists(rows, min_size=m, max_size=m)), (m, d)),
        total,
        weights=weights,
        side=draw(st.lists(st.sampled_from([0, 0, 0, 1, -1]), min_size=m, max_size=m)),
        C=draw(st.sampled_from([0.5, 1.0, 8.0])),
        count_penalty=draw(st.sampled_from([0.25, 1.0, 3.0])),
        side_margin=draw(st.sampled_from([0.0, 0.0, 0.25])),
    )


def cheapest(problem: Problem, w: np.ndarray) -> float:
    """Over all sides: the hinge sum is least at one of its kinks or at an end of the interval for b."""
    labelled, unlabelled = problem.X @ w, problem.U @ w
    kinks = np.append(1 - labelled, -1 - labelled)
    best = np.inf
    for choice in product((0, 1), repeat=problem.m):
        z = np.array(choice, dtype=np.int8)
        if np.any((problem.side > 0) & (z == 0)) or np.any((problem.side < 0) & (z == 1)):
            continue
        low = np.max(problem.side_margin - unlabelled[z == 1], initial=-np.inf)
        high = np.min(-problem.side_margin - unlabelled[z == 0], initial=np.inf)
        if low <= high:
            ends = [end for end in (low, high) if np.isfinite(end)]
            best = min(best, *(problem.objective(w, b, z) for b in np.clip([*kinks, *ends], low, high)))
    return float(best)


@STEADY
@given(problems(), st.lists(grid, min_size=2, max_size=2))
def test_the_best_intercept_is_the_best_of_all_sides(problem, normal):
    w = np.array(normal[: problem.d])
    found, expected = problem.best_intercept(w), cheapest(problem, w)
    if found is None:
        assert expected == np.inf
        return
    assert found.exact
    assert found.cost + 0.5 * w @ w == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert problem.objective(w, found.b, found.z) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert problem.violation(w, found.b, found.z) <= 1e-9


@STEADY
@given(problems(), st.data())
def test_count_miscount_and_objective_agree(problem, data):
    z = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=problem.m, max_size=problem.m)), dtype=np.int8
    )
    w, b = np.array(data.draw(st.lists(grid, min_size=2, max_size=2)))[: problem.d], data.draw(grid)
    count, (short, over) = problem.count(z), problem.eta(z)
    assert count == sum(weight for weight, side in zip(problem.weights, z, strict=True) if side)
    assert min(short, over) == 0
    assert count + short - over == pytest.approx(problem.n_positive)
    if problem.violation(w, b, z) < np.inf:
        assert short + over >= problem.min_miscount - 1e-12
    hinge = np.maximum(0.0, 1.0 - problem.y * (problem.X @ w + b))
    expected = 0.5 * w @ w + problem.C @ hinge + problem.count_penalty * (short + over)
    assert problem.objective(w, b, z) == pytest.approx(expected)


@STEADY
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4),
    st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.none(), st.text(max_size=3), st.booleans()),
)
def test_any_weights_and_totals_are_taken_or_explained(weights, total):
    U = np.zeros((len(weights), 1))
    try:
        problem = Problem([[1.0], [-1.0]], [1, -1], U, total, weights=weights)
    except InvalidProblemError as error:
        fault = str(error)
    else:
        assert np.all(problem.weights > 0)
        assert 0 <= problem.n_positive <= problem.total_weight * (1 + 1e-9)
        return
    assert "weights" in fault or "n_positive" in fault
