"""Answers that say nothing are named: planes hardly better than none, rankings no better than chance."""

import numpy as np
import pytest

from cs3vm import CS3VMClassifier, Problem, solve
from cs3vm.exceptions import CS3VMWarning
from cs3vm.learn.accuracy import Accuracy, Estimate
from cs3vm.learn.verdict import is_nearly_trivial, judge


def contradictory(lean=0.0):
    """Labels of both classes at the same places, but for a little lean."""
    X = np.tile([[-1.0], [1.0]], (10, 1))
    y = np.repeat([1.0, -1.0], 10)
    X[:10] += lean
    return X, y


def estimated(auc, error):
    own = Estimate("auto", "CS³VM (auto)", 0.7, 0.6, 0.8, (0.7, 0.7))
    return Accuracy(("no", "yes"), (own,), (auc, error), 0.9, 5, 1)


@pytest.mark.parametrize(("lean", "nearly"), [(0.0, True), (0.1, True), (1.0, False)])
def test_a_plane_hardly_better_than_none_is_nearly_trivial(lean, nearly):
    X, y = contradictory(lean)
    result = solve(Problem(X, y, [[-2.0], [2.0]], 1), "direct", time_limit=1)
    assert is_nearly_trivial(result) == nearly
    assert (result.of_trivial >= 0.9) == nearly
    assert (judge([result], "direct", None).kind == "nearly trivial") == nearly


def test_the_warning_names_how_near_it_is():
    X, y = contradictory(0.1)
    rows, labels = np.vstack([X, [[-2.0], [2.0]]]), np.append(y, [np.nan] * 2)
    with pytest.warns(CS3VMWarning, match=r"hardly better than the trivial one.*say next to nothing"):
        clf = CS3VMClassifier("direct", time_limit=1, standardize=None).fit(rows, labels, n_positive=1)
    assert clf.fit_.verdict.kind == "nearly trivial"
    assert "hardly better" in str(clf.summary(accuracy=False))


def test_a_clear_answer_gives_no_warning(recwarn):
    rng = np.random.default_rng(0)
    truth = rng.random(200) < 0.5
    X = rng.normal(size=(200, 2)) + 3 * truth[:, None]
    y = np.where(np.arange(200) < 40, truth, np.nan)
    clf = CS3VMClassifier("direct", time_limit=1).fit(X, y, n_positive=int(truth[40:].sum()))
    assert clf.fit_.verdict.kind == "unknown"
    clf.accuracy(others=False)
    assert clf.fit_.verdict.kind == "informative"
    assert [w for w in recwarn if issubclass(w.category, CS3VMWarning)] == []


@pytest.mark.parametrize(
    ("auc", "error", "kind"),
    [(0.45, 0.1, "no better than chance"), (0.54, 0.1, "no better than chance"), (0.7, 0.1, "informative")],
)
def test_a_ranking_by_chance_is_named(auc, error, kind):
    result = solve(Problem([[-1.0], [1.0]], [-1, 1], [[-2.0], [2.0]], 1), "direct", time_limit=1)
    accuracy = estimated(auc, error)
    assert judge([result], "direct", accuracy).kind == kind
    assert accuracy.is_chance == (kind != "informative")
    said = [note for note in accuracy.notes if "no better than by chance (AUC" in note]
    assert len(said) == accuracy.is_chance


def test_features_of_noise_are_found_out():
    rng = np.random.default_rng(5)
    truth = rng.random(600) < 0.5
    y = np.where(np.arange(600) < 100, truth, np.nan)
    kinds = []
    for _ in range(8):
        X = rng.normal(size=(600, 3))
        clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=int(truth[100:].sum()))
        clf.accuracy(others=False)
        kinds.append(clf.fit_.verdict.kind)
    assert kinds.count("no better than chance") >= 4


def test_a_simple_rule_without_a_ranking_is_explained():
    """ "SVM + top-τ 0 of 351" stood in a table without a word: the plain SVM had w = 0."""
    X, y = contradictory()
    rows, labels = np.vstack([X, [[-2.0], [-1.0], [1.0], [2.0]]]), np.append(y, [np.nan] * 4)
    clf = CS3VMClassifier("top_tau", standardize=None).fit(rows, labels, n_positive=2)
    assert "misses the total by 2: the plain SVM ignores the features" in str(clf.summary(accuracy=False))
    X, y = contradictory(1.0)
    rows, labels = np.vstack([X, [[-2.0], [-1.0], [1.0], [2.0]]]), np.append(y, [np.nan] * 4)
    clf = CS3VMClassifier("top_tau", standardize=None).fit(rows, labels, n_positive=2)
    assert "ignores the features" not in str(clf.summary(accuracy=False))
