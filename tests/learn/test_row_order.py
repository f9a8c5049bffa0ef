"""The order in which rows come must not decide their labels, the proof's search included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from cs3vm import CS3VMClassifier
from cs3vm.learn.scaling import zscore_scaling


def table(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 4)) * [1.0, 30.0, 0.01, 1.0] + [0.3, 1000.0, 0.0, -7.0]
    truth = X[:, 0] + 0.02 * (X[:, 1] - 1000.0) + rng.normal(size=150) > 0.5
    y = np.where(truth, 1.0, 0.0)
    y[rng.permutation(150)[:110]] = np.nan
    return X, y, int(truth[np.isnan(y)].sum())


@pytest.mark.parametrize("seed", [0, 1])
def test_auto_gives_the_same_labels_in_every_order(seed: int):
    X, y, total = table(seed)
    order = np.random.default_rng(9).permutation(len(X))
    # the work ends before the proof does: where it stops must not depend on the order, either
    here, there = (CS3VMClassifier(work_limit=2e8, time_limit=600.0) for _ in range(2))
    here.fit(X, y, n_positive=total)
    there.fit(X[order], y[order], n_positive=total)
    assert here.result_.n_nodes == there.result_.n_nodes
    assert np.array_equal(here.transduction_[order], there.transduction_)
    assert np.array_equal(here.predict(X), there.predict(X))


@pytest.mark.parametrize("landmarks", [None, 40])
@pytest.mark.parametrize(("kernel", "scaling"), [("laplacian", "rank"), ("rbf", "zscore")])
def test_kernels_give_the_same_plane_and_labels_in_every_order(
    kernel: str, scaling: str, landmarks: int | None
):
    X, y, total = table(3)
    X[:, 3] = np.rint(X[:, 3])
    order = np.random.default_rng(9).permutation(len(X))
    settings = {"kernel": kernel, "standardize": scaling, "n_components": landmarks, "method": "direct"}
    here, there = (CS3VMClassifier(work_limit=2e8, time_limit=600.0, **settings) for _ in range(2))
    here.fit(X, y, n_positive=total)
    there.fit(X[order], y[order], n_positive=total)
    assert here.result_.work == there.result_.work
    assert np.array_equal(here.result_.coef, there.result_.coef)
    assert np.array_equal(here.transduction_[order], there.transduction_)


def test_sparse_rows_give_the_same_plane_and_labels_in_every_order():
    rng = np.random.default_rng(4)
    X = random_sparse(300, 2500, density=0.01, random_state=4, format="csr")
    truth = np.asarray(X[:, :200].sum(axis=1)) > np.asarray(X[:, 200:400].sum(axis=1))
    y = np.where(truth, 1.0, 0.0)
    y[rng.permutation(300)[:240]] = np.nan
    total, order = int(truth[np.isnan(y)].sum()), rng.permutation(300)
    # part of the rows span the plane: which they are must not depend on the order, either
    settings = {"method": "direct", "n_components": 150, "work_limit": 2e8, "time_limit": 600.0}
    here, there = (CS3VMClassifier(**settings) for _ in range(2))
    here.fit(X, y, n_positive=total)
    there.fit(X[order], y[order], n_positive=total)
    assert np.array_equal(here.result_.coef, there.result_.coef)
    assert np.array_equal(here.transduction_[order], there.transduction_)


def test_scaling_is_the_same_to_the_last_digit_in_every_order():
    X, _, _ = table(2)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(X))
        one, other = zscore_scaling(X), zscore_scaling(X[order])
        assert np.array_equal(one.shift, other.shift)
        assert np.array_equal(one.factor, other.factor)
    scaled = zscore_scaling(X).transform(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-8)
