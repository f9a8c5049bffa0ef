"""Labels of several classes meet totals by several columns of groups, or miss them by as little as can be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cs3vm.learn.agreement import contradiction_of_classes
from cs3vm.learn.class_margins import assign_by_totals
from cs3vm.learn.shifting import shift_classes_to_totals
from cs3vm.model.totals import Total, Totals, bind


def margins(rng: np.random.Generator, m: int, overlapping: bool):
    groups = [rng.integers(0, 2, m)] + ([rng.integers(0, 2, m)] if overlapping else [])
    rows = [np.flatnonzero(column == g) for column in groups for g in (0, 1)]
    rows = [own for own in rows if len(own)]
    return bind(Totals(Total(own, 0) for own in rows), np.ones(m), 1.0)


def table_of(labels, totals, classes):
    return np.array([np.bincount(labels[own], minlength=classes) for own in totals.rows]).T.astype(float)


def missed(labels, totals, table):
    return float(np.abs(table_of(labels, totals, len(table)) - table).sum())


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_totals_that_can_be_met_are_met(seed, overlapping):
    rng = np.random.default_rng(seed)
    m, classes = int(rng.integers(6, 60)), int(rng.integers(3, 5))
    totals = margins(rng, m, overlapping)
    table = table_of(rng.integers(0, classes, m), totals, classes)
    found = assign_by_totals(rng.normal(size=(m, classes)), totals, table)
    assert missed(found.labels, totals, table) == 0
    assert contradiction_of_classes(totals.rows, table, m).size == 0


@pytest.mark.parametrize("seed", range(25))
def test_contradicting_totals_are_missed_by_as_little_as_can_be(seed):
    rng = np.random.default_rng(seed)
    m, classes = 6, 3
    totals = margins(rng, m, overlapping=True)
    others = [rng.integers(0, classes, m) for _ in range(2)]
    first = len(totals) // 2
    table = np.hstack(
        [table_of(others[0], totals, classes)[:, :first], table_of(others[1], totals, classes)[:, first:]]
    )
    least = min(missed(np.array(z), totals, table) for z in product(range(classes), repeat=m))
    found = assign_by_totals(rng.normal(size=(m, classes)), totals, table)
    assert missed(found.labels, totals, table) == least
    assert contradiction_of_classes(totals.rows, table, m).size <= least + 1e-9


def test_scores_decide_within_the_totals():
    rng = np.random.default_rng(0)
    m, classes = 400, 3
    totals = margins(rng, m, overlapping=True)
    truth = rng.integers(0, classes, m)
    table = table_of(truth, totals, classes)
    scores = 2.0 * np.eye(classes)[truth] + 0.5 * rng.normal(size=(m, classes))
    found = assign_by_totals(scores, totals, table)
    assert missed(found.labels, totals, table) == 0
    assert np.mean(found.labels == truth) > 0.97


def test_rows_without_total_choose_by_the_prices_of_the_others():
    scores = np.array([[3.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.2, 0.0, 0.0]])
    own = np.array([0, 1, 2])
    totals = bind(Totals([Total(own, 0), Total(own[:2], 0)]), np.ones(5), 1.0)
    found = assign_by_totals(scores, totals, np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]]))
    assert sorted(found.labels[:3]) == [0, 1, 2]
    assert sorted(found.labels[:2]) == [0, 1]
    np.testing.assert_array_equal(found.labels[3:], (scores[3:] - found.prices).argmax(axis=1))


@pytest.mark.parametrize("seed", range(10))
def test_probabilities_add_up_to_overlapping_totals(seed):
    rng = np.random.default_rng(seed)
    m, classes = 80, 3
    totals = margins(rng, m, overlapping=True)
    table = table_of(rng.integers(0, classes, m), totals, classes)
    if seed == 0:  # a class that a group does not have
        table[1, 0] += table[0, 0]
        table[0, 0] = 0.0
        totals, table = bind(Totals(list(totals.over(totals.rows))[:2]), np.ones(m), 1.0), table[:, :2]
    p, _ = shift_classes_to_totals(rng.normal(size=(m, classes)), np.ones(m), totals.rows, table)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    for g, own in enumerate(totals.rows):
        np.testing.assert_allclose(p[own].sum(axis=0), table[:, g], atol=1e-5)
