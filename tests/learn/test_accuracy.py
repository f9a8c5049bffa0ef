"""How many labels are right: estimates on problems whose truth is known, intervals, and words."""

import json
import math

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.accuracy import Accuracy, Estimate, Known, gain, ranking, recalls, share_right, too_few
from cs3vm.learn.cross_fit import Seen
from tests.learn.test_several_classes import clouds, totals_of

pytestmark = pytest.mark.filterwarnings("ignore::cs3vm.exceptions.CS3VMWarning")


def planted(n=600, shift=1.0, labels=(60, 40), seed=0):
    """Two clouds whose labels are biased by class only."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3)) + shift * truth[:, None]
    y = np.full(n, np.nan)
    y[np.flatnonzero(truth)[: labels[0]]] = 1
    y[np.flatnonzero(~truth)[: labels[1]]] = 0
    return X, y, truth.astype(int)


def fitted(method="top_tau", weight=None, **data):
    X, y, truth = planted(**data)
    hidden = np.isnan(y)
    total = truth[hidden].sum() if weight is None else float((weight * truth)[hidden].sum())
    clf = CS3VMClassifier(method, time_limit=1).fit(X, y, n_positive=total, sample_weight=weight)
    return clf, float(np.mean(clf.transduction_[hidden] == truth[hidden]))


def known(positive, negative, totals=(600.0, 400.0)):
    codes = np.repeat([1, 0], [positive, negative])
    return Known(codes, np.ones(len(codes)), np.array(totals))


# -- the numbers -------------------------------------------------------------------------------------
@pytest.mark.parametrize("shift", [0.0, 0.7, 2.0, 9.0])
def test_a_planted_problem_is_estimated_well(shift):
    clf, true = fitted(n=3000, shift=shift, labels=(150, 150))
    estimate = clf.accuracy(level=0.99, others=False).own
    assert estimate.low <= true <= estimate.high
    assert estimate.share == pytest.approx(true, abs=0.05)


def test_intervals_cover_about_as_often_as_they_say():
    covered = 0
    for seed in range(20):
        clf, true = fitted(n=500, labels=(30, 8), seed=seed)
        estimate = clf.accuracy(others=False).own
        covered += estimate.low <= true <= estimate.high
    assert covered >= 15


def test_the_estimate_is_the_known_shares_times_the_recalls_where_errors_balance():
    about = known(4000, 6000)
    share, low, high = share_right(np.array([1 - 100 / 600, 1 - 100 / 400]), about, 0.0, 0.9)
    assert share == pytest.approx(0.8, abs=2e-3)
    assert 0.78 < low < share < high < 0.82


def test_a_count_above_the_total_is_taken_into_account():
    """All are called positive: every row of the other class is wrong, and the labels need not say so."""
    share, low, high = share_right(np.array([0.0, 1.0]), known(10, 10), 600.0, 0.9)
    assert (share, low, high) == pytest.approx((0.4, 0.4, 0.4))


def test_the_class_with_many_labels_helps_the_one_with_few():
    few, many = known(2, 2), known(200, 2)
    found = np.array([1.0, 0.9])
    widths = [high - low for _, low, high in (share_right(found, one, 0.0, 0.9) for one in (few, many))]
    assert widths[1] < 0.3 * widths[0]


@pytest.mark.parametrize("totals", [(600.0, 400.0), (1.0, 999.0), (0.0, 50.0), (50.0, 0.0), (3.0, 2.0, 5.0)])
@pytest.mark.parametrize("recall", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_bracket_the_estimate_and_are_shares(totals, recall, level):
    codes = np.repeat(np.arange(len(totals)), 3)
    about = Known(codes, np.linspace(1, 2, len(codes)), np.array(totals))
    share, low, high = share_right(np.full(len(totals), recall), about, 0.0, level)
    assert 0 <= low <= share <= high <= 1


def test_more_labels_narrow_the_interval_and_repeats_do_not():
    clf, _ = fitted(n=1500)
    once, thrice = (clf.accuracy(n_repeats=k, others=False).own for k in (1, 3))
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, abs=0.04)
    more, _ = fitted(n=1500, labels=(240, 240))
    wide = more.accuracy(others=False).own
    assert wide.high - wide.low < 0.8 * (once.high - once.low)


def test_uneven_weights_tell_less():
    codes, totals = np.repeat([0, 1], 20), np.array([50.0, 50.0])
    found = np.array([0.8, 0.8])
    even = share_right(found, Known(codes, np.ones(40), totals), 0.0, 0.9)
    uneven = share_right(found, Known(codes, np.tile([10.0, 0.1], 20), totals), 0.0, 0.9)
    assert uneven[2] - uneven[1] > 1.2 * (even[2] - even[1])


def test_recalls_are_weighted():
    about = Known(np.array([0, 0, 1]), np.array([3.0, 1.0, 1.0]), np.array([5.0, 5.0]))
    found = recalls(Seen(np.array([1.0, 0.0, 1.0]), np.zeros(3)), about)
    assert found.tolist() == [0.75, 1.0]


def test_a_better_rule_is_seen_by_the_rows_on_which_the_two_differ():
    about = known(60, 40)
    worse = Seen(np.repeat([0.0, 1.0], [20, 80]), np.zeros(100))
    better = Seen(np.ones(100), np.zeros(100))
    ahead, error = gain(worse, better, about, (0.0, 0.0))
    assert ahead > 2 * error > 0
    assert gain(better, worse, about, (0.0, 0.0))[0] == pytest.approx(-ahead)
    nothing, error = gain(worse, worse, about, (0.0, 0.0))
    assert nothing == 0 < error
    one_row = Seen(np.append(0.0, np.ones(99)), np.zeros(100))
    ahead, error = gain(one_row, better, about, (0.0, 0.0))
    assert 0 < ahead < error  # the default is kept


def test_ranking_is_the_auc():
    about = Known(np.array([1, 1, 0, 0]), np.ones(4), np.array([5.0, 5.0]))
    assert ranking(Seen(np.ones(4), np.array([0.9, 0.8, 0.9, 0.8])), about)[0] == 1.0
    assert ranking(Seen(np.ones(4), np.array([0.1, 0.2, 0.1, 0.2])), about)[0] == 0.0
    auc, error = ranking(Seen(np.ones(4), np.full(4, 0.5)), about)
    assert auc == 0.5
    assert 0.1 < error < 0.5


# -- of a fit ----------------------------------------------------------------------------------------
def test_the_rules_stand_side_by_side():
    clf, _ = fitted("direct", n=80, labels=(10, 8))
    accuracy = clf.accuracy()
    rules = [one.rule for one in accuracy.estimates]
    assert rules == ["direct", "top_tau", "recommended", "majority"]
    assert accuracy is clf.accuracy()  # made once
    hidden = clf.fit_.labels.codes < 0
    share = clf.n_positive_ / hidden.sum()
    assert accuracy.estimates[-1].share == pytest.approx(max(share, 1 - share))
    assert len(str(accuracy).splitlines()) == 8
    assert "90 % interval" in accuracy.sentence
    assert "biased by class only" in accuracy.sentence


def test_the_answer_is_the_same_whenever_it_is_asked_for():
    first, second = (
        fitted("top_tau", n=300)[0].accuracy(n_repeats=2, others=False).as_dict() for _ in range(2)
    )
    assert first == second


def test_a_model_is_not_compared_with_itself():
    X, y, truth = planted(n=60, labels=(8, 6))
    total = int(truth[np.isnan(y)].sum())
    clf = CS3VMClassifier("direct", kernel="laplacian", standardize="rank", C=3.0, time_limit=0.5)
    rules = [one.rule for one in clf.fit(X, y, n_positive=total).accuracy(n_folds=2).estimates]
    assert rules == ["direct", "top_tau", "linear", "majority"]


def test_weighted_rows_have_an_estimate_too():
    weight = np.random.default_rng(3).integers(1, 4, 600).astype(float)
    clf, true = fitted(weight=weight)
    estimate = clf.accuracy(others=False).own
    assert estimate.low - 0.03 <= true <= estimate.high + 0.03


def test_large_data_are_represented_by_a_sample(monkeypatch):
    from cs3vm.learn import comparing

    clf, _ = fitted(n=4000, labels=(300, 300))
    sizes = []

    def look(question, *_):
        sizes.append((question.first.n, question.first.m))
        return Seen(np.ones(len(question.codes)), np.ones(len(question.codes)))

    monkeypatch.setattr(comparing, "MOST_UNLABELLED", 500)
    monkeypatch.setattr(comparing, "MOST_LABELLED", 400)
    monkeypatch.setattr(comparing, "look", look)
    assert clf.accuracy().own.share > 0.9
    assert set(sizes) == {(400, 500)}


@pytest.mark.parametrize("method", ["svm", "direct"])
def test_several_classes_have_recalls_and_shares(method):
    X, y, truth = clouds(3)
    clf = CS3VMClassifier(method, time_limit=1).fit(X, y, n_positive=totals_of(y, truth))
    accuracy = clf.accuracy(n_repeats=1)
    hidden = np.isnan(y)
    true = np.mean(clf.transduction_[hidden] == truth[hidden])
    assert accuracy.own.low <= true <= accuracy.own.high
    assert len(accuracy.own.recalls) == 3
    assert accuracy.ranking is None


# -- where there is none -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("labels", "words"),
    [((1, 20), "“1.0” has one labelled row"), ((20, 1), "“0.0” has one"), ((0, 9), "“1.0” has no")],
)
def test_one_row_of_a_class_is_too_few_and_nothing_is_nan(labels, words):
    clf, _ = fitted(labels=labels)
    accuracy = clf.accuracy()
    assert not accuracy
    assert words in accuracy.sentence
    assert "at least two are needed" in str(accuracy)
    assert "NaN" not in json.dumps(accuracy.as_dict())
    assert words in str(clf.summary())


def test_without_unlabelled_rows_there_is_nothing_to_estimate():
    X, _, truth = planted(n=60)
    clf = CS3VMClassifier().fit(X, truth)
    assert clf.accuracy().why_not == "no row is unlabelled"
    assert clf.summary().accuracy is None


def test_a_class_that_no_unlabelled_row_has_needs_no_label():
    assert too_few(known(1, 5, (10.0, 0.0)), ("no", "yes")) == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_folds": 1}, "n_folds must be an integer of at least 2, got 1"),
        ({"n_folds": True}, "n_folds"),
        ({"n_repeats": 0}, "n_repeats must be an integer of at least 1"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"level": math.nan}, "level"),
    ],
)
def test_bad_parameters_are_refused(given, words):
    clf, _ = fitted(n=80, labels=(5, 5))
    with pytest.raises(InvalidProblemError, match=words):
        clf.accuracy(**given)


# -- in words ----------------------------------------------------------------------------------------
def made(gain_, error):
    own = Estimate("auto", "CS³VM (auto)", 0.7, 0.6, 0.8, (0.7, 0.7))
    other = Estimate("top_tau", "SVM + top-τ", 0.8, 0.7, 0.9, (0.8, 0.8), gain_, error)
    simple = Estimate("majority", "all “no”", 0.9, 0.9, 0.9, (1.0, 0.0), 0.2, 0.0)
    return Accuracy(("no", "yes"), (own, other, simple), (0.8, 0.05), 0.9, 5, 1)


def test_a_better_rule_is_named_with_the_way_to_get_it():
    (note,) = made(0.1, 0.05).notes
    assert "SVM + top-τ seems to be right more often, by 10 points (± 5" in note
    assert "try method='top_tau'" in note
    assert "try --method top_tau" in note.for_command_line()
    assert made(0.04, 0.05).notes == []


def test_the_summary_begins_with_the_accuracy():
    clf, _ = fitted(n=200)
    text = str(clf.summary())
    assert text.startswith("About ")
    assert "SVM + top-τ" in text
    assert not str(clf.summary(accuracy=False)).startswith("About ")
