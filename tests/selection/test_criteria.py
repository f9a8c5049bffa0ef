"""Criteria for choosing parameters: cases whose answer is known, and what must not change them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cs3vm.exceptions import InvalidProblemError, UnknownNameError
from cs3vm.selection.criteria import (
    CRITERIA,
    HOLDING_OUT,
    NEAR,
    Evidence,
    HeldOut,
    Scored,
    auc,
    combine,
    consensus,
    density,
    evaluate,
    ranking,
    recall,
    separation,
    stability,
)


def two(values):
    """Scores of two classes from decision values."""
    values = np.asarray(values, dtype=float)
    return np.column_stack([-values, values])


def fit(codes, values=None):
    codes = np.asarray(codes)
    return Scored(codes, two(codes - 0.5) if values is None else two(values))


def refit(truth, predicted, *, values=(1.0, -1.0), codes=(1, 0), truth_values=None, weights=None):
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    scores = two(2.0 * predicted - 1 if truth_values is None else truth_values)
    return HeldOut(
        np.asarray(codes),
        two(values),
        truth=truth,
        predicted=predicted,
        truth_scores=scores[np.arange(len(truth)), truth],
        truth_weights=np.ones(len(truth)) if weights is None else np.asarray(weights, float),
    )


def evidence(full, *refits, positive=0.5):
    return Evidence(full, refits, np.array([1 - positive, positive]), np.ones(len(full.codes)))


def random_evidence(seed, k=3, m=40, n=12):
    rng = np.random.default_rng(seed)

    def draw():
        scores = np.round(rng.normal(size=(m, k)), 1)  # with ties
        return scores.argmax(axis=1), scores

    refits = [
        HeldOut(
            *draw(),
            truth=rng.integers(k, size=n),
            predicted=rng.integers(k, size=n),
            truth_scores=np.round(rng.normal(size=n), 1),
            truth_weights=rng.integers(1, 4, size=n).astype(float),
        )
        for _ in range(3)
    ]
    shares = rng.dirichlet(np.ones(k))
    return Evidence(Scored(*draw()), tuple(refits), shares, rng.integers(1, 4, size=m).astype(float))


# -- known answers ---------------------------------------------------------------------------------
def test_recall_weights_the_classes_with_their_known_shares():
    one = evidence(fit([1, 0]), refit([0, 0, 0, 0, 1], [0, 0, 1, 1, 1]), positive=0.25)
    assert recall(one) == pytest.approx(0.75 * 0.5 + 0.25 * 1.0)


def test_recall_pools_folds_and_counts_labels_by_their_weight():
    folds = [refit([1], [1], weights=[3.0]), refit([1, 0], [0, 0], weights=[1.0, 1.0])]
    assert recall(evidence(fit([1, 0]), *folds, positive=0.5)) == pytest.approx(0.5 * 0.75 + 0.5)


def test_recall_leaves_out_a_class_without_held_out_labels():
    assert recall(evidence(fit([1, 0]), refit([1, 1], [1, 0]), positive=0.01)) == pytest.approx(0.5)
    assert recall(evidence(fit([0, 0]), refit([1, 1], [1, 0]), positive=0.0)) == pytest.approx(0.5)


@pytest.mark.parametrize("labelled", [[0], [1], [0, 1]])
def test_auc_is_that_of_all_pairs_if_held_out_labels_are_like_their_class(labelled):
    rng = np.random.default_rng(3)
    truth = (rng.random(60) < 0.3).astype(int)
    values = np.round(rng.normal(size=60) + truth, 1)
    pairs = values[truth == 1][:, None] - values[truth == 0]
    expected = np.mean(pairs > 0) + 0.5 * np.mean(pairs == 0)
    held = np.isin(truth, labelled)
    fold = refit(truth[held], truth[held], values=values, codes=truth, truth_values=values[held])
    assert auc(evidence(fit(truth), fold, positive=truth.mean())) == pytest.approx(expected)


def test_auc_says_nothing_where_all_rows_are_of_the_held_out_class():
    assert auc(evidence(fit([1, 1]), refit([1], [1]), positive=1.0)) == 0.5


def test_stability_is_one_for_equal_transductions_and_zero_by_chance():
    full = fit([1, 1, 0, 0])
    same, chance = (
        refit([1], [1], values=np.zeros(4), codes=codes) for codes in ([1, 1, 0, 0], [1, 0, 1, 0])
    )
    assert stability(evidence(full, same, same)) == pytest.approx(1.0)
    assert stability(evidence(full, chance)) == pytest.approx(0.0)
    assert stability(evidence(full, same, chance)) == pytest.approx(1 / 3)  # two of three pairs by chance
    assert stability(evidence(fit([1, 1]), refit([1], [1], codes=[1, 1]), positive=1.0)) == 1.0


def test_density_counts_rows_near_the_plane():
    values = np.array([-3.0, -2.0, 0.1, -0.1, 2.0, 3.0])
    near = np.mean(np.abs(values) <= NEAR * np.sqrt(np.mean(values**2)))
    assert near == pytest.approx(2 / 6)
    assert density(evidence(fit(values > 0, values))) == pytest.approx(-near)
    assert density(evidence(fit([1, 0], [0.0, 0.0]))) == -1.0


def test_separation_is_the_share_of_variance_between_the_sides():
    values = np.array([-2.0, -1.0, -1.0, 0.5, 3.0])
    codes = (values > 0).astype(int)
    within = np.where(codes == 1, values - values[codes == 1].mean(), values - values[codes == 0].mean())
    expected = 1 - np.sum(within**2) / np.sum((values - values.mean()) ** 2)
    assert separation(evidence(fit(codes, values))) == pytest.approx(expected)
    assert separation(evidence(fit([1, 1, 0]))) == pytest.approx(1.0)
    assert separation(evidence(fit([1, 1, 1], [0.1, 0.2, 0.3]))) == pytest.approx(0.0, abs=1e-12)
    assert separation(evidence(fit([1, 1, 0], [0.1, 0.1, 0.1]))) == 0.0


def test_consensus_is_the_agreement_with_the_others():
    everyone = [evidence(fit(codes)) for codes in ([1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1])]
    assert [consensus(one, everyone) for one in everyone] == pytest.approx([5 / 8, 3 / 8, 4 / 8])
    assert consensus(everyone[0], everyone[:1]) == 1.0


# -- what must not matter ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("seed", range(5))
def test_a_weight_of_two_is_two_rows(name, seed):
    def repeated(one):
        rows = np.repeat(np.arange(len(one.weights)), one.weights.astype(int))
        folds = []
        for r in one.refits:
            labels = np.repeat(np.arange(len(r.truth)), r.truth_weights.astype(int))
            held = {key: getattr(r, key)[labels] for key in ("truth", "predicted", "truth_scores")}
            folds.append(HeldOut(r.codes[rows], r.scores[rows], **held, truth_weights=np.ones(len(labels))))
        full = Scored(one.full.codes[rows], one.full.scores[rows])
        return replace(one, full=full, refits=tuple(folds), weights=np.ones(len(rows)))

    one, other = random_evidence(seed), random_evidence(seed + 100)
    other = replace(other, weights=one.weights)
    before = CRITERIA[name](one, [one, other])
    assert np.isfinite(before)
    twice, other = repeated(one), repeated(other)
    assert CRITERIA[name](twice, [twice, other]) == pytest.approx(before)


@pytest.mark.parametrize("name", CRITERIA)
def test_names_of_classes_and_units_of_scores_do_not_matter(name):
    def renamed(one):
        order = np.array([2, 0, 1])  # the new class c was order[c]
        new = np.argsort(order)
        folds = tuple(
            replace(
                r,
                codes=new[r.codes],
                scores=7 * r.scores[:, order],
                truth=new[r.truth],
                predicted=new[r.predicted],
                truth_scores=7 * r.truth_scores,
            )
            for r in one.refits
        )
        full = Scored(new[one.full.codes], 7 * one.full.scores[:, order])
        return replace(one, full=full, refits=folds, shares=one.shares[order])

    everyone = [random_evidence(seed) for seed in range(3)]
    np.testing.assert_allclose(
        evaluate(name, [renamed(one) for one in everyone]), evaluate(name, everyone), rtol=1e-9
    )


# -- putting them together ---------------------------------------------------------------------------
def test_sums_of_criteria_add_ranks():
    assert combine([np.array([0.1, 0.5, 0.3])]).tolist() == [0.1, 0.5, 0.3]
    mixed = combine([np.array([0.1, 0.5, 0.3]), np.array([-9.0, -9.0 + 1e-13, 4.0])])  # ties share a rank
    assert mixed == pytest.approx([(1 + 1.5) / 6, (3 + 1.5) / 6, (2 + 3) / 6])


def test_ranking_breaks_ties_by_the_second_value_then_by_order():
    values = np.array([0.5, np.nan, 0.7, 0.7 + 1e-13, 0.7])
    assert ranking(values, np.array([1.0, 1.0, 0.1, 0.2, 0.1])).tolist() == [4, 5, 2, 1, 3]


def test_own_functions_are_criteria():
    everyone = [random_evidence(seed) for seed in range(3)]
    values = evaluate(lambda one, all_: one.shares[0] * len(all_), everyone)
    assert values == pytest.approx([3 * one.shares[0] for one in everyone])


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match=r"unknown criterion 'accuracy': choose 'recall'.*joined by"):
        evaluate("auc+accuracy", [])


@pytest.mark.parametrize("name", sorted(HOLDING_OUT))
def test_criteria_that_hold_out_labels_need_some(name):
    with pytest.raises(InvalidProblemError, match=r"no label can be held out.*density, separation"):
        evaluate(name, [evidence(fit([1, 0]))])


def test_the_names_of_earlier_releases_still_work():
    with pytest.warns(DeprecationWarning, match=r"cs3vm\.selection\.criteria"):
        from cs3vm.criteria import Fit, Refit
    assert (Fit, Refit) == (Scored, HeldOut)
