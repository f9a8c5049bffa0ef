"""The tables of ``python -m benchmarks probabilities`` are functions of its rows."""

import numpy as np
import pytest

from benchmarks.probabilities import BINS, TITLES, by_labels, curve, judge, reliability, table


def row(losses, sampling="biased", dataset="x", n=10, p=None, truth=None):
    p = np.array([0.25, 0.25, 0.75, 0.75]) if p is None else p
    truth = np.array([False, True, True, True]) if truth is None else truth
    fields = {"sampling": sampling, "dataset": dataset, "n": str(n)}
    for name in TITLES:
        fields |= {f"{name}_{measure}": value for measure, value in judge(p, truth).items()}
        fields[f"{name}_loss"] = str(losses.get(name, 0.6))
    return fields


def test_measures_are_those_of_the_textbook():
    p, truth = np.array([0.9, 0.2, 1.0]), np.array([True, False, True])
    found = judge(p, truth)
    assert float(found["loss"]) == pytest.approx(-np.mean(np.log([0.9, 0.8, 1 - 1e-6])), abs=1e-5)
    assert float(found["brier"]) == pytest.approx((0.01 + 0.04) / 3, abs=1e-5)
    assert len(found["bins"].split()) == BINS


def test_a_bin_has_its_mean_probability_and_its_share_of_positives():
    bins = curve([row({})], "linear")
    assert bins[2].tolist() == [0.5, 0.25, 0.5]
    assert bins[7].tolist() == [0.5, 0.75, 1.0]
    assert bins[0, 0] == 0
    lines = reliability([row({})]).splitlines()
    assert "| 0.25 → 0.50 |" in lines[4]
    assert lines[-1].endswith("| 0.250 |")


def test_differences_are_by_datasets():
    rows = [row({"logistic": 0.7, "recommended": 0.5}, dataset=name) for name in ("x", "x", "y")]
    rows[2]["logistic_loss"] = "0.4"
    line = next(line for line in table(rows).splitlines() if line.startswith("| logistic"))
    assert "+0.0500 ± 0.1500 | 50 %" in line
    assert "| 67 % |" in line  # worse than the flat share, by instances


def test_few_and_many_labels_are_told_apart():
    text = by_labels([row({"flat": 0.7}, n=20), row({"flat": 0.5}, n=200)])
    assert "up to 20 labels (1 instances) | more (1 instances)" in text
    assert "| the known share for every row | 0.7000 | 0.5000 |" in text
