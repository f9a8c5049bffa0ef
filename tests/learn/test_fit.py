"""The Fit: one object for two classes and several, which everything else is read from."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from cs3vm import CS3VMClassifier, solve
from cs3vm.exceptions import CS3VMError, CS3VMWarning, InvalidProblemError, Note
from cs3vm.learn import baselines
from cs3vm.learn.fit import Fit
from tests.learn.test_several_classes import clouds, totals_of


def fitted(k, method="direct", **parameters):
    """Clouds of k classes, fitted; the last row has weight 0."""
    X, y, truth = clouds(k)
    weight = np.where(np.arange(len(y)) == len(y) - 1, 0.0, 1.0)
    known = totals_of(y[:-1], truth[:-1])
    clf = CS3VMClassifier(method, time_limit=2, **parameters)
    return X, y, clf.fit(X, y, n_positive=known, sample_weight=weight)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_attributes_of_the_classifier_are_those_of_its_fit(k, kernel):
    X, y, clf = fitted(k, kernel=kernel)
    fit = clf.fit_
    assert isinstance(fit, Fit)
    assert len(fit.results) == len(fit.totals) == len(fit.plane_labels) == (1 if k == 2 else k)
    assert fit.classes is clf.classes_
    assert fit.labels.decode(fit.codes).tolist() == clf.transduction_.tolist()
    np.testing.assert_array_equal(fit.labels.codes >= 0, ~np.isnan(y))
    assert list(fit.results) == ([clf.result_] if k == 2 else list(clf.result_.values()))
    assert fit.class_totals.tolist() == np.bincount(fit.answer, minlength=k).tolist()
    planes = clf.coef_ if kernel == "linear" else clf.dual_coef_
    np.testing.assert_array_equal(fit.planes.coef, planes)
    np.testing.assert_array_equal(fit.planes.intercept, clf.intercept_)
    assert clf.transduction_[-1] == clf.predict(X[-1:])[0]  # of weight 0: in no problem
    assert len(fit.rows_left_out) == 1


@pytest.mark.parametrize("k", [2, 3])
def test_moves_lead_from_the_svm_to_the_answer(k):
    fit = fitted(k)[2].fit_
    assert fit.moves.sum(axis=0).tolist() == np.bincount(fit.answer, minlength=k).tolist()
    assert fit.moves.sum(axis=1).tolist() == np.bincount(fit.svm_codes, minlength=k).tolist()
    assert fit.moves.sum() - np.trace(fit.moves) == np.sum(fit.svm_codes != fit.answer)


def test_the_positive_class_may_be_the_first():
    X, y, truth = clouds(2)
    count = int(np.sum(truth[np.isnan(y)] == 0))
    fit = CS3VMClassifier("top_tau", pos_label=0).fit(X, y, n_positive=count).fit_
    assert fit.labels.positive == 0
    assert fit.plane_labels == [0]
    assert fit.class_totals.tolist() == [count, np.isnan(y).sum() - count]
    assert np.sum(fit.answer == 0) == count


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", ["direct", "svm", "top_tau"])
def test_baselines_are_solved_once_and_never_if_they_are_the_method(k, method, monkeypatch):
    solved = []

    def counted(problem, name):
        solved.append((id(problem), name))
        return solve(problem, name)

    monkeypatch.setattr(baselines, "solve", counted)
    fit = fitted(k, method)[2].fit_
    assert solved == []  # nobody has asked
    for _ in range(3):
        assert fit.baselines["svm"]
        assert len(fit.svm_codes) == fit.problem.m
    assert len(solved) == len(set(solved))
    names = {"svm", "top_tau"} if k == 2 else {"svm"}
    assert {name for _, name in solved} == names - {method}


@pytest.mark.parametrize("k", [2, 3])
def test_summary_and_report_share_the_baselines(k, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from cs3vm.report import make_report

    X, y, clf = fitted(k)
    solved = []

    def counted(problem, name):
        solved.append((id(problem), name))
        return solve(problem, name)

    monkeypatch.setattr(baselines, "solve", counted)
    texts = {"feature_names": ["a", "b"], "label_name": "l", "source": "s", "command": "c"}
    for _ in range(2):
        clf.summary()
        make_report(clf, X, y, **texts)
    assert len(solved) == len(set(solved)) == (2 if k == 2 else 3)


@pytest.mark.parametrize("k", [2, 3])
def test_a_fit_survives_pickle_and_is_not_cloned(k):
    X, _, clf = fitted(k)
    text = str(clf.summary())
    again = pickle.loads(pickle.dumps(clf))
    assert str(again.summary()) == text
    assert again.predict(X).tolist() == clf.predict(X).tolist()
    assert not hasattr(clone(clf), "fit_")
    assert copy.deepcopy(clf).fit_.codes.tolist() == clf.fit_.codes.tolist()


def test_attributes_can_be_changed_without_changing_the_fit():
    X, _, clf = fitted(2)
    before = clf.fit_.planes.intercept.copy()
    clf.intercept_ += 1e6
    assert set(clf.predict(X)) == {clf.classes_[1]}
    np.testing.assert_array_equal(clf.fit_.planes.intercept, before)


def test_parameters_are_those_of_the_time_of_the_fit():
    clf = fitted(2)[2].set_params(method="svm", C=7.0)
    assert clf.fit_.method == "direct"
    assert clf.fit_.parameters.C == 1.0
    assert [row.method for row in clf.summary().rows] == ["SVM", "SVM + top-τ", "CS³VM (direct)"]


# -- words for Python and for the command line -----------------------------------------------------------
def test_a_note_is_text_and_knows_the_words_of_the_command_line():
    note = Note("say time_limit=5", "say --time-limit 5")
    assert note == str(note) == "say time_limit=5"
    assert note.for_command_line() == "say --time-limit 5"
    assert note.after("class 'a': ").for_command_line() == "class 'a': say --time-limit 5"
    assert Note("the same").for_command_line() == "the same"
    for again in (pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
        assert (again, again.command) == (note, note.command)


@pytest.mark.parametrize("kind", [CS3VMError, CS3VMWarning, InvalidProblemError])
def test_errors_and_warnings_carry_notes(kind):
    said = kind(Note("say time_limit=5", "say --time-limit 5"))
    assert str(said) == "say time_limit=5"
    assert said.for_command_line() == "say --time-limit 5"
    assert kind("plain").for_command_line() == "plain"


@pytest.mark.parametrize("k", [2, 3])
def test_rows_on_the_plane_are_explained_in_code_to_python(k):
    X = np.repeat(np.arange(k, dtype=float), 12)[:, None]
    y = np.where(np.arange(len(X)) % 12 < 2, X[:, 0], np.nan)
    known = dict.fromkeys(range(k), 10)
    known[0], known[1] = 4, 16
    clf = CS3VMClassifier("top_tau", side_margin=0)
    with pytest.warns(CS3VMWarning, match=r"side_margin='auto' forbids it") as caught:
        clf.fit(X, y, n_positive=known)
    words = [w.message.for_command_line() for w in caught if isinstance(w.message, CS3VMWarning)]
    assert any("--side-margin auto forbids it" in text for text in words)
    assert not any("side_margin=" in text for text in words)
    assert [str(w.message) for w in caught] == clf.fit_.warnings


@pytest.mark.parametrize("k", [2, 3])
def test_the_verdict_in_one_line(k):
    fit = fitted(k, "top_tau")[2].fit_
    assert "see the parameter method" in fit.verdict
    assert "see --method" in fit.verdict.for_command_line()
    assert "proven optimal" in fitted(k, "direct")[2].fit_.verdict
    assert (
        repr(fit)
        == f"Fit({k} classes, {fit.problem.n} labelled and {fit.problem.m} unlabelled rows, top_tau)"
    )
