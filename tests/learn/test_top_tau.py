"""TopTau: any classifier that meets the totals, by scikit-learn's contract."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cs3vm import TopTau
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.top_tau import RIVALS, highest, make_rival


@parametrize_with_checks([TopTau(), TopTau(RidgeClassifier())])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def clouds(classes=2, seed=0, m=60, n=5):
    """Overlapping clouds, n labels of each class; returns X, y with None, truth."""
    rng = np.random.default_rng(seed)
    truth = np.r_[np.repeat(np.arange(classes), n), rng.integers(0, classes, m)]
    X = rng.normal(size=(len(truth), 3)) + 1.5 * np.eye(3)[truth % 3]
    y = truth.astype(object)
    y[classes * n :] = None
    return X, y, truth


@pytest.mark.parametrize("model", [None, LinearSVC(), DecisionTreeClassifier(max_depth=2, random_state=0)])
@pytest.mark.parametrize("positive", [0, 1])
def test_labels_and_probabilities_meet_the_total(model, positive):
    X, y, _ = clouds()
    clf = TopTau(model, pos_label=positive).fit(X, y, n_positive=17)
    assert np.sum(clf.transduction_[10:] == positive) == 17 == clf.n_positive_
    assert clf.probabilities_[10:, positive].sum() == pytest.approx(17)
    np.testing.assert_allclose(clf.probabilities_.sum(axis=1), 1)
    np.testing.assert_allclose(clf.predict_proba(X[10:]), clf.probabilities_[10:])
    assert clf.transduction_[:10].tolist() == y[:10].tolist()
    assert clf.probabilities_[:10, 1].tolist() == y[:10].tolist()


def test_the_highest_scores_are_positive_for_new_rows_too():
    X, y, _ = clouds()
    clf = TopTau().fit(X, y, n_positive=17)
    np.testing.assert_array_equal(clf.predict(X[10:]), clf.transduction_[10:])
    theirs = LogisticRegression().fit(X[:10], y[:10].astype(int)).decision_function(X[10:])
    assert theirs[clf.transduction_[10:] == 1].min() > theirs[clf.transduction_[10:] == 0].max()


@pytest.mark.parametrize("model", [None, RidgeClassifier()])
def test_several_classes_meet_every_total(model):
    X, y, _ = clouds(3)
    totals = {0: 10, 1: 20, 2: 30}
    clf = TopTau(model).fit(X, y, n_positive=totals)
    assert np.bincount(clf.transduction_[15:].astype(int)).tolist() == [10, 20, 30]
    np.testing.assert_allclose(clf.probabilities_[15:].sum(axis=0), [10, 20, 30])
    assert np.mean(clf.predict(X[15:]) == clf.transduction_[15:]) > 0.95
    assert clf.n_positive_ == totals


def test_weights_count():
    X, y, _ = clouds()
    weight = np.r_[np.ones(10), np.tile([0.5, 2.0], 30)]
    clf = TopTau().fit(X, y, n_positive=20, sample_weight=weight)
    assert weight[10:] @ clf.probabilities_[10:, 1] == pytest.approx(20)
    assert weight[10:] @ (clf.transduction_[10:] == 1) == pytest.approx(20, abs=1)


def test_rows_may_be_of_any_kind_that_the_classifier_takes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"region": rng.choice(["north", "south"], 40), "x": rng.normal(size=40)})
    y = np.where(frame["region"] == "north", "yes", "no").astype(object)
    y[20:] = None
    encode = make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough")
    clf = TopTau(make_pipeline(encode, LogisticRegression())).fit(frame, y, positive_rate=0.5)
    assert np.sum(clf.transduction_[20:] == "yes") == 10
    assert clf.feature_names_in_.tolist() == ["region", "x"]


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_have_names(name):
    X, y, truth = clouds()
    clf = make_rival(name).fit(X, y, n_positive=int(truth[10:].sum()))
    assert np.mean(clf.transduction_[10:] == truth[10:]) > 0.6


def test_without_unlabelled_rows_it_is_the_classifier_itself():
    X, _, truth = clouds()
    clf, plain = TopTau().fit(X, truth), LogisticRegression(max_iter=1000).fit(X, truth)
    np.testing.assert_array_equal(clf.predict(X), plain.predict(X))
    np.testing.assert_allclose(clf.predict_proba(X), plain.predict_proba(X))
    assert not hasattr(TopTau(LinearSVC()).fit(X, truth), "predict_proba")


def test_equal_scores_are_divided_by_the_seed():
    above = [highest(np.zeros(50), np.ones(50), 20, seed)[0] for seed in (0, 0, 1)]
    assert [int(a.sum()) for a in above] == [20, 20, 20]
    assert np.array_equal(above[0], above[1])
    assert not np.array_equal(above[0], above[2])


@pytest.mark.parametrize(("total", "expected"), [(0, 0), (50, 50)])
def test_nobody_and_everybody(total, expected):
    X, y, _ = clouds(m=50)
    clf = TopTau().fit(X, y, n_positive=total)
    assert np.sum(clf.transduction_[10:] == 1) == expected
    np.testing.assert_allclose(clf.probabilities_[10:, 1], expected / 50)
    assert np.sum(clf.predict(X[10:]) == 1) == expected


def test_bad_input_is_explained():
    X, y, _ = clouds()
    with pytest.raises(InvalidProblemError, match="n_positive is 99"):
        TopTau().fit(X, y, n_positive=99)
    with pytest.raises(InvalidProblemError, match="never guessed"):
        TopTau().fit(X, y)
    one = y.copy()
    one[:5] = None
    with pytest.raises(InvalidProblemError, match="the class 0 has no label"):
        TopTau().fit(X, one, n_positive=17)
    with pytest.raises(InvalidProblemError, match="KNeighborsClassifier knows no sample_weight"):
        TopTau(KNeighborsClassifier()).fit(X, y, n_positive=17, sample_weight=np.ones(len(X)))
