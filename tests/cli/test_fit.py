"""The commands on tables, through the real command: answers, files, and a clear message for bad input."""

import contextlib
import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cs3vm import CS3VMClassifier
from cs3vm.cli.app import app
from cs3vm.cli.common import CtrlC
from cs3vm.tables.model_file import load_model

ENV = {"COLUMNS": "120", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
LABEL = ("--label", "cash")
ALONE = ("--no-report", "--no-accuracy", "--no-certainty")
QUICK = ("--method", "top_tau", *ALONE)


def make_people(n_rows=120, seed=0):
    """People of whom 24 have answered, mostly those who do not pay in cash."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n_rows)
    region = rng.choice(["north", "south", "west"], n_rows)
    cash = age + 15 * (region == "north") + rng.normal(0, 8, n_rows) > 55
    answers = np.where(cash, "yes", "no").astype(object)
    hidden = np.ones(n_rows, dtype=bool)
    hidden[np.flatnonzero(cash)[:6]] = hidden[np.flatnonzero(~cash)[:18]] = False
    frame = pd.DataFrame({"person": [f"P{i:04}" for i in range(n_rows)], "age": age, "region": region})
    frame["cash"] = np.where(hidden, None, answers)
    return frame, int(cash[hidden].sum())


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, n_positive = make_people()
    frame.to_csv("people.csv", index=False)
    return frame, n_positive


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env=ENV)


def fit(*words, table="people.csv", method=QUICK):
    return run("fit", table, *LABEL, *method, *words)


def refuse(tmp_path, *words, command=fit, **options):
    """Run a command that must fail with exit code 2 and leave the folder as it was; return the message."""
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    result = command(*words, **options)
    after = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert result.exit_code == 2, (result.output, result.exception)
    assert after == before
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return " ".join(result.stderr.split())


# -- what it does --------------------------------------------------------------------------------------
def test_fit_writes_labels_and_a_model(people):
    frame, n_positive = people
    result = fit("--positive", "yes", "--n-positive", n_positive, "--id", "person", method=QUICK[:-1])
    assert result.exit_code == 0, result.output
    assert f"96 rows without label, {n_positive} of them known to be cash=yes" in result.output
    assert "24 rows with label, 6 of them yes" in result.output
    assert "Written: people.labels.csv, people.model.json" in result.output
    labels = pd.read_csv("people.labels.csv", dtype={"person": str})
    assert list(labels) == [
        "person",
        "given",
        "predicted",
        "score",
        "probability_no",
        "probability_yes",
        "undecided",
        "certain",
        "stability",
        "on_plane",
    ]
    assert labels["person"].tolist() == frame["person"].tolist()
    given = labels["given"].notna()
    assert given.sum() == 24
    assert (labels["given"] == labels["predicted"])[given].all()
    assert (labels["predicted"][~given] == "yes").sum() == n_positive
    assert set(labels["on_plane"]) <= {0, 1}
    X = pd.get_dummies(frame[["age", "region"]]).to_numpy(float)
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(X, frame["cash"].to_numpy(), n_positive=n_positive)
    np.testing.assert_allclose(labels["score"], clf.decision_function(X), rtol=1e-9, atol=1e-9)
    assert labels["predicted"].tolist() == clf.transduction_.tolist()


def test_the_search_meets_the_total_and_says_what_is_proven(people):
    words = ("--positive", "yes", "--n-positive", people[1], "--id", "person", "--work-limit", "5e7")
    result = fit(*words, "--json", method=ALONE)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["count"] == summary["n_positive"] == people[1]
    assert 0 < summary["lower_bound"] <= summary["objective"]
    assert summary["features"] == ["age", "region=north", "region=south", "region=west"]
    again = fit(*words, "--force", method=ALONE)
    assert "optimal" in again.stdout or "above the optimum" in again.stdout
    assert "SVM + top-τ" in again.stdout


def test_the_three_ways_to_give_the_total_agree(people):
    n_positive = people[1]
    files = []
    for words in (
        ("--n-positive", n_positive),
        ("--positive-rate", n_positive / 96),
        ("--total-positive", n_positive + 6),
    ):
        result = fit("--positive", "yes", "--id", "person", "--force", *words)
        assert result.exit_code == 0, result.output
        files.append(Path("people.labels.csv").read_text())
    assert files[0] == files[1] == files[2]


def test_the_other_class_may_be_positive(people):
    fit("--positive", "yes", "--n-positive", people[1], "--id", "person")
    one = pd.read_csv("people.labels.csv")
    fit("--positive", "no", "--n-positive", 96 - people[1], "--id", "person", "--force")
    other = pd.read_csv("people.labels.csv")
    np.testing.assert_allclose(one["score"], -other["score"], rtol=1e-3, atol=1e-4)
    assert load_model_here().positive == "no"


def load_model_here():
    return load_model(Path("people.model.json"))


def test_quiet_prints_nothing_and_json_only_json(people):
    result = fit("--positive", "yes", "--n-positive", people[1], "--id", "person", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    result = fit(
        "--positive", "yes", "--n-positive", people[1], "--exclude", "region,person", "--force", "--json"
    )
    assert json.loads(result.stdout)["features"] == ["age"]
    assert json.loads(result.stdout)["files"] == {"labels": "people.labels.csv", "model": "people.model.json"}


def test_the_output_goes_where_it_is_asked_to(people, tmp_path):
    words = ("--positive", "yes", "--n-positive", people[1], "--id", "person", "-q")
    assert fit(*words, "--out-dir", "new/folder", "--out-prefix", "a").exit_code == 0
    written = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert written == ["a.labels.csv", "a.model.json"]


def test_rows_are_numbered_where_there_is_no_id(people):
    assert fit("--positive", "yes", "--n-positive", people[1], "--features", "age").exit_code == 0
    assert pd.read_csv("people.labels.csv")["row"].tolist() == list(range(2, 122))


def test_every_format_gives_the_same_labels(people):
    frame, n_positive = people
    frame.to_parquet("b.parquet")
    frame.to_feather("c.feather")
    frame.to_excel("d.xlsx", index=False)
    frame.to_csv("e.tsv", index=False, sep="\t")
    tables = ("people.csv", "b.parquet", "c.feather", "d.xlsx", "e.tsv")
    for table in tables:
        result = fit("--positive", "yes", "--n-positive", n_positive, "--id", "person", table=table)
        assert result.exit_code == 0, result.output
    first, *others = (Path(table).with_suffix(".labels.csv").read_text() for table in tables)
    assert all(other == first for other in others)


def test_one_labelled_class_gets_a_name_for_the_other(people):
    frame, _ = people
    frame[frame["cash"] != "no"].to_csv("people.csv", index=False)
    result = fit("--positive", "yes", "--n-positive", 40, "--id", "person")
    assert result.exit_code == 0, result.output
    assert set(pd.read_csv("people.labels.csv")["predicted"]) == {"yes", "not yes"}


def test_numeric_labels(people):
    frame, n_positive = people
    frame["cash"] = frame["cash"].map({"yes": 1, "no": 0})
    frame.to_csv("people.csv", index=False)  # 1.0, 0.0
    frame.to_excel("book.xlsx", index=False)
    assert fit("--positive", "1.0", "--n-positive", n_positive, "--id", "person").exit_code == 0
    assert (
        fit("--positive", "1", "--n-positive", n_positive, "--id", "person", table="book.xlsx").exit_code == 0
    )


def test_imputation(people):
    frame, n_positive = people
    frame.loc[3, "age"] = frame.loc[5, "region"] = None
    frame.to_csv("people.csv", index=False)
    result = fit("--positive", "yes", "--n-positive", n_positive, "--id", "person", "--impute", "median")
    assert result.exit_code == 0, result.output
    assert "2 missing values were filled in" in result.stderr
    fills = [column.fill for column in load_model_here().encoding.columns]
    assert fills[0] == frame["age"].median()
    assert fills[1] in ("north", "south", "west")


# -- predict, compare ----------------------------------------------------------------------------------
def test_predict_gives_the_scores_of_the_fit(people):
    fit("--positive", "yes", "--n-positive", people[1], "--id", "person")
    result = run("predict", "people.model.json", "people.csv", "--id", "person")
    assert result.exit_code == 0, result.output
    fitted, predicted = pd.read_csv("people.labels.csv"), pd.read_csv("people.predictions.csv")
    np.testing.assert_array_equal(fitted["score"], predicted["score"])
    assert (predicted["predicted"] == np.where(predicted["score"] >= 0, "yes", "no")).all()
    assert f"{(predicted['score'] >= 0).sum()} of 120 rows are predicted to be cash=yes" in result.output
    as_json = run("predict", "people.model.json", "people.csv", "--out", "p.csv", "--json")
    assert json.loads(as_json.stdout)["count"] == (predicted["score"] >= 0).sum()


def test_predict_refuses_what_it_cannot_use(people, tmp_path):
    fit("--positive", "yes", "--n-positive", people[1], "--id", "person")
    model = tmp_path / "people.model.json"

    def predict(*words):
        return run("predict", "people.model.json", *words)

    (tmp_path / "new.csv").write_text("age,region\n30,north\n40,east\n")
    assert "'east' in row 3" in refuse(tmp_path, "new.csv", command=predict)
    assert predict("new.csv", "--allow-unseen").exit_code == 0
    assert "exists already: add --force" in refuse(tmp_path, "new.csv", "--allow-unseen", command=predict)
    forced = ("new.csv", "--allow-unseen", "--force", "--out", "new.csv")
    assert "new.csv is the input itself" in refuse(tmp_path, *forced, command=predict)
    (tmp_path / "new.csv").write_text("age,regoin\n30,north\n")
    assert "no column 'region'. Did you mean 'regoin'" in refuse(tmp_path, "new.csv", command=predict)
    (tmp_path / "new.csv").write_text("age,region\n,north\n")
    assert "'age' in row 2" in refuse(tmp_path, "new.csv", command=predict)
    document = json.loads(model.read_text())
    for change, message in (
        (lambda d: d.update(version=99), "newer version"),
        (lambda d: d["model"]["coef"].__setitem__(0, 5.5), "changed or damaged"),
    ):
        damaged = json.loads(json.dumps(document))
        change(damaged)
        model.write_text(json.dumps(damaged))
        assert message in refuse(tmp_path, "people.csv", command=predict)
    model.write_text(json.dumps(document)[:-40])
    assert "cut off" in refuse(tmp_path, "people.csv", command=predict)


def test_probabilities_add_up_and_follow_the_model_to_new_rows(people, tmp_path):
    words = ("--positive", "yes", "--n-positive", people[1], "--id", "person", "--json")
    said = json.loads(fit(*words, method=("--method", "top_tau", "--no-report", "--no-certainty")).stdout)
    assert said["probabilities"]["cautious"] is None
    labels = pd.read_csv("people.labels.csv")
    rows = people[0]["cash"].isna().to_numpy()
    assert labels["probability_yes"][rows].sum() == pytest.approx(people[1])
    np.testing.assert_allclose(labels["probability_yes"] + labels["probability_no"], 1)
    assert (labels["probability_yes"][~rows] == (people[0]["cash"][~rows] == "yes")).all()
    assert run("predict", "people.model.json", "people.csv", "--id", "person").exit_code == 0
    new = pd.read_csv("people.predictions.csv")
    assert new["probability_yes"][rows].sum() == pytest.approx(people[1])
    assert np.corrcoef(new["probability_yes"][rows], labels["probability_yes"][rows])[0, 1] > 0.9


def test_without_hidden_labels_probabilities_are_cautious(people):
    result = fit("--positive", "yes", "--n-positive", people[1], "--id", "person", "--json")
    said = json.loads(result.stdout)
    assert said["probabilities"]["cautious"] == "no label was hidden to learn more"
    assert any("cautious" in note for note in said["notes"])


def test_numbers_by_a_column(people, tmp_path):
    words = ("--positive", "yes", "--n-positive", people[1], "--id", "person", "--by", "region")
    once = ("--folds", 2, "--repeats", 1)
    result = fit(*words, method=("--method", "top_tau", "--no-certainty", *once))
    assert result.exit_code == 0, result.output
    assert "By region:" in result.output
    assert "90 % interval" in result.output
    table = pd.read_csv("people.by_region.csv")
    assert table["group"].tolist() == ["north", "south", "west"]
    assert table["number"].sum() == pytest.approx(people[1])
    assert (table["low"] < table["number"]).all()
    assert "How many by region?" in (tmp_path / "people.report.html").read_text()
    said = json.loads(fit(*words, "--json", "--force").stdout)
    assert said["by"]["column"] == "region"
    assert [row["group"] for row in said["by"]["groups"]] == ["north", "south", "west"]
    assert said["files"]["groups"].endswith("people.by_region.csv")


def test_a_column_to_count_by_must_be_there(people, tmp_path):
    words = ("--positive", "yes", "--n-positive", people[1])
    assert "column for --by" in refuse(tmp_path, *words, "--by", "regoin")
    assert "which is --label" in refuse(tmp_path, *words, "--by", "cash")


def test_compare_puts_methods_side_by_side(people, tmp_path):
    words = (
        "compare",
        "people.csv",
        *LABEL,
        "--positive",
        "yes",
        "--n-positive",
        people[1],
        "--id",
        "person",
    )
    result = run(*words, "--time-limit", "0.5")
    assert result.exit_code == 0, result.output
    for name in ("svm", "top_tau", "ircm", "wircm", "auto"):
        assert any(line.split()[:1] == [name] for line in result.output.splitlines())
    limited = [
        json.loads(run(*words, "--methods", "top_tau,direct", "--work-limit", "2e7", "--json").stdout)
        for _ in range(2)
    ]
    for row in (*limited[0], *limited[1]):
        row.pop("seconds")
    assert limited[0] == limited[1]  # work is the same every time
    assert run(*words, "--work-limit", "0").exit_code == 2
    rows = json.loads(run(*words, "--methods", "svm,top_tau", "--json").stdout)
    svm, top_tau = rows
    assert svm["differ_from_svm"] == 0
    assert top_tau["count"] == people[1]
    assert top_tau["differ_from_svm"] == abs(svm["count"] - people[1])
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    assert "unknown method 'svn'" in refuse(tmp_path, "--methods", "svn", command=lambda *w: run(*words, *w))


def test_compare_knows_other_classifiers_by_name(people):
    names = "svm,logistic,forest,extra_trees"
    words = ("compare", "people.csv", *LABEL, "--n-positive", people[1], "--id", "person", "--methods", names)
    svm, *rivals = json.loads(run(*words, "--json").stdout)
    assert [row["method"] for row in rivals] == names.split(",")[1:]
    assert {row["count"] for row in rivals} == {people[1]}
    assert all(row["objective"] is None and row["differ_from_svm"] is not None for row in rivals)
    assert svm["objective"] > 0
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert any(line.split()[:2] == ["forest", str(people[1])] for line in result.output.splitlines())


# -- the report --------------------------------------------------------------------------------------------
def test_fit_writes_a_report(people, tmp_path):
    words = ("fit", "people.csv", *LABEL, "--positive", "yes", "--n-positive", people[1], "--id", "person")
    result = run(*words, "--method", "top_tau", "--no-accuracy", "--no-certainty")
    assert result.exit_code == 0, result.output
    assert "people.report.html" in result.output
    page = (tmp_path / "people.report.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert f"cs3vm fit people.csv --label cash --positive yes --n-positive {people[1]} --id person" in page
    assert "region=north" in page


def test_the_norm_and_the_features_it_leaves_out_are_said(people, tmp_path):
    _, n_positive = people
    words = ("--id", "person", "--n-positive", n_positive, "--norm", "l1", "--C", "0.3", "--force")
    printed = fit(*words, method=("--method", "top_tau", "--no-accuracy", "--no-certainty"))
    assert printed.exit_code == 0, printed.output
    assert "The 1-norm leaves out" in printed.output
    answer = json.loads(fit(*words, "--json").stdout)
    assert answer["norm"] == "l1"
    assert answer["dropped"]
    assert set(answer["dropped"]) < set(answer["features"])
    page = (tmp_path / "people.report.html").read_text()
    assert f"leaves out {len(answer['dropped'])} of {len(answer['features'])} features" in page
    assert load_model(tmp_path / "people.model.json").settings["norm"] == "l1"
    wrong = fit(*words, "--solver", "bnb")
    assert wrong.exit_code == 2
    assert "'bnb' does not know norm='l1'" in " ".join(wrong.output.split())


def test_a_failing_report_does_not_lose_the_answer(people, monkeypatch, tmp_path):
    import cs3vm.report

    def fail(*args, **kwargs):
        raise RuntimeError("no ink")

    monkeypatch.setattr(cs3vm.report, "make_report", fail)
    words = ("--positive", "yes", "--n-positive", people[1], "--id", "person")
    result = fit(*words, method=("--method", "top_tau", "--no-accuracy", "--no-certainty"))
    assert result.exit_code == 1
    assert "no ink" in str(result.exception)
    assert len(pd.read_csv("people.labels.csv")) == 120
    assert load_model_here().positive == "yes"
    assert not (tmp_path / "people.report.html").exists()


def test_the_shipped_survey_can_be_fitted_as_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--survey", "my people.csv", "--rows", "300")
    assert result.exit_code == 0, result.output
    command = shlex.split(result.output.strip().splitlines()[-1])
    assert command[:3] == ["cs3vm", "fit", "my people.csv"]
    fitted = run(*command[1:], *QUICK, "--json")
    assert fitted.exit_code == 0, fitted.output
    summary = json.loads(fitted.stdout)
    assert summary["count"] == summary["n_positive"]
    assert "exists already" in refuse(tmp_path, command=lambda: run("demo", "--survey", "my people.csv"))
    assert "must end in .csv" in refuse(tmp_path, command=lambda: run("demo", "--survey", "people.txt"))
    few = ("demo", "--survey", "few.csv", "--rows", "3")
    assert "at least 100 rows" in refuse(tmp_path, command=lambda: run(*few))


# -- bad input -----------------------------------------------------------------------------------------
GOOD = ("--positive", "yes", "--n-positive", "30", "--id", "person")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--positive", "yes"), "the total is missing: give --n-positive"),
        (("--n-positive", "5", "--positive-rate", ".5"), "only one of --n-positive and --positive-rate"),
        ((*GOOD, "--total-positive", "5"), "only one of --n-positive and --total-positive"),
        (("--positive", "yes", "--n-positive", "97", "--id", "person"), "97, but only 96 rows have no label"),
        (("--positive", "yes", "--total-positive", "5", "--id", "person"), "must be between 6 and 102"),
        (("--positive", "yes", "--total-positive", "103", "--id", "person"), "must be between 6 and 102"),
        (("--positive", "yes", "--positive-rate", "1.5"), "1.5 is not between 0 and 1"),
        (("--positive", "yes", "--positive-rate", "nan"), "nan is not between 0 and 1"),
        ((*GOOD, "--time-limit", "inf"), "inf is not a positive number"),
        (("--positive", "Yes", "--n-positive", "5"), "has no value 'Yes' (--positive). Did you mean 'yes'?"),
        (("--positive", "zzz", "--n-positive", "5"), "has no value 'zzz' (--positive): it has 'no', 'yes'"),
        (("--positive", "yes", "--n-positive", "5"), "'person' of people.csv has 120 different values"),
        ((*GOOD[:4], "--id", "persn"), "no column for --id: 'persn'. Did you mean 'person'?"),
        ((*GOOD, "--features", "age,regin"), "no column for --features: 'regin'. Did you mean 'region'?"),
        ((*GOOD, "--exclude", "ages"), "no column for --exclude: 'ages'. Did you mean 'age'?"),
        ((*GOOD, "--features", "cash"), "'cash' is in --features and in --label"),
        ((*GOOD, "--exclude", "age,region"), "no columns left to learn from"),
        ((*GOOD, "--method", "best"), "unknown method 'best'"),
        ((*GOOD, "--solver", "cplex"), "unknown solver 'cplex'"),
        ((*GOOD, "--C", "0"), "0 is not a positive number"),
        ((*GOOD, "--time-limit", "-1"), "-1 is not a positive number"),
        ((*GOOD, "--work-limit", "0"), "0 is not a positive number"),
        ((*GOOD, "--standardize", "no"), "--standardize"),
        ((*GOOD, "--out-dir", "people.csv"), "cannot write into people.csv"),
        ((*GOOD, "--out-dir", "/proc/none"), "cannot write into /proc/none"),
    ],
)
def test_bad_options_are_explained(people, tmp_path, words, message):
    assert message in refuse(tmp_path, *words)


def test_unknown_label_column(people, tmp_path):
    message = refuse(tmp_path, command=lambda: run("fit", "people.csv", "--label", "csh", *GOOD))
    assert "people.csv has no column for --label: 'csh'. Did you mean 'cash'?" in message


def edited(change, save=pd.DataFrame.to_csv, path="people.csv"):
    frame = make_people()[0]
    change(frame)
    save(frame, path, index=False)


def test_three_values_in_the_label_column(people, tmp_path):
    edited(lambda f: f.__setitem__("cash", f["cash"].where(f.index != 50, "maybe")))
    message = refuse(tmp_path, *GOOD)
    assert "has 3 different values: 'maybe' (1 rows), 'no' (18 rows), 'yes' (6 rows)" in message
    assert "'maybe', is in row 52 (the header is row 1)" in message


def test_all_or_no_labels(people, tmp_path):
    edited(lambda f: f.__setitem__("cash", f["cash"].fillna("no")))
    assert "every row of people.csv has a label" in refuse(tmp_path, *GOOD)
    edited(lambda f: f.__setitem__("cash", None))
    assert "column 'cash' of people.csv is empty" in refuse(tmp_path, *GOOD)


def test_mixed_types_name_the_first_row(people, tmp_path):
    edited(lambda f: f.__setitem__("age", f["age"].astype(object).where(f.index != 7, "old")))
    message = refuse(tmp_path, *GOOD)
    assert "'age' of people.csv mixes numbers and text" in message
    assert "row 9 (the header is row 1) has the text 'old'" in message


def test_missing_values_name_rows_and_columns(people, tmp_path):
    edited(lambda f: (f.__setitem__("age", f["age"].where(f.index % 40 != 1)), f.region.__setitem__(2, None)))
    message = refuse(tmp_path, *GOOD)
    assert "'age' in rows 3, 43 and 83" in message
    assert "--impute median" in message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("people.csv", b"", "people.csv is empty"),
        ("people.csv", b"age,region,cash\n", "header row but no rows of data"),
        ("people.csv", b"age,cash,age\n1,yes,2\n", "several columns named 'age' (columns 1, 3)"),
        (
            "people.csv",
            b"PK\x03\x04....",
            "not what its suffix says: .csv means text, but the content is Excel",
        ),
        ("people.xlsx", b"age,cash\n1,yes\n", "not what its suffix says: .xlsx means Excel"),
        ("people.parquet", b"age,cash\n1,yes\n", "not what its suffix says"),
        ("people.csv", b"age,cash\n1,yes,3\n2,no\n", "as many cells as the header"),
        ("none.csv", None, "there is no file none.csv"),
    ],
)
def test_bad_files_are_explained(people, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert message in refuse(tmp_path, *GOOD, table=name)


def test_latin_1_semicolons_and_decimal_commas_are_read_and_said(people, tmp_path):
    frame, n_positive = people
    frame["region"] = frame["region"].replace("south", "Süd")
    frame["age"] = frame["age"] + 0.5
    frame.to_csv("people.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    result = fit("--positive", "yes", "--n-positive", n_positive, "--id", "person", "--json")
    assert result.exit_code == 0, result.output
    for words in ("read as Latin-1", "separated by the semicolon", "decimal commas"):
        assert words in result.stderr
    assert json.loads(result.stdout)["features"] == ["age", "region=Süd", "region=north", "region=west"]
    frame.to_csv("clean.csv", index=False)
    fit("--positive", "yes", "--n-positive", n_positive, "--id", "person", table="clean.csv")
    assert Path("clean.labels.csv").read_text() == Path("people.labels.csv").read_text()


def test_existing_output_needs_force(people, tmp_path):
    words = ("--positive", "yes", "--n-positive", people[1], "--id", "person")
    (tmp_path / "people.model.json").write_text("precious")
    assert "people.model.json exists already: add --force" in refuse(tmp_path, *words)
    assert fit(*words, "--force").exit_code == 0
    assert load_model_here().positive == "yes"


def test_an_unwritable_place_is_found_before_the_search(people, tmp_path, monkeypatch):
    monkeypatch.setattr(CS3VMClassifier, "fit", lambda *a, **k: pytest.fail("the search has started"))
    assert "cannot write into" in refuse(tmp_path, *GOOD, "--out-dir", "people.csv/below")


@pytest.mark.parametrize("package", ["pandas", "pyarrow", "openpyxl"])
def test_missing_packages_are_named(people, tmp_path, monkeypatch, package):
    frame, _ = people
    table = {"pandas": "people.csv", "pyarrow": "people.parquet", "openpyxl": "people.xlsx"}[package]
    if package == "pyarrow":
        frame.to_parquet(table)
    elif package == "openpyxl":
        frame.to_excel(table, index=False)
    monkeypatch.setitem(sys.modules, package, None)
    message = refuse(tmp_path, *GOOD, table=table)
    assert f"needs the package {package}" in message
    assert 'pip install "cs3vm[report]"' in message


def test_a_report_without_its_packages_is_refused_before_the_search(people, tmp_path, monkeypatch):
    from cs3vm.cli import common

    real = common.find_spec
    missing = ("matplotlib", "jinja2")
    monkeypatch.setattr(common, "find_spec", lambda name: None if name in missing else real(name))
    message = refuse(tmp_path, *GOOD, method=("--method", "top_tau"))
    assert "the report needs the package matplotlib and jinja2" in message
    assert "--no-report" in message


def run_without(packages, *words):
    """Run the real command where packages are missing; return it and the heavy modules that it loaded."""
    code = (
        "import atexit, sys\n"
        f"for name in {packages!r}: sys.modules[name] = None\n"
        "heavy = ('numba', 'sklearn', 'pandas', 'matplotlib', 'pyscipopt', 'highspy')\n"
        "def show(): print('loaded:', [m for m in heavy if sys.modules.get(m)], file=sys.stderr)\n"
        "atexit.register(show)\n"
        "from cs3vm.cli.app import app\n"
        f"app({[str(word) for word in words]!r}, prog_name='cs3vm')"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env={**os.environ, **ENV}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        (("matplotlib", "jinja2"), "the report needs the package matplotlib and jinja2"),
        (("matplotlib", "jinja2", "pandas"), "needs the package pandas"),
    ],
)
def test_missing_packages_are_said_before_anything_is_loaded(people, tmp_path, packages, said):
    before = sorted(tmp_path.iterdir())
    done = run_without(packages, "fit", "people.csv", *LABEL, *GOOD)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert 'pip install "cs3vm[report]"' in " ".join(done.stderr.split())
    assert "loaded: []" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_without_the_packages_of_the_report_the_rest_works(people, tmp_path):
    words = ("fit", "people.csv", *LABEL, *GOOD, *QUICK)
    done = run_without(("matplotlib", "jinja2"), *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "people.labels.csv").exists()


# -- each thing once -----------------------------------------------------------------------------------
def count_svms(monkeypatch):
    """The problems whose SVM, with their own fixed sides held, is solved from now on."""
    from cs3vm.convex import svm

    real, solved = svm._solve, []

    def counted(problem, side):
        if side is problem.side:
            solved.append(problem)
        return real(problem, side)

    monkeypatch.setattr(svm, "_solve", counted)
    return solved


@pytest.mark.parametrize(
    ("method", "output"), [("svm", ()), ("top_tau", ("--json",)), ("auto", ()), ("auto", ("--json",))]
)
def test_each_svm_is_solved_once_for_search_table_and_report(people, monkeypatch, method, output):
    solved = count_svms(monkeypatch)
    words = ("--method", method, "--work-limit", "2e7", "--no-certainty", "--folds", 2, "--repeats", 1)
    result = run("fit", "people.csv", *LABEL, *GOOD, *words, *output)
    assert result.exit_code == 0, result.output
    assert Path("people.report.html").exists()
    whole = [problem for problem in solved if problem.m == 96]  # not those of reduced problems
    assert len(whole) == len({id(problem) for problem in whole}) == 1


@pytest.mark.parametrize("method", ["direct", "top_tau", "svm"])
def test_the_baselines_are_solved_once_for_table_and_report(people, monkeypatch, method):
    from cs3vm.learn import baselines

    real, solved = baselines.solve, []

    def counted(problem, name):
        solved.append(name)
        return real(problem, name)

    monkeypatch.setattr(baselines, "solve", counted)
    words = ("--method", method, "--work-limit", "1e7", "--no-accuracy", "--no-certainty")
    result = run("fit", "people.csv", *LABEL, *GOOD, *words)
    assert result.exit_code == 0, result.output
    assert "SVM + top-τ" in result.output
    assert sorted(solved) == sorted({"svm", "top_tau"} - {method})


# -- Ctrl-C --------------------------------------------------------------------------------------------
def start_on_a_terminal(*words):
    """Start the real command with a terminal as its standard error; return it and the terminal."""
    terminal, its_end = pty.openpty()
    environment = {**os.environ, **ENV, "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "cs3vm", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=its_end,
        text=True,
    )
    os.close(its_end)
    return process, terminal


def read_until(terminal, word, seconds=60):
    """What the terminal shows until the word appears; all of it if the word is None."""
    shown, deadline = "", time.monotonic() + seconds
    while time.monotonic() < deadline and (word is None or word not in shown):
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 4096).decode(errors="replace")
            except OSError:  # the other end is closed
                break
    return shown


def test_ctrl_c_writes_the_best_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, n_positive = make_people(1500, seed=3)
    frame.to_csv("people.csv", index=False)
    words = [
        "fit",
        "people.csv",
        *LABEL,
        "--positive",
        "yes",
        "--n-positive",
        str(n_positive),
        "--id",
        "person",
    ]
    process, terminal = start_on_a_terminal(*words, "--id", "person", "--no-report", "--time-limit", "300")
    shown = read_until(terminal, "best ")
    assert "best " in shown
    process.send_signal(signal.SIGINT)
    shown += read_until(terminal, None)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, shown
    assert "note: stopped by Ctrl-C" in shown
    assert "gap" in shown
    assert "of 300 s" in shown
    assert "Written: people.labels.csv, people.model.json" in out
    labels = pd.read_csv("people.labels.csv")
    assert (labels["predicted"][labels["given"].isna()] == "yes").sum() == n_positive
    assert load_model_here().n_positive == n_positive
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["people.csv", "people.labels.csv", "people.model.json"]


def test_ctrl_c_before_any_answer_falls_back_to_the_svm(people, monkeypatch):
    real = CS3VMClassifier.fit

    def interrupted(self, *args, **kwargs):
        if self.method != "top_tau":
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(CS3VMClassifier, "fit", interrupted)
    result = fit("--positive", "yes", "--n-positive", people[1], "--id", "person", method=ALONE)
    assert result.exit_code == 0, result.output
    assert "stopped by Ctrl-C before the search had an answer" in result.stderr
    labels = pd.read_csv("people.labels.csv")
    assert (labels["predicted"][labels["given"].isna()] == "yes").sum() == people[1]


def test_an_interrupt_that_compiled_code_swallows_is_raised_again():
    seen = []
    with CtrlC(seen.append) as stop:
        stop("first")
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            stop("second")
    assert seen == ["first"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_reading_writes_nothing(people, tmp_path, monkeypatch):
    from cs3vm.cli import inputs as _data

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_data, "read_table", interrupted)
    assert fit(*GOOD).exit_code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


# -- help and progress -----------------------------------------------------------------------------------
@pytest.mark.parametrize("command", ["fit", "predict", "compare"])
def test_help_has_examples_and_exit_codes(command):
    output = run(command, "--help").output
    for text in ("Examples", f"cs3vm {command} people", "Exit codes", "2 bad input"):
        assert text in output


def test_methods_can_be_completed_in_the_shell(monkeypatch):
    monkeypatch.setenv("_CS3VM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "cs3vm fit people.csv --method wi")
    monkeypatch.setenv("COMP_CWORD", "4")
    done = subprocess.run([sys.executable, "-m", "cs3vm"], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["wircm"]


def test_the_progress_line_is_for_terminals_only(capsys):
    import io

    from rich.console import Console

    from cs3vm.cli.progress import ProgressLine
    from cs3vm.model.status import TracePoint

    shown = {}
    for terminal in (True, False):
        file = io.StringIO()
        with ProgressLine(10, Console(file=file, force_terminal=terminal, width=100)) as line:
            assert line.text().startswith("searching")
            line(TracePoint(0.1, float("inf"), 0.0, 0))
            assert line.text().startswith("searching")
            line(TracePoint(0.2, 8.0, 6.0, 3))
            assert line.text().startswith("best 8  bound 6  gap 25.0 %  0.")
            assert " of 10 s" in line.text()
        shown[terminal] = file.getvalue()
    assert "best 8  bound 6" in shown[True]
    assert shown[False] == ""


def test_rows_on_the_plane_are_explained_in_the_words_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = pd.DataFrame({"x": [0] * 5 + [2] * 5 + [1] * 20, "yes": [0] * 5 + [1] * 5 + [None] * 20})
    steps.to_csv("steps.csv", index=False)
    words = ("steps.csv", "--label", "yes", "--n-positive", "10", "--method", "direct", *ALONE)
    result = run("fit", *words, "--side-margin", "0")
    assert "20 of 20 unlabelled rows lie on the hyperplane" in result.stderr
    assert "--side-margin auto forbids it" in result.stderr
    result = run("fit", *words, "--force")
    assert "lie on the hyperplane" not in result.stderr
    assert "20 rows are undecided" in result.stdout
    labels = pd.read_csv("steps.labels.csv")
    assert labels["undecided"].tolist() == [0] * 10 + [1] * 20
    assert (labels["predicted"][10:] == 1).sum() == 10


def test_the_report_of_the_command_advises_in_its_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = pd.DataFrame({"x": [0] * 5 + [2] * 5 + [1] * 20, "yes": [0] * 5 + [1] * 5 + [None] * 20})
    steps.to_csv("steps.csv", index=False)
    words = ("steps.csv", "--label", "yes", "--n-positive", "10", "--method", "direct", "--repeats", "1")
    result = run("fit", *words, "--side-margin", "0", "--work-limit", "1e7")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "steps.report.html").read_text()
    assert "--side-margin auto forbids it" in page
    for word in ("options", "CtrlC", "callback"):
        assert word not in page
        assert word not in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--standardize", "rank"), "--standardize rank needs a kernel"),
        (("--norm", "l1", "--kernel", "rbf"), "use --norm l2 or --kernel linear"),
    ],
)
def test_errors_are_in_the_words_of_the_command(people, tmp_path, words, message):
    said = refuse(tmp_path, *GOOD, *words)
    assert message in said
    assert "='" not in said


def test_the_kernel_is_named_once(people):
    words = ("--positive", "yes", "--n-positive", people[1], "--id", "person", "--kernel", "rbf")
    for components in ((), ("--components", 4)):
        assert fit(*words, *components, "--force").stdout.count("kernel rbf") == 1
