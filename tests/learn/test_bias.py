"""How the labelled rows differ: differences by hand, the classes, and the words for what was found."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.bias import Bias, ClassBias, FeatureBias, look_at_bias
from tests.learn.test_accuracy import planted
from tests.learn.test_several_classes import clouds, totals_of

pytestmark = pytest.mark.filterwarnings("ignore::cs3vm.exceptions.CS3VMWarning")


def fitted(X, y, total, weight=None, **settings):
    return CS3VMClassifier("top_tau", **settings).fit(X, y, n_positive=total, sample_weight=weight)


@pytest.fixture(scope="module")
def by_class():
    X, y, truth = planted(labels=(60, 20))
    return fitted(X, y, truth[np.isnan(y)].sum()), X, y, truth


@pytest.fixture(scope="module")
def by_more():
    """Only rows with a large third feature have a label."""
    X, _, truth = planted(n=900)
    order = np.argsort(-X[:, 2], kind="stable")
    y = np.full(len(X), np.nan)
    for c, number in ((1, 40), (0, 60)):
        y[order[truth[order] == c][:number]] = c
    return fitted(X, y, truth[np.isnan(y)].sum())


def test_differences_are_those_of_the_means_in_standard_deviations(by_class):
    clf, X, y, truth = by_class
    others, bias = X[np.isnan(y)], clf.bias()
    unit = others.std(axis=0)
    raw = (X[~np.isnan(y)].mean(axis=0) - others.mean(axis=0)) / unit
    share = truth[np.isnan(y)].mean()
    weighted = share * X[y == 1].mean(axis=0) + (1 - share) * X[y == 0].mean(axis=0)
    assert [one.raw for one in bias.features] == pytest.approx(raw)
    assert [one.weighted for one in bias.features] == pytest.approx((weighted - others.mean(axis=0)) / unit)
    assert [one.name for one in bias.features] == ["x0", "x1", "x2"]


def test_classes_and_the_effective_number(by_class):
    clf, _, y, truth = by_class
    bias = clf.bias()
    share = truth[np.isnan(y)].mean()
    assert bias.classes == (
        ClassBias("0.0", 20, 0.25, pytest.approx(1 - share)),
        ClassBias("1.0", 60, 0.75, pytest.approx(share)),
    )
    weights = np.repeat([share / 60, (1 - share) / 20], [60, 20])
    assert bias.effective == pytest.approx(1 / np.sum(weights**2))
    assert bias.effective < bias.labelled == 80


def test_bias_by_class_only_is_not_found(by_class):
    bias = by_class[0].bias()
    assert not bias.is_found
    assert bias.notes == []
    assert bias.differing == ()
    assert "differ no more than by chance" in bias.sentence
    assert "standard deviations in one feature would often go unnoticed" in bias.sentence


def test_bias_by_more_is_found_named_and_explained(by_more):
    bias = by_more.bias()
    assert bias.p_value < 0.001
    assert bias.differing[0].name == "x2"
    assert bias.largest[0].name == "x2"
    assert "most surely in x2 (+" in bias.sentence
    (note,) = bias.notes
    assert "how many labels are right" in note
    assert "numbers by group" in note
    assert "sample_weight" in note
    assert "sample_weight" not in note.for_command_line()
    assert "differs" in str(bias)


def test_the_summary_says_it(by_more):
    summary = by_more.summary(accuracy=False)
    assert summary.bias.is_found
    assert summary.bias.sentence in str(summary)
    assert summary.bias.notes[0] in summary.notes


def test_weights_of_rows_are_used():
    X, y, truth = planted(labels=(40, 40))
    weight = np.where(X[:, 0] > 0.5, 3.0, 1.0)
    hidden = np.isnan(y)
    total = float((weight * truth)[hidden].sum())
    bias = fitted(X, y, total, weight).bias()
    share = total / weight[hidden].sum()
    centre = np.average(X[hidden], axis=0, weights=weight[hidden])
    unit = np.sqrt(np.average((X[hidden] - centre) ** 2, axis=0, weights=weight[hidden]))
    means = [np.average(X[y == c], axis=0, weights=weight[y == c]) for c in (0, 1)]
    expected = ((1 - share) * means[0] + share * means[1] - centre) / unit
    assert [one.weighted for one in bias.features] == pytest.approx(expected)
    assert bias.classes[1].known == pytest.approx(share)
    assert not bias.is_found


def test_equal_rows_twice_are_rows_of_weight_two():
    X, y, truth = planted(n=200, labels=(20, 20))
    total = truth[np.isnan(y)].sum()
    heavy = fitted(X, y, 2 * total, np.full(len(X), 2.0)).bias()
    twice = fitted(np.repeat(X, 2, axis=0), np.repeat(y, 2), 2 * total).bias()
    assert [one[1:3] for one in heavy.features] == [pytest.approx(one[1:3]) for one in twice.features]


def test_several_classes():
    X, y, truth = clouds()
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=totals_of(y, truth))
    bias = clf.bias()
    assert [one.name for one in bias.classes] == [str(name) for name in clf.classes_]
    assert sum(one.share for one in bias.classes) == pytest.approx(1)
    assert sum(one.known for one in bias.classes) == pytest.approx(1)
    assert bias.p_value is not None


def test_names_of_features_are_those_of_the_frame_or_given():
    pd = pytest.importorskip("pandas")
    X, y, truth = planted(n=100, labels=(9, 9))
    clf = fitted(pd.DataFrame(X, columns=["age", "income", "hours"]), y, truth[np.isnan(y)].sum())
    assert [one.name for one in clf.bias().features] == ["age", "income", "hours"]
    assert [one.name for one in look_at_bias(clf.fit_, ["a", "b", "c"]).features] == ["a", "b", "c"]


# -- where it cannot be tested -----------------------------------------------------------------------
def test_a_class_without_label_cannot_be_weighted():
    X, y, truth = planted()
    y[y == 0] = np.nan
    clf = CS3VMClassifier("top_tau", pos_label=1).fit(X, y, n_positive=truth[np.isnan(y)].sum())
    bias = clf.bias()
    assert bias.p_value is None
    assert "cannot be tested: the class “0.0” has no labelled row" in bias.sentence
    assert bias.as_dict()["by_class_only"] is None
    assert len(bias.features) == 3


def test_without_unlabelled_rows_there_is_nothing_to_compare():
    X, _, truth = planted(n=50)
    clf = CS3VMClassifier().fit(X, truth)
    assert "no row is unlabelled" in str(clf.bias())
    assert clf.summary().bias is None


def test_a_kernel_matrix_has_no_features():
    X, y, truth = planted(n=60, labels=(9, 9))
    clf = fitted(X @ X.T, y, truth[np.isnan(y)].sum(), kernel="precomputed")
    assert "the columns of a kernel matrix are no features" in clf.bias().sentence


def test_another_kernel_compares_the_features_themselves():
    X, y, truth = planted(n=100, labels=(9, 9))
    total = truth[np.isnan(y)].sum()
    kernel = fitted(X, y, total, kernel="rbf").bias()
    assert kernel.as_dict() == fitted(X, y, total).bias().as_dict()


def test_sparse_rows_of_many_columns():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((120, 400)) < 0.05, rng.random((120, 400)), 0.0)
    y = np.full(120, np.nan)
    y[:20], y[20:40] = 1, 0
    rows[:40, 7] = 1.0
    bias = fitted(csr_array(rows), y, 40).bias()
    assert len(bias.features) == 400
    assert bias.largest[0].name == "x7"
    expected = (rows[:40, 7].mean() - rows[40:, 7].mean()) / rows[40:, 7].std()
    assert bias.features[7].raw == pytest.approx(expected)


def test_a_feature_that_is_constant_among_the_others_has_a_finite_difference():
    X, y, truth = planted(n=100, labels=(9, 9))
    X[:, 1] = np.where(np.isnan(y), 0.0, 1.0)
    one = fitted(X, y, truth[np.isnan(y)].sum()).bias().features[1]
    assert np.isfinite(one.raw)
    assert one.raw > 1


@pytest.mark.parametrize("level", [0, 1, 2.0, "much", True, None])
def test_an_impossible_level_is_refused(by_class, level):
    with pytest.raises(InvalidProblemError, match="level must be between 0 and 1"):
        by_class[0].bias(level)


def test_programs_get_plain_values(by_more):
    said = json.loads(json.dumps(by_more.bias().as_dict(), allow_nan=False))
    assert said["by_class_only"] is False
    assert {one["name"] for one in said["features"]} == {"x0", "x1", "x2"}


def test_many_features_are_cut_and_said():
    features = tuple(FeatureBias(f"f{i}", i / 10, 0.0) for i in range(25))
    shown = str(Bias((ClassBias("a", 1, 1.0, 0.5), ClassBias("b", 1, 0.0, 0.5)), features, 2.0, 0.5))
    assert "and 15 features that differ less" in shown
    assert "f24" in shown
    assert "f3 " not in shown
