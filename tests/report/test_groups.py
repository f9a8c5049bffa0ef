"""The report's section on groups: a picture of all groups, and the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.learn.group_totals import GroupRow, GroupTotals
from cs3vm.report import make_report
from cs3vm.report.groups import group_shares, shown_groups

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure


def row(group, number, weight=100.0, label="yes", **fields):
    interval = {"low": number - 10, "high": number + 10}
    return GroupRow(
        group,
        label,
        weight,
        number,
        **interval,
        by_labels=number / 2,
        labelled=4,
        labelled_number=1,
        **fields,
    )


@pytest.fixture
def totals():
    rows = (row("a$b", 20.0), row("<script>", 60.0), row("empty", 0.0, weight=0.0))
    return GroupTotals(rows, rows, n_replicates=5)


def test_the_picture_has_a_dot_and_an_interval_for_every_group_with_rows(totals):
    ax = Figure().subplots()
    assert group_shares(totals, ax) is ax
    dots, squares, line = ax.get_lines()
    assert sorted(dots.get_xdata()) == [0.2, 0.6]
    assert sorted(squares.get_xdata()) == [0.1, 0.3]
    assert line.get_xdata()[0] == pytest.approx(0.4)
    (intervals,) = ax.collections
    assert sorted(segment[:, 0].round(9).tolist() for segment in intervals.get_segments()) == [
        [0.1, 0.3],
        [0.5, 0.7],
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == [r"a\$b", "<script>"]


def test_without_intervals_none_are_drawn(totals):
    ax = Figure().subplots()
    group_shares(GroupTotals(totals.rows, totals.rows), ax)
    assert len(ax.collections) == 0


def test_groups_beyond_their_interval_are_named(totals):
    assert shown_groups(totals, "region")["differs"] == ["a$b", "<script>"]
    alike = (row("a", 40.0), row("b", 45.0))
    assert shown_groups(GroupTotals(alike, alike, n_replicates=5), "region")["differs"] == []
    assert shown_groups(None, "region") is None


def test_the_report_shows_groups_and_escapes_their_names():
    rng = np.random.default_rng(0)
    truth = np.r_[0, 0, 1, 1, rng.integers(0, 2, 40)]
    X, y = rng.normal(size=(44, 2)) + truth[:, None], truth.astype(float)
    y[4:] = np.nan
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=20)
    groups = np.where(np.arange(44) % 2, "<b>odd</b>", "even")
    words = {"feature_names": ["u", "v"], "label_name": "l", "source": "s", "command": "c"}
    page = make_report(clf, X, **words, groups=clf.totals_by(groups, n_replicates=3), by="par<ity")
    assert "How many by par&lt;ity?" in page
    assert "&lt;b&gt;odd&lt;/b&gt;" in page
    assert "<b>odd" not in page
    assert "How many by" not in make_report(clf, X, **words)
