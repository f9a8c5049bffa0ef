"""The answer for rows in pieces does not depend on the pieces, meets the totals, and is a classifier."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import ShuffledSource, begins, clouds, quick

SMALL = {"sample_rows": 400, "near_rows": 300}


@pytest.fixture(scope="module")
def table():
    X, y, truth = clouds()
    return X, y, int(truth[np.isnan(y)].sum())


@pytest.fixture(scope="module")
def whole(table):
    X, y, total = table
    source = ArraySource(X, y)
    fit = fit_pieces(source, quick(), n_positive=total, **SMALL)
    return fit, fit.transduction(source)


@pytest.mark.parametrize("n_pieces", [2, 7, 100])
@pytest.mark.parametrize("kind", [ArraySource, ShuffledSource])
def test_the_pieces_do_not_matter(table, whole, n_pieces, kind):
    X, y, total = table
    source = kind(X, y, piece_rows=begins(len(X), n_pieces))
    fit = fit_pieces(source, quick(), n_positive=total, **SMALL)
    assert fit.objective == whole[0].objective
    assert np.array_equal(fit.classifier.coef_, whole[0].classifier.coef_)
    labels = fit.transduction(ArraySource(X, y, piece_rows=begins(len(X), n_pieces, seed=1)))
    assert np.array_equal(labels, whole[1])


def test_the_total_is_met_and_given_labels_stay(table, whole):
    _, y, total = table
    fit, labels = whole
    unlabelled = np.isnan(y)
    assert fit.exact
    assert labels[unlabelled].sum() == total == fit.counts[0]
    assert np.array_equal(labels[~unlabelled], y[~unlabelled])


def test_the_objective_is_that_of_all_rows(table, whole):
    X, y, _ = table
    fit, labels = whole
    unlabelled = np.isnan(y)
    result = fit.classifier.result_
    U = fit.classifier.scaling_.transform(X[unlabelled])
    on_all = result.problem.__class__(
        result.problem.X,
        result.problem.y,
        U,
        result.problem.n_positive,
        side_margin=fit.margin,
    )
    z = labels[unlabelled].astype(np.int8)
    assert on_all.objective(result.coef, result.intercept, z) == pytest.approx(fit.objective, rel=1e-12)
    assert on_all.violation(result.coef, result.intercept, z) <= 1e-9 * fit.margin


def test_the_local_classifier_predicts_the_labels(table, whole):
    X, y, total = table
    fit, labels = whole
    local, unlabelled = fit.to_local(), np.isnan(y)
    assert np.array_equal(local.predict(X[unlabelled]), labels[unlabelled])
    assert local.n_positive_ == total
    assert local.result_.count == pytest.approx(total)
    assert local.predict_proba(X[unlabelled])[:, 1].sum() == pytest.approx(total, rel=0.05)


def test_it_is_nearly_as_good_as_in_memory(table):
    X, y, total = table
    in_memory = CS3VMClassifier("direct", work_limit=2e8).fit(X, y, n_positive=total)
    sampled = CS3VMClassifier("direct", work_limit=2e8)
    fit = fit_pieces(ArraySource(X, y), sampled, n_positive=total, sample_rows=1000, near_rows=1000)
    assert fit.objective <= 1.03 * in_memory.result_.objective


def test_a_table_that_fits_into_memory_has_the_answer_of_the_classifier(table):
    X, y, total = table
    source = ArraySource(X, y, piece_rows=300)
    fit = fit_pieces(source, quick(), n_positive=total)
    in_memory = quick().fit(X, y, n_positive=total)
    assert np.array_equal(fit.transduction(source), in_memory.transduction_)
    assert fit.objective == in_memory.result_.objective
    assert fit.n_passes == 1
