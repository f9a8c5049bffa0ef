"""Rows that a plane cannot tell apart: at most one group is divided, by the seed, and said to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs3vm import CS3VMClassifier, Problem, Result, Status
from cs3vm.learn.undecided import is_split, meet_totals, shuffle_within
from cs3vm.model.totals import Total, Totals


def counted(U, total, weights=None, sides=1):
    """A plane x = 0 with a margin, and a total."""
    U = np.asarray(U, dtype=float)[:, None]
    problem = Problem([[-2.0], [2.0]], [-1, 1], U, total, weights=weights, side_margin=0.01)
    z = (U[:, 0] > 0).astype(np.int8)
    return Result(problem, Status.FEASIBLE, np.array([1.0]), 0.0, z)


def test_the_nearest_group_is_divided():
    result = counted([-3, -1, -1, -1, -1, 2, 3], 4)
    positive, divided = meet_totals(result, 0)
    assert positive.sum() == 4
    assert divided.tolist() == [False] + [True] * 4 + [False] * 2
    assert positive[[0, 5, 6]].tolist() == [False, True, True]


def test_the_seed_draws():
    result = counted([-1] * 20 + [1] * 20, 30)
    first, second, other = (meet_totals(result, seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert other.sum() == first.sum() == 30


@pytest.mark.parametrize(
    ("U", "total"),
    [
        ([-2, -1, 1, 2], 3),  # no equal rows: what is missed is the model's choice
        ([-2, -1, -1, 1], 3),  # the whole group is missing
        ([-2, -1, -1, 1], 1),  # nothing is missing
        ([1, 2, 3], 3),
    ],
)
def test_nothing_else_is_divided(U, total):
    result = counted(U, total)
    positive, divided = meet_totals(result, 0)
    np.testing.assert_array_equal(positive, np.asarray(result.z) > 0)
    assert not divided.any()


def test_too_many_positives():
    positive, divided = meet_totals(counted([-1, 1, 1, 1, 5], 2), 0)
    assert positive.sum() == 2
    assert positive[4]
    assert divided.tolist() == [False, True, True, True, False]


def test_weights_come_as_near_as_the_draw_allows():
    result = counted([-1, -1, -1, 2], 4.0, weights=[3.0, 1.0, 2.0, 1.0])
    positive, divided = meet_totals(result, 0)
    assert divided[:3].all()
    assert abs(result.problem.weights @ positive - 4.0) <= 1.5


def test_one_group_for_each_total():
    U = [-3, -1, -1, -1, -2, -2, -2, 5]
    totals = Totals([Total([0, 1, 2, 3, 7], 2), Total([4, 5, 6], 1)])
    positive, divided = meet_totals(counted(U, totals), 0)
    assert positive[[1, 2, 3]].sum() == 1
    assert positive[[4, 5, 6]].sum() == 1
    assert divided.tolist() == [False] + [True] * 6 + [False]


def test_an_interval_is_only_just_reached():
    positive, divided = meet_totals(counted([-1] * 5 + [2], (3, 4)), 0)
    assert positive.sum() == 3
    assert divided[:5].all()


def test_no_total_is_helped_at_the_cost_of_a_dearer_one():
    totals = Totals([Total([0, 1, 2], 1), Total(None, 0, penalty=5.0)])
    positive, divided = meet_totals(counted([-1, -1, -1], totals), 0)
    assert not positive.any()
    assert not divided.any()


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20), st.integers(0, 9))
def test_labels_are_exchanged_within_profiles_only(rows, seed):
    profiles, labels = np.array(rows).T
    profiles = np.unique(profiles, return_inverse=True)[1]
    mixed = shuffle_within(labels, profiles, seed)
    for p in set(profiles.tolist()):
        assert sorted(mixed[profiles == p]) == sorted(labels[profiles == p])
    split = is_split(mixed, profiles)
    for p, one in zip(profiles, split, strict=True):
        assert one == (len(set(mixed[profiles == p].tolist())) > 1)


# -- the answer is a classifier ------------------------------------------------------------------------
def categories(seed, kind, m=60):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (m + 12, 3)).astype(float)
    if kind == "mixed":
        X[:, 0] = rng.normal(size=len(X))
    truth = (X @ [1.0, 0.6, -0.4] + rng.normal(scale=0.5, size=len(X)) > 1.2).astype(float)
    truth[:2] = 0.0, 1.0
    y = truth.copy()
    y[12:] = np.nan
    return X, y, int(truth[12:].sum())


@settings(max_examples=12, derandomize=True, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["categories", "mixed"]),
    st.sampled_from(["direct", "top_tau", "svm"]),
    st.sampled_from(["linear", "rbf"]),
)
def test_predict_is_the_transduction_wherever_the_plane_predicts(seed, kind, method, kernel):
    X, y, total = categories(seed, kind)
    clf = CS3VMClassifier(method, kernel=kernel, time_limit=2).fit(X, y, n_positive=total)
    unlabelled, decided = np.isnan(y), ~clf.undecided_
    rows = unlabelled & decided
    plane = np.where(clf.result_.z > 0, 1.0, 0.0)
    np.testing.assert_array_equal(plane[decided[unlabelled]], clf.transduction_[rows])
    scores = clf.result_.problem.scores(clf.result_.coef, clf.result_.intercept)
    assert np.abs(scores).min() >= clf.result_.problem.side_margin * (1 - 1e-3)
    for a in np.flatnonzero(rows):
        same = rows & (X[a] == X).all(axis=1)
        assert len(set(clf.transduction_[same])) == 1
    if kernel == "linear" and rows.any():
        np.testing.assert_array_equal(clf.predict(X[rows]), clf.transduction_[rows])


def test_equal_rows_are_undecided_and_the_total_is_met():
    X = np.repeat([0.0, 2.0, 1.0], [5, 5, 20])[:, None]
    y = np.repeat([0.0, 1.0, np.nan], [5, 5, 20])
    clf = CS3VMClassifier("direct", time_limit=2).fit(X, y, n_positive=10)
    assert clf.undecided_.tolist() == [False] * 10 + [True] * 20
    assert clf.transduction_[10:].sum() == 10
    assert any("20 rows are undecided" in note for note in clf.summary().notes)


@pytest.mark.parametrize("bad", [-0.1, float("nan"), "wide", None, [0.1]])
def test_a_margin_is_a_number_or_auto(bad):
    X, y, total = categories(0, "mixed")
    with pytest.raises(ValueError, match="'side_margin' parameter of CS3VMClassifier must be"):
        CS3VMClassifier(side_margin=bad).fit(X, y, n_positive=total)
