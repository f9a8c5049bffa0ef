"""Numbers by group: they add up, their intervals widen with fewer labels, and odd groups are no trouble."""

import numpy as np
import pandas as pd
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.by_group import LARGEST, MISSING, MOST_GROUPS, WIDEST, read_groups
from cs3vm.learn.replicates import replicate_factors


def regions(n=12, m=300, seed=0, classes=2):
    """Rows of three regions with different shares, n labels of each class."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 3, classes * n + m)
    truth = (rng.random(len(region)) < 0.2 + 0.3 * region).astype(int)
    truth += (classes > 2) * rng.integers(0, 2, len(region))
    first = np.concatenate([np.flatnonzero(truth == c)[:n] for c in range(classes)])
    order = np.append(first, np.setdiff1d(np.arange(len(truth)), first))
    region, truth = region[order], truth[order]
    X = np.column_stack([np.eye(3)[region], rng.normal(size=len(region)) + 1.2 * truth])
    y = truth.astype(float)
    y[classes * n :] = np.nan
    return X, y, truth, np.array(["north", "south", "west"])[region]


def fitted(X, y, total, **parameters):
    return CS3VMClassifier("top_tau", **parameters).fit(X, y, n_positive=total)


@pytest.fixture(scope="module")
def example():
    X, y, truth, region = regions()
    return fitted(X, y, int(truth[24:].sum())), truth, region


def test_groups_add_up_to_the_total(example):
    clf, truth, region = example
    found = clf.totals_by(region, n_replicates=10)
    assert [row.group for row in found.rows] == ["north", "south", "west"]
    assert sum(row.number for row in found.rows) == pytest.approx(truth[24:].sum())
    assert sum(row.by_labels for row in found.rows) == truth[24:].sum()
    assert sum(row.weight for row in found.rows) == 300
    rows = clf.fit_.labels.codes < 0
    for row in found.rows:
        inside = rows & (region == row.group)
        assert row.number == pytest.approx(clf.probabilities_[inside, 1].sum())
        assert 0 <= row.low < row.number < row.high <= row.weight
        assert row.labelled == np.sum(~rows & (region == row.group))
        assert row.labelled_number == truth[:24][region[:24] == row.group].sum()


def test_shares_follow_the_truth(example):
    clf, truth, region = example
    found = clf.totals_by(region, n_replicates=20).rows
    true = [truth[24:][region[24:] == row.group].mean() for row in found]
    np.testing.assert_allclose([row.share for row in found], true, atol=0.15)
    covered = [
        row.share_interval[0] <= t <= row.share_interval[1] for row, t in zip(found, true, strict=True)
    ]
    assert sum(covered) >= 2


def test_fewer_labels_give_wider_intervals():
    widths = []
    for n in (4, 100):
        X, y, truth, region = regions(n, m=400)
        clf = fitted(X, y, int(truth[2 * n :].sum()))
        widths.append(sum(row.high - row.low for row in clf.totals_by(region, n_replicates=15).rows))
    assert widths[0] > 1.1 * widths[1]


def test_the_level_sets_the_width(example):
    clf, _, region = example
    narrow, wide = (clf.totals_by(region, n_replicates=8, level=level).rows[1] for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
    none = clf.totals_by(region, n_replicates=0)
    assert none.rows[1].low == none.rows[1].high == none.rows[1].number
    assert "interval" not in str(none)


def test_several_classes_have_a_row_each():
    X, y, truth, region = regions(classes=3)
    totals = dict(enumerate(np.bincount(truth[36:]).tolist()))
    found = CS3VMClassifier("top_tau").fit(X, y, n_positive=totals).totals_by(region, n_replicates=4)
    assert len(found.rows) == 9
    for c, total in totals.items():
        assert sum(row.number for row in found.rows if row.label == c) == pytest.approx(total)
    for name in ("north", "south", "west"):
        assert sum(row.share for row in found.rows if row.group == name) == pytest.approx(1)
    assert "class" in str(found)


def test_weights_count():
    X, y, _, region = regions()
    weight = np.where(np.isnan(y), 2.0, 1.0)
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=200, sample_weight=weight)
    found = clf.totals_by(region, n_replicates=3)
    assert sum(row.number for row in found.rows) == pytest.approx(200)
    assert sum(row.weight for row in found.rows) == 600


def test_missing_groups_are_a_group(example):
    clf, _, region = example
    groups = region.astype(object)
    groups[100:110], groups[110:115] = None, np.nan
    found = clf.totals_by(groups, n_replicates=0)
    assert [row.group for row in found.rows] == ["north", "south", "west", MISSING]
    assert found.rows[-1].weight == 15
    assert any("15 rows have no group" in note for note in found.notes)
    assert clf.totals_by(pd.Series(groups, dtype="category"), n_replicates=0).rows[-1].weight == 15


def test_a_group_without_unlabelled_rows_and_one_of_one_row(example):
    clf, _, region = example
    groups = region.astype(object)
    groups[:3], groups[50] = "labelled only", "one"
    found = {row.group: row for row in clf.totals_by(groups, n_replicates=5).rows}
    assert found["labelled only"].number == found["labelled only"].weight == 0
    assert np.isnan(found["labelled only"].share)
    assert 0 < found["one"].number < 1 == found["one"].weight
    assert "–" in str(clf.totals_by(groups, n_replicates=0))


def test_of_many_groups_the_largest_the_worst_and_the_rest_are_shown(example):
    clf, truth, _ = example
    groups = np.r_[np.zeros(74, dtype=int), 1 + np.arange(250)]
    found = clf.totals_by(groups, n_replicates=5)
    assert len(found.rows) == 251 > MOST_GROUPS
    assert len(found.shown) == LARGEST + WIDEST + 1 == len(found.cells())
    rest = found.shown[-1]
    assert rest.group == f"the other {251 - LARGEST - WIDEST} groups"
    assert sum(row.number for row in found.shown) == pytest.approx(truth[24:].sum())
    assert found.shown[0].group == 0
    assert len(found.to_frame()) == 251


def test_intervals_from_few_labels_per_group_are_called_too_short(example):
    clf, _, region = example
    assert any(
        "24 labelled rows for 3 groups" in note for note in clf.totals_by(region, n_replicates=3).notes
    )
    two = np.where(region == "north", "north", "rest")
    assert not any("too short" in note for note in clf.totals_by(two, n_replicates=3).notes)
    assert not any("too short" in note for note in clf.totals_by(region, n_replicates=0).notes)


def test_bad_input_is_explained(example):
    clf, _, region = example
    with pytest.raises(InvalidProblemError, match="groups has 5 values, but the fit has 324 rows"):
        clf.totals_by(region[:5])
    with pytest.raises(InvalidProblemError, match="several columns"):
        clf.totals_by(np.column_stack([region, region]))
    with pytest.raises(InvalidProblemError, match="level must be between 0 and 1"):
        clf.totals_by(region, level=90)
    with pytest.raises(InvalidProblemError, match="n_replicates"):
        clf.totals_by(region, n_replicates=1)
    X, _, truth, _ = regions()
    with pytest.raises(InvalidProblemError, match="no unlabelled rows"):
        CS3VMClassifier("top_tau").fit(X, truth).totals_by(region)


def test_names_of_any_kind_are_sorted():
    assert read_groups([2, 10, 1, 2], 4)[0] == [1, 2, 10]
    names, codes = read_groups(["b", 3, None, "a"], 4)
    assert names == [3, "a", "b", MISSING]
    assert codes.tolist() == [2, 0, 3, 1]


def test_a_group_whose_total_is_known_is_certain():
    X, y, truth, region = regions()
    total, in_north = int(truth[24:].sum()), int(truth[24:][region[24:] == "north"].sum())
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive={None: total, "north": in_north}, groups=region)
    north, south, west = clf.totals_by(region, n_replicates=5).rows
    assert north.number == pytest.approx(in_north)
    assert north.high - north.low < 1e-4
    assert south.high - south.low > 1
    assert south.number + west.number == pytest.approx(total - in_north)


def test_replicates_keep_the_classes_and_their_weight_on_average():
    codes, rng = np.repeat([0, 1, 2], [1, 2, 40]), np.random.default_rng(0)
    drawn = np.array([replicate_factors(codes, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=0.1)
    np.testing.assert_array_equal(drawn[:, 0], 1)
    np.testing.assert_allclose(drawn[:, codes == 2].sum(axis=1), 40)
    assert set(np.unique(drawn[:, 1:3])) == {0.0, 2.0}
