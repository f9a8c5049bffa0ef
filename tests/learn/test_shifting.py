"""Shifts: sums meet totals, intervals and margins, and nothing moves that need not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, softmax

from cs3vm.learn.shifting import shift_classes, shift_to_total, shift_to_totals


@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(0.01, 300.0))
def test_one_total_is_met_whatever_the_scores(seed, m, scale):
    rng = np.random.default_rng(seed)
    scores, weights = scale * rng.normal(size=m), rng.uniform(0.1, 3.0, m)
    total = rng.uniform(0.001, 0.999) * weights.sum()
    found = shift_to_total(scores, weights, total)
    assert weights @ found.probabilities == pytest.approx(total, rel=1e-7)
    np.testing.assert_allclose(found.probabilities, expit(scores + found.shifts))
    assert np.all(np.diff(found.probabilities[np.argsort(scores)]) >= 0)


def margins(rng, m=400):
    """Rows in one of four regions and one of two sexes, and how many positives each has."""
    region, sex = rng.integers(0, 4, m), rng.integers(0, 2, m)
    members = np.vstack([*(region == g for g in range(4)), *(sex == g for g in range(2))]).astype(float)
    truth = rng.random(m) < 0.1 + 0.2 * region
    return members, truth, rng.normal(size=m) + truth


def test_overlapping_totals_are_all_met():
    members, truth, scores = margins(np.random.default_rng(0))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(truth))
    totals = members @ (weights * truth)
    found = shift_to_totals(scores, weights, members, totals, totals)
    np.testing.assert_allclose(members @ (weights * found.probabilities), totals, rtol=1e-9)
    np.testing.assert_allclose(found.probabilities, expit(scores + members.T @ found.shifts))


def test_of_all_that_meet_the_totals_it_is_the_nearest():
    members, truth, scores = margins(np.random.default_rng(2), m=12)
    totals = members @ np.where(truth, 0.7, 0.3)
    p = shift_to_totals(scores, np.ones(12), members, totals, totals).probabilities
    start = expit(scores)

    def divergence(q):
        return np.sum(q * np.log(q / start) + (1 - q) * np.log((1 - q) / (1 - start)))

    members, totals = members[:-1], totals[:-1]  # the last one follows from the others
    other = minimize(
        divergence,
        np.where(truth, 0.7, 0.3),
        bounds=[(1e-6, 1 - 1e-6)] * 12,
        constraints={"type": "eq", "fun": lambda q: members @ q - totals},
    )
    assert divergence(p) <= other.fun + 1e-6
    np.testing.assert_allclose(p, other.x, atol=1e-3)


def test_an_interval_moves_only_what_lies_outside():
    scores, halves = np.zeros(20), np.kron(np.eye(2), np.ones(10))
    found = shift_to_totals(scores, np.ones(20), halves, [4.0, 7.0], [6.0, 9.0])
    np.testing.assert_allclose(halves @ found.probabilities, [5.0, 7.0])  # the second: to its nearer end
    assert found.shifts[0] == 0
    assert found.shifts[1] > 0


def test_rows_of_no_total_keep_their_odds():
    scores = np.array([-1.0, 0.0, 1.0, 2.0])
    found = shift_to_totals(scores, np.ones(4), [[1, 1, 0, 0]], [1.2], [1.2])
    np.testing.assert_allclose(found.probabilities[2:], expit(scores[2:]))
    assert found.probabilities[:2].sum() == pytest.approx(1.2)


def test_totals_that_leave_no_choice():
    members = np.kron(np.eye(3), np.ones(4))
    found = shift_to_totals(np.arange(12.0), np.ones(12), members, [0, 4, 1.5], [0, 4, 1.5])
    np.testing.assert_array_equal(found.probabilities[:8], np.repeat([0.0, 1.0], 4))
    assert found.probabilities[8:].sum() == pytest.approx(1.5)
    for total, p in ((0, 0.0), (5, 1.0)):
        shifted = shift_to_total(np.arange(5.0), np.ones(5), total)
        np.testing.assert_array_equal(expit(np.array([-20.0, 20.0]) + shifted.shifts), [p, p])


def test_totals_that_contradict_each_other_share_what_is_missed():
    members = np.vstack([np.ones(10), np.ones(10)])
    found = shift_to_totals(np.zeros(10), np.ones(10), members, [4.0, 6.0], [4.0, 6.0])
    assert np.all(np.isfinite(found.shifts))
    np.testing.assert_allclose(found.missed, [1.0, -1.0], atol=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_several_classes_meet_their_totals(seed, k):
    rng = np.random.default_rng(seed)
    scores, weights = 3.0 * rng.normal(size=(50, k)), rng.uniform(0.5, 2.0, 50)
    totals = rng.dirichlet(np.ones(k)) * weights.sum()
    found = shift_classes(scores, weights, totals)
    np.testing.assert_allclose(weights @ found.probabilities, totals, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.probabilities, softmax(scores + found.shifts, axis=1))


def test_a_class_without_rows_has_probability_0():
    found = shift_classes(np.random.default_rng(0).normal(size=(9, 3)), np.ones(9), np.array([4.0, 0.0, 5.0]))
    np.testing.assert_array_equal(found.probabilities[:, 1], 0.0)
    np.testing.assert_allclose(found.probabilities.sum(axis=0), [4, 0, 5])


def test_two_classes_are_the_same_either_way():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=30)
    one = shift_to_total(scores, np.ones(30), 7.0).probabilities
    two = shift_classes(np.column_stack([np.zeros(30), scores]), np.ones(30), np.array([23.0, 7.0]))
    np.testing.assert_allclose(two.probabilities[:, 1], one, atol=1e-9)
