"""``cs3vm fit`` says which labels are certain and which are stable: in words, in the labels file, in JSON."""

import json

import pandas as pd

from tests.cli.test_accuracy import RULE, people  # noqa: F401
from tests.cli.test_fit import fit

SEARCH = ("--method", "direct", "--no-report", "--no-accuracy")


def test_labels_have_two_more_columns(people):  # noqa: F811
    result = fit(*people, method=SEARCH)
    assert result.exit_code == 0, result.output
    labels = pd.read_csv("people.labels.csv")
    assert set(labels["certain"][labels["given"].notna()]) == {"given"}
    assert set(labels["certain"][labels["given"].isna()]) <= {"certain", "changes", "not known"}
    assert labels["stability"].between(0, 1).all()
    number = int((labels["certain"] == "certain").sum())
    assert f"Proven: {number} of 96 labels" in result.stdout
    stable = int(((labels["stability"] >= 0.95) & labels["given"].isna()).sum())
    assert f"{stable} labels" in result.stdout


def test_a_simple_rule_has_stability_only(people):  # noqa: F811
    said = json.loads(fit(*people, "--json", "--no-report", method=RULE).stdout)["certainty"]
    assert said["certain"] == 0
    assert "does not search" in said["why_not"]
    assert said["n_resamples"] == 20


def test_it_can_be_left_out(people):  # noqa: F811
    result = fit(*people, "--no-certainty", "--json", "--no-report", method=RULE)
    assert json.loads(result.stdout)["certainty"] is None
    assert "certain" not in pd.read_csv("people.labels.csv")
