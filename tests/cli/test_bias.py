"""``cs3vm fit`` says how the labelled rows differ: in words, for programs, and in the report."""

import json
from pathlib import Path

import pytest

from tests.cli.test_accuracy import RULE, people  # noqa: F401
from tests.cli.test_fit import QUICK, fit, make_people


def test_it_is_said_after_the_accuracy(people):  # noqa: F811
    result = fit(*people, "--no-report", "--no-certainty", "--repeats", 1, method=RULE)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line]
    (place,) = [i for i, line in enumerate(lines) if "of the labelled rows and" in line]
    assert place > 1
    assert "“no” is 75.0 % of the labelled rows" in lines[place]


def test_programs_get_the_numbers(people):  # noqa: F811
    bias = json.loads(fit(*people, "--json", method=QUICK).stdout)["bias"]
    assert {one["name"] for one in bias["features"]} >= {"age", "region=north"}
    assert [one["labelled"] for one in bias["classes"]] == [18, 6]
    assert bias["by_class_only"] is True
    assert 0 < bias["effective"] < 24


def test_a_bias_by_more_than_class_is_a_warning(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    frame, n_positive = make_people(400)
    frame["lives"] = [9.0 if answer else i % 7 for i, answer in enumerate(frame["cash"].notna())]
    frame.to_csv("people.csv", index=False)
    words = ("--positive", "yes", "--n-positive", n_positive, "--id", "person")
    result = fit(*words, "--no-accuracy", "--no-certainty", method=RULE)
    assert result.exit_code == 0, result.output
    assert "labels are biased by more than class" in result.stderr
    assert "most surely in lives" in result.stdout
    assert "sample_weight" not in Path("people.report.html").read_text()
