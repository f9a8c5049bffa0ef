"""Several classes on the command line: files, the model, the report, and a clear message for bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import ModelFileError
from cs3vm.report import make_report
from cs3vm.tables.encoding import Column, Encoding
from cs3vm.tables.model_file import _checksum, load_model, make_model, save_model
from tests.cli.test_fit import QUICK, refuse, run

HOSTILE = '<script>alert(1)</script> & "co"'
NAMES = ("cat", HOSTILE, "zebra")
TOTALS = {"cat": 20, HOSTILE: 10, "zebra": 18}


def make_animals(names=NAMES, seed=0):
    """Three clouds of 20 rows in two features and a category; four rows of each class are labelled."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(3), 20)
    frame = pd.DataFrame(
        {
            "animal": [f"A{i:03}" for i in range(60)],
            "size": rng.normal(4.0 * (truth == 1), 1.0),
            "age": rng.normal(4.0 * (truth == 2), 1.0),
            "home": np.where(rng.random(60) < 0.5, "in", "out"),
        }
    )
    frame["kind"] = np.where(np.arange(60) % 20 < 4, np.array(names, dtype=object)[truth], None)
    return frame


@pytest.fixture
def animals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = make_animals()
    frame.to_csv("animals.csv", index=False)
    return frame


def fit(*words, quick=QUICK):
    return run("fit", "animals.csv", "--label", "kind", "--id", "animal", *quick, *words)


def options(totals):
    return [word for name, total in totals.items() for word in ("--total", f"{name}={total}")]


def test_fit_meets_all_totals_and_predict_agrees(animals):
    result = fit(*options(TOTALS), quick=QUICK[:-1])
    assert result.exit_code == 0, result.output
    assert "48 rows without label, of which kind is known to be 20 cat" in result.output
    assert "All totals are met" in result.output
    labels = pd.read_csv("animals.labels.csv")
    scores = [f"score_{name}" for name in NAMES]
    probable = [f"probability_{name}" for name in NAMES]
    reliable = ["undecided", "certain", "stability"]
    assert list(labels) == ["animal", "given", "predicted", *sorted(scores), *sorted(probable), *reliable]
    unlabelled = labels["given"].isna()
    np.testing.assert_allclose(labels[probable][unlabelled].sum(), [TOTALS[name] for name in NAMES])
    np.testing.assert_allclose(labels[probable].sum(axis=1), 1)
    assert labels["predicted"][unlabelled].value_counts().to_dict() == TOTALS
    assert (labels["given"] == labels["predicted"])[~unlabelled].all()
    highest = labels[scores].idxmax(axis=1).str.removeprefix("score_")
    assert (highest == labels["predicted"])[unlabelled].all()
    result = run("predict", "animals.model.json", "animals.csv", "--id", "animal", "--json")
    assert result.exit_code == 0, result.output
    again = pd.read_csv("animals.predictions.csv")
    np.testing.assert_allclose(again[scores], labels[scores])
    np.testing.assert_allclose(again[probable][unlabelled], labels[probable][unlabelled], rtol=1e-6)
    assert (again["predicted"] == labels["predicted"])[unlabelled].all()
    assert json.loads(result.stdout)["counts"] == again["predicted"].value_counts().to_dict()
    result = run("predict", "animals.model.json", "animals.csv", "--force")
    assert "rows are predicted to be kind=zebra" in result.output


def test_a_table_of_totals_is_the_same(animals):
    assert fit(*options(TOTALS)).exit_code == 0
    first = Path("animals.labels.csv").read_text()
    pd.DataFrame({"class": list(TOTALS), "total": list(TOTALS.values())}).to_csv("totals.csv", index=False)
    result = fit("--totals", "totals.csv", "--force", "--json")
    assert result.exit_code == 0, result.output
    assert Path("animals.labels.csv").read_text() == first
    summary = json.loads(result.stdout)
    assert {name: row["count"] for name, row in summary["classes"].items()} == TOTALS
    assert {name: row["total"] for name, row in summary["classes"].items()} == TOTALS
    assert (summary["labelled"], summary["unlabelled"]) == (12, 48)


def test_two_totals_are_the_binary_fit(animals):
    frame = animals.assign(kind=animals["kind"].replace(HOSTILE, "cat"))
    frame.to_csv("animals.csv", index=False)
    assert fit("--positive", "cat", "--n-positive", 30).exit_code == 0
    first = Path("animals.labels.csv").read_text()
    result = fit("--positive", "cat", *options({"zebra": 18, "cat": 30}), "--force")
    assert result.exit_code == 0, result.output
    assert Path("animals.labels.csv").read_text() == first
    assert load_model(Path("animals.model.json")).positive == "cat"
    fit(*options({"zebra": 18, "cat": 30}), "--force")
    assert load_model(Path("animals.model.json")).positive == "zebra"


def test_a_class_without_label_and_a_kernel(animals):
    frame = animals.assign(kind=animals["kind"].replace("zebra", None))
    frame.to_csv("animals.csv", index=False)
    result = fit(*options(TOTALS | {"zebra": 22}), "--kernel", "rbf")
    assert result.exit_code == 0, result.output
    assert "note: the class 'zebra' has no label: only the totals speak for it" in result.stderr
    labels = pd.read_csv("animals.labels.csv")
    assert labels["predicted"][labels["given"].isna()].value_counts().to_dict() == TOTALS | {"zebra": 22}
    assert run("predict", "animals.model.json", "animals.csv").exit_code == 0
    assert load_model(Path("animals.model.json")).kernel.name == "rbf"


def test_none_is_a_name_like_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_animals(("cat", "None", "zebra")).to_csv("animals.csv", index=False)
    result = fit(*options({"cat": 20, "None": 10, "zebra": 18}))
    assert result.exit_code == 0, result.output
    Path("totals.csv").write_text("class,total\ncat,20\nNone,10\nzebra,18\n")
    assert fit("--totals", "totals.csv", "--force").exit_code == 0
    Path("totals.csv").write_text("class,total\ncat,20\n,10\nzebra,18\n")
    message = refuse(tmp_path, "--totals", "totals.csv", "--force", command=fit)
    assert "a class in totals.csv has no name" in message


def test_an_approximated_kernel_is_named_as_such(animals):
    result = fit(*options(TOTALS), "--kernel", "rbf", "--components", 4)
    assert "objective, bound and proof are those of the approximated kernel" in result.stdout


def test_the_report_counts_only_rows_with_weight():
    X, y, truth = np.arange(9.0)[:, None], ["a", None, None, "b", None, None, "c", None, None], "abc"
    weight = np.where(np.arange(9) % 3 == 2, 0.0, 1.0)
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=dict.fromkeys(truth, 1), sample_weight=weight)
    page = make_report(clf, X, y, feature_names=["f"], label_name="kind", source="s", command="c")
    assert page.count("33.3\N{NO-BREAK SPACE}%</td>") == 3
    wrong = int(np.sum(np.array([row.svm_count for row in clf.summary(accuracy=False).rows]) > 1))
    assert wrong > 0
    assert f"In the answer {wrong} rows" in page


def test_the_report_reads_minus_one_as_the_fit_does():
    X, y = np.arange(6.0)[:, None], np.array([1, 1, -1, -1, -1, -1])
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive={0: 2, 1: 2})
    page = make_report(clf, X, y, feature_names=["f"], label_name="kind", source="s", command="c")
    assert "Of 6 rows, 2 have a label" in page


def test_the_report_escapes_names_and_shows_every_class(animals):
    result = fit(*options(TOTALS), quick=("--work-limit", "3e6", "--folds", "2", "--repeats", "1"))
    assert result.exit_code == 0, result.output
    page = Path("animals.report.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;co&#34;" in page
    assert page.count("against the others</summary>") == 3
    assert "default-src 'none'" in page
    assert "--bg:#f6f7f9" in page  # the style is there, and not escaped
    assert "hyperplanes proven optimal" in page


def test_a_report_of_fully_labelled_rows():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 10)
    X = rng.normal(size=(30, 2)) + 3 * np.eye(3)[np.repeat(np.arange(3), 10)][:, :2]
    clf = CS3VMClassifier(kernel="rbf").fit(X, y)
    page = make_report(clf, X, y, feature_names=["f", "g"], label_name="kind", source="s", command="c")
    assert "kernel rbf" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            options(TOTALS | {"cat": 21}),
            "add up to 49, but 48 rows of animals.csv have no label: that is 1 too many",
        ),
        (options(TOTALS | {"cat": 2}), "that is 18 too few. They count the rows without label only"),
        (options({"cat": 20, "zebra": 28}), "has the value '<script>alert(1)</script>"),
        (["--total", "cat"], "--total cat is not of the form class=number"),
        (["--total", "cat=-1"], "the total of the class 'cat' in --total is '-1': it must be 0, 1, 2, ..."),
        (["--total", "cat=1.5"], "is '1.5': it must be 0, 1, 2, ..."),
        (["--total", "cat=48"], "there is a total for 1 classes only in --total"),
        (["--total", "=48"], "a class in --total has no name"),
        (["--total", "cat=1", "--total", "cat=2"], "the class 'cat' is twice in --total"),
        (["--total", "cat=1", "--totals", "x.csv"], "give --totals (a table) or --total"),
        (["--totals", "x.csv"], "x.csv"),
        ([*options(TOTALS), "--n-positive", "3"], "give only one of --n-positive and --total or --totals"),
        ([*options(TOTALS), "--positive", "cat"], "--positive names one of two classes"),
        ([], "or --total for each of several classes"),
        (["--n-positive", "3"], "with a total for each class (fit --total) there may be more"),
    ],
)
def test_bad_totals(animals, tmp_path, words, message):
    assert message in refuse(tmp_path, *words, command=fit)


def test_bad_tables_of_totals(animals, tmp_path):
    Path("totals.csv").write_text("class,number\ncat,1\n")
    assert "column for --totals: 'total'" in refuse(tmp_path, "--totals", "totals.csv", command=fit)
    Path("totals.csv").write_text("class,total\ncat,\nzebra,3\n")
    message = refuse(tmp_path, "--totals", "totals.csv", command=fit)
    assert "the total of the class 'cat' in totals.csv is" in message


# -- the model file ------------------------------------------------------------------------------------
ENCODING = Encoding((Column("x", "number", (), None), Column("y", "number", (), None)))


@pytest.fixture(scope="module", params=["linear", "rbf"])
def fitted(request):
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(3), 10)
    X = rng.normal(size=(30, 2)) + 3 * np.eye(3)[truth][:, :2]
    y = np.where(np.arange(30) % 10 < 3, np.array(["a", "b", "ü"], dtype=object)[truth], None)
    clf = CS3VMClassifier("top_tau", kernel=request.param)
    return X, clf.fit(X, y, n_positive={"a": 7, "b": 8, "ü": 6})


def test_a_model_survives_the_file(tmp_path, fitted):
    X, clf = fitted
    save_model(make_model(clf.fit_, ENCODING, "kind", {}), tmp_path / "m.json")
    model = load_model(tmp_path / "m.json")
    assert (model.classes, model.totals) == (("a", "b", "ü"), (7, 8, 6))
    np.testing.assert_allclose(model.scores(X), clf.decision_function(X))
    assert model.labels(model.scores(X)).tolist() == clf.predict(X).tolist()
    assert model.result["b"]["objective"] == clf.result_["b"].objective
    save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["a", "b"]}, "contradicts itself: its 2 classes"),
        ({"classes": ["a", "b", "b"]}, "contradicts itself: its 3 classes"),
        ({"totals": [1.0, 2.0]}, "contradicts itself: its 3 classes"),
        ({"totals": [1.0, 2.0, -1.0]}, "'totals' in model has a wrong value"),
        ({"intercept": 1.0}, "'intercept' in model has a wrong value"),
        ({"coef": [[1.0, 2.0], [1.0, 2.0], [1.0]]}, "contradicts itself: its 3 classes"),
        ({"coef": [[1.0], [1.0], [1.0]]}, "contradicts itself"),
        ({"coef": []}, "contradicts itself: its 3 classes"),
        ({"positive": "a"}, "the unknown field 'positive'"),
    ],
)
def test_a_model_that_contradicts_itself(tmp_path, fitted, change, message):
    path = tmp_path / "m.json"
    save_model(make_model(fitted[1].fit_, ENCODING, "kind", {}), path)
    document = json.loads(path.read_text())
    document["model"] |= change
    document["checksum"] = _checksum(document["model"])
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)
