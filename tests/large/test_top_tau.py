"""The simple rule in pieces: the plane of the labelled rows' SVM, at the exact intercept."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import clouds


@pytest.mark.parametrize("near_rows", [200, 30_000])
def test_labels_are_those_of_the_rule_in_memory(near_rows):
    X, y, truth = clouds(3000)
    n = int(truth[np.isnan(y)].sum())
    source = ArraySource(X, y, piece_rows=700)
    clf = CS3VMClassifier("top_tau")
    found = fit_pieces(source, clf, n_positive=n, sample_rows=500, near_rows=near_rows)
    whole = CS3VMClassifier("top_tau").fit(X, y, n_positive=n)
    assert found.exact
    assert found.counts.tolist() == [n]
    assert np.array_equal(found.transduction(source), whole.transduction_)
    assert found.to_local().fit_.method == "top_tau"
    assert {done.name for done in found.passes} == {"survey", "intercept", "outcome"}
    # the plane in memory may be steeper, to keep its margin
    ratio = np.asarray(found.to_local().result_.coef) / np.asarray(whole.result_.coef)
    assert np.allclose(ratio, ratio[0], rtol=1e-5)


def test_a_small_table_is_that_of_the_classifier():
    X, y, truth = clouds(600)
    n = int(truth[np.isnan(y)].sum())
    source = ArraySource(X, y)
    found = fit_pieces(source, CS3VMClassifier("top_tau"), n_positive=n)
    whole = CS3VMClassifier("top_tau").fit(X, y, n_positive=n)
    assert found.objective == whole.result_.objective
    assert np.array_equal(found.transduction(source), whole.transduction_)


def test_an_interval_is_met_without_need_to_move():
    X, y, truth = clouds(3000)
    n = int(truth[np.isnan(y)].sum())
    source = ArraySource(X, y)
    clf = CS3VMClassifier("top_tau")
    found = fit_pieces(source, clf, n_positive=(n - 50, n + 80), sample_rows=500, near_rows=200)
    assert n - 50 <= found.counts[0] <= n + 80
