"""LabeledKFold: folds over labelled rows, unlabelled rows always in training, totals rescaled."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cs3vm import CS3VMClassifier, LabeledKFold
from cs3vm.exceptions import InvalidProblemError

TRUTH = np.array([0, 1] * 6 + [0] * 15 + [1] * 9)  # 12 labelled rows, 24 unlabelled ones with 9 positives
ORDER = np.random.default_rng(3).permutation(36)
LABELLED = ORDER < 12
TRUTH = TRUTH[ORDER]
X = np.random.default_rng(4).normal(size=(36, 2)) + 1.5 * TRUTH[:, None]
TOTAL = 9
Y = np.where(LABELLED, TRUTH, np.nan)

CODINGS = [
    pytest.param(Y, {}, id="NaN"),
    pytest.param(np.where(LABELLED, TRUTH, None), {}, id="None"),
    pytest.param([t if k else None for t, k in zip(TRUTH.tolist(), LABELLED, strict=True)], {}, id="list"),
    pytest.param(np.where(LABELLED, TRUTH, -1), {}, id="-1"),
    pytest.param(np.where(LABELLED, TRUTH, 9), {"unlabeled": 9}, id="a number as mark"),
    pytest.param(np.where(LABELLED, np.array(["n", "y"])[TRUTH], "?"), {"unlabeled": "?"}, id="text"),
    pytest.param(pd.Series(Y).astype("Int64"), {}, id="nullable integers"),
]


def classifier(**parameters):
    return CS3VMClassifier("top_tau", **parameters)


@pytest.mark.parametrize(("y", "how"), CODINGS)
@pytest.mark.parametrize("shuffle", [False, True])
def test_folds(y, how, shuffle):
    cv = LabeledKFold(3, shuffle=shuffle, random_state=0 if shuffle else None, **how)
    splits = list(cv.split(X, y))
    assert len(splits) == cv.get_n_splits(X, y) == 3
    assert sorted(np.concatenate([test for _, test in splits])) == np.flatnonzero(LABELLED).tolist()
    for train, test in splits:
        assert set(np.flatnonzero(~LABELLED)) <= set(train)
        assert not set(train) & set(test)
        assert len(train) + len(test) == 36
        assert TRUTH[test].sum() == 2  # stratified: 6 positives in 3 folds
        assert np.all(np.diff(train) > 0)


def test_without_unlabelled_rows_it_is_stratified_k_fold():
    ours, theirs = LabeledKFold(4).split(X, TRUTH), StratifiedKFold(4).split(X, TRUTH)
    for (train, test), (their_train, their_test) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(train, their_train)
        np.testing.assert_array_equal(test, their_test)


def test_minus_one_is_a_class_beside_one_other_value():
    y = np.where(TRUTH == 1, 1, -1)
    assert sum(len(test) for _, test in LabeledKFold(3).split(X, y)) == 36


def test_a_seed_fixes_the_folds_and_the_drawn_rows():
    first, second, other = (
        [
            np.concatenate(pair).tolist()
            for pair in LabeledKFold(3, shuffle=True, random_state=s, keep=0.5).split(X, Y)
        ]
        for s in (1, 1, 2)
    )
    assert first == second != other


@pytest.mark.parametrize(("keep", "kept"), [(0.5, 12), (0.25, 6), (0.001, 1), (1.0, 24)])
def test_a_share_of_the_unlabelled_rows(keep, kept):
    splits = list(LabeledKFold(3, keep=keep, random_state=0).split(X, Y))
    for train, _ in splits:
        assert (~LABELLED[train]).sum() == kept
        assert LABELLED[train].sum() == 8
    if 1 < kept < 24:
        assert set(splits[0][0][~LABELLED[splits[0][0]]]) != set(splits[1][0][~LABELLED[splits[1][0]]])


def test_the_total_of_a_training_set():
    cv = LabeledKFold(3, keep=0.5, random_state=0)
    for train, _ in cv.split(X, Y):
        assert cv.n_positive(train, Y, TOTAL) == 5  # 9 · 12/24 = 4.5, half up
    full = LabeledKFold(3)
    for train, _ in full.split(X, Y):
        assert full.n_positive(train, Y, TOTAL) == TOTAL


def test_the_total_of_a_weighted_training_set():
    cv, weight = LabeledKFold(2), np.ones(36)
    train = np.flatnonzero(LABELLED).tolist() + np.flatnonzero(~LABELLED)[:2].tolist()
    weight[np.flatnonzero(~LABELLED)[0]] = 13  # 14 of 36
    assert cv.n_positive(train, Y, 18, sample_weight=weight) == 7
    weight[np.flatnonzero(~LABELLED)[0]] = 12.5
    assert cv.n_positive(train, Y, 18, sample_weight=weight) == pytest.approx(18 * 13.5 / 35.5)


@pytest.mark.parametrize(("y", "how"), CODINGS)
def test_cross_val_score(y, how):
    scores = cross_val_score(
        classifier(**how), X, y, cv=LabeledKFold(3, **how), params={"n_positive": TOTAL}, error_score="raise"
    )
    expected = []
    for train, test in LabeledKFold(3).split(X, Y):
        clf = classifier().fit(X[train], Y[train], n_positive=TOTAL)
        expected.append(np.mean(clf.predict(X[test]) == TRUTH[test]))
    np.testing.assert_allclose(scores, expected)


def test_cross_val_score_with_a_share_and_a_rate():
    cv = LabeledKFold(3, keep=0.5, random_state=0)
    scores = cross_val_score(
        classifier(), X, Y, cv=cv, params={"positive_rate": TOTAL / 24}, error_score="raise"
    )
    expected = []
    for train, test in cv.split(X, Y):
        clf = classifier().fit(X[train], Y[train], n_positive=cv.n_positive(train, Y, TOTAL))
        expected.append(np.mean(clf.predict(X[test]) == TRUTH[test]))
    np.testing.assert_allclose(scores, expected)


def test_grid_search():
    weight = np.linspace(1, 2, 36)  # sliced with the rows
    search = GridSearchCV(classifier(), {"C": [1e-3, 1.0]}, cv=LabeledKFold(3), error_score="raise")
    search.fit(X, Y, positive_rate=TOTAL / 24, sample_weight=weight)
    assert search.best_estimator_.result_.problem.m == 24
    assert search.best_estimator_.n_positive_ == pytest.approx(TOTAL / 24 * weight[~LABELLED].sum())
    assert search.cv_results_["mean_test_score"].shape == (2,)


def test_grid_search_over_a_pipeline_with_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), classifier().set_fit_request(n_positive=True))
        grid = {"cs3vmclassifier__C": [0.1, 1.0]}
        search = GridSearchCV(pipe, grid, cv=LabeledKFold(3), error_score="raise").fit(X, Y, n_positive=TOTAL)
        assert search.best_estimator_[-1].n_positive_ == TOTAL
        clone(search)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_splits": 1}, "n_splits must be an integer of at least 2, got 1"),
        ({"n_splits": 2.5}, "n_splits must be an integer"),
        ({"n_splits": True}, "n_splits must be an integer"),
        ({"keep": 0}, "keep must be a share above 0 and at most 1, got 0"),
        ({"keep": 1.5}, "got 1.5"),
        ({"keep": "half"}, "got 'half'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidProblemError, match=message):
        LabeledKFold(**parameters)


def test_too_few_labels():
    with pytest.raises(InvalidProblemError, match="y has 12 labelled rows, too few for 13 folds"):
        next(LabeledKFold(13).split(X, Y))


def test_a_total_of_nothing():
    with pytest.raises(InvalidProblemError, match="no unlabelled row of positive weight"):
        LabeledKFold(2).n_positive([0, 1], TRUTH, 3)


def test_repr_shows_the_parameters():
    assert "n_splits=3" in repr(LabeledKFold(3, keep=0.5))
