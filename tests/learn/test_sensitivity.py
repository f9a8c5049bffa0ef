"""Other totals: which labels change, and what the least objective says."""

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.sensitivity import sensitivity, spread_totals
from cs3vm.report.total_curve import total_curve

from .test_group_totals import Sample


@pytest.fixture
def line():
    """Rows on a line, a label at each end: the total says where the border is."""
    X = np.linspace(-5, 5, 21)[:, None]
    y = np.full(21, np.nan)
    y[[0, 1]], y[[-1, -2]] = 0, 1
    return X, y


def fit(X, y, total, method="direct", **parameters):
    return CS3VMClassifier(method, time_limit=5, **parameters).fit(X, y, n_positive=total)


@pytest.mark.parametrize("method", ["direct", "top_tau"])
def test_labels_follow_the_total(line, method):
    clf = fit(*line, 8, method)
    found = sensitivity(clf, [6, 10])
    assert found.totals.tolist() == [6, 8, 10]
    assert found.positive.sum(axis=1).tolist() == [6, 8, 10]
    assert found.n_changed.tolist() == [2, 0, 2]
    assert np.sum(~found.stable) == 4
    assert found.stable[[0, 1, -1, -2]].all()  # given labels
    np.testing.assert_array_equal(found.positive[1], clf.transduction_[found.unlabelled] == 1)
    assert "4 of 17 labels (23.5%) change" in found.sentence


def test_each_answer_is_as_good_as_a_fit_of_its_own(line):
    clf = fit(*line, 8)
    found = sensitivity(clf, [2, 5, 12])
    for total, objective in zip(found.totals, found.objectives, strict=True):
        own = CS3VMClassifier("cs3vm", time_limit=20).fit(*line, n_positive=total).result_
        assert own.is_optimal
        assert objective == pytest.approx(own.objective, rel=1e-3)


def test_a_minimum_far_away_is_explained(line):
    near, far = fit(*line, 8), fit(*line, 2)
    assert "near the given total" in sensitivity(near, [2, 14]).about_minimum
    assert "still falls at 5, the highest" in sensitivity(far, [3, 5]).about_minimum
    found = sensitivity(far, spread_totals(1, 14, np.ones(17)))
    assert 6 <= found.best <= 11  # the middle between the labels
    assert f"is least at {found.best:g}, far from the given total of 2" in found.about_minimum
    assert "never choose the total by it" in found.about_minimum
    assert str(found).count("\n") > len(found.totals)


def test_totals_of_all_rows(line):
    X, y = line
    clf = CS3VMClassifier("top_tau", totals_of="all").fit(X, y, n_positive=10)
    found = sensitivity(clf, [8, 12])
    assert found.totals.tolist() == [8, 10, 12]
    assert found.positive.sum(axis=1).tolist() == [6, 8, 10]


def test_totals_of_groups_change_in_proportion():
    sample = Sample()
    clf = CS3VMClassifier("direct", time_limit=5, count_penalty=5).fit(
        sample.X, sample.y, n_positive={"north": 10, "south": (10, 14)}, groups=sample.region
    )
    total = int(clf.transduction_[sample.free].sum())
    found = sensitivity(clf, [total // 2])
    north = sample.region[sample.free] == "north"
    assert found.positive[0][north].sum() == round(10 * (total // 2) / total)


@pytest.mark.parametrize(("totals", "message"), [([99], "between 0 and 17"), ([3.5], "round it")])
def test_impossible_totals(line, totals, message):
    with pytest.raises(InvalidProblemError, match=message):
        sensitivity(fit(*line, 8, "top_tau"), totals)


def test_several_classes_are_refused(line):
    X, y = line
    y[10] = 2
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive={0: 5, 1: 5, 2: 6})
    with pytest.raises(InvalidProblemError, match="two classes"):
        sensitivity(clf, [3])


def test_the_picture(line):
    pytest.importorskip("matplotlib")
    found = sensitivity(fit(*line, 8, "top_tau"), [6, 10])
    ax = total_curve(found)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), found.objectives)
    assert "given total: 8" in [text.get_text() for text in ax.get_legend().get_texts()]
