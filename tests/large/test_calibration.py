"""Probabilities of rows in pieces add up to the totals over all rows, and numbers by group are their sums."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import begins, clouds, quick

SMALL = {"sample_rows": 500, "near_rows": 400}


@pytest.fixture(scope="module")
def fitted():
    X, y, truth = clouds(3000)
    region = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    unlabelled = np.isnan(y)
    totals = {name: int(truth[unlabelled & (region == name)].sum()) for name in ("a", "b")}
    source = ArraySource(X, y, groups=region, piece_rows=700)
    fit = fit_pieces(source, quick(), n_positive={**totals, None: int(truth[unlabelled].sum())}, **SMALL)
    return X, y, truth, region, totals, source, fit, fit.calibrated(source)


def test_they_add_up_exactly(fitted):
    _, y, truth, region, totals, source, _, calibrated = fitted
    p = np.concatenate(list(source.map(calibrated)))
    unlabelled = np.isnan(y)
    assert np.allclose(p.sum(axis=1), 1.0)
    for name, total in totals.items():
        assert p[unlabelled & (region == name), 1].sum() == pytest.approx(total, rel=1e-6)
    assert p[unlabelled, 1].sum() == pytest.approx(truth[unlabelled].sum(), rel=1e-6)
    assert np.array_equal(p[~unlabelled, 1], y[~unlabelled])
    assert p[unlabelled & (truth == 1), 1].mean() > p[unlabelled & (truth == 0), 1].mean() + 0.3


def test_the_rule_for_new_rows_adds_up_over_all_of_them_too(fitted):
    X, y, truth, _, _, _, fit, calibrated = fitted
    unlabelled = np.isnan(y)
    p = fit.to_local().predict_proba(X[unlabelled])[:, 1]
    assert p.sum() == pytest.approx(truth[unlabelled].sum(), rel=1e-6)
    assert calibrated.total == pytest.approx(truth[unlabelled].sum(), rel=1e-6)


def test_the_pieces_do_not_matter(fitted):
    X, y, _, region, _, source, fit, calibrated = fitted
    other = ArraySource(X, y, groups=region, piece_rows=begins(len(X), 9))
    again = fit.calibrated(other)
    assert np.array_equal(again.shifts, calibrated.shifts)
    assert np.array_equal(
        np.concatenate(list(other.map(again))), np.concatenate(list(source.map(calibrated)))
    )


def test_numbers_by_group_are_sums(fitted):
    _, y, _, region, _, source, fit, calibrated = fitted
    found = fit.totals_by(source, "", calibrated)
    p, labels = np.concatenate(list(source.map(calibrated))), fit.transduction(source)
    unlabelled = np.isnan(y)
    assert [row.group for row in found.rows] == ["a", "b", "c"]
    for row in found.rows:
        own = unlabelled & (region == row.group)
        assert row.weight == own.sum()
        assert row.number == pytest.approx(p[own, 1].sum(), rel=1e-12)
        assert row.by_labels == labels[own].sum()
        assert row.labelled_number == np.nansum(y[region == row.group])
    assert "intervals" in str(found)


def test_a_total_of_nothing_leaves_no_chance():
    X, y, _ = clouds(1500)
    region = np.where(np.arange(len(X)) % 2 == 0, "a", "b")
    source = ArraySource(X, y, groups=region)
    fit = fit_pieces(source, quick(), n_positive={"a": 0, "b": 200}, **SMALL)
    p = np.concatenate(list(source.map(fit.calibrated(source))))
    unlabelled = np.isnan(y)
    assert p[unlabelled & (region == "a"), 1].max() == 0.0
    assert p[unlabelled & (region == "b"), 1].sum() == pytest.approx(200, rel=1e-6)
