"""The test of "biased by class only": it keeps its level, and finds what is there."""

import numpy as np
import pytest

from cs3vm.learn.shift import Sample, find_shift, kish


def drawn(rng, labels=(20, 40), d=4, m=800, choose=None, values=lambda rng, shape: rng.normal(size=shape)):
    """Rows of two classes whose labels are biased by class, and by ``choose`` of the rows if it is given."""
    t = rng.random(m) < 0.3
    X = values(rng, (m, d)) + 0.7 * t[:, None]
    key = (0.0 if choose is None else choose(X)) + rng.gumbel(size=m)
    rows = [np.flatnonzero(own) for own in (t, ~t)]
    kept = np.concatenate(
        [own[np.argsort(-key[own])[:number]] for own, number in zip(rows, labels, strict=True)]
    )
    rest = np.setdiff1d(np.arange(m), kept)
    share = t[rest].mean()
    ones = np.ones
    return (
        Sample(X[kept], ones(len(kept))),
        t[kept].astype(np.int64),
        Sample(X[rest], ones(len(rest))),
        np.array([1 - share, share]),
    )


def found(repeats=80, level=0.05, **kinds):
    rng = np.random.default_rng(0)
    return np.mean([find_shift(*drawn(rng, **kinds), level).p_value < level for _ in range(repeats)])


@pytest.mark.parametrize("labels", [(4, 12), (20, 40), (80, 80)])
@pytest.mark.parametrize("d", [3, 30])
def test_the_level_is_kept_where_labels_are_biased_by_class_only(labels, d):
    assert found(labels=labels, d=d) <= 0.1


def test_values_that_few_rows_have_are_no_difference():
    """Of a value that 2 % have, the labelled rows of a class often have none."""
    rare = lambda rng, shape: (rng.random(shape) < 0.02).astype(float)  # noqa: E731
    assert found(labels=(40, 60), d=20, values=rare) <= 0.1


def test_outliers_do_not_matter():
    rng = np.random.default_rng(1)
    labelled, codes, others, shares = drawn(rng)
    far = others.rows.copy()
    far[np.argmax(far[:, 0]), 0] = 1e12
    one, two = (
        find_shift(labelled, codes, Sample(rows, others.weight), shares, 0.05) for rows in (others.rows, far)
    )
    assert one.p_value == pytest.approx(two.p_value)


@pytest.mark.parametrize(
    "choose",
    [lambda X: 1.5 * X[:, 0], lambda X: 0.8 * X.sum(axis=1), lambda X: -2.0 * (X[:, 0] - 0.2) ** 2],
    ids=["one feature", "all features", "spread"],
)
def test_a_choice_by_features_is_found(choose):
    assert found(labels=(40, 60), choose=choose) >= 0.8


def test_the_feature_that_differs_is_named():
    rng = np.random.default_rng(2)
    shift = find_shift(*drawn(rng, labels=(60, 60), choose=lambda X: 2.0 * X[:, 1]), 0.05)
    assert shift.p_features.argmin() == 1
    assert shift.p_features[1] < 1e-4
    assert np.sum(shift.p_features < 0.05) == 1


def test_a_difference_between_the_classes_is_none():
    """The labelled rows are mostly of the other class, far away, and still what is to be expected."""
    rng = np.random.default_rng(3)
    kinds = {"labels": (60, 5), "values": lambda rng, shape: 0.1 * rng.normal(size=shape)}
    labelled, codes, others, shares = drawn(rng, **kinds)
    assert abs(labelled.mean - others.mean).min() > 0.3
    assert find_shift(labelled, codes, others, shares, 0.05).p_value > 0.05


def test_a_wrong_total_looks_like_a_difference():
    rng = np.random.default_rng(4)
    labelled, codes, others, shares = drawn(rng, labels=(100, 100))
    assert find_shift(labelled, codes, others, shares, 0.05).p_value > 0.05
    assert find_shift(labelled, codes, others, shares[::-1], 0.05).p_value < 1e-4


def test_the_units_and_the_order_of_features_do_not_matter():
    labelled, codes, others, shares = drawn(np.random.default_rng(5))
    first = find_shift(labelled, codes, others, shares, 0.05)
    turned = [
        Sample(np.exp(0.3 * one.rows[:, ::-1]) * [9.0, 2.0, 3.0, 1e6], one.weight)
        for one in (labelled, others)
    ]
    second = find_shift(turned[0], codes, turned[1], shares, 0.05)
    assert second.p_value == pytest.approx(first.p_value)
    assert second.p_features[::-1] == pytest.approx(first.p_features)


def test_what_is_called_detectable_is_detected_mostly():
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(60):
        labelled, codes, others, shares = drawn(rng, labels=(60, 60), d=3)
        least = find_shift(labelled, codes, others, shares, 0.05).detectable
        # ranks of a normal feature move by about as many standard deviations as the feature itself
        moved = labelled.rows + np.array([1.1 * least * others.rows[:, 0].std(), 0.0, 0.0])
        hits.append(find_shift(Sample(moved, labelled.weight), codes, others, shares, 0.05).p_value < 0.05)
    assert 0.6 <= np.mean(hits) <= 0.97


@pytest.mark.parametrize("labels", [(1, 1), (1, 9), (2, 1)])
def test_a_single_row_of_a_class_is_no_crash_and_no_finding(labels):
    shift = find_shift(*drawn(np.random.default_rng(7), labels=labels), 0.05)
    assert 0.05 < shift.p_value <= 1
    assert np.isfinite(shift.detectable)


def test_constant_features_say_nothing():
    labelled, codes, others, shares = drawn(np.random.default_rng(8))
    same = [Sample(np.ones_like(one.rows), one.weight) for one in (labelled, others)]
    p_value, p_features, detectable = find_shift(same[0], codes, same[1], shares, 0.05)
    assert (p_value, p_features.tolist(), detectable) == (1.0, [1.0] * 4, 0.0)


def test_uneven_weights_count_for_fewer():
    assert kish(np.ones(7)) == pytest.approx(7)
    assert kish(np.array([5.0, 0.0])) == 1
    assert kish(np.array([3.0, 1.0])) == pytest.approx(1.6)
