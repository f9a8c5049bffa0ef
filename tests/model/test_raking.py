"""Raking meets what can be met and changes nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.model.raking import probabilities, rake


def margins(seed: int, m: int = 300):
    rng = np.random.default_rng(seed)
    weights = np.ones(m) if seed % 2 else rng.uniform(0.5, 3.0, m)
    truth = probabilities(rng.normal(size=m))
    region, sex = rng.integers(0, 4, m), rng.integers(0, 2, m)
    rows = [np.flatnonzero(region == i) for i in range(4)] + [np.flatnonzero(sex == i) for i in range(2)]
    return rng.normal(size=m) * 2.0, weights, rows, np.array([weights[own] @ truth[own] for own in rows])


@pytest.mark.parametrize("seed", range(6))
def test_overlapping_totals_that_can_be_met_are_met(seed):
    odds, weights, rows, known = margins(seed)
    raked, shifts = rake(odds, weights, rows, known, known)
    counts = [weights[own] @ probabilities(raked[own]) for own in rows]
    np.testing.assert_allclose(counts, known, rtol=1e-3)
    expected = odds.copy()
    for own, shift in zip(rows, shifts, strict=True):
        expected[own] += shift
    np.testing.assert_allclose(raked, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_intervals_that_hold_need_no_shift_and_others_meet_the_nearer_end(seed):
    odds, weights, rows, _ = margins(seed)
    rows = rows[:3]
    counts = np.array([weights[own] @ probabilities(odds[own]) for own in rows])
    low, high = counts + np.array([-1.0, 2.0, -9.0]), counts + np.array([1.0, 5.0, -4.0])
    raked, shifts = rake(odds, weights, rows, low, high)
    assert shifts[0] == 0.0
    assert shifts[1] > 0.0 > shifts[2]
    met = [weights[own] @ probabilities(raked[own]) for own in rows]
    np.testing.assert_allclose(met, [counts[0], low[1], high[2]], rtol=1e-6)


def test_impossible_and_extreme_totals_do_no_harm():
    odds, rows = np.array([-800.0, 0.0, 900.0]), [np.arange(3), np.arange(0)]
    for low, high in ((7.0, 9.0), (3.0, 3.0), (0.0, 0.0), (2.5, np.inf)):
        raked, _ = rake(odds, np.ones(3), rows, np.array([low, 0.0]), np.array([high, 0.0]))
        assert np.all(np.isfinite(raked))
        assert probabilities(raked).sum() == pytest.approx(min(low, 3.0), abs=1e-3)
