"""Random tables of every kind: the pieces never matter, and what is counted is what the labels give."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from tests.large.tables import ShuffledSource, quick


def made(seed):
    """Rows, labels, weights, groups and totals."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(50, 1500)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, d))
    change = [lambda x: x, np.round, lambda x: (x > 0) * 1.0, lambda x: x + 1e6, lambda x: x * 1e12]
    X = change[seed % 5](X)
    X = X.astype(np.float32) if rng.random() < 0.4 else X
    last = X[:, -1].astype(float)
    truth = (last - last.mean() + 0.5 * last.std() * rng.standard_normal(n) > 0) * 1.0
    y = np.full(n, np.nan)
    labelled = rng.permutation(n)[: int(rng.integers(3, 20))]
    y[labelled] = 1.0 if rng.random() < 0.1 else truth[labelled]
    weights = [None, None, rng.integers(0, 4, n) * 1.0, rng.random(n) * 3][int(rng.integers(0, 4))]
    own = np.ones(n) if weights is None else weights
    free = np.isnan(y) & (own > 0)
    groups = rng.integers(0, 3, n) if rng.random() < 0.4 else None
    if groups is None:
        return X, y, weights, groups, float((own * truth)[free].sum()), own * free
    totals = {k: float((own * truth)[free & (groups == k)].sum()) for k in range(int(rng.integers(1, 4)))}
    return X, y, weights, groups, totals, own * free


@pytest.mark.parametrize("seed", range(25))
def test_the_pieces_never_matter(seed):
    X, y, weights, groups, totals, counting = made(seed)
    rng = np.random.default_rng([seed, 1])
    sizes = {"sample_rows": int(rng.integers(20, 400)), "near_rows": int(rng.integers(20, 400))}
    whole = ArraySource(X, y, weights, groups, piece_rows=10**6)
    cut = ShuffledSource(X, y, weights, groups, piece_rows=rng.integers(0, len(X), 9).tolist())
    one, other = (
        fit_pieces(source, quick(pos_label=1.0), n_positive=totals, **sizes) for source in (whole, cut)
    )
    assert one.objective == other.objective
    labels = one.transduction(whole)
    assert np.array_equal(labels, other.transduction(whole))
    positive = counting * (labels == 1.0)
    if groups is None:
        counts = [positive.sum()]
    else:
        counts = [positive[groups == k].sum() for k in totals if counting[groups == k].any()]
    assert np.allclose(one.counts, counts, rtol=1e-9, atol=1e-9)
