"""Kernels by landmarks are a row-wise map in front of the same passes."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import begins, clouds, quick

SMALL = {"sample_rows": 400, "near_rows": 300}


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_the_pieces_do_not_matter(kernel):
    X, y, truth = clouds(1500)
    total, unlabelled = int(truth[np.isnan(y)].sum()), np.isnan(y)
    found = []
    for cuts in (10**6, begins(len(X), 7)):
        source = ArraySource(X, y, piece_rows=cuts)
        classifier = quick(kernel=kernel, n_components=20, coef0=1.0)
        fit = fit_pieces(source, classifier, n_positive=total, **SMALL)
        found.append((fit.objective, fit.transduction(source)))
    assert found[0][0] == found[1][0]
    assert np.array_equal(found[0][1], found[1][1])
    assert found[0][1][unlabelled].sum() == total
    assert np.mean(found[0][1][unlabelled] == truth[unlabelled]) > 0.75
    local = fit.to_local()
    plane = local.fit_.planes
    scores = local.kernel_map_.scores(local.scaling_.transform(X), plane.coef.T)[:, 0] + plane.intercept[0]
    assert np.array_equal((scores >= 0)[unlabelled], found[0][1][unlabelled] == 1)
    assert local.kernel_map_.rank == 20


def test_ranks_come_from_the_sample():
    X, y, truth = clouds(1500)
    total = int(truth[np.isnan(y)].sum())
    source = ArraySource(X, y, piece_rows=100)
    classifier = quick(kernel="laplacian", n_components=20, standardize="rank")
    fit = fit_pieces(source, classifier, n_positive=total, **SMALL)
    assert fit.transduction(source)[np.isnan(y)].sum() == total
