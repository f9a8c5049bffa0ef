"""``method="safe"`` keeps the default unless hidden labels speak clearly for something else."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from cs3vm import CS3VMClassifier
from cs3vm.learn import comparing, safe
from cs3vm.learn.cross_fit import Seen
from tests.learn.test_accuracy import planted

pytestmark = pytest.mark.filterwarnings("ignore::cs3vm.exceptions.CS3VMWarning")


def fit_safe(n=200, labels=(30, 20), **parameters):
    X, y, truth = planted(n=n, labels=labels)
    total = int(truth[np.isnan(y)].sum())
    return CS3VMClassifier("safe", time_limit=1, **parameters).fit(X, y, n_positive=total)


def bring_back(monkeypatch, **right):
    """Hidden labels come back for each rule as said: a share of the rows, in the order of the rules."""
    shares = iter(right.values())

    def look(question, *_):
        n = len(question.codes)
        back = np.arange(n) % 20 < 20 * next(shares)
        return Seen(back.astype(float), np.full(n, 0.9))

    monkeypatch.setattr(comparing, "look", look)


@pytest.mark.parametrize(
    ("right", "chosen"),
    [
        ({"auto": 0.5, "top_tau": 0.9, "recommended": 0.6}, ("top_tau", "linear")),
        ({"auto": 0.5, "top_tau": 0.6, "recommended": 0.9}, ("auto", "laplacian")),
        ({"auto": 0.9, "top_tau": 0.5, "recommended": 0.5}, ("auto", "linear")),
        ({"auto": 0.8, "top_tau": 0.8, "recommended": 0.8}, ("auto", "linear")),
    ],
)
def test_it_takes_what_is_clearly_better(monkeypatch, right, chosen):
    bring_back(monkeypatch, **right)
    clf = fit_safe()
    assert (clf.fit_.method, clf.fit_.parameters.kernel) == chosen
    assert clf.method == "safe"  # the parameter is the user's


def test_the_choice_is_said(monkeypatch):
    bring_back(monkeypatch, auto=0.5, top_tau=0.9, recommended=0.6)
    clf = fit_safe()
    accuracy = clf.accuracy()
    assert [one.rule for one in accuracy.estimates] == ["top_tau", "auto", "recommended", "majority"]
    (note,) = accuracy.notes
    assert note.startswith("method='safe' took SVM + top-τ instead of CS³VM (auto)")
    assert note.for_command_line().startswith("--method safe took")
    assert note in str(clf.summary())
    assert accuracy.as_dict()["instead_of"] == "auto"


def test_top_tau_is_taken_where_our_search_is_made_bad(monkeypatch):
    """A search that turns its plane around labels hidden rows wrongly; the simple rule does not use it."""
    search = comparing.quick_search

    def turned_around(parameters, seconds, work, problem):
        result = search(parameters, seconds, work, problem)
        return replace(result, coef=-result.coef, z=1 - result.z)

    monkeypatch.setattr(comparing, "quick_search", turned_around)
    clf = fit_safe()
    assert clf.fit_.method == "top_tau"
    assert clf.accuracy().own.rule == "top_tau"
    assert list(clf.fit_.held_out) == ["top_tau"]  # what hidden labels told is kept for the probabilities


def test_where_nothing_can_be_checked_it_is_the_simple_rule():
    clf = fit_safe(labels=(1, 20))
    assert clf.fit_.method == "top_tau"
    accuracy = clf.accuracy()
    assert not accuracy
    (note,) = accuracy.notes
    assert note.startswith("method='safe' took the simple rule, SVM + top-τ: nothing else could be checked")
    assert "“1.0” has one labelled row" in note
    assert note.for_command_line().startswith("--method safe took the simple rule")


def test_fully_labelled_rows_are_an_svm():
    X, _, truth = planted(n=60)
    assert CS3VMClassifier("safe").fit(X, truth).fit_.method == "svm"


def test_options_of_the_default_do_not_trouble_another_rule(monkeypatch):
    bring_back(monkeypatch, auto=0.5, top_tau=0.9, recommended=0.6)
    clf = fit_safe(options={"node_limit": 5}, side_margin=1e-6)
    assert clf.fit_.method == "top_tau"
    assert clf.fit_.problem.side_margin == 1e-6


def test_an_interrupt_keeps_the_first_answer(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(safe, "estimate_accuracy", interrupt)
    assert fit_safe().fit_.method == "auto"


def test_it_can_be_cloned_and_fitted_to_several_classes():
    from tests.learn.test_several_classes import clouds, totals_of

    X, y, truth = clouds(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = clone(CS3VMClassifier("safe", time_limit=1)).fit(X, y, n_positive=totals_of(y, truth))
    assert clf.accuracy().own.rule in ("auto", "top_tau", "recommended")
