"""Probabilities: a slope from hidden labels, and sums that are the known totals."""

import numpy as np
import pytest
from scipy.special import expit

from cs3vm.learn.probabilities import CAUTIOUS, HeldOut, calibrate, learn_slope, spread


def folds(steepness, n, seed=0, biased=False, m=2000):
    """Hidden labels drawn with a known steepness, in five folds, and the share of positives."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=m + n)
    p = expit(steepness * scores)
    codes = (rng.random(m + n) < p).astype(int)
    rows = np.arange(m, m + n)
    if biased:  # four of five labels are positive
        candidates = rng.permutation(m)
        wanted = [candidates[codes[candidates] == c][: n * (1 + 3 * c) // 5] for c in (0, 1)]
        rows = np.concatenate(wanted)
    columns = np.column_stack([-scores, scores])
    totals = np.bincount(codes[:m], minlength=2).astype(float)
    return [
        HeldOut(columns[:m], np.ones(m), totals, columns[part], codes[part], np.ones(len(part)))
        for part in np.array_split(rng.permutation(rows), 5)
    ]


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("steepness", [0.3, 1.0, 3.0])
def test_many_labels_tell_how_steep_probabilities_are(steepness, biased):
    found = learn_slope(folds(steepness, 1000, biased=biased))
    assert found.value == pytest.approx(steepness, rel=0.35)
    assert found.notes == []


def test_few_labels_hardly_move_the_cautious_slope():
    steep = [learn_slope(folds(5.0, n, seed=1)).value for n in (6, 40, 1000)]
    assert CAUTIOUS / 2 < steep[0] < steep[1] < steep[2]


def test_hiding_again_says_nothing_new():
    once = folds(5.0, 10)
    assert learn_slope([*once, *once], 2).value == learn_slope(once).value
    assert learn_slope([*once, *once]).value > learn_slope(once).value


def test_the_unit_of_scores_does_not_matter():
    once = folds(2.0, 200)
    scaled = [fold._replace(scores=1e3 * fold.scores, hidden=1e3 * fold.hidden) for fold in once]
    assert learn_slope(scaled).value == learn_slope(once).value
    assert spread(scaled[0].scores, once[0].weights) == pytest.approx(1e3 * spread(*once[0][:2]))


def test_where_nothing_can_be_learnt_it_says_so():
    assert learn_slope([]).value == CAUTIOUS
    one = [fold._replace(codes=np.zeros_like(fold.codes)) for fold in folds(1.0, 20)]
    (note,) = learn_slope(one).notes
    assert learn_slope(one).value == CAUTIOUS
    assert "cautious" in note
    assert "too few labels" in note


def test_scores_that_are_all_equal_give_the_known_shares():
    found = calibrate(
        np.ones((8, 2)), np.ones(8), np.array([6.0, 2.0]), CAUTIOUS / spread(np.ones((8, 2)), np.ones(8))
    )
    np.testing.assert_allclose(found.probabilities(np.ones((3, 2))), [[0.75, 0.25]] * 3)
