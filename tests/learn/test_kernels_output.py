"""Kernels beyond the classifier: the model file, the command line, the report, the figures."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cs3vm import CS3VMClassifier, Result
from cs3vm.cli.app import app
from cs3vm.exceptions import ModelFileError
from cs3vm.tables.encoding import Column, Encoding
from cs3vm.tables.model_file import _checksum, load_model, make_model, save_model
from tests.learn.test_kernel_map import fit, rings, rows

ENCODING = Encoding((Column("a", "number", (), None), Column("b", "number", (), None)))


# -- the model file ------------------------------------------------------------------------------------------
@pytest.fixture
def path(tmp_path):
    save_model(
        make_model(fit("poly", "top_tau", coef0=1.0).fit_, ENCODING, "inside", {}), tmp_path / "m.json"
    )
    return tmp_path / "m.json"


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize(("positive", "standardize"), [(0.0, "zscore"), (1.0, "rank")])
def test_a_model_file_scores_as_the_classifier(tmp_path, kernel, positive, standardize):
    clf = fit(kernel, "top_tau", gamma=0.4, degree=2, coef0=1.0, pos_label=positive, standardize=standardize)
    save_model(make_model(clf.fit_, ENCODING, "inside", {}), tmp_path / "m.json")
    model = load_model(tmp_path / "m.json")
    new, sign = rows(9, d=2), 1 if positive else -1
    np.testing.assert_allclose(model.scores(new), sign * clf.decision_function(new), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.labels(model.scores(new)), clf.predict(new).astype(str))
    save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


@pytest.mark.parametrize(
    "change", [lambda v: v[0].reverse(), lambda v: v[0].pop(), lambda v: v.pop(), lambda v: v[0].clear()]
)
def test_ranks_that_do_not_fit_are_refused(tmp_path, change):
    save_model(
        make_model(fit("rbf", "top_tau", standardize="rank").fit_, ENCODING, "inside", {}), tmp_path / "m"
    )
    document = json.loads((tmp_path / "m").read_text())
    change(document["model"]["scaling"]["values"])
    document["checksum"] = _checksum(document["model"])
    (tmp_path / "m").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=r"scaling|contradicts itself"):
        load_model(tmp_path / "m")


def test_models_without_a_kernel_can_be_read_by_older_versions(tmp_path):
    save_model(make_model(fit("linear", "top_tau").fit_, ENCODING, "inside", {}), tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["version"] == 1
    assert "kernel" not in document["model"]


def test_a_model_file_holds_the_landmarks_and_no_matrix(path):
    document = json.loads(path.read_text())
    kernel = document["model"]["kernel"]
    assert document["version"] == 4  # with a student
    assert set(kernel) == {"name", "gamma", "degree", "coef0", "landmarks"}
    assert np.shape(kernel["landmarks"]) == (len(document["model"]["coef"][0]), 2)
    assert document["model"]["result"]["kernel"]["exact"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b["kernel"].update(name="eval"), "'kernel' in model has a wrong value"),
        (lambda b: b["kernel"].update(name="precomputed"), "'kernel' in model has a wrong value"),
        (lambda b: b["kernel"].update(gamma=0.0), "'kernel' in model has a wrong value"),
        (lambda b: b["kernel"].update(degree=2.5), "'kernel' in model has a wrong value"),
        (lambda b: b["kernel"].update(degree=True), "'kernel' in model has a wrong value"),
        (lambda b: b["kernel"].update(landmarks=[1.0]), "'kernel' in model has a wrong value"),
        (lambda b: b["kernel"].update(code="x"), "'kernel' in model has a wrong value"),
        (lambda b: b["kernel"]["landmarks"].pop(), "9 landmarks do not fit its 10 coefficients"),
        (lambda b: b["kernel"]["landmarks"][0].pop(), "do not fit its 10 coefficients and 2 features"),
        (lambda b: b.pop("kernel"), "model has no 'kernel'"),
        (lambda b: b.pop("student"), "model has no 'student'"),
        (lambda b: b["student"].pop("intercept"), "'student' in model has a wrong value"),
        (lambda b: b["student"].update(coef=[["1"]]), "'student' in model has a wrong value"),
        (lambda b: b["student"]["coef"][0].pop(), "its student does not fit its planes"),
        (lambda b: b["student"]["coef"].clear(), "its student does not fit its planes"),
        (lambda b: b["student"]["intercept"].append(0.0), "its student does not fit its planes"),
        (lambda b: b["classes"].pop(), "its 1 classes do not fit its weights"),
    ],
)
def test_a_file_outside_the_schema_is_refused(path, change, message):
    document = json.loads(path.read_text())
    change(document["model"])
    document["checksum"] = _checksum(document["model"])
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


@pytest.mark.parametrize("name", ["callable", "precomputed"])
def test_functions_and_matrices_are_not_written(name):
    X, y, total = rings()
    kernel = "precomputed" if name == "precomputed" else lambda A, B: A @ B.T
    X = X @ X.T if name == "precomputed" else X
    clf = CS3VMClassifier("top_tau", kernel=kernel).fit(X, y, n_positive=total)
    with pytest.raises(ModelFileError, match=f"{name} kernel cannot be written.*pickle"):
        make_model(clf.fit_, ENCODING, "inside", {})


# -- the command line ----------------------------------------------------------------------------------------
@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, total = rings(n=20, m=40)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["inside"] = pd.Series(y).map({0.0: "no", 1.0: "yes"})
    frame.to_csv("t.csv", index=False)
    return X, frame["inside"], total


def run(command, *words):
    result = CliRunner().invoke(app, [command, *map(str, words)])
    assert result.exit_code == 0, result.output
    return result


def test_fit_and_predict_with_a_kernel(table):
    X, y, total = table
    words = ("t.csv", "--label", "inside", "--n-positive", total, "--method", "top_tau", "--no-report")
    out = run("fit", *words, "--kernel", "laplacian", "--gamma", 0.7, "--no-accuracy", "--no-certainty")
    assert "The kernel laplacian, gamma=0.7; exact, rank 60." in out.stdout
    clf = CS3VMClassifier("top_tau", kernel="laplacian", gamma=0.7)
    clf.fit(X, y.where(y.notna(), None).tolist(), n_positive=total)
    labels = pd.read_csv("t.labels.csv")
    planes = clf.fit_.planes  # they gave the labels
    scores = clf.kernel_map_.scores(clf.scaling_.transform(X), planes.coef[0]) + planes.intercept[0]
    np.testing.assert_allclose(labels["score"], scores, atol=1e-9)
    assert labels["predicted"].tolist() == clf.transduction_.tolist()
    new = rows(3, d=2)
    pd.DataFrame(new, columns=["a", "b"]).to_csv("new.csv", index=False)
    run("predict", "t.model.json", "new.csv")
    np.testing.assert_allclose(
        pd.read_csv("new.predictions.csv")["score"], clf.decision_function(new), atol=1e-9
    )


def test_an_approximated_kernel_is_named_as_such(table):
    words = ["t.csv", "--label", "inside", "--n-positive", table[2], "--method", "direct", "--no-report"]
    words += ["--no-accuracy", "--no-certainty", "--work-limit", "1e7"]
    out = run("fit", *words, "--kernel", "poly", "--degree", 4, "--coef0", 1, "--components", 5)
    assert re.search(r"approximated by 5 landmarks, which keep \d+\.\d % of it: objective, bound", out.stdout)
    out = run("fit", *words, "--kernel", "rbf", "--components", 5, "--json", "--force")
    assert json.loads(out.stdout)["kernel"]["exact"] is False
    assert json.loads(run("fit", *words, "--json", "--force").stdout)["kernel"]["kernel"] == "linear"


def test_compare_with_a_kernel(table):
    words = ("t.csv", "--label", "inside", "--n-positive", table[2], "--methods", "svm,top_tau", "--json")
    objectives = [
        json.loads(run("compare", *words, "--kernel", kernel).stdout)[1]["objective"]
        for kernel in ("linear", "rbf")
    ]
    assert objectives[1] < 0.9 * objectives[0]


@pytest.mark.parametrize("gamma", ["-1", "0", "nan", "wide"])
def test_gamma_must_be_positive(table, gamma):
    result = CliRunner().invoke(
        app, ["fit", "t.csv", "--label", "inside", "--n-positive", "3", "--gamma", gamma]
    )
    assert result.exit_code == 2
    assert "positive number" in result.output


@pytest.mark.parametrize("words", [("--coef0", "nan"), ("--coef0", "inf"), ("--seed", "-1")], ids=str)
def test_numbers_out_of_range_are_named(table, words):
    result = CliRunner().invoke(app, ["fit", "t.csv", "--label", "inside", "--n-positive", "3", *words])
    assert result.exit_code == 2
    assert f"'{words[0]}'" in result.output


# -- summary, report, figures --------------------------------------------------------------------------------
def test_the_summary_tells_of_an_approximation_only():
    assert "kernel" not in str(fit("rbf", "top_tau").summary(accuracy=False))
    text = str(fit("rbf", "top_tau", n_components=4).summary(accuracy=False))
    assert "approximated by 4 landmarks" in text
    assert "objective, bound and proof are those of the approximated kernel" in text


def test_a_result_keeps_its_kernel_as_json():
    result = fit("rbf", "top_tau", n_components=4).result_
    assert Result.from_json(result.to_json()).extras["kernel"] == result.extras["kernel"]


def page_of(clf, X, y):
    from cs3vm.report import make_report

    names = {"label_name": "inside", "positive_name": "yes", "negative_name": "no"}
    features = [f"f{i}" for i in range(X.shape[1])]
    page = make_report(clf, X, y, feature_names=features, **names, source="s", command="c")
    return " ".join(re.sub("<[^>]*>", " ", page.split("<body>")[1]).split())


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_the_report_shows_the_kernel_instead_of_weights(kernel):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    X, y, total = rings()
    X = X @ X.T if kernel == "precomputed" else X
    exact = CS3VMClassifier("top_tau", kernel=kernel).fit(X, y, n_positive=total)
    page = page_of(exact, X, y)
    assert f"compared with {exact.kernel_map_.rank} rows" in page
    assert "representation exact" in page
    assert "What counts" not in page
    assert "The rule is linear" not in page
    rough = CS3VMClassifier("direct", kernel=kernel, n_components=1).fit(X, y, n_positive=total)
    page = page_of(rough, X, y)
    assert "representation approximate" in page
    assert page.count("those of the approximated kernel") == 1  # in the warnings


def test_there_are_no_weights_to_draw():
    plots = pytest.importorskip("cs3vm.report.figures")
    clf = fit("rbf", "top_tau")
    for drawn in (clf, clf.result_):
        with pytest.raises(ValueError, match="no weights of features to draw: the kernel rbf"):
            plots.weights(drawn)
