"""Which labels can be relied on: words for every row, shares of draws, intervals of weights, and a proof."""

import json

import numpy as np
import pytest

from cs3vm import CS3VMClassifier, verify
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.certainty import CERTAIN, CHANGES, GIVEN, UNKNOWN, labels_of
from cs3vm.learn.replicates import replicates
from tests.learn.test_accuracy import planted
from tests.learn.test_several_classes import clouds, totals_of

pytestmark = pytest.mark.filterwarnings("ignore::cs3vm.exceptions.CS3VMWarning")


@pytest.fixture(scope="module")
def small():
    X, y, truth = planted(n=60, shift=2.5, labels=(6, 12))
    clf = CS3VMClassifier("auto", time_limit=20).fit(X, y, n_positive=truth[np.isnan(y)].sum())
    return clf, X, y, truth


def rule(X, y, total, **settings):
    return CS3VMClassifier("top_tau", **settings).fit(X, y, n_positive=total)


def test_every_row_has_a_word_and_given_labels_are_given(small):
    clf, _, y, _ = small
    words = clf.certain_
    assert set(words[~np.isnan(y)]) == {GIVEN}
    assert set(words[np.isnan(y)]) <= {CERTAIN, CHANGES, UNKNOWN}
    certainty = clf.certainty()
    assert certainty.count(CERTAIN) > 10
    assert sum(certainty.count(word) for word in (CERTAIN, CHANGES, UNKNOWN)) == np.isnan(y).sum()
    assert f"{certainty.count(CERTAIN)} of 42 labels" in certainty.proven


def test_certain_rows_are_labelled_as_their_side(small):
    clf, _, y, _ = small
    z = np.asarray(clf.result_.z) > 0
    words = clf.certain_[np.isnan(y)]
    assert np.array_equal(clf.transduction_[np.isnan(y)][words == CERTAIN] > 0, z[words == CERTAIN])


def test_a_larger_share_has_fewer_certain_rows(small):
    clf = small[0]
    near, far = (clf.certainty(share, 0) for share in (0.001, 0.5))
    assert not np.any((far.rows == CERTAIN) & (near.rows != CERTAIN))
    assert far.count(CERTAIN) < near.count(CERTAIN)


def test_the_proof_can_be_checked(small, tmp_path):
    clf, _, y, _ = small
    found = clf.certainty(n_resamples=0, proof=tmp_path / "certain.gz")
    verdict = verify(clf.result_.problem, tmp_path / "certain.gz")
    assert verdict, verdict.message
    assert np.count_nonzero(verdict.side) == found.certified > 10
    assert np.all(found.rows[np.isnan(y)][verdict.side != 0] == CERTAIN)


def test_it_is_found_once(small):
    clf = small[0]
    assert clf.certainty() is clf.certainty()
    assert clf.certainty() is not clf.certainty(0.1)


# -- stability -----------------------------------------------------------------------------------------
def test_stability_is_the_share_of_draws_that_keep_the_label(small):
    clf, _, y, _ = small
    fit, certainty = clf.fit_, clf.certainty(n_resamples=7)
    assert certainty.n_resamples == 7
    drawn = replicates(fit, 7)
    same = np.mean([labels_of(fit, one) == fit.answer for one in drawn], axis=0)
    assert certainty.stability[np.isnan(y)] == pytest.approx(same)
    assert np.all(certainty.stability[~np.isnan(y)] == 1)
    assert 0 < certainty.stable <= 42


def test_labels_of_a_draw_meet_the_total(small):
    fit = small[0].fit_
    for one in replicates(fit, 3):
        assert np.sum(labels_of(fit, one) == fit.labels.positive) == fit.totals[0]


def test_the_planes_own_labels_come_back_from_its_own_scores(small):
    fit = small[0].fit_
    own = replicates(fit, 1)[0]._replace(
        normals=np.array([fit.results[0].coef]), intercepts=np.array([fit.results[0].intercept])
    )
    assert np.array_equal(labels_of(fit, own), fit.answer)


def test_rows_far_from_the_plane_are_stable_and_near_ones_less():
    X, y, truth = planted(n=400, labels=(10, 10))
    clf = rule(X, y, truth[np.isnan(y)].sum())
    distance = np.abs(clf.decision_function(X))[np.isnan(y)]
    stability = clf.stability_[np.isnan(y)]
    near = distance < np.median(distance)
    assert stability[near].mean() < stability[~near].mean() - 0.05


def test_stable_rows_are_right_more_often():
    X, y, truth = planted(n=600, labels=(15, 15))
    hidden = np.isnan(y)
    clf = rule(X, y, truth[hidden].sum())
    right, stable = (clf.transduction_ == truth)[hidden], clf.stability_[hidden] >= 0.95
    assert right[stable].mean() > right[~stable].mean() + 0.1


def test_weights_have_intervals_around_them():
    X, y, truth = planted(n=300, labels=(40, 40))
    X = X * [1.0, 100.0, 1.0]
    clf = rule(X, y, truth[np.isnan(y)].sum())
    low, high = clf.certainty().weights
    assert low.shape == high.shape == clf.coef_.shape
    assert np.all((low < clf.fit_.planes.coef) & (clf.fit_.planes.coef < high))
    assert (high - low)[0, 1] < 0.05 * (high - low)[0, 0]  # in the units of the table
    assert low[0, 0] > 0


def test_a_kernel_has_no_weights():
    X, y, truth = planted(n=80, labels=(9, 9))
    assert rule(X, y, truth[np.isnan(y)].sum(), kernel="rbf").certainty().weights is None


def test_weights_of_rows_are_counted():
    X, y, truth = planted(n=120, labels=(12, 12))
    weight = np.where(np.arange(120) % 2, 2.0, 1.0)
    hidden = np.isnan(y)
    total = float((weight * truth)[hidden].sum())
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=total, sample_weight=weight)
    for one in replicates(clf.fit_, 3):
        positive = labels_of(clf.fit_, one) == 1
        assert abs(weight[hidden][positive].sum() - total) <= 1


# -- where nothing can be proven -----------------------------------------------------------------------
def test_several_classes_are_stable_but_not_proven():
    X, y, truth = clouds()
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=totals_of(y, truth))
    certainty = clf.certainty()
    assert "several classes" in certainty.proven
    assert certainty.count(CERTAIN) == 0
    assert certainty.stable > 0
    for one in replicates(clf.fit_, 2):
        assert np.bincount(labels_of(clf.fit_, one)).tolist() == clf.fit_.totals.tolist()


def test_a_simple_rule_proves_nothing():
    X, y, truth = planted(n=60, labels=(9, 9))
    certainty = rule(X, y, truth[np.isnan(y)].sum()).certainty()
    assert "does not search for the best answer" in certainty.proven
    assert "drawn again" in certainty.resampled


def test_without_unlabelled_rows():
    X, _, truth = planted(n=40)
    certainty = CS3VMClassifier().fit(X, truth).certainty()
    assert "no row is unlabelled" in str(certainty)
    assert certainty.resampled == ""
    assert set(certainty.rows) == {GIVEN}


def test_drawn_labels_are_not_certain():
    """Six equal rows, of which the total wants three."""
    X = np.array([[3.0], [2.5], [-3.0], [-2.5], *[[0.3]] * 6, [4.0], [-4.0]])
    y = np.array([1, 1, 0, 0, *[np.nan] * 8])
    clf = CS3VMClassifier("auto", time_limit=20).fit(X, y, n_positive=4)
    assert clf.undecided_.sum() == 6
    assert set(clf.certain_[clf.undecided_]) == {CHANGES}


@pytest.mark.parametrize("number", [-1, 2.5, True, "all"])
def test_an_impossible_number_of_draws_is_refused(small, number):
    with pytest.raises(InvalidProblemError, match="n_resamples must be an integer"):
        small[0].certainty(n_resamples=number)


def test_programs_get_plain_values(small):
    said = json.loads(json.dumps(small[0].certainty().as_dict(), allow_nan=False))
    assert said[CERTAIN] + said[CHANGES] + said[UNKNOWN] == 42
    assert said["n_resamples"] == 20
