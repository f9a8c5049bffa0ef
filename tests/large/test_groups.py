"""Totals by group and weights, exactly, over pieces."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import ShuffledSource, begins, clouds, quick

SMALL = {"sample_rows": 600, "near_rows": 1500}


@pytest.fixture(scope="module")
def grouped():
    X, y, truth = clouds(5000)
    rng = np.random.default_rng(1)
    region = np.array(["north", "south", "west"])[rng.integers(0, 3, len(X))]
    sex = rng.integers(0, 2, len(X))
    return X, y, truth, {"region": region, "sex": sex}


def totals_of(grouped, weights=None):
    _, y, truth, groups = grouped
    unlabelled = np.isnan(y)
    own = np.ones(len(y)) if weights is None else weights
    return {
        name: {
            value.item(): float((own * truth)[unlabelled & (column == value)].sum())
            for value in np.unique(column)
        }
        for name, column in groups.items()
    }


def test_overlapping_totals_are_nearly_met_by_one_plane(grouped):
    X, y, _, groups = grouped
    totals = totals_of(grouped)
    source = ArraySource(X, y, groups=groups, piece_rows=700)
    fit = fit_pieces(source, quick(), n_positive=totals, **SMALL)
    labels, unlabelled = fit.transduction(source), np.isnan(y)
    assert fit.names == ("region: north", "region: south", "region: west", "sex: 0", "sex: 1")
    counted = [
        labels[unlabelled & (groups[name] == value)].sum() for name, own in totals.items() for value in own
    ]
    assert np.array_equal(fit.counts, counted)
    assert fit.exact
    in_memory = CS3VMClassifier("direct", work_limit=2e8).fit(X, y, n_positive=totals, groups=groups)
    assert fit.objective <= 1.2 * in_memory.result_.objective
    again = fit_pieces(
        ShuffledSource(X, y, groups=groups, piece_rows=begins(len(X), 9)), quick(), n_positive=totals, **SMALL
    )
    assert again.objective == fit.objective
    assert np.array_equal(again.transduction(source), labels)


@pytest.mark.parametrize("integers", [True, False])
def test_weights_are_counted(grouped, integers):
    X, y, _, groups = grouped
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 4, len(X)) * 1.0 if integers else rng.random(len(X)) + 0.1
    totals = totals_of(grouped, weights)["region"]
    fits, labels = [], []
    for cuts in (10**6, begins(len(X), 8)):
        source = ArraySource(X, y, weights, groups["region"], piece_rows=cuts)
        fits.append(fit_pieces(source, quick(), n_positive=totals, **SMALL))
        labels.append(fits[-1].transduction(source))
    assert np.array_equal(*labels)
    unlabelled = np.isnan(y)
    for g, group in enumerate(totals):
        own = unlabelled & (groups["region"] == group)
        assert fits[0].counts[g] == pytest.approx(float(weights[own] @ labels[0][own]), rel=1e-12)
    assert fits[0].objective == fits[1].objective


def test_a_rate_is_a_whole_number_of_rows(grouped):
    X, y, _, _ = grouped
    fit = fit_pieces(ArraySource(X, y), quick(), positive_rate=0.3, **SMALL)
    assert fit.totals.tolist() == [[round(0.3 * np.isnan(y).sum())] * 2]
    assert fit.counts[0] == fit.totals[0, 0]


def test_totals_of_all_rows_count_labelled_ones(grouped):
    X, y, truth, _ = grouped
    total = int(truth.sum())
    fit = fit_pieces(ArraySource(X, y), quick(totals_of="all"), n_positive=total, **SMALL)
    assert fit.counts[0] == total - np.nansum(y)


def test_impossible_totals_are_refused_with_the_true_numbers(grouped):
    X, y, _, groups = grouped
    with pytest.raises(InvalidProblemError, match="4920"):
        fit_pieces(ArraySource(X, y), quick(), n_positive=5000, **SMALL)
    with pytest.raises(InvalidProblemError, match="north"):
        fit_pieces(ArraySource(X, y, groups=groups["region"]), quick(), n_positive={"north": 4000}, **SMALL)
