from __future__ import annotations

import numpy as np
import pytest

from cs3vm.exceptions import UnknownNameError
from cs3vm.scaling import make_scaling

rng = np.random.default_rng(0)
DATA = rng.normal(size=(50, 4)) * [1.0, 1e3, 1e-3, 0.0] + [5.0, -2e3, 0.0, 7.0]


@pytest.mark.parametrize("name", ["paper", "zscore", None])
def test_plane_maps_back_to_original_units(name):
    scaling = make_scaling(name, DATA)
    w, b = rng.normal(size=4), 0.3
    w_original, b_original = scaling.to_original(w, b)
    np.testing.assert_allclose(DATA @ w_original + b_original, scaling.transform(DATA) @ w + b, atol=1e-9)


def test_zscore_has_mean_zero_and_deviation_one_and_constant_columns_stay_zero():
    scaled = make_scaling("zscore", DATA).transform(DATA)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), [1.0, 1.0, 1.0, 0.0], atol=1e-12)


def test_weighted_zscore_equals_repeated_rows():
    weights = rng.integers(1, 4, len(DATA))
    a, b = make_scaling("zscore", DATA, weights), make_scaling("zscore", np.repeat(DATA, weights, axis=0))
    np.testing.assert_allclose(a.shift, b.shift)
    np.testing.assert_allclose(a.factor, b.factor)


def test_unknown_scaling_names_the_choices():
    with pytest.raises(UnknownNameError, match="'paper', 'zscore' or None"):
        make_scaling("minmax", DATA)
