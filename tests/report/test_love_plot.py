"""The love plot shows the differences that it is given, and the report has it beside the words."""

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.learn.bias import Bias, ClassBias, FeatureBias

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
from matplotlib.figure import Figure  # noqa: E402

from cs3vm.report.love_plot import love_plot  # noqa: E402
from tests.report.test_report import HOSTILE, figures_of, make_data, report_on, words  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::cs3vm.exceptions.CS3VMWarning")
CLASSES = (ClassBias("no", 30, 0.75, 0.4), ClassBias("yes", 10, 0.25, 0.6))


def made(n=3, p_value=0.5, differs=1.0, effective=12.0, names="abcdefghijklmnopqrstuvwxyz"):
    features = tuple(FeatureBias(names[i], 0.1 * i, -0.05 * i, differs if i == 1 else 1.0) for i in range(n))
    return Bias(CLASSES, features, effective, p_value)


def points(ax):
    return {line.get_label(): line.get_xdata().tolist() for line in ax.lines if line.get_marker() in "oD"}


def test_both_differences_are_drawn_the_largest_first():
    ax = love_plot(made(), Figure().subplots())
    assert points(ax) == {
        "labelled − unlabelled": pytest.approx([0.2, 0.1, 0.0]),
        "with classes weighted to the totals": pytest.approx([-0.1, -0.05, 0.0]),
    }
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["c", "b", "a"]


def test_a_star_marks_what_differs():
    ax = love_plot(made(p_value=0.01, differs=0.01), Figure().subplots())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["c", "b *", "a"]


def test_without_weights_there_is_one_kind_of_dot():
    assert list(points(love_plot(made(effective=0.0, p_value=None), Figure().subplots()))) == [
        "labelled − unlabelled"
    ]


def test_many_features_are_cut_and_the_title_says_so():
    ax = love_plot(made(26), Figure().subplots(), top=5)
    assert len(ax.get_yticklabels()) == 5
    assert ax.get_title() == "the 5 largest of 26 differences"


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="there are no differences to draw: why"):
        love_plot(Bias(CLASSES, why_not="why"))


def test_the_report_has_it_with_words_and_numbers():
    X, y, total = make_data()
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(X, y, n_positive=total)
    bias = clf.bias()
    page, without = report_on(clf, X, y, bias=bias), report_on(clf, X, y)
    text = words(page)
    assert bias.about_features in text
    assert "How the labelled rows differ" in text
    assert "How the labelled rows differ" not in words(without)
    (love,) = set(figures_of(page)) - set(figures_of(without))
    assert "with classes weighted to the totals" in love
    assert all(f"{one.raw:+.2f}".replace("-", "\N{MINUS SIGN}") in text for one in bias.features)


def test_where_labels_are_biased_by_more_the_report_says_what_that_means():
    X, y, total = make_data()
    X[:30, 1] += 3.0  # the labelled rows
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(X, y, n_positive=total)
    text = words(report_on(clf, X, y, bias=clf.bias()))
    assert "Labels are biased by more than class, or a total is wrong" in text
    assert "a star marks those that chance does not explain" in text


def test_names_cannot_become_code():
    X, y, total = make_data(d=len(HOSTILE))
    clf = CS3VMClassifier("top_tau", pos_label="yes").fit(X, y, n_positive=total)
    bias = made(len(HOSTILE), names=HOSTILE)
    page = report_on(clf, X, y, bias=bias, feature_names=HOSTILE)
    assert "<script" not in page
    assert "<img src=http" not in page
    for figure in figures_of(page):
        assert "<script" not in figure
        assert "<image" not in figure
    assert np.isfinite(len(page))
