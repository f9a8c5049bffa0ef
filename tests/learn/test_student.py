"""The student: an SVM that learns from all labels, given and found, and classifies new rows."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import SVC
from typer.testing import CliRunner

from cs3vm import CS3VMClassifier
from cs3vm.cli.app import app
from cs3vm.exceptions import CS3VMWarning
from cs3vm.learn import student
from cs3vm.learn.student import NEAR, PRICE, SOFT, student_predicts, trusted
from cs3vm.tables.encoding import Column, Encoding
from cs3vm.tables.model_file import load_model, make_model, save_model
from tests.learn.test_several_classes import clouds, totals_of


def fitted(k=2, **parameters):
    """Clouds of k classes, and a classifier fitted to them."""
    X, y, truth = clouds(k)
    clf = CS3VMClassifier(**{"method": "top_tau", "kernel": "rbf"} | parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf.fit(X, y, n_positive=totals_of(y, truth))
    return X, y, clf


def by_hand(clf):
    """The mean of both SVMs of the first plane's class, each by scikit-learn, as normal and intercept."""
    problem, fit = clf.fit_.problem, clf.fit_
    codes = np.append(fit.labels.codes[fit.labels.codes >= 0], fit.answer)
    signs = np.where(codes == fit.labels.plane_classes[0], 1.0, -1.0)
    scores = problem.U @ fit.results[0].coef + fit.results[0].intercept
    near, soft = (
        np.append(np.ones(problem.n), trusted(scores, signs[problem.n :], problem.weights, share))
        for share in (NEAR, SOFT)
    )
    prices = PRICE * np.append(problem.C, clf.C * problem.weights)
    rows = np.vstack([problem.X, problem.U])
    hinge = SVC(kernel="linear", C=1.0, tol=1e-8).fit(rows, signs, sample_weight=prices * near)
    squares = Ridge(alpha=1.0, tol=1e-12).fit(rows, signs * soft, sample_weight=prices)
    return 0.5 * (hinge.coef_[0] + squares.coef_), 0.5 * (hinge.intercept_[0] + squares.intercept_)


# -- who predicts --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("predictor", "method", "has_kernel", "expected"),
    [
        ("auto", "direct", True, True),
        ("auto", "top_tau", True, True),
        ("auto", "direct", False, False),
        ("auto", "svm", True, False),
        ("plane", "direct", True, False),
        ("student", "direct", False, True),
        ("student", "svm", True, True),
    ],
)
def test_a_student_predicts_with_kernels_unless_told_otherwise(predictor, method, has_kernel, expected):
    assert student_predicts(predictor, method, has_kernel=has_kernel, has_unlabelled=True) is expected
    assert not student_predicts(predictor, method, has_kernel=has_kernel, has_unlabelled=False)


@pytest.mark.parametrize("bad", ["teacher", None, 1])
def test_an_unknown_predictor_is_named(bad):
    with pytest.raises(ValueError, match=r"'predictor' parameter of CS3VMClassifier must be a str among"):
        CS3VMClassifier(predictor=bad).fit([[0.0], [1.0]], [0, 1])


def test_without_unlabelled_rows_the_plane_predicts():
    X, y, _ = fitted()
    X, y = X[~np.isnan(y)], y[~np.isnan(y)]
    by_plane, by_student = (
        CS3VMClassifier(kernel="rbf", predictor=predictor).fit(X, y) for predictor in ("plane", "student")
    )
    np.testing.assert_array_equal(by_plane.decision_function(X), by_student.decision_function(X))
    assert by_student.fit_.n_differing == 0
    assert by_student.fit_.student_notes == []


# -- what it learns ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", ["linear", "laplacian"])
@pytest.mark.parametrize("positive", [0.0, 1.0])
def test_it_is_the_mean_of_two_svms_of_all_labels(kernel, positive):
    X, _, clf = fitted(kernel=kernel, predictor="student", C=3.0, pos_label=positive)
    w, b = (part[0] for part in clf.fit_.student_planes)
    normal, intercept = by_hand(clf)
    np.testing.assert_allclose(w, normal, atol=1e-4)
    assert b == pytest.approx(intercept, abs=1e-4)
    features = clf.scaling_.transform(X)
    features = features if clf.kernel_map_ is None else clf.kernel_map_.transform(features)
    sign = 1 if positive else -1
    np.testing.assert_allclose(clf.decision_function(X), sign * (features @ w + b), atol=1e-8)


def test_rows_next_to_the_plane_teach_less():
    scores = np.append(np.linspace(0.001, 2.0, 40), np.linspace(-0.001, -3.0, 60))
    target = np.sign(scores)
    trust = trusted(scores, target, np.ones(100))
    by_hand = np.minimum(1.0, (np.append(np.arange(40), np.arange(60)) + 0.5) / (NEAR * 100))
    np.testing.assert_allclose(trust, by_hand)
    np.testing.assert_allclose(trusted(scores, target, np.full(100, 7.0)), trust)  # units do not matter
    order = np.random.default_rng(0).permutation(100)
    np.testing.assert_allclose(trusted(scores[order], target[order], np.ones(100)), trust[order])
    weights = np.append(2.0, np.ones(98))  # a row with weight 2 is two rows
    twice = np.append(scores[0], scores[:99])
    np.testing.assert_allclose(
        trusted(scores[:99], target[:99], weights), trusted(twice, np.sign(twice), np.ones(100))[1:]
    )


def test_rows_that_tie_teach_alike():
    trust = trusted(np.array([0.3, 0.3, 0.3 + 1e-7, 0.9]), np.ones(4), np.ones(4))
    assert trust[0] == trust[1] == trust[2]


def test_weights_are_prices():
    X, y, truth = clouds(2)
    weight = 1.0 + np.arange(len(X)) % 3
    total = float(weight[np.isnan(y)] @ (truth[np.isnan(y)] == 1))
    clf = CS3VMClassifier("top_tau", kernel="rbf").fit(X, y, n_positive=total, sample_weight=weight)
    w, b = (part[0] for part in clf.fit_.student_planes)
    assert len(np.unique(clf.fit_.problem.weights)) > 1
    normal, intercept = by_hand(clf)
    np.testing.assert_allclose(w, normal, atol=1e-4)
    assert b == pytest.approx(intercept, abs=1e-4)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_rows_well_inside_their_class_keep_their_label(k):
    X, _y, clf = fitted(k, method="direct", time_limit=2)
    values = clf.decision_function(X)
    ordered = np.sort(values, axis=1) if k > 2 else np.column_stack([-np.abs(values), np.abs(values)])
    sure = ordered[:, -1] - ordered[:, -2] > 1.0
    assert sure.mean() > 0.5
    np.testing.assert_array_equal(clf.predict(X)[sure], clf.transduction_[sure])
    assert np.mean(clf.predict(X) == clf.transduction_) > 0.9


@pytest.mark.parametrize("k", [2, 3])
def test_rows_on_which_it_differs_are_counted_and_named(k):
    X, y, _truth = clouds(k)
    wanted = dict.fromkeys(range(k), 1)
    wanted[0] = int(np.isnan(y).sum()) - k + 1  # not at all as the clouds are
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf = CS3VMClassifier("top_tau", kernel="rbf").fit(X, y, n_positive=wanted)
    differing = int(np.sum(clf.predict(X) != clf.transduction_))
    assert clf.fit_.n_differing == differing > 0
    (note,) = (n for n in clf.summary(accuracy=False).notes if "student" in n)
    assert f"on {differing} of the {len(X)} rows of the fit predict differs from transduction_" in note
    assert "--predictor plane" in note.for_command_line()


def test_a_class_that_nobody_has_is_never_predicted():
    X, y, _truth = clouds(3)
    given = np.where(y == 2, np.nan, y)
    wanted = {0: 20, 1: int(np.isnan(given).sum()) - 20, 2: 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf = CS3VMClassifier("top_tau", kernel="rbf").fit(X, given, n_positive=wanted)
    assert (clf.decision_function(X)[:, 2] == -1.0).all()


def test_of_many_rows_some_teach(monkeypatch):
    monkeypatch.setattr(student, "MAX_ROWS", 20)
    rng = np.random.default_rng(0)
    for n, m, taken in [(5, 10, (5, 10)), (5, 100, (5, 15)), (100, 5, (15, 5)), (100, 100, (10, 10))]:
        labelled, unlabelled = student._teachers(n, m, rng)
        assert (len(labelled), len(unlabelled)) == taken
        assert len(np.unique(labelled)) == len(labelled)
        assert unlabelled.max() < m
    X, _, clf = fitted()
    _, _, again = fitted()
    np.testing.assert_array_equal(clf.decision_function(X), again.decision_function(X))
    assert np.mean(clf.predict(X) == clf.transduction_) > 0.8


# -- where it goes -------------------------------------------------------------------------------------------
def test_a_copy_predicts_alike():
    X, _, clf = fitted()
    again = pickle.loads(pickle.dumps(clf))  # before the student was asked for
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("predictor", ["plane", "student"])
def test_the_model_file_predicts_as_the_classifier(tmp_path, k, kernel, predictor):
    X, y, clf = fitted(k, kernel=kernel, predictor=predictor)
    encoding = Encoding((Column("a", "number", (), None), Column("b", "number", (), None)))
    save_model(make_model(clf.fit_, encoding, "class", {}), tmp_path / "m.json")
    model = load_model(tmp_path / "m.json")
    np.testing.assert_allclose(model.scores(X), clf.decision_function(X), rtol=1e-12, atol=1e-12)
    assert model.labels(model.scores(X)).tolist() == [str(label) for label in clf.predict(X)]
    by_plane = clf.set_params(predictor="plane").fit(X, y, n_positive=clf.n_positive_)
    np.testing.assert_allclose(model.plane_scores(X), by_plane.decision_function(X), rtol=1e-9, atol=1e-9)
    version = json.loads((tmp_path / "m.json").read_text())["version"]
    older = 3 if k == 3 else 1 if kernel == "linear" else 2
    assert version == (4 if predictor == "student" else older)
    save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


@pytest.mark.parametrize("words", [(), ("--predictor", "plane")])
def test_the_command_line_fits_and_predicts_with_it(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    X, y, truth = clouds(2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.to_csv("new.csv", index=False)
    frame["class"] = pd.Series(y).map({0.0: "no", 1.0: "yes"})
    frame.to_csv("t.csv", index=False)
    total = totals_of(y, truth)[1]
    fit = ["fit", "t.csv", "--label", "class", "--n-positive", total, "--kernel", "rbf", "--no-report"]
    fit += ["--no-accuracy", "--no-certainty", "--work-limit", "1e7"]
    said = run(*fit, "--json", *words)
    run("predict", "t.model.json", "new.csv")
    labels = pd.read_csv("t.labels.csv")["predicted"]
    predicted = pd.read_csv("new.predictions.csv")["predicted"]
    told = json.loads(said.stdout)["predictor"]
    assert told["kind"] == ("plane" if words else "student")
    if not words:
        assert told["differs"] == int((labels != predicted).sum())
        out = run(*fit, "--force")
        assert f"A student classifies new rows: on {told['differs']} of the {len(X)} rows" in out.stdout


def test_the_command_line_names_the_predictors():
    result = CliRunner().invoke(app, ["fit", "t.csv", "--label", "class", "--predictor", "teacher"])
    assert result.exit_code == 2
    assert "'teacher' is not one of" in result.output


def run(command, *words):
    result = CliRunner().invoke(app, [command, *map(str, words)])
    assert result.exit_code == 0, result.output
    return result
