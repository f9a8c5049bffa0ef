"""TopTau: any classifier that meets the totals, by scikit-learn's contract."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cs3vm import TopTau, Totals
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


# -- totals of all kinds -------------------------------------------------------------------------------
class Grouped:
    """Rows of two or three classes in two columns of groups, and their true totals."""

    def __init__(self, n_classes: int = 2, n: int = 240) -> None:
        rng = np.random.default_rng(n_classes)
        self.X = rng.normal(size=(n, 3))
        self.truth = np.digitize(self.X[:, 0] + 0.3 * rng.normal(size=n), [0.0, 0.6][: n_classes - 1])
        self.y = np.where(np.arange(n) < 40, self.truth, np.nan)
        self.free = np.isnan(self.y)
        self.groups = {"region": rng.choice(["n", "s", "w"], n), "sex": rng.choice(["f", "m"], n)}
        self.weight = rng.integers(1, 9, n) / 4.0

    def total(self, column, name, c, weight=None):
        rows = self.free & (self.groups[column] == name) & (self.truth == c)
        return int(rows.sum()) if weight is None else float(weight[rows].sum())

    def totals(self, column, c=1, weight=None):
        return {str(g): self.total(column, g, c, weight) for g in np.unique(self.groups[column])}

    def counts(self, values, column, name, weight=1.0):
        """The weighted sums of values over the unlabelled rows of a group."""
        rows = self.free & (self.groups[column] == name)
        return (np.broadcast_to(weight, len(rows))[rows] @ values[rows]).tolist()


MODELS = [None, LinearSVC(), RandomForestClassifier(20, random_state=0)]


@pytest.mark.parametrize("model", MODELS, ids=["logistic", "svc", "forest"])
def test_an_interval(model):
    data = Grouped()
    total = int(data.truth[data.free].sum())
    clf = TopTau(model).fit(data.X, data.y, n_positive=(total + 4, total + 9))
    assert total + 4 <= clf.transduction_[data.free].sum() <= total + 9
    assert total + 4 - 1e-6 <= clf.probabilities_[data.free, 1].sum() <= total + 9 + 1e-6
    np.testing.assert_allclose(clf.predict_proba(data.X)[data.free], clf.probabilities_[data.free])
    assert isinstance(clf.n_positive_, Totals)


@pytest.mark.parametrize("model", MODELS, ids=["logistic", "svc", "forest"])
def test_totals_by_group(model):
    data = Grouped()
    region, wanted = data.groups["region"], data.totals("region")
    wanted["n"] += 3
    clf = TopTau(model).fit(data.X, data.y, n_positive=wanted, groups=region)
    probable = clf.predict_proba(data.X, groups=region)
    np.testing.assert_allclose(probable[data.free], clf.probabilities_[data.free], atol=1e-6)
    for name, total in wanted.items():
        assert data.counts(clf.transduction_, "region", name) == total
        assert data.counts(probable, "region", name)[1] == pytest.approx(total, abs=1e-5)
    assert clf.predict_proba(data.X)[data.free, 1].sum() == pytest.approx(sum(wanted.values()), abs=1e-5)


def test_overlapping_margins_with_weights_and_an_interval():
    data = Grouped()
    region, sex = (data.totals(column, weight=data.weight) for column in ("region", "sex"))
    sex["f"] = (sex["f"] - 1.0, sex["f"] + 1.0)
    known = {"region": region, "sex": sex}
    clf = TopTau().fit(data.X, data.y, n_positive=known, groups=data.groups, sample_weight=data.weight)
    probable = clf.predict_proba(data.X, groups=data.groups)
    for column, totals in known.items():
        for name, total in totals.items():
            low, high = total if isinstance(total, tuple) else (total, total)
            count = data.counts(clf.transduction_, column, name, data.weight)
            assert low - 2.0 <= count <= high + 2.0  # a weight is at most 2
            expected = data.counts(probable, column, name, data.weight)[1]
            assert low - 1e-5 <= expected <= high + 1e-5


@pytest.mark.parametrize("columns", [("region",), ("region", "sex")])
@pytest.mark.parametrize("model", MODELS, ids=["logistic", "svc", "forest"])
def test_several_classes_by_group(model, columns):
    data = Grouped(3)
    known = {
        column: {
            str(name): {c: data.total(column, name, c) for c in range(3)}
            for name in np.unique(data.groups[column])
        }
        for column in columns
    }
    groups = {column: data.groups[column] for column in columns}
    clf = TopTau(model).fit(data.X, data.y, n_positive=known, groups=groups)
    one_hot, probable = np.eye(3)[clf.transduction_.astype(int)], clf.predict_proba(data.X, groups=groups)
    for column, table in known.items():
        for name, totals in table.items():
            assert data.counts(one_hot, column, name) == list(totals.values())
            assert data.counts(probable, column, name) == pytest.approx(list(totals.values()), abs=1e-4)


def test_totals_of_all_rows():
    data = Grouped()
    total = int(data.truth.sum())
    clf = TopTau(totals_of="all").fit(data.X, data.y, n_positive=total)
    assert clf.transduction_.sum() == total
    assert clf.n_positive_ == total - int(np.nansum(data.y))
    with pytest.raises(InvalidProblemError, match="totals_of='all'"):
        TopTau().fit(data.X, data.y, n_positive={"n": 900}, groups=data.groups["region"])


def test_groups_that_nobody_knows():
    data = Grouped()
    clf = TopTau().fit(data.X, data.y, n_positive=data.totals("region"), groups=data.groups["region"])
    elsewhere = np.full(len(data.X), "elsewhere")
    np.testing.assert_array_equal(clf.predict_proba(data.X, elsewhere), clf.predict_proba(data.X))
    with pytest.raises(InvalidProblemError, match="groups has the columns"):
        clf.predict_proba(data.X, data.groups)
    with pytest.raises(InvalidProblemError, match="no totals by group"):
        TopTau().fit(data.X, data.y, n_positive=9).predict_proba(data.X, elsewhere)


def test_a_group_without_any_and_a_full_one():
    data = Grouped()
    region = data.groups["region"]
    full = int(np.sum(data.free & (region == "s")))
    clf = TopTau().fit(data.X, data.y, n_positive={"n": 0, "s": full}, groups=region)
    probable = clf.predict_proba(data.X, region)
    assert probable[region == "n", 1].max() < 1e-9
    assert probable[region == "s", 1].min() > 1 - 1e-9
    assert not clf.transduction_[data.free & (region == "n")].any()


def test_equal_scores_of_a_group_are_divided_by_the_seed():
    X, y = np.r_[[[-1.0], [1.0]], np.zeros((40, 1))], np.r_[0.0, 1.0, np.full(40, np.nan)]
    groups = np.r_[["a", "b"], ["a"] * 20, ["b"] * 20]
    labels = [
        TopTau(random_state=s).fit(X, y, n_positive={"a": 5, "b": 9}, groups=groups).transduction_
        for s in (0, 1)
    ]
    for one in labels:
        assert [one[2:22].sum(), one[22:].sum()] == [5, 9]
    assert (labels[0] != labels[1]).any()
