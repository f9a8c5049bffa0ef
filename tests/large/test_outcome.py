"""Rows that a plane cannot tell apart: one group for each total is divided, by seed and row numbers."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import begins, quick

SMALL = {"sample_rows": 200, "near_rows": 100}


def labels_of(X, y, n_pieces, total, weights=None, groups=None, **parameters):
    cuts = begins(len(X), n_pieces) if n_pieces > 1 else 10**6
    source = ArraySource(X, y, weights, groups, piece_rows=cuts)
    fit = fit_pieces(source, quick(**parameters), n_positive=total, **SMALL)
    parts = list(fit.labels(source))
    labels = np.concatenate([part.codes for part in parts])
    return fit, labels, np.concatenate([part.undecided for part in parts])


def equal_rows(n_rows=3000):
    X = np.zeros((n_rows, 2))
    X[:4] = [[1, 0], [2, 1], [-1, 0], [-2, -1]]
    y = np.full(n_rows, np.nan)
    y[:4] = [1, 1, 0, 0]
    return X, y


def three_rows(n_rows=3000):
    X = np.array([[-1.0, 0.3], [0.1, 0.0], [1.0, -0.3]])[np.arange(n_rows) % 3]
    y = np.full(n_rows, np.nan)
    y[:6] = [0, 0, 1, 0, 1, 1]
    return X, y


@pytest.mark.parametrize("table", [equal_rows, three_rows])
def test_ties_are_divided_and_the_pieces_do_not_matter(table):
    X, y = table()
    unlabelled = np.isnan(y)
    fit, labels, undecided = labels_of(X, y, 1, 1234)
    assert labels[unlabelled].sum() == 1234
    assert len(np.unique(X[undecided], axis=0)) == 1  # never more than one profile
    for n_pieces in (2, 7, 100):
        _, again, drawn = labels_of(X, y, n_pieces, 1234)
        assert np.array_equal(again, labels)
        assert np.array_equal(drawn, undecided)
    _, other, _ = labels_of(X, y, 1, 1234, random_state=1)
    assert not np.array_equal(other, labels)
    assert other[unlabelled].sum() == 1234
    assert fit.counts[0] == 1234


@pytest.mark.parametrize("table", [equal_rows, three_rows])
def test_millions_of_ties(table):
    X, y = table(2_000_000)
    fit, labels, undecided = labels_of(X, y, 9, 777_777)
    assert labels[np.isnan(y)].sum() == 777_777 == fit.counts[0]
    assert len(np.unique(X[undecided], axis=0)) == 1


def test_a_total_that_no_division_needs_leaves_nothing_undecided():
    X, y = three_rows()
    total = int(np.count_nonzero((X[:, 0] > 0.5) & np.isnan(y)))
    _, labels, undecided = labels_of(X, y, 3, total)
    assert not undecided.any()
    assert labels[np.isnan(y)].sum() == total


def test_weights_of_a_tie_come_as_near_as_they_can():
    X, y = equal_rows()
    weights = np.where(np.arange(len(X)) % 2 == 0, 1.0, 3.0)
    unlabelled = np.isnan(y)
    fit, labels, undecided = labels_of(X, y, 5, 2000.0, weights)
    assert abs(weights[unlabelled] @ labels[unlabelled] - 2000.0) <= 1.5
    assert undecided[unlabelled].all()
    assert fit.counts[0] == pytest.approx(weights[unlabelled] @ labels[unlabelled])


def test_each_group_is_divided_by_its_own_total():
    X, y = equal_rows()
    groups = np.where(np.arange(len(X)) % 3 == 0, "a", "b")
    totals = {"a": 300, "b": 500}
    _, labels, undecided = labels_of(X, y, 4, totals, None, groups)
    unlabelled = np.isnan(y)
    for group, total in totals.items():
        assert labels[unlabelled & (groups == group)].sum() == total
    assert undecided[unlabelled].all()
