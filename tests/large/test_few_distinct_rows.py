"""Tables of categories: few different rows, each of them many times, are solved with their exact weights."""

from __future__ import annotations

import numpy as np

from cs3vm import CS3VMClassifier
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource


def categories(n_rows, levels, n_labelled, seed=0):
    """0/1 columns of some categories, and which rows are positive."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, k, n_rows)[:, None] == np.arange(1, k) for k in levels]
    X = np.column_stack(columns).astype(float)
    w = rng.normal(size=X.shape[1])
    truth = X @ w + 0.7 * rng.normal(size=n_rows) > np.quantile(X @ w, 0.65)
    y = np.full(n_rows, np.nan)
    y[np.flatnonzero(truth)[: round(0.85 * n_labelled)]] = 1
    y[np.flatnonzero(~truth)[: n_labelled - round(0.85 * n_labelled)]] = 0
    return X, y, truth


def test_the_answer_is_as_good_as_in_memory():
    """On the sample alone the plane misses the total: small samples do not know how often each row occurs."""
    X, y, truth = categories(6000, (3, 4, 5, 3), 100)
    total = int(truth[np.isnan(y)].sum())
    clf = CS3VMClassifier(work_limit=1e8)
    found = fit_pieces(ArraySource(X, y), clf, n_positive=total, sample_rows=600)
    whole = CS3VMClassifier("direct", work_limit=1e8).fit(X, y, n_positive=total)
    assert "round" in [done.name for done in found.passes]
    assert found.objective <= 1.1 * whole.result_.objective
