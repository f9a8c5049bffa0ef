from __future__ import annotations

import numpy as np
import pytest

from cs3vm.exceptions import UnknownNameError
from cs3vm.learn.scaling import make_scaling

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
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=2e-9)
    np.testing.assert_allclose(scaled.std(axis=0), [1.0, 1.0, 1.0, 0.0], atol=1e-12)


def test_weighted_zscore_equals_repeated_rows():
    weights = rng.integers(1, 4, len(DATA))
    a, b = make_scaling("zscore", DATA, weights), make_scaling("zscore", np.repeat(DATA, weights, axis=0))
    np.testing.assert_allclose(a.shift, b.shift)
    np.testing.assert_allclose(a.factor, b.factor)


def test_ranks_ignore_any_increasing_change_of_units():
    scaled = make_scaling("rank", DATA).transform(DATA)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), [1.0, 1.0, 1.0, 0.0], atol=1e-12)
    changed = np.exp(DATA / np.abs(DATA).max(axis=0)) * [1, 5, 1e6, 1e-6]
    np.testing.assert_allclose(make_scaling("rank", changed).transform(changed), scaled)
    assert np.all(np.argsort(scaled[:, 0]) == np.argsort(DATA[:, 0]))


def test_equal_values_share_a_rank_and_new_ones_lie_between():
    column = np.array([[0.0], [0.0], [1.0], [3.0]])
    scaling = make_scaling("rank", column)
    low, one, three = scaling.transform(np.array([[0.0], [1.0], [3.0]])).ravel()
    assert (one - low) / (three - one) == pytest.approx(1.5 / 1.0)  # mid-ranks 1, 2.5 and 3.5
    new = scaling.transform(np.array([[-9.0], [2.0], [99.0]])).ravel()
    np.testing.assert_allclose(new, [low, (one + three) / 2, three])


def test_weighted_ranks_equal_repeated_rows():
    weights = rng.integers(1, 4, len(DATA))
    a, b = make_scaling("rank", DATA, weights), make_scaling("rank", np.repeat(DATA, weights, axis=0))
    np.testing.assert_allclose(a.transform(DATA), b.transform(DATA), atol=1e-12)


def test_ranks_of_many_values_are_interpolated():
    many = rng.exponential(size=(20_000, 1))
    scaling = make_scaling("rank", many)
    assert len(scaling.values[0]) <= 1000
    exact = (np.argsort(np.argsort(many[:, 0])) + 0.5) / 20_000
    np.testing.assert_allclose(scaling.transform(many)[:, 0], (exact - 0.5) * 12**0.5, atol=4e-3)


def test_unknown_scaling_names_the_choices():
    with pytest.raises(UnknownNameError, match="'paper', 'zscore', 'rank' or None"):
        make_scaling("minmax", DATA)
