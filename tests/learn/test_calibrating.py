"""The probabilities of a fit: they add up, follow the scores, and are learnt once."""

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn import comparing
from cs3vm.learn.calibrating import estimate_probabilities


def clouds(classes=2, n=6, m=80, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.r_[np.repeat(np.arange(classes), n), rng.integers(0, classes, m)]
    X = rng.normal(size=(len(truth), 3)) + 1.5 * np.eye(3)[truth % 3]
    y = truth.astype(float)
    y[classes * n :] = np.nan
    return X, y, truth


def quick(**parameters):
    return CS3VMClassifier("top_tau", **parameters)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_they_add_up_to_the_total(positive, kernel):
    X, y, _ = clouds()
    clf = quick(pos_label=positive, kernel=kernel).fit(X, y, n_positive=30)
    rows = np.isnan(y)
    for p in (clf.probabilities_[rows], clf.predict_proba(X[rows])):
        assert p[:, positive].sum() == pytest.approx(30)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert np.corrcoef(p[:, 1], clf.decision_function(X[rows]))[0, 1] > 0.5
    np.testing.assert_array_equal(clf.probabilities_[~rows, 1], y[~rows])


def test_new_rows_have_the_score_that_predicts_them():
    X, y, _ = clouds()
    clf = quick().fit(X, y, n_positive=30)
    rows = np.isnan(y)
    p = clf.predict_proba(X[rows])[:, 1]
    assert p.sum() == pytest.approx(clf.probabilities_[rows, 1].sum()) == pytest.approx(30)
    order = np.argsort(clf.decision_function(X[rows]))
    assert np.all(np.diff(p[order]) >= 0)
    assert clf.transduction_[rows][order].tolist() == sorted(clf.transduction_[rows])


def test_several_classes_add_up_to_all_totals():
    X, y, _ = clouds(3)
    totals = {0: 20, 1: 25, 2: 35}
    clf = quick().fit(X, y, n_positive=totals)
    rows = np.isnan(y)
    for p in (clf.probabilities_[rows], clf.predict_proba(X[rows])):
        np.testing.assert_allclose(p.sum(axis=0), [20, 25, 35])
        np.testing.assert_allclose(p.sum(axis=1), 1)
    truth = clouds(3)[2][rows]
    assert clf.probabilities_[rows, truth].mean() > 0.4


def test_weights_count():
    X, y, _ = clouds()
    weight = np.where(np.isnan(y), 1 + np.arange(len(y)) % 3, 1.0)
    weight[-1] = 0.0
    clf = quick().fit(X, y, n_positive=60, sample_weight=weight)
    rows = np.isnan(y)
    assert weight[rows] @ clf.probabilities_[rows, 1] == pytest.approx(60)
    np.testing.assert_allclose(clf.predict_proba(X[-1:]), clf.probabilities_[-1:])


def test_clear_classes_have_clear_probabilities():
    rng = np.random.default_rng(0)
    truth = np.r_[np.repeat([0, 1], 15), rng.integers(0, 2, 60)]
    X, y = rng.normal(size=(90, 2)) + 6.0 * truth[:, None], truth.astype(float)
    y[30:] = np.nan
    clf = quick().fit(X, y, n_positive=int(truth[30:].sum()))
    assert clf.probabilities_[np.arange(90), truth].min() > 0.8
    random = quick().fit(rng.normal(size=(90, 2)), y, n_positive=int(truth[30:].sum()))
    assert random.probabilities_[30:, 1].min() > 0.15


def test_hidden_scores_are_used_again(monkeypatch):
    X, y, _ = clouds()
    clf = quick().fit(X, y, n_positive=30)
    clf.accuracy()
    monkeypatch.setattr(comparing, "look", None)  # any further search would fail
    assert clf.predict_proba(X[:3]).shape == (3, 2)
    assert estimate_probabilities(clf.fit_).notes == []


def test_rows_of_the_fit_have_the_mean_score_of_all_planes():
    X, y, _ = clouds()
    rows = np.isnan(y)
    clf = quick().fit(X, y, n_positive=30)
    p = clf.probabilities_[rows, 1]
    _, folds = clf.fit_.held_out[clf.fit_.method]
    odds = [clf.decision_function(X[rows]), *(fold.scores[:, 1] for fold in folds)]
    assert len(odds) == 6
    mean = np.mean([one / one.std() for one in odds], axis=0)
    np.testing.assert_array_equal(np.argsort(p), np.argsort(mean))
    assert not np.array_equal(np.argsort(p), np.argsort(odds[0]))
    assert p.sum() == pytest.approx(30)


def test_of_a_sample_the_own_score_counts_alone(monkeypatch):
    monkeypatch.setattr(comparing, "MOST_UNLABELLED", 40)
    X, y, _ = clouds()
    rows = np.isnan(y)
    clf = quick().fit(X, y, n_positive=30)
    p = clf.probabilities_[rows, 1]
    np.testing.assert_array_equal(np.argsort(p), np.argsort(clf.decision_function(X[rows])))
    np.testing.assert_allclose(clf.predict_proba(X[rows])[:, 1], p)


def test_one_label_of_a_class_gives_cautious_ones_and_a_note():
    X, y, _ = clouds()
    y[:5] = np.nan
    clf = quick().fit(X, y, n_positive=30)
    (note,) = estimate_probabilities(clf.fit_).notes
    assert "cautious" in note
    assert "“0.0” has one labelled row" in note
    assert clf.probabilities_[np.isnan(y), 1].sum() == pytest.approx(30)
    assert str(note) in clf.summary().notes


def test_without_hiding_they_are_cautious():
    X, y, _ = clouds()
    fit = quick().fit(X, y, n_positive=30).fit_
    found = estimate_probabilities(fit, hide=False)
    assert found.unlabelled[:, 1].sum() == pytest.approx(30)
    assert len(found.notes) == 1
    assert fit.held_out == {}


def test_without_unlabelled_rows_there_are_none():
    X, _, truth = clouds()
    clf = quick().fit(X, truth)
    assert not hasattr(clf, "predict_proba")
    with pytest.raises(AttributeError, match="needs a fit with unlabelled rows"):
        clf.predict_proba(X)
    with pytest.raises(InvalidProblemError, match="no unlabelled rows"):
        estimate_probabilities(clf.fit_)
    np.testing.assert_array_equal(clf.probabilities_[:, 1], truth)
