"""Several classes: totals met exactly, two classes as before, classes without label, and helpful errors."""

import os
import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from cs3vm import CS3VMClassifier, LabeledKFold, Problem, Status, solve
from cs3vm.exceptions import CS3VMWarning, InvalidProblemError
from cs3vm.learn.class_totals import read_class_totals, whole_totals
from cs3vm.learn.planes import solve_planes

DATA = Path(os.environ.get("CS3VM_DATA", "../shared/pmlb"))


def clouds(k=3, per_class=20, seed=0):
    """Clouds on a circle, in order of class; the first three rows of each class are labelled."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(k), per_class)
    angle = 2 * np.pi * truth / k
    X = 3 * np.c_[np.cos(angle), np.sin(angle)] + rng.normal(size=(len(truth), 2))
    y = np.where(np.tile(np.arange(per_class), k) < 3, truth, np.nan)
    return X, y, truth


def totals_of(y, truth):
    labels, counts = np.unique(truth[np.isnan(y)], return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def quick(**parameters):
    return CS3VMClassifier("top_tau", **parameters)


def counts_of(labels):
    return dict(zip(*(part.tolist() for part in np.unique(labels, return_counts=True)), strict=True))


# -- totals ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", ["svm", "top_tau", "direct"])
def test_totals_are_met_and_labels_kept(method, kernel):
    X, y, _ = clouds()
    wanted = {0: 30, 1: 1, 2: 20}  # not at all as the clouds are
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf = CS3VMClassifier(method, kernel=kernel, time_limit=3, predictor="plane")
        clf.fit(X, y, n_positive=wanted)
    unlabelled = np.isnan(y)
    assert counts_of(clf.transduction_[unlabelled]) == wanted
    assert clf.transduction_[~unlabelled].tolist() == y[~unlabelled].tolist()
    assert clf.n_positive_ == wanted
    values = clf.decision_function(X)
    assert values.shape == (len(X), 3)
    assert clf.predict(X).tolist() == values.argmax(axis=1).tolist()
    agree = np.mean(clf.predict(X[unlabelled]) == clf.transduction_[unlabelled])
    assert agree == 1.0  # the prices are part of the intercepts, so the highest score meets the totals


def test_known_clouds_are_found():
    X, y, truth = clouds(k=5)
    clf = CS3VMClassifier("direct", time_limit=5).fit(X, y, n_positive=totals_of(y, truth))
    assert np.mean(clf.transduction_ == truth) > 0.9
    assert clf.coef_.shape == (5, 2)
    assert clf.intercept_.shape == (5,)
    np.testing.assert_allclose(X @ clf.coef_.T + clf.intercept_, clf.decision_function(X))


def test_each_class_is_the_binary_problem_of_the_class():
    X, y, truth = clouds()
    wanted = totals_of(y, truth)
    clf = CS3VMClassifier("cs3vm", standardize=None, C=2.0, time_limit=30).fit(X, y, n_positive=wanted)
    known = ~np.isnan(y)
    assert list(clf.result_) == [0, 1, 2]
    for label, result in clf.result_.items():
        signs = np.where(y[known] == label, 1, -1)
        problem = Problem(X[known], signs, X[~known], wanted[label], C=2.0, side_margin=1e-3)
        expected = solve(problem, "cs3vm", time_limit=30)
        assert result.objective == pytest.approx(expected.objective, rel=1e-6)
    planes = np.array([result.coef for result in clf.result_.values()])
    np.testing.assert_allclose(clf.coef_, planes)
    intercepts = [result.intercept for result in clf.result_.values()]
    np.testing.assert_allclose(clf.intercept_, np.array(intercepts) - clf.prices_)


def test_rows_are_shared_by_the_problems_of_the_classes():
    X, y, truth = clouds()
    clf = quick().fit(X, y, n_positive=totals_of(y, truth))
    first, *others = (result.problem for result in clf.result_.values())
    assert all(problem.U is first.U and problem.X is first.X for problem in others)


@pytest.mark.parametrize("make", [dict, pd.Series], ids=["dict", "Series"])
@pytest.mark.parametrize("names", [["a", "b", "c"], [10, 20, 30], [0.0, 1.0, -1.0]], ids=str)
def test_labels_of_any_type(names, make):
    X, y, truth = clouds()
    given = [None if np.isnan(v) else names[int(v)] for v in y]
    wanted = {names[c]: n for c, n in totals_of(y, truth).items()}
    clf = quick().fit(X, given, n_positive=make(wanted))
    assert clf.classes_.tolist() == sorted(names)
    assert counts_of(clf.transduction_[np.isnan(y)]) == wanted


def test_classes_have_the_type_of_the_labels():
    X, y, truth = clouds()
    marked = np.where(np.isnan(y), -1, y).astype(int)
    clf = quick().fit(X, marked, n_positive={float(c): n for c, n in totals_of(y, truth).items()})
    assert clf.classes_.dtype == clf.transduction_.dtype == marked.dtype


def test_minus_one_marks_unlabelled_rows_unless_it_has_a_total():
    X, y, truth = clouds()
    marked = np.where(np.isnan(y), -1, y).astype(int)
    wanted = totals_of(y, truth)
    clf = quick().fit(X, marked, n_positive=wanted)
    assert clf.transduction_.tolist() == quick().fit(X, y, n_positive=wanted).transduction_.tolist()
    with pytest.raises(InvalidProblemError, match="add up to 51, but there are 0 unlabelled rows"):
        quick().fit(X, marked, n_positive={-1: 0, **wanted})


def test_shares_are_rounded_by_largest_remainder():
    shares = read_class_totals(None, {"a": 0.34, "b": 0.33, "c": 0.33})
    assert whole_totals(shares, np.array(["a", "b", "c"]), np.ones(100)).tolist() == [34, 33, 33]
    assert whole_totals(shares, np.array(["a", "b", "c"]), np.ones(10)).tolist() == [4, 3, 3]
    X, y, _ = clouds()
    clf = quick().fit(X, y, positive_rate={0: 0.5, 1: 0.3, 2: 0.2})
    assert clf.n_positive_ == {0: 26, 1: 15, 2: 10}  # of 51: 25.5, 15.3, 10.2


# -- classes without label, weights, fully labelled ------------------------------------------------------
@pytest.mark.parametrize("method", ["top_tau", "direct"])
def test_a_class_without_label_is_found_by_its_total(method):
    X, y, truth = clouds(k=3)
    y[truth == 2] = np.nan
    with pytest.warns(CS3VMWarning, match=r"the class 2(\.0)? has no label: only the totals speak for it"):
        clf = CS3VMClassifier(method, time_limit=3).fit(X, y, n_positive=totals_of(y, truth))
    assert clf.classes_.tolist() == [0, 1, 2]
    assert counts_of(clf.transduction_[np.isnan(y)]) == totals_of(y, truth)
    assert np.mean(clf.transduction_ == truth) > 0.8


def test_a_class_may_have_labels_and_the_total_zero():
    X, y, _ = clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf = quick().fit(X, y, n_positive={0: 0, 1: 25, 2: 26})
    assert counts_of(clf.transduction_[np.isnan(y)]) == {1: 25, 2: 26}
    assert 0 not in clf.predict(X[np.isnan(y)])


def test_weights_of_labels_count_and_unlabelled_rows_can_be_left_out():
    X, y, truth = clouds()
    weight = np.where(np.isnan(y), 1.0, 5.0)
    weight[-1] = 0.0
    wanted = totals_of(y, truth) | {2: 16}
    clf = quick().fit(X, y, n_positive=wanted, sample_weight=weight)
    assert counts_of(clf.transduction_[:-1][np.isnan(y[:-1])]) == wanted
    assert clf.transduction_[-1] == clf.predict(X[-1:])[0]
    assert set(clf.result_[0].problem.C) == {5.0}
    weight[-1] = 2.5
    with pytest.raises(
        InvalidProblemError, match=r"1 unlabelled rows have a sample_weight other than 1.* 2.5"
    ):
        quick().fit(X, y, n_positive=wanted, sample_weight=weight)


def test_fully_labelled_rows_give_plain_machines():
    X, _, truth = clouds()
    clf = CS3VMClassifier(standardize=None).fit(X, truth)
    reference = LinearSVC(loss="hinge", C=1.0, intercept_scaling=100.0, max_iter=100_000).fit(X, truth)
    assert np.mean(clf.predict(X) == reference.predict(X)) > 0.95
    assert clf.transduction_.tolist() == truth.tolist()
    assert not clf.prices_.any()
    assert "class" in str(clf.summary(accuracy=False))


def test_the_time_is_shared_and_an_interrupt_ends_all_classes():
    X, y, truth = clouds(k=4)
    known = ~np.isnan(y)
    targets = [np.where(truth[known] == c, 1.0, -1.0) for c in range(4)]
    totals = [17.0] * 4
    problem = Problem(X[known], targets[0], X[~known], totals[0])
    seconds = []

    def how(one, limit, status=Status.FEASIBLE):
        seconds.append(limit)
        return replace(solve(one, "top_tau"), status=status)

    results = solve_planes(problem, targets, totals, how, 40.0)
    assert [result.problem.n_positive for result in results] == [17] * 4
    assert [result.problem.y.tolist() for result in results] == [target.tolist() for target in targets]
    assert seconds[0] == pytest.approx(10.0, abs=0.1)
    assert 10.0 < seconds[1] < seconds[2] < seconds[3] < 40.0  # what one class leaves is for the next
    seconds.clear()
    solve_planes(problem, targets, totals, lambda *a: how(*a, status=Status.INTERRUPTED), 40.0)
    assert len(seconds) == 1  # no search for the other three


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_labels_after_an_interrupt_rest_on_the_scores_of_all_classes(kernel):
    """As on the command line: after the interrupt every call of the callback raises it again."""
    X, y, truth = clouds()
    calls = []

    def stop(point):
        calls.append(point)
        if len(calls) > (kernel == "linear"):  # the other problems are settled within one call
            raise KeyboardInterrupt

    clf = CS3VMClassifier("direct", kernel=kernel, n_components=30, options={"callback": stop})
    clf.fit(X, y, n_positive=totals_of(y, truth))
    assert clf.result_[2].status is Status.INTERRUPTED
    assert not any(result.is_trivial for result in clf.result_.values())
    assert [("kernel" in result.extras) for result in clf.result_.values()] == [kernel == "rbf"] * 3
    assert np.mean(clf.transduction_ == truth) > 0.9


def test_totals_of_a_part_of_the_rows_still_add_up():
    X, y, _ = clouds()
    folds = LabeledKFold(3, keep=0.5, random_state=0)
    for train, _ in folds.split(X, y):
        part = folds.n_positive(train, y, {0: 20, 1: 20, 2: 11})
        assert sum(part.values()) == np.isnan(y[train]).sum() == 26
        clf = quick().fit(X[train], y[train], n_positive=part)
        assert counts_of(clf.transduction_[np.isnan(y[train])]) == part


def test_folds_ask_whether_minus_one_is_a_class():
    X, y, truth = clouds()
    marked = np.where(np.isnan(y), -1, y).astype(int)
    with pytest.raises(
        InvalidProblemError, match=r"ambiguous -1: y has 4 values.*LabeledKFold\(unlabeled=-1\)"
    ):
        next(LabeledKFold(3).split(X, marked))
    folds = LabeledKFold(3, unlabeled=-1)
    scores = cross_val_score(
        quick(), X, marked, cv=folds, params={"n_positive": totals_of(y, truth)}, error_score="raise"
    )
    assert len(scores) == 3
    assert np.isnan(y[next(folds.split(X, marked))[0]]).sum() == np.isnan(y).sum()


# -- two classes -------------------------------------------------------------------------------------
@pytest.mark.parametrize("pos_label", [None, "no", "yes"])
def test_two_totals_are_the_binary_fit(pos_label):
    X, y, _ = clouds(k=2)
    given = [None if np.isnan(v) else ["no", "yes"][int(v)] for v in y]
    clf = CS3VMClassifier("cs3vm", pos_label=pos_label, time_limit=20)
    one = clf.fit(X, given, n_positive=12 if pos_label != "no" else 22)
    labels, values, result = one.transduction_, one.decision_function(X), one.result_
    two = clf.fit(X, given, n_positive={"yes": 12, "no": 22})
    assert two.transduction_.tolist() == labels.tolist()
    assert two.result_.objective == pytest.approx(result.objective)
    np.testing.assert_allclose(two.decision_function(X), values)
    rates = clf.fit(X, given, positive_rate={"yes": 12 / 34, "no": 22 / 34})
    assert rates.n_positive_ == two.n_positive_


def test_two_totals_name_a_class_without_label_and_may_be_weighted():
    X, y, _ = clouds(k=2)
    given = np.where(np.isnan(y) | (y == 0), None, "yes")
    clf = quick().fit(X, given, n_positive={"yes": 17, "no": 20})
    assert clf.classes_.tolist() == ["no", "yes"]
    weight = np.where(np.isnan(y), 0.5, 1.0)
    clf = quick().fit(X, y, n_positive={0: 9.5, 1: 7.5}, sample_weight=weight)
    assert clf.n_positive_ == 7.5


def test_another_fit_forgets_the_first():
    X, y, truth = clouds()
    clf = quick().fit(X, y, n_positive=totals_of(y, truth))
    clf.fit(X, np.where(y == 2, np.nan, y), n_positive=10)
    assert not hasattr(clf, "prices_")
    assert clf.decision_function(X).shape == (len(X),)
    clf.fit(X, y, n_positive=totals_of(y, truth))
    assert not hasattr(clf, "pos_label_")
    clf.set_params(kernel="rbf").fit(X, y, n_positive=totals_of(y, truth))
    assert not hasattr(clf, "dropped_features_")
    assert pickle.loads(pickle.dumps(clf)).predict(X).tolist() == clf.predict(X).tolist()


# -- errors ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"n_positive": {0: 17, 1: 17, 2: 18}},
            r"add up to 52, but there are 51 unlabelled rows: .* 1 too many",
        ),
        ({"n_positive": {0: 17, 1: 10, 2: 17}}, r"add up to 44, but .* 7 too few.*not the whole population"),
        ({"n_positive": {0: 17, 1: 17, 2: -1}}, "of the class 2 must be zero or positive, got -1"),
        ({"n_positive": {0: 17, 1: 17.5, 2: 16.5}}, "has the total 17.5, .* integer: round it"),
        ({"n_positive": {0: 17, 1: 17, 2: None}}, "of the class 2 must be a number, got None"),
        ({"n_positive": {0: 17, 1: 17, 2: np.nan}}, "of the class 2 must be a number, got nan"),
        ({"n_positive": {0: 17, 1: 17, 2: True}}, "of the class 2 must be a number, got True"),
        ({"n_positive": {0: 17, 1: 17, 3: 17}}, r"no number for the class 2.0, which is among the labels"),
        (
            {"n_positive": {"0": 17, "1": 17, "2": 17}},
            "names classes by text, but the labels in y are numbers",
        ),
        ({"n_positive": {0: 51}}, "n_positive has 1 classes: give one number for each of at least two"),
        ({"n_positive": {0: 25, 1: 26}}, "y has 3 classes: 0.0, 1.0, 2.0. Give one total for each"),
        ({"n_positive": pd.Series([1, 25, 25], index=[0, 0, 1])}, "has the class 0 twice"),
        ({"n_positive": 10}, r"y has 3 classes: .* such as n_positive=\{0.0: 120, 1.0: 300, ...\}"),
        ({"positive_rate": {0: 0.5, 1: 0.4, 2: 0.2}}, "add up to 1.1, not to 1"),
        (
            {"positive_rate": {0: 0.5, 1: 0.6, 2: -0.1}},
            "positive_rate of the class 2 must be zero or positive",
        ),
        ({"n_positive": {0: 1}, "positive_rate": {0: 1}}, "n_positive or positive_rate, not both"),
        ({"n_positive": 3, "positive_rate": {0: 0.5, 1: 0.5, 2: 0}}, "n_positive or positive_rate, not both"),
        ({}, "y has 3 classes: .*Give one total for each of them"),
        (
            {"n_positive": {0: 17, 1: 17, 2: 17, np.nan: 9}},
            "a number for nan, which is no class but the mark",
        ),
        ({"n_positive": {0: 17, 1: 17, 2: 17, None: 9}}, "a number for None, which is no class but the mark"),
    ],
)
def test_bad_totals(how, message):
    X, y, _ = clouds()
    with pytest.raises(InvalidProblemError, match=message):
        quick().fit(X, y, **how)


def test_other_bad_input():
    X, y, truth = clouds()
    wanted = totals_of(y, truth)
    with pytest.raises(InvalidProblemError, match="pos_label is 1, but there are more than two classes"):
        quick(pos_label=1).fit(X, y, n_positive=wanted)
    with pytest.raises(InvalidProblemError, match="no labels: all 60 rows are unlabelled"):
        quick().fit(X, [None] * 60, n_positive={0: 20, 1: 20, 2: 20})
    categories = pd.Series(pd.Categorical.from_codes(np.nan_to_num(y, nan=-1).astype(int), ["a", "b", "c"]))
    with pytest.raises(InvalidProblemError, match="unknown class 'd': the categories of y are 'a', 'b', 'c'"):
        quick().fit(X, categories, n_positive={"a": 17, "b": 17, "c": 17, "d": 0})
    with pytest.raises(InvalidProblemError, match="no labelled row has a positive sample weight"):
        quick().fit(X, y, n_positive=wanted, sample_weight=np.isnan(y).astype(float))
    with pytest.raises(InvalidProblemError, match="2 too many"):
        quick().fit(X[:2], [0, 1], n_positive={0: 1, 1: 1})
    with pytest.raises(InvalidProblemError, match="positive_rate is given, but no row is unlabelled"):
        quick().fit(X, truth, positive_rate={0: 0.3, 1: 0.3, 2: 0.4})
    with pytest.raises(
        InvalidProblemError, match=r"pos_label is 'c', which has no number in n_positive: .*'a'"
    ):
        quick(pos_label="c").fit(X[:3], ["a", None, None], n_positive={"a": 1, "b": 1})
    with pytest.raises(InvalidProblemError, match=r"a number for '\?', which is no class but the mark"):
        quick(unlabeled="?").fit(X[:3], ["a", "?", "?"], n_positive={"a": 1, "b": 0, "?": 1})
    with pytest.raises(InvalidProblemError, match="options has 'proof', but with several classes"):
        quick(options={"proof": "p.gz"}).fit(X, y, n_positive=wanted)


# -- summary -----------------------------------------------------------------------------------------
def test_summary_has_a_row_per_class():
    X, y, _ = clouds()
    wanted = {0: 27, 1: 7, 2: 17}
    clf = CS3VMClassifier("direct", time_limit=3).fit(X, y, n_positive=wanted)
    summary = clf.summary(accuracy=False)
    assert [row.label for row in summary.rows] == ["0.0", "1.0", "2.0"]
    assert [row.total for row in summary.rows] == [27, 7, 17]
    assert sum(row.svm_count for row in summary.rows) == 51
    assert [row.objective for row in summary.rows] == [r.objective for r in clf.result_.values()]
    assert list(summary.to_frame().columns)[:4] == ["label", "labelled", "total", "svm_count"]
    assert "SVM says" in str(summary)
    assert "approximated" not in str(summary)
    approximated = quick(kernel="rbf", n_components=4).fit(X, y, n_positive=wanted).summary(accuracy=False)
    assert "objective, bound and proof are those of the approximated kernel" in str(approximated)


# -- real data -----------------------------------------------------------------------------------------
def penguins():
    path = DATA / "penguins" / "penguins.tsv.gz"
    if not path.exists():
        pytest.skip(f"no data in {DATA}: set CS3VM_DATA to the folder of the PMLB files")
    table = pd.read_csv(path, sep="\t").dropna()
    return table.drop(columns="target").to_numpy(float), table["target"].to_numpy()


@pytest.mark.parametrize(
    ("load", "accuracy"),
    [(lambda: load_iris(return_X_y=True), 0.75), (lambda: load_wine(return_X_y=True), 0.85), (penguins, 0.9)],
    ids=["iris", "wine", "penguins"],
)
def test_real_data_with_biased_labels(load, accuracy):
    X, truth = load()
    rng = np.random.default_rng(0)
    chance = np.array([0.05, 0.1, 0.2])[truth]  # the labels are far from representative
    y = np.where(rng.random(len(truth)) < chance, truth, np.nan)
    wanted = totals_of(y, truth)
    clf = CS3VMClassifier("direct", time_limit=6).fit(X, y, n_positive=wanted)
    assert counts_of(clf.transduction_[np.isnan(y)]) == wanted
    assert np.mean(clf.transduction_ == truth) >= accuracy  # a floor: this is about gross mistakes
