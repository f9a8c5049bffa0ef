"""Labels by each group's own ranking."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cs3vm.methods.by_group import top_by_group
from cs3vm.model.totals import Total, Totals, bind


@pytest.mark.parametrize("seed", range(6))
def test_disjoint_totals_are_each_met_by_the_highest_scores(seed):
    rng = np.random.default_rng(seed)
    m = 200
    group, scores = rng.integers(0, 5, m), rng.normal(size=m) + 1.0
    known = {g: int(rng.integers(0, np.sum(group == g) + 1)) for g in range(4)}  # nothing known of group 4
    totals = bind(Totals.by_group(group, known), np.ones(m), 1.0)
    z = top_by_group(scores, totals)
    for g, count in known.items():
        own = np.flatnonzero(group == g)
        assert z[own].sum() == count
        assert set(own[z[own] > 0]) == set(own[np.argsort(-scores[own])[:count]])
    np.testing.assert_array_equal(z[group == 4], scores[group == 4] > 0)


def test_within_an_interval_the_sign_of_the_scores_decides():
    scores = np.array([3.0, 2.0, 1.0, -1.0, -2.0])
    for interval, count in (((0, 5), 3), ((0, 2), 2), ((4, 5), 4), ((4, np.inf), 4), ((1, 3), 3)):
        z = top_by_group(scores, bind(interval, np.ones(5), 1.0))
        np.testing.assert_array_equal(z, np.arange(5) < count)


def test_weights_come_as_near_as_the_ranking_allows():
    weights, scores = np.array([5.0, 4.0, 3.0, 2.0]), np.array([4.0, 3.0, 2.0, 1.0])
    for total, count in ((0, 0), (4, 1), (8, 2), (11, 3), (14, 4)):
        assert top_by_group(scores, bind(total, weights, 1.0)).sum() == count


@pytest.mark.parametrize("seed", range(8))
def test_overlapping_margins_that_can_be_met_are_met(seed):
    rng = np.random.default_rng(seed)
    m = 400
    region, sex, scores = rng.integers(0, 5, m), rng.integers(0, 2, m), rng.normal(size=m)
    truth = scores + 0.8 * (region == 1) - 0.7 * sex + rng.normal(size=m) > 0
    made = Totals.by_group(region, {g: int(truth[region == g].sum()) for g in range(5)})
    made += Totals.by_group(sex, {g: int(truth[sex == g].sum()) for g in range(2)})
    totals = bind(made, np.ones(m), 1.0)
    z = top_by_group(scores, totals)
    assert totals.misses(totals.counts(z)).max() == 0.0
    for cell in np.unique(totals.cells):  # each cell has a threshold
        own = totals.cells == cell
        assert scores[own & (z > 0)].min(initial=np.inf) >= scores[own & (z == 0)].max(initial=-np.inf)
    assert np.mean(z == truth) >= np.mean((scores > 0) == truth)


@pytest.mark.parametrize("seed", range(20))
def test_of_few_rows_margins_are_missed_by_little_more_than_need_be(seed):
    rng = np.random.default_rng(seed)
    m = 8
    made = Totals(
        Total(rows, int(rng.integers(0, len(rows) + 1)))
        for rows in (np.flatnonzero(rng.random(m) < 0.6) for _ in range(3))
    )
    totals, scores = bind(made, np.ones(m), 1.0), rng.normal(size=m)
    least = min(totals.price(totals.counts(np.array(z))) for z in product((0, 1), repeat=m))
    assert totals.price(totals.counts(top_by_group(scores, totals))) <= least + 1.0


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_scale_of_the_scores_does_not_matter(factor):
    rng = np.random.default_rng(1)
    scores, m = rng.normal(size=100), 100
    totals = bind(Totals([Total(np.arange(60), 20), Total(np.arange(40, m), 30, 35)]), np.ones(m), 1.0)
    np.testing.assert_array_equal(top_by_group(factor * scores, totals), top_by_group(scores, totals))
