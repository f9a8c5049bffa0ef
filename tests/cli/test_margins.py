"""Totals by group, intervals and survey weights on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cs3vm.cli.margins import read_total
from cs3vm.tables.model_file import load_model

from .test_fit import LABEL, QUICK, make_people, run

DIRECT = ("--method", "direct", "--work-limit", "3e7", "--no-report", "--no-accuracy", "--no-certainty")


@pytest.fixture
def people(tmp_path, monkeypatch):
    """People with a weight and a sex; the answers of all of them; which have none in the file."""
    monkeypatch.chdir(tmp_path)
    frame, _ = make_people()
    rng = np.random.default_rng(3)
    truth = np.where(frame["age"] + 15 * (frame["region"] == "north") > 55, "yes", "no")
    frame["sex"], frame["wt"] = rng.choice(["f", "m"], len(frame)), rng.uniform(1, 3, len(frame)).round(2)
    frame.to_csv("people.csv", index=False)
    return frame, truth, frame["cash"].isna().to_numpy()


def fit(*words, method=DIRECT):
    return run("fit", "people.csv", *LABEL, "--id", "person", *method, *words)


def summary(*words, method=DIRECT):
    result = fit("--json", *words, method=method)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def totals_of(frame, truth, rows, column):
    hidden = frame[rows].assign(yes=(truth == "yes")[rows])
    return hidden.groupby(column)["yes"].sum()


def test_an_interval(people):
    found = summary("--n-positive", "30:35", "--exclude", "wt")
    assert found["n_positive"] == [30, 35]
    assert 30 <= found["count"] <= 35
    assert found["totals"][0]["missed"] == 0
    model = load_model(Path("people.model.json"))
    (one,) = model.known_totals["yes"]
    assert (one.low, one.high, one.count) == (30, 35, found["count"])


def test_totals_by_two_columns(people):
    frame, truth, rows = people
    for column in ("region", "sex"):
        totals_of(frame, truth, rows, column).rename("total").to_csv(f"{column}.csv")
    words = ("--totals-by", "region=region.csv", "--totals-by", "sex=sex.csv", "--exclude", "wt")
    found = summary(*words, "--count-penalty", 5)
    wanted = {f"region: {name}": n for name, n in totals_of(frame, truth, rows, "region").items()}
    wanted |= {f"sex: {name}": n for name, n in totals_of(frame, truth, rows, "sex").items()}
    assert {one["name"]: one["low"] for one in found["totals"]} == wanted
    labels = pd.read_csv("people.labels.csv")
    for one in found["totals"]:
        column, name = one["name"].split(": ")
        inside = rows & (frame[column] == name).to_numpy()
        assert one["count"] == np.sum(labels["predicted"][inside] == "yes")


def test_the_summary_shows_totals(people):
    frame, truth, rows = people
    totals_of(frame, truth, rows, "region").rename("total").rename_axis("group").to_csv("t.csv")
    words = ("--method", "direct", "--work-limit", "5e6", "--no-report", "--no-accuracy")
    result = fit("--totals-by", "region=t.csv", method=words)
    assert result.exit_code == 0, result.output
    assert "Proven: " in result.stdout
    assert "of which 3 totals by region are known (cash=yes)" in result.stdout
    assert "region: north" in result.stdout
    assert "wanted" in result.stdout
    assert "'wt' looks like survey weights" in result.stderr


def test_low_and_high_and_gaps(people):
    frame, truth, rows = people
    north = int(totals_of(frame, truth, rows, "region")["north"])
    with open("t.csv", "w") as file:
        file.write(f"group,total,low,high\nnorth,{north},,\nsouth,,5,\nwest,,,\n")
    found = summary("--totals-by", "region=t.csv", "--n-positive", "20:60", "--exclude", "wt")
    ends = {one["name"]: (one["low"], one["high"]) for one in found["totals"]}
    south = int(np.sum(rows & (frame["region"] == "south").to_numpy()))
    assert ends == {"all rows": (20, 60), "region: north": (north, north), "region: south": (5, south)}


@pytest.mark.parametrize("form", ["wide", "long"])
def test_groups_by_class(people, form):
    frame, truth, rows = people
    frame["cash"] = np.where(rows, None, np.where(frame["age"] > 75, "often", truth))
    answers = np.where(frame["age"] > 75, "often", truth)
    frame.to_csv("people.csv", index=False)
    table = pd.crosstab(frame["region"][rows], answers[rows], colnames=["class"])
    if form == "long":
        table = table.stack().rename("total").reset_index()
    table.to_csv("t.csv", index=form == "wide")
    found = summary("--totals-by", "region=t.csv", "--exclude", "wt")
    assert all(one["missed"] == 0 for one in found["totals"])
    assert len(found["totals"]) == 9
    assert set(found["classes"]) == {"yes", "no", "often"}


def test_classes_by_two_columns(people):
    frame, truth, rows = people
    answers = np.where(frame["age"] > 75, "often", truth)
    frame["cash"] = np.where(rows, None, answers)
    frame.to_csv("people.csv", index=False)
    for column in ("region", "sex"):
        pd.crosstab(frame[column][rows], answers[rows]).to_csv(f"{column}.csv")
    words = ("--totals-by", "region=region.csv", "--totals-by", "sex=sex.csv", "--exclude", "wt")
    found = summary(*words)
    assert len(found["totals"]) == 15
    assert all(one["missed"] == 0 for one in found["totals"])


def test_weights_are_the_unit(people):
    frame, truth, rows = people
    total = float(frame["wt"][rows & (truth == "yes")].sum())
    found = summary("--weight", "wt", "--n-positive", f"{total - 2}:{total + 2}")
    labels = pd.read_csv("people.labels.csv")
    assert found["count"] == pytest.approx(frame["wt"][rows & (labels["predicted"] == "yes")].sum())
    assert abs(found["count"] - total) <= 2 + 1e-6
    assert "wt" not in found["features"]
    weights = frame["wt"].to_numpy()
    effective = weights.sum() ** 2 / np.sum(weights**2)
    assert found["weights"]["effective_size"] == pytest.approx(effective)
    assert found["weights"]["design_effect"] == pytest.approx(len(weights) / effective)


def test_totals_of_all_rows(people):
    frame, _, rows = people
    labelled = int(np.sum((frame["cash"] == "yes") & ~rows))
    found = summary("--n-positive", 40, "--totals-of", "all", "--exclude", "wt", method=QUICK)
    assert found["n_positive"] == 40 - labelled


def test_the_report_has_the_totals(people):
    frame, truth, rows = people
    totals_of(frame, truth, rows, "region").rename("total").to_csv("t.csv")
    result = fit(
        "--totals-by", "region=t.csv", "--weight", "wt", method=("--method", "top_tau", "--no-accuracy")
    )
    assert result.exit_code == 0, result.output
    with open("people.report.html", encoding="utf-8") as file:
        page = file.read()
    assert "region: north" in page
    assert "effective size" in page
    assert "effective size" in result.stdout


def test_a_threshold_for_each_group(people, tmp_path):
    frame, truth, rows = people
    totals_of(frame, truth, rows, "region").rename("total").to_csv("t.csv")
    words = ("--totals-by", "region=t.csv", "--exclude", "wt,region", "--group-intercepts")
    found = summary(*words, "--count-penalty", "10")
    assert all(one["missed"] == 0 for one in found["totals"])
    model = load_model(Path("people.model.json"))
    assert model.thresholds[0].groups == ("north", "south", "west")
    labels = pd.read_csv("people.labels.csv")
    new = frame.drop(columns="cash")
    new.to_csv("new.csv", index=False)
    assert run("predict", "people.model.json", "new.csv").exit_code == 0
    again = pd.read_csv("new.predictions.csv")
    np.testing.assert_allclose(again["score"], labels["score"])
    assert (again["predicted"] == labels["predicted"])[rows].all()
    new.loc[:2, "region"] = ["east", None, "east"]
    new.to_csv("new.csv", index=False)
    result = run("predict", "people.model.json", "new.csv", "--force")
    assert result.exit_code == 0
    assert "3 rows have a group in column 'region' for which the model has no threshold" in " ".join(
        result.stderr.split()
    )
    new.drop(columns="region").to_csv("new.csv", index=False)
    result = run("predict", "people.model.json", "new.csv", "--force")
    assert result.exit_code == 2
    assert "no column of groups" in " ".join(result.stderr.split())


def test_thresholds_need_groups(people):
    result = fit("--n-positive", 30, "--group-intercepts")
    assert result.exit_code == 2
    assert "--group-intercepts needs to know the groups: give --totals-by" in " ".join(result.stderr.split())


NAMES = "svm,top_tau,direct,logistic,forest,extra_trees"


def compared(*words):
    result = run("compare", "people.csv", *LABEL, "--id", "person", "--work-limit", "2e7", *words)
    assert result.exit_code == 0, result.output
    return result


def test_compare_with_totals_by_group_and_weights(people):
    frame, truth, rows = people
    weights = frame["wt"][rows & (truth == "yes")].groupby(frame["region"]).sum()
    weights.rename("total").to_csv("t.csv")
    words = ("--totals-by", "region=t.csv", "--weight", "wt", "--methods", NAMES)
    found = json.loads(compared(*words, "--json").stdout)
    assert [row["method"] for row in found] == NAMES.split(",")
    for row in found[3:]:  # each group by its own ranking: missed by less than one row of each
        assert row["missed"] <= 3 * 3
        assert row["count"] == pytest.approx(weights.sum(), abs=9)
    assert found[0]["missed"] > 0
    result = compared(*words)
    assert "of which 3 totals by region are known (cash=yes)" in result.stdout
    assert "missed" in result.stdout


def test_compare_with_an_interval_and_all_rows(people):
    frame, _, rows = people
    words = ("--exclude", "wt", "--methods", NAMES, "--json")
    for row in json.loads(compared(*words, "--n-positive", "30:35").stdout)[1:]:
        assert 30 <= row["count"] <= 35
        assert row["n_positive"] == [30, 35]
    labelled = int(np.sum((frame["cash"] == "yes") & ~rows))
    for row in json.loads(compared(*words, "--n-positive", "40", "--totals-of", "all").stdout)[3:]:
        assert row["count"] == 40 - labelled


def test_compare_takes_two_classes(people):
    frame, truth, rows = people
    frame["cash"] = np.where(rows, None, np.where(frame["age"] > 75, "often", truth))
    frame.to_csv("people.csv", index=False)
    pd.crosstab(frame["region"][rows], np.where(frame["age"] > 75, "often", truth)[rows]).to_csv("t.csv")
    result = run("compare", "people.csv", "--label", "cash", "--id", "person", "--totals-by", "region=t.csv")
    assert result.exit_code == 2
    assert "compare takes two classes" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("file", "words", "message"),
    [
        ("group,total\nnorth,900\nsoth,3\n", (), "the totals have 2 problems"),
        ("group,total\nnorth,900\n", (), "--totals-of all"),
        ("group,total\nnorth,many\n", (), "total of north in t.csv is 'many'"),
        ("group,total\nnorth,3\nnorth,4\n", (), "'north' twice"),
        ("land,total\nnorth,3\n", (), "neither a column 'region' nor 'group'"),
        ("group\nnorth\n", (), "has no numbers"),
        ("group,low,high\nnorth,9,3\n", (), "from 9 to 3"),
        ("group,total\nnorth,3\n", ("--positive-rate", "0.3"), "only one of"),
        ("group,total\nnorth,3\n", ("--total-positive", "30"), "--totals-of all"),
        ("group,total\nnorth,3\n", ("--totals-by", "nowhere=t.csv"), "no column for --totals-by"),
        ("group,total\nnorth,3\n", ("--totals-by", "region"), "not of the form column=file"),
        ("group,total\nnorth,3\n", ("--weight", "region"), "is to hold weights"),
    ],
)
def test_what_is_refused(people, tmp_path, file, words, message):
    (tmp_path / "t.csv").write_text(file)
    result = fit("--totals-by", "region=t.csv", *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "people.labels.csv").exists()


def test_a_range_of_totals(people):
    method = ("--method", "top_tau", "--no-accuracy")
    result = fit("--n-positive", 30, "--n-positive-range", "20:40", "--exclude", "wt", method=method)
    assert result.exit_code == 0, result.output
    labels = pd.read_csv("people.labels.csv")
    assert 10 <= np.sum(labels["stable"] == 0) <= 25
    assert labels["stable"][labels["given"].notna()].all()
    assert "labels that change" in result.stdout
    with open("people.report.html", encoding="utf-8") as file:
        assert "If the total were another one" in file.read()
    words = ("--n-positive", 30, "--n-positive-range", "20:40", "--exclude", "wt", "--force")
    again = summary(*words, method=QUICK)["sensitivity"]
    assert again["unstable"] == np.sum(labels["stable"] == 0)
    assert (again["totals"][0], again["given"], again["totals"][-1]) == (20, 30, 40)
    assert fit("--n-positive", 30, "--n-positive-range", "20", "--force").exit_code == 2


@pytest.mark.parametrize("text", ["-1", "3:", ":3", "5:3", "x", "nan", "1:inf"])
def test_what_is_no_total(text):
    with pytest.raises(ValueError, match=r".+"):
        read_total(text)


def test_totals():
    assert read_total("900") == 900
    assert read_total("900:1100") == (900, 1100)
