"""``cs3vm fit`` says first how many labels are right, and what would be right more often."""

import json
from pathlib import Path

import pytest

from cs3vm.learn import comparing
from cs3vm.learn.accuracy import Accuracy, Estimate
from tests.cli.test_fit import fit, make_people

RULE = ("--method", "top_tau")


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, n_positive = make_people()
    frame.to_csv("people.csv", index=False)
    return ("--positive", "yes", "--n-positive", n_positive, "--id", "person", "--force")


def test_the_accuracy_is_the_first_figure_everywhere(people):
    pytest.importorskip("jinja2")
    result = fit(*people, "--no-certainty", "--folds", 2, "--repeats", 1, method=RULE)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line]
    assert lines[1].startswith("About ")
    assert "of the labels are right (90 % interval: " in lines[1]
    assert "biased by class only" in lines[1]
    assert lines[2].split()[:2] == ["rule", "right"]
    assert lines[4].startswith("SVM + top-τ")
    page = Path("people.report.html").read_text()
    assert page.index("rows labelled “yes”") < page.index("labels that are right, estimated")
    assert page.index("labels that are right, estimated") < page.index("How many labels are right")
    assert "all “no”" in page or "all “yes”" in page


def test_programs_get_the_same_numbers(people):
    words = (*people, "--json", "--no-report", "--no-certainty", "--folds", 3, "--repeats", 2)
    accuracy = json.loads(fit(*words, method=RULE).stdout)["accuracy"]
    assert (accuracy["n_folds"], accuracy["n_repeats"], accuracy["level"]) == (3, 2, 0.9)
    rules = {one["rule"]: one for one in accuracy["estimates"]}
    assert {"top_tau", "recommended", "majority"} == set(rules)
    assert 0 <= rules["top_tau"]["low"] <= rules["top_tau"]["share"] <= rules["top_tau"]["high"] <= 1
    assert set(rules["top_tau"]["recalls"]) == {"yes", "no"}


def test_it_can_be_left_out(people):
    leave = ("--no-accuracy", "--no-certainty")
    result = fit(*people, *leave, "--json", method=RULE)
    assert json.loads(result.stdout)["accuracy"] is None
    assert "labels that are right" not in Path("people.report.html").read_text()
    assert "of the labels are right" not in fit(*people, *leave, "--no-report", method=RULE).stdout


def test_one_label_of_a_class_is_too_few(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, n_positive = make_people()
    frame.loc[frame.index[frame["cash"] == "yes"][1:], "cash"] = None
    frame.to_csv("people.csv", index=False)
    words = ("--positive", "yes", "--n-positive", n_positive + 5, "--id", "person")
    result = fit(*words, "--json", "--no-certainty", method=RULE)
    assert result.exit_code == 0, result.output
    assert "“yes” has one labelled row" in json.loads(result.stdout)["accuracy"]["why_not"]
    assert "NaN" not in result.stdout
    page = Path("people.report.html").read_text()
    assert "cannot be estimated: the class “yes” has one labelled row" in page
    assert ">nan" not in page.lower()


def test_a_rule_that_seems_better_is_named_with_its_option(people, monkeypatch):
    def estimate(*_, **__):
        own = Estimate("direct", "CS³VM (direct)", 0.6, 0.5, 0.7, (0.6, 0.6))
        other = Estimate("top_tau", "SVM + top-τ", 0.8, 0.7, 0.9, (0.8, 0.8), 0.2, 0.05)
        return Accuracy(("no", "yes"), (own, other), (0.8, 0.05), 0.9, 5, 1)

    monkeypatch.setattr(comparing, "_estimate", estimate)
    result = fit(*people, "--no-certainty", method=("--method", "direct", "--work-limit", "1e7"))
    assert "SVM + top-τ seems to be right more often, by 20 points" in result.stderr
    assert "try --method top_tau" in result.stderr
    assert "try --method top_tau" in Path("people.report.html").read_text()


def test_ctrl_c_leaves_it_out_and_keeps_the_answer(people, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "look", interrupt)
    result = fit(*people, "--no-report", "--no-certainty", method=RULE)
    assert result.exit_code == 0, result.output
    assert "cannot be estimated: it was stopped by Ctrl-C" in result.stdout
    assert Path("people.labels.csv").exists()


def test_the_safe_method_says_what_it_took(people, monkeypatch):
    words = (*people, "--no-report", "--json", "--no-certainty", "--folds", 2, "--repeats", 1)
    summary = json.loads(fit(*words, method=("--method", "safe", "--work-limit", "3e6")).stdout)
    assert summary["accuracy"]["estimates"][0]["rule"] in ("auto", "top_tau", "recommended")
    took = summary["accuracy"]["instead_of"]
    assert took in (None, "auto")
    assert (took is None) == (not any("--method safe took" in note for note in summary["notes"]))
