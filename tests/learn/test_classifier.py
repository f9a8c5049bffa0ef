"""CS3VMClassifier: scikit-learn's contract, labels in any form, weights, units, and helpful errors."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from cs3vm import CS3VMClassifier, Problem, Result, Status, solve
from cs3vm.exceptions import CS3VMError, CS3VMWarning, InvalidProblemError, UnknownNameError
from cs3vm.learn.scaling import make_scaling


@parametrize_with_checks([CS3VMClassifier(), CS3VMClassifier("top_tau", standardize="paper", C=10.0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def blobs(seed=0, m=14, n=6, d=3):
    """Two overlapping clouds; the first n rows labelled, mostly positive; returns X, y with NaN, truth."""
    rng = np.random.default_rng(seed)
    truth = np.r_[np.arange(n) > 1, rng.random(m) < 0.4].astype(int)
    X = rng.normal(size=(n + m, d)) + 1.2 * truth[:, None]
    y = truth.astype(float)
    y[n:] = np.nan
    return X, y, truth


@pytest.fixture
def data():
    X, y, truth = blobs()
    return X, y, int(truth[np.isnan(y)].sum())


def quick(**parameters):
    return CS3VMClassifier("top_tau", **parameters)


# -- what a fit is -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("method", "standardize"),
    [("svm", "zscore"), ("top_tau", "paper"), ("cs3vm", "paper"), ("cs3vm", None), ("auto", "zscore")],
)
def test_a_fit_is_the_solution_of_the_problem(data, method, standardize):
    X, y, total = data
    clf = CS3VMClassifier(method, standardize=standardize, C=2.0, count_penalty=3.0, time_limit=20)
    clf.fit(X, y, n_positive=total)
    Z, known = make_scaling(standardize, X).transform(X), ~np.isnan(y)
    problem = Problem(
        Z[known], 2 * y[known] - 1, Z[~known], total, C=2.0, count_penalty=3.0, side_margin=1e-3
    )
    expected = solve(problem, method, time_limit=20)
    assert clf.result_.objective == pytest.approx(expected.objective, rel=1e-6)
    assert clf.result_.count == expected.count


@pytest.mark.parametrize("standardize", ["zscore", "paper", None])
def test_hyperplane_is_in_the_users_units(data, standardize):
    X, y, total = data
    X = X * [1.0, 1e3, 1e-2] + [5.0, -4e3, 0.0]
    clf = quick(standardize=standardize).fit(X, y, n_positive=total)
    assert clf.coef_.shape == (1, 3)
    assert clf.intercept_.shape == (1,)
    scores = clf.result_.problem.scores(clf.result_.coef, clf.result_.intercept)
    np.testing.assert_allclose(clf.decision_function(X[np.isnan(y)]), scores, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(X @ clf.coef_[0] + clf.intercept_, clf.decision_function(X))


def test_zscore_makes_the_units_irrelevant(data):
    X, y, total = data
    here = quick().fit(X, y, n_positive=total)
    there = quick().fit(X * [1e4, 1e-3, 7.0] - 11.0, y, n_positive=total)
    assert there.result_.objective == pytest.approx(here.result_.objective, rel=1e-8)
    np.testing.assert_array_equal(there.transduction_, here.transduction_)


def test_transduction_keeps_labels_and_meets_the_total(data):
    X, y, total = data
    clf = quick().fit(X, y, n_positive=total)
    known = ~np.isnan(y)
    np.testing.assert_array_equal(clf.transduction_[known], y[known])
    np.testing.assert_array_equal(clf.transduction_[~known], clf.result_.z)
    assert clf.transduction_[~known].sum() == total == clf.n_positive_


def test_prediction_agrees_with_transduction_off_the_plane(data):
    X, y, total = data
    clf = quick().fit(X, y, n_positive=total)
    off = np.flatnonzero(np.isnan(y))[~clf.result_.problem.on_plane(clf.result_.coef, clf.result_.intercept)]
    assert len(off) >= 10
    np.testing.assert_array_equal(clf.predict(X)[off], clf.transduction_[off])
    np.testing.assert_array_equal(clf.predict(X) == clf.classes_[1], clf.decision_function(X) >= 0)


@pytest.mark.parametrize("positive", [0, 1])
def test_a_row_on_the_plane_is_predicted_positive(positive):
    clf = quick(pos_label=positive).fit([[-1.0], [1.0]], [0, 1])
    clf.coef_, clf.intercept_ = np.array([[1.0]]), np.array([0.0])  # exactly, without rounding
    assert clf.predict([[-1.0], [0.0], [1.0]]).tolist() == [0, positive, 1]


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True)])
def test_fully_labelled_is_the_linear_svm(labels):
    X, _, truth = blobs(m=30)
    y = np.array(labels)[truth]
    ours = CS3VMClassifier(C=0.7, standardize=None).fit(X, y)
    theirs = SVC(kernel="linear", C=0.7, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.transduction_, y)
    assert ours.n_positive_ == 0


def test_fully_labelled_with_a_total_of_zero():
    X, _, truth = blobs()
    expected = CS3VMClassifier().fit(X, truth)
    np.testing.assert_allclose(CS3VMClassifier().fit(X, truth, n_positive=0).coef_, expected.coef_)


# -- labels ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (3, 8), (-1, 1)])
def test_names_of_the_classes_do_not_matter(data, names):
    X, y, total = data
    named = [None if np.isnan(v) else names[int(v)] for v in y]
    plain, clf = quick().fit(X, y, n_positive=total), quick().fit(X, named, n_positive=total)
    assert clf.classes_.tolist() == list(names)
    assert clf.pos_label_ == names[1]
    np.testing.assert_allclose(clf.coef_, plain.coef_)
    np.testing.assert_array_equal(clf.transduction_, np.array(names)[plain.transduction_.astype(int)])
    assert clf.predict(X).dtype == clf.classes_.dtype


def test_minus_one_marks_unlabelled_rows_beside_two_classes(data):
    X, y, total = data
    marked = np.where(np.isnan(y), -1, y).astype(int)
    clf = quick().fit(X, marked, n_positive=total)
    np.testing.assert_array_equal(clf.transduction_, quick().fit(X, y, n_positive=total).transduction_)
    assert clf.classes_.tolist() == [0, 1]


def test_pos_label_counts_the_other_class(data):
    X, y, total = data
    clf = quick(pos_label=0).fit(X, y, n_positive=len(y) - 6 - total)
    mirrored = quick().fit(X, 1 - y, n_positive=len(y) - 6 - total)
    assert clf.pos_label_ == 0
    assert clf.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(clf.coef_, -mirrored.coef_)
    np.testing.assert_array_equal(clf.transduction_, 1 - mirrored.transduction_)
    np.testing.assert_array_equal(clf.predict(X), 1 - mirrored.predict(X))
    assert (clf.transduction_[6:] == 0).sum() == len(y) - 6 - total


def test_one_labelled_class(data):
    X, y, total = data
    y[y == 0] = np.nan
    with pytest.warns(CS3VMWarning, match=r"16 of 16 .* the hyperplane ignores the features \(w = 0\)"):
        quick(side_margin=0).fit(X, y, n_positive=total)
    clf = quick().fit(X, y, n_positive=total)
    assert clf.undecided_.sum() == 16  # the rule says nothing about any of them
    assert clf.classes_.tolist() == [0, 1]
    assert (clf.transduction_[np.isnan(y)] == 1).sum() == total
    assert any("one class (the positive one)" in note for note in clf.summary(accuracy=False).notes)


# -- totals and weights ------------------------------------------------------------------------------
def test_positive_rate(data):
    X, y, _ = data
    assert quick().fit(X, y, positive_rate=0.3).n_positive_ == 4  # 0.3 · 14 = 4.2


def test_positive_rate_of_survey_weights(data):
    X, y, _ = data
    weight = np.linspace(0.5, 2.1, len(y))
    clf = quick().fit(X, y, positive_rate=0.3, sample_weight=weight)
    assert clf.n_positive_ == pytest.approx(0.3 * weight[np.isnan(y)].sum())


@pytest.mark.parametrize("standardize", ["zscore", "paper", None])
@pytest.mark.parametrize(
    ("method", "unlabelled"),
    [
        ("svm", [1, 2, 0, 1, 1, 3, 0, 1, 1, 2, 1, 0, 1, 1]),
        ("cs3vm", [1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1]),
    ],
)
def test_weights_repeat_and_remove_rows(data, method, unlabelled, standardize):
    X, y, _ = data
    weight = np.array([1, 2, 0, 1, 3, 1, *unlabelled])
    clf = CS3VMClassifier(method, standardize=standardize, time_limit=20)
    weighted = clone(clf).fit(X, y, n_positive=6, sample_weight=weight)
    repeated = clone(clf).fit(X.repeat(weight, axis=0), y.repeat(weight), n_positive=6)
    assert weighted.result_.objective == pytest.approx(repeated.result_.objective, rel=1e-6)
    assert weighted.result_.count == repeated.result_.count
    np.testing.assert_allclose(weighted.scaling_.shift, repeated.scaling_.shift, atol=1e-12)
    np.testing.assert_allclose(weighted.scaling_.factor, repeated.scaling_.factor, rtol=1e-12)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def test_rows_of_weight_zero_are_left_out_but_classified(data):
    X, y, total = data
    weight = np.ones(len(y))
    weight[[2, 8]] = 0
    X_far = X.copy()
    X_far[8] = 1e6 * np.sign(X[8])
    keep = weight > 0
    with_zeros = quick().fit(X_far, y, n_positive=total, sample_weight=weight)
    without = quick().fit(X[keep], y[keep], n_positive=total)
    np.testing.assert_allclose(with_zeros.coef_, without.coef_)
    np.testing.assert_array_equal(with_zeros.transduction_[keep], without.transduction_)
    assert with_zeros.transduction_[2] == y[2]
    assert with_zeros.transduction_[8] == without.predict(X_far[[8]])[0]


def test_weight_of_a_labelled_row_multiplies_C(data):
    X, y, total = data
    weight = np.where(np.isnan(y), 1.0, np.arange(1.0, len(y) + 1))
    clf = quick(C=0.5).fit(X, y, n_positive=total, sample_weight=weight)
    np.testing.assert_allclose(clf.result_.problem.C, 0.5 * weight[:6])
    np.testing.assert_allclose(clf.result_.problem.weights, 1.0)


# -- containers, persistence, composition ------------------------------------------------------------
@pytest.mark.parametrize("container", [csr_matrix, csr_array])
def test_sparse_rows_are_the_same_rows(data, container):
    X, y, total = data
    X[np.abs(X) < 0.5] = 0
    dense, sparse = quick().fit(X, y, n_positive=total), quick().fit(container(X), y, n_positive=total)
    np.testing.assert_allclose(sparse.coef_, dense.coef_)
    np.testing.assert_allclose(sparse.decision_function(container(X)), dense.decision_function(X))


def test_data_frames_keep_their_names(data):
    X, y, total = data
    frame = pd.DataFrame(X, columns=["age", "income", "size"])
    clf = quick().fit(frame, pd.Series(y), n_positive=total)
    assert clf.feature_names_in_.tolist() == ["age", "income", "size"]
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame.rename(columns={"size": "weight"}))


def test_clone_and_pickle(data):
    X, y, total = data
    clf = quick(pos_label=0, unlabeled=9, options={"gap": 1e-3})
    assert clone(clf).get_params() == clf.get_params()
    clf.set_params(unlabeled=None, options=None).fit(X, y, n_positive=total)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert again.result_.objective == clf.result_.objective


def test_pipeline(data):
    X, y, total = data
    pipe = make_pipeline(StandardScaler(), quick(standardize=None))
    pipe.fit(X, y, cs3vmclassifier__n_positive=total)
    np.testing.assert_array_equal(pipe[-1].transduction_, quick().fit(X, y, n_positive=total).transduction_)


def test_metadata_routing(data):
    X, y, total = data
    with sklearn.config_context(enable_metadata_routing=True):
        clf = quick(standardize=None).set_fit_request(n_positive=True, sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, clf)
        pipe.fit(X, y, n_positive=total, sample_weight=np.full(len(y), 1.0))
    assert pipe[-1].n_positive_ == total


@pytest.mark.parametrize("state", [None, 3, np.int64(3), np.random.RandomState(3)])
def test_random_state_may_be_anything_scikit_learn_accepts(state):
    X, y, _ = blobs(m=5)
    clf = CS3VMClassifier("rcm", time_limit=5, random_state=state, options={"n_clusters": 3})
    assert clf.fit(X, y, n_positive=2).result_.found


def test_options_reach_the_method_and_the_model(data):
    X, y, total = data
    clf = CS3VMClassifier("cs3vm", time_limit=20, side_margin=0.05, options={"gap": 1e-4})
    clf.fit(X, y, n_positive=total)
    assert clf.result_.problem.side_margin == 0.05
    assert np.abs(clf.decision_function(X[np.isnan(y)])).min() >= 0.05 - 1e-4
    with pytest.raises(UnknownNameError, match="no option 'speed'"):
        CS3VMClassifier(options={"speed": 11}).fit(X, y, n_positive=total)


def test_options_must_not_repeat_parameters(data):
    X, y, total = data
    with pytest.raises(
        InvalidProblemError, match="options has 'side_margin', 'solver', 'time_limit': set it as a parameter"
    ):
        quick(options={"time_limit": 5, "solver": "scip", "side_margin": 0.1}).fit(X, y, n_positive=total)


@pytest.mark.parametrize(
    ("margin", "advice"), [(0.0, r"raise time_limit \(now 60.0 s\)$"), (1.0, "or lower side_margin")]
)
def test_no_hyperplane_at_all(data, monkeypatch, margin, advice):
    X, y, total = data
    monkeypatch.setattr(
        "cs3vm.learn.fitting.solve", lambda problem, *_, **__: Result(problem, Status.TIME_LIMIT)
    )
    with pytest.raises(CS3VMError, match=r"no hyperplane was found \(time limit\): .*" + advice):
        quick(side_margin=margin).fit(X, y, n_positive=total)


# -- scores, summaries, warnings -----------------------------------------------------------------------
def test_score_is_the_accuracy(data):
    X, y, total = data
    truth = blobs()[2]
    clf = quick().fit(X, y, n_positive=total)
    expected = np.mean(clf.predict(X) == truth)
    assert clf.score(X, truth) == pytest.approx(expected)
    assert clf.score(X, truth.astype(object)) == pytest.approx(expected)
    with pytest.raises(InvalidProblemError, match="no label in 14 rows, the first in row 6"):
        clf.score(X, y)


def test_summary_puts_the_methods_side_by_side(data):
    X, y, total = data
    clf = CS3VMClassifier("cs3vm", time_limit=20).fit(X, y, n_positive=total)
    summary = clf.summary(accuracy=False)
    assert [row.method for row in summary.rows] == ["SVM", "SVM + top-τ", "CS³VM (cs3vm)"]
    svm, top, ours = summary.rows
    assert svm.count == solve(clf.result_.problem, "svm").count
    assert top.count == total
    assert ours.objective == clf.result_.objective <= min(svm.objective, top.objective) + 1e-9
    assert all(row.lower_bound <= ours.objective + 1e-9 for row in summary.rows)
    lines = summary.table.splitlines()
    assert " ".join(lines[0].split()) == "method positives on plane objective bound gap status seconds"
    assert f"{ours.count:g} of {total}" in lines[4]
    assert summary.table in str(summary)
    assert repr(summary) == str(summary)
    assert summary.to_frame().shape == (3, 10)


def test_summary_of_a_baseline_and_of_full_labels(data):
    X, y, total = data
    assert [r.method for r in quick().fit(X, y, n_positive=total).summary(accuracy=False).rows] == [
        "SVM",
        "SVM + top-τ",
    ]
    assert [r.method for r in CS3VMClassifier().fit(X, blobs()[2]).summary().rows] == ["SVM"]


def test_a_trivial_optimum_is_announced():
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    clf = CS3VMClassifier("cs3vm", standardize=None, time_limit=10)
    with pytest.warns(CS3VMWarning, match="no better than the trivial one"):
        clf.fit(X, [0, 1, None, None], n_positive=1)
    assert any("no better than the trivial one" in note for note in clf.summary(accuracy=False).notes)
    assert "! the answer is no better than the trivial one" in str(clf.summary(accuracy=False))


def test_a_miscounting_baseline_is_not_called_trivial(data):
    X, y, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = CS3VMClassifier("svm").fit(X, y, n_positive=0)
    assert clf.result_.is_trivial


def test_many_rows_on_the_plane_are_announced():
    X = np.array([[-1.0], [1.0], *[[0.0]] * 6])
    with pytest.warns(
        CS3VMWarning, match=r"6 of 6 unlabelled rows lie on the hyperplane, more than d \+ 1 = 2"
    ):
        quick(standardize=None, side_margin=0).fit(X, [0, 1] + [None] * 6, n_positive=3)


def test_no_warning_without_a_reason(data):
    X, y, total = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(X, y, n_positive=total)


# -- bad input: every message says what is wrong, where, and what to do --------------------------------
BAD_TOTALS = [
    ({}, "14 rows are unlabelled, but their total is missing"),
    ({"n_positive": 3, "positive_rate": 0.2}, "n_positive or positive_rate, not both"),
    ({"n_positive": "3"}, r"n_positive must be a number, got '3' \(str\)"),
    ({"n_positive": -1}, "n_positive must be zero or positive, got -1"),
    ({"n_positive": 15}, "n_positive is 15, but the 14 unlabelled rows weigh only 14"),
    ({"n_positive": 2.5}, "rows without weights can only add up to an integer: round it"),
    ({"n_positive": float("nan")}, "n_positive must be zero or positive, got nan"),
    ({"positive_rate": 30}, "positive_rate must be a number between 0 and 1, got 30"),
]


@pytest.mark.parametrize(("total", "message"), BAD_TOTALS)
def test_bad_totals(data, total, message):
    X, y, _ = data
    with pytest.raises(InvalidProblemError, match=message):
        quick().fit(X, y, **total)


@pytest.mark.parametrize(
    ("y", "how", "message"),
    [
        ([None] * 20, {"n_positive": 3}, "no labels: all 20 rows are unlabelled"),
        ([1] * 20, {}, "only one class is present"),
        ([0, 1, 2, 3, None] * 4, {}, "y has 4 classes: 0, 1, 2, 3. Give one total for each of them"),
        ([-1, 0, 1, 0] * 5, {}, "ambiguous -1: y has 3 values"),
        ([0, 1, 2, None] * 5, {"n_positive": 3}, "y has 3 classes: 0, 1, 2"),
        ([-1, 1] * 10, {"n_positive": 3}, "ambiguous -1: .* say unlabeled=-1"),
        ([0, 1] * 10, {"n_positive": 3}, "n_positive is given, but no row is unlabelled"),
        (["yes", None] * 10, {"n_positive": 3}, "only the class 'yes' is labelled"),
        ([0, 1], {}, "inconsistent numbers of samples"),
        ([0, 1] * 10, {"sample_weight": [0, 1] * 10}, "only one class is present"),
        ([1, None] * 10, {"n_positive": 3, "sample_weight": [0, 1] * 10}, "no labelled row has a positive"),
        ([0, 1] * 10, {"sample_weight": [-1, 1] * 10}, "must not be negative; row 0 has -1"),
    ],
)
def test_bad_labels(y, how, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(blobs()[0], y, **how)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite(data, value):
    X, y, total = data
    clf = quick().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y, n_positive=total)
    X[7, 2] = value
    message = "NaN or infinity: 1 values, the first in row 7, column 2"
    with pytest.raises(InvalidProblemError, match=message):
        quick().fit(X, y, n_positive=total)
    with pytest.raises(InvalidProblemError, match=message + r" \('c'\)"):
        clf.predict(pd.DataFrame(X, columns=["a", "b", "c"]))


def test_rows_that_are_text(data):
    X, y, total = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town="Trier", day="Mon")
    with pytest.raises(
        InvalidProblemError, match=r"'Trier' \(columns 'town', 'day'\): encode text as numbers"
    ):
        quick().fit(frame, y, n_positive=total)
    with pytest.raises(InvalidProblemError, match="could not convert string to float: 'x': encode text"):
        quick().fit([["x"]] * len(y), y, n_positive=total)


def test_rows_of_the_wrong_shape(data):
    X, y, total = data
    clf = quick().fit(X, y, n_positive=total)
    with pytest.raises(ValueError, match="X has 2 features, but CS3VMClassifier is expecting 3 features"):
        clf.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        quick().fit(np.zeros((0, 3)), [])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        quick().fit(np.zeros((20, 0)), y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, r"'C' parameter .* must be a float in the range \(0.0, inf\)"),
        ({"C": -1.0}, "Got -1.0"),
        ({"C": "1"}, "Got '1'"),
        ({"count_penalty": 0.0}, "'count_penalty' parameter"),
        ({"time_limit": -5}, "'time_limit' parameter"),
        ({"standardize": "minmax"}, r"'standardize' parameter .* must be a str among {.*'rank'"),
        ({"options": [1]}, "'options' parameter"),
        ({"pos_label": 7}, "pos_label is 7, but the classes are 0.0 and 1.0"),
        ({"method": "magic"}, "unknown method 'magic': choose one of svm, top_tau"),
        ({"solver": "magic"}, "unknown solver 'magic': choose 'auto' or one of"),
    ],
)
def test_bad_parameters(data, parameters, message):
    X, y, total = data
    with pytest.raises(ValueError, match=message):
        CS3VMClassifier(**{"method": "top_tau", **parameters}).fit(X, y, n_positive=total)


def test_names_are_checked_even_if_every_row_is_labelled():
    X, _, truth = blobs()
    with pytest.raises(UnknownNameError, match="unknown method 'magic'"):
        CS3VMClassifier("magic").fit(X, truth)
    with pytest.raises(UnknownNameError, match="unknown solver 'magic'"):
        CS3VMClassifier(solver="magic").fit(X, truth)


@pytest.mark.parametrize("call", ["predict", "decision_function"])
def test_not_fitted(data, call):
    with pytest.raises(NotFittedError):
        getattr(quick(), call)(data[0])
    with pytest.raises(NotFittedError):
        quick().summary()


# -- the documentation ---------------------------------------------------------------------------------
def test_every_parameter_has_an_entry_of_its_own():
    """A joint entry would show the type and the default of one parameter for the other."""
    entries = re.findall(r"^    ([\w, ]+)\n        \S", str(CS3VMClassifier.__doc__), re.MULTILINE)
    assert not [entry for entry in entries if "," in entry]
    assert set(CS3VMClassifier().get_params()) <= set(entries)
    X, y, _ = blobs()
    fitted = quick().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y, n_positive=3)
    attributes = {name for name in vars(fitted) if name.endswith("_")}
    assert attributes <= set(entries)
