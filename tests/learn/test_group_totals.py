"""Totals by group through the classifier: met, adjusted when labels are hidden, and refused all at once."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import cross_val_score

from cs3vm import CS3VMClassifier, CS3VMSearch, LabeledKFold
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.agreement import contradiction
from cs3vm.learn.changed_totals import scaled_totals, with_hidden
from cs3vm.model.problem import Problem
from cs3vm.model.totals import Total, Totals

N, LABELLED = 60, 12


class Sample:
    """Sixty rows in two regions and of two sexes, twelve of them labelled; the truth is known."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(N, 2))
        self.truth = (self.X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(int)
        self.y = np.where(np.arange(N) < LABELLED, self.truth, np.nan)
        self.region = np.where(rng.random(N) < 0.5, "north", "south").astype(object)
        self.sex = np.where(rng.random(N) < 0.5, "f", "m").astype(object)
        self.free = np.isnan(self.y)

    def total(self, rows):
        """The true number of positives among unlabelled rows."""
        return int(self.truth[self.free & rows].sum())

    @property
    def by_region(self):
        return {name: self.total(self.region == name) for name in ("north", "south")}

    @property
    def by_sex(self):
        return {name: self.total(self.sex == name) for name in ("f", "m")}


@pytest.fixture
def sample():
    return Sample()


def quick(**parameters):
    return CS3VMClassifier("direct", time_limit=5, **parameters)


def counted(clf, sample, column, group):
    return int(np.sum(clf.transduction_[sample.free & (column == group)]))


# -- totals that are met -------------------------------------------------------------------------------
def test_an_interval(sample):
    total = sample.total(True)
    clf = quick().fit(sample.X, sample.y, n_positive=(total + 5, total + 9))
    assert total + 5 <= clf.transduction_[sample.free].sum() <= total + 9
    (one,) = clf.fit_.met_totals
    assert (one.low, one.high, one.missed) == (total + 5, total + 9, 0.0)


def test_a_total_for_each_group(sample):
    wanted = {"north": sample.by_region["north"] + 3, "south": sample.by_region["south"] - 3}
    clf = quick(count_penalty=10, group_intercepts=True).fit(
        sample.X, sample.y, n_positive=wanted, groups=sample.region
    )
    assert {name: counted(clf, sample, sample.region, name) for name in wanted} == wanted


def test_a_group_without_total_is_free(sample):
    given = {"north": sample.by_region["north"]}
    clf = quick().fit(sample.X, sample.y, n_positive=given, groups=sample.region)
    assert [one.name for one in clf.fit_.met_totals] == ["north"]
    assert clf.fit_.bound.free == ("south",)
    assert clf.fit_.problem.m == N - LABELLED


@pytest.mark.parametrize("as_frame", [False, True])
def test_several_margins(sample, as_frame):
    groups = {"region": sample.region, "sex": sample.sex}
    given = {None: sample.total(True), "region": sample.by_region, "sex": sample.by_sex}
    clf = quick(count_penalty=5).fit(
        sample.X, sample.y, n_positive=given, groups=pd.DataFrame(groups) if as_frame else groups
    )
    names = {"all rows", "region: north", "region: south", "sex: f", "sex: m"}
    assert {one.name for one in clf.fit_.met_totals} == names
    assert all(one.missed == 0 for one in clf.fit_.met_totals)


def test_shares_by_group(sample):
    rows = {name: int(np.sum(sample.free & (sample.region == name))) for name in ("north", "south")}
    shares = {name: sample.by_region[name] / rows[name] for name in rows}
    clf = quick().fit(sample.X, sample.y, positive_rate=shares, groups=sample.region)
    assert {one.name: one.low for one in clf.fit_.met_totals} == sample.by_region


@pytest.mark.parametrize("groups", [False, True])
def test_totals_of_all_rows_count_labels(sample, groups):
    if groups:
        known = {name: int(sample.truth[sample.region == name].sum()) for name in ("north", "south")}
        clf = quick(totals_of="all").fit(sample.X, sample.y, n_positive=known, groups=sample.region)
        assert {one.name: one.low for one in clf.fit_.met_totals} == sample.by_region
    else:
        clf = quick(totals_of="all").fit(sample.X, sample.y, n_positive=int(sample.truth.sum()))
        assert clf.n_positive_ == sample.total(True)


def test_weights_are_the_unit(sample):
    weight = np.random.default_rng(1).uniform(1, 3, N)
    north = sample.free & (sample.region == "north")
    total = float(weight[north & (sample.truth == 1)].sum())
    given = {"north": (total - 2, total + 2)}
    clf = quick().fit(sample.X, sample.y, n_positive=given, groups=sample.region, sample_weight=weight)
    (one,) = clf.fit_.met_totals
    assert one.count == pytest.approx(weight[north & (clf.transduction_ == 1)].sum())
    assert one.weight == pytest.approx(weight[north].sum())


def test_kernels_and_students_know_groups(sample):
    clf = quick(kernel="rbf", group_intercepts=True, predictor="student").fit(
        sample.X, sample.y, n_positive=sample.by_region, groups=sample.region
    )
    assert clf.predict(sample.X, groups=sample.region).shape == (N,)
    assert all(one.missed == 0 for one in clf.fit_.met_totals)


def test_thresholds_of_groups(sample):
    wanted = {"north": 2, "south": int(np.sum(sample.free & (sample.region == "south"))) - 2}
    clf = quick(group_intercepts=True, count_penalty=10).fit(
        sample.X, sample.y, n_positive=wanted, groups=sample.region
    )
    assert clf.group_intercepts_["south"] > clf.group_intercepts_["north"]
    predicted = clf.predict(sample.X, groups=sample.region)
    np.testing.assert_array_equal(predicted[sample.free], clf.transduction_[sample.free])
    mean = clf.decision_function(sample.X)
    own = clf.decision_function(sample.X, groups=sample.region)
    shift = np.array([clf.group_intercepts_[name] for name in sample.region])
    np.testing.assert_allclose(own, mean + shift)
    assert clf.coef_.shape == (1, 2)
    with pytest.raises(InvalidProblemError, match="no threshold of their own"):
        quick().fit(sample.X, sample.y, n_positive=9).predict(sample.X, groups=sample.region)


def test_rows_of_weight_zero_have_the_threshold_of_their_group(sample):
    weight = np.ones(N)
    weight[-10:] = 0
    counts = sample.free & (weight > 0)
    wanted = {"north": 1, "south": int(np.sum(counts & (sample.region == "south"))) - 1}
    clf = quick(group_intercepts=True, count_penalty=10).fit(
        sample.X, sample.y, n_positive=wanted, groups=sample.region, sample_weight=weight
    )
    np.testing.assert_array_equal(clf.predict(sample.X, sample.region)[-10:], clf.transduction_[-10:])


# -- several classes -----------------------------------------------------------------------------------
def three_classes(sample):
    truth = np.digitize(sample.X[:, 0], [-0.4, 0.4])
    y = np.where(np.arange(N) < 15, truth, np.nan)
    rows = np.isnan(y)
    return y, {
        name: {c: int(np.sum((truth == c) & rows & (sample.region == name))) for c in range(3)}
        for name in ("north", "south")
    }


def test_a_table_of_classes_by_group(sample):
    y, table = three_classes(sample)
    table["north"][0] += 1
    table["north"][2] -= 1
    clf = quick().fit(sample.X, y, n_positive=table, groups=sample.region)
    for name, totals in table.items():
        rows = np.isnan(y) & (sample.region == name)
        assert {c: int(np.sum(clf.transduction_[rows] == c)) for c in range(3)} == totals
    assert all(one.missed == 0 for one in clf.fit_.met_totals)
    assert len(clf.fit_.met_totals) == 6


def two_margins(sample):
    """Labels of three classes; columns of groups; and what is known of both columns."""
    y, table = three_classes(sample)
    rows, truth = np.isnan(y), np.digitize(sample.X[:, 0], [-0.4, 0.4])
    by_sex = {
        name: {c: int(np.sum((truth == c) & rows & (sample.sex == name))) for c in range(3)}
        for name in ("f", "m")
    }
    return y, {"region": sample.region, "sex": sample.sex}, {"region": table, "sex": by_sex}


def test_several_classes_meet_several_margins_together(sample):
    y, groups, known = two_margins(sample)
    moved = known["region"]["north"], known["sex"]["f"]
    for one in moved:  # another table than the truth
        one[0] += 1
        one[2] -= 1
    clf = quick().fit(sample.X, y, n_positive=known, groups=groups)
    for column, table in known.items():
        for name, totals in table.items():
            rows = np.isnan(y) & (groups[column] == name)
            assert {c: int(np.sum(clf.transduction_[rows] == c)) for c in range(3)} == totals
            assert clf.probabilities_[rows].sum(axis=0) == pytest.approx(list(totals.values()), abs=1e-5)
    assert len(clf.fit_.met_totals) == 12
    assert all(one.missed == 0 for one in clf.fit_.met_totals)


def test_small_contradictions_of_classes_are_shown(sample):
    y, groups, known = two_margins(sample)
    known["sex"]["f"][0] += 1
    known["sex"]["f"][2] -= 1
    clf = quick().fit(sample.X, y, n_positive=known, groups=groups)
    assert sum(abs(one.missed) for one in clf.fit_.met_totals) == 2
    assert any("contradict each other by 2" in str(note) for note in clf.fit_.totals_notes)


def test_large_contradictions_of_classes_are_all_in_the_message(sample):
    y, groups, known = two_margins(sample)
    most = known["sex"]["f"][0] + known["sex"]["f"][1] + known["sex"]["f"][2]
    known["sex"]["f"] = {0: 0, 1: most, 2: 0}
    with pytest.raises(InvalidProblemError, match="the totals cannot hold together") as error:
        quick().fit(sample.X, y, n_positive=known, groups=groups)
    said = str(error.value)
    for c in range(3):
        assert f"of {c}" in said
    assert said.count("'sex' adds up to") == 3


def test_a_table_that_does_not_add_up(sample):
    y, table = three_classes(sample)
    table["north"][0] += 2
    del table["south"][1]
    with pytest.raises(InvalidProblemError, match="'north' add up to") as error:
        quick().fit(sample.X, y, n_positive=table, groups=sample.region)
    assert "the totals of 'south' are of 0, 2, but the classes are" in str(error.value)


# -- totals that cannot be -----------------------------------------------------------------------------
def refused(sample, **given):
    with pytest.raises(InvalidProblemError) as error:
        quick(**given.pop("parameters", {})).fit(sample.X, sample.y, **given)
    return str(error.value)


def test_all_problems_are_in_one_message(sample):
    sample.region[20] = None
    given = {"north": 90, "south": (9, 3), "west": 3}
    said = refused(sample, n_positive=given, groups=sample.region)
    north = int(np.sum(sample.free & (sample.region == "north")))
    for part in (
        "4 problems",
        f"'north' is 90, but there are only {north} unlabelled rows",
        "totals_of='all'",
        "from 9 to 3",
        "'west' is 3, but no row is in that group: the groups are 'north', 'south'",
        "1 rows have no group, the first is row 20",
    ):
        assert part in said


def test_margins_that_do_not_add_up(sample):
    groups = {"region": sample.region, "sex": sample.sex}
    given = {"region": {"north": 5, "south": 5}, "sex": {"f": 15, "m": 15}}
    said = refused(sample, n_positive=given, groups=groups)
    for part in ("'region' adds up to 10, 'sex' adds up to 30", "missed by 20", "up to 2 would be tolerated"):
        assert part in said


def test_rounding_is_tolerated_and_said(sample):
    groups = {"region": sample.region, "sex": sample.sex}
    regions = {**sample.by_region, "north": sample.by_region["north"] + 1}
    given = {None: sample.total(True), "region": regions, "sex": sample.by_sex}
    clf = quick(count_penalty=5).fit(sample.X, sample.y, n_positive=given, groups=groups)
    (note,) = clf.fit_.totals_notes
    missed = [one.name for one in clf.fit_.met_totals if one.missed]
    assert "contradict each other by 1, as rounding does" in note
    assert missed
    assert all(name in note for name in missed)


def test_a_total_of_the_wrong_rows_suggests_the_other(sample):
    assert "totals_of='all'" in refused(sample, n_positive=59)
    few = {"north": 0}
    assert sample.truth[:LABELLED][sample.region[:LABELLED] == "north"].any()
    said = refused(sample, n_positive=few, groups=sample.region, parameters={"totals_of": "all"})
    assert "labelled positive already" in said
    assert "totals_of='unlabelled'" in said


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_positive": {"north": 0.5}}, "positive_rate"),
        ({"n_positive": {"north": "many"}}, "must be a number or a pair"),
        ({"positive_rate": {"north": 1.5}}, "at most 1"),
        ({"n_positive": Totals([Total(None, 3)])}, "mapping of groups"),
        ({"n_positive": {"north": 1}, "groups": ["north"]}, "1 values, but there are 60 rows"),
        ({"n_positive": {"north": (1, 2), "south": 3}, "groups": None}, "as groups"),
        ({"n_positive": {"region": 3}, "groups": {"region": np.zeros(N)}}, "is a number"),
        ({"n_positive": {"land": {"a": 3}}, "groups": {"region": np.zeros(N)}}, "'land' is none of them"),
    ],
)
def test_what_cannot_be_read(sample, given, message):
    assert message in refused(sample, **{"groups": sample.region, **given})


def test_thresholds_need_groups(sample):
    assert "needs the group" in refused(sample, n_positive=9, parameters={"group_intercepts": True})


def test_contradiction_is_the_least_miss_over_all_labelings():
    rng = np.random.default_rng(0)
    bits = np.array([[i >> j & 1 for j in range(6)] for i in range(64)], dtype=float)
    for _ in range(20):
        rows = [np.flatnonzero(rng.random(6) < 0.6) for _ in range(3)]
        low = rng.integers(0, 5, 3).astype(float)
        high = low + rng.integers(0, 2, 3)
        counts = np.array([bits[:, own].sum(axis=1) for own in rows])
        misses = np.maximum(0, np.maximum(low[:, None] - counts, counts - high[:, None])).sum(axis=0)
        assert contradiction(rows, low, high, np.ones(6)).size <= misses.min() + 1e-9
        if len({*map(len, rows)}) == 3 and misses.min() == 0:
            assert contradiction(rows, low, high, np.ones(6)).size == 0
    apart = [np.arange(3), np.arange(3, 6), np.arange(6)]  # a laminar family: no gap to integers
    assert contradiction(apart, np.array([1, 1, 5.0]), np.array([1, 1, 5.0]), np.ones(6)).size == 3


# -- other rows ----------------------------------------------------------------------------------------
def grouped_problem():
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(6, 2)), rng.normal(size=(10, 2))
    totals = Totals([Total(np.arange(4), 2, 3, name="a"), Total(np.arange(3, 10), 3, name="b")])
    return Problem(X, [1, -1, 1, -1, 1, -1], U, totals)


def test_hidden_labels_raise_the_totals_that_count_them():
    problem, order = grouped_problem(), np.random.default_rng(1).permutation(12)
    hidden = np.array([True, True, False, False, False, False])
    members = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], dtype=bool)
    first, second = with_hidden(problem, hidden, np.ones(6), order, members)
    assert first.interval == (3, 4)
    assert second.interval == (3, 3)
    assert sorted(order[first.rows]) == [0, 1, 2, 3, 10]
    assert sorted(order[second.rows]) == [3, 4, 5, 6, 7, 8, 9, 11]


def test_a_part_of_the_rows_has_a_part_of_each_total():
    (totals,) = scaled_totals([grouped_problem()], np.array([0, 1, 4, 5, 6]), None)
    first, second = totals
    assert first.interval == (1, 1.5)
    assert second.interval == (1, 1)
    assert first.rows.tolist() == [0, 1]
    assert second.rows.tolist() == [2, 3, 4]


def test_accuracy_by_hidden_labels(sample):
    clf = quick().fit(sample.X, sample.y, n_positive=sample.by_region, groups=sample.region)
    accuracy = clf.accuracy(n_folds=3, others=False)
    assert accuracy
    assert 0.5 < accuracy.own.share <= 1
    summary = str(clf.summary(accuracy=False))
    assert "north" in summary
    assert "wanted" in summary


def test_probabilities_add_up_to_every_total(sample):
    groups = {"region": sample.region, "sex": sample.sex}
    given = {"region": sample.by_region, "sex": {"f": (sample.by_sex["f"] + 1, sample.by_sex["f"] + 3)}}
    clf = quick(count_penalty=5).fit(sample.X, sample.y, n_positive=given, groups=groups)
    p = clf.probabilities_[:, 1]
    for name, total in sample.by_region.items():
        assert p[sample.free & (sample.region == name)].sum() == pytest.approx(total, abs=1e-6)
    low, high = given["sex"]["f"]
    assert low - 1e-6 <= p[sample.free & (sample.sex == "f")].sum() <= high + 1e-6


def test_probabilities_of_several_classes_add_up_in_each_group(sample):
    y, table = three_classes(sample)
    clf = quick().fit(sample.X, y, n_positive=table, groups=sample.region)
    for name, totals in table.items():
        rows = np.isnan(y) & (sample.region == name)
        np.testing.assert_allclose(clf.probabilities_[rows].sum(axis=0), list(totals.values()), atol=1e-6)


def test_numbers_of_groups_with_known_totals_are_known(sample):
    clf = quick().fit(sample.X, sample.y, n_positive=sample.by_region, groups=sample.region)
    for row in clf.totals_by(sample.region, n_replicates=3).rows:
        assert row.low == pytest.approx(row.high, abs=1e-6) == pytest.approx(sample.by_region[row.group])
    assert any(row.high - row.low > 1 for row in clf.totals_by(sample.sex, n_replicates=3).rows)


def test_a_long_list_of_totals_is_cut(sample):
    groups = np.arange(N) % 25
    given = {g: sample.total(groups == g) for g in range(25)}
    clf = quick().fit(sample.X, sample.y, n_positive=given, groups=groups)
    table = str(clf.summary(accuracy=False))
    missed = [abs(one.missed) for one in clf.fit_.met_totals]
    assert "... and 5 more" in table
    assert missed == sorted(missed, reverse=True)


def test_the_splitter_scales_every_total(sample):
    cv = LabeledKFold(2, keep=0.5, random_state=0)
    train, _ = next(cv.split(sample.X, sample.y))
    kept = np.isin(np.arange(N), train)
    given = {None: (10, 20), "region": {"north": 8, "south": (2, 4)}}
    groups = {"region": sample.region}
    scaled = cv.n_positive(train, sample.y, given, groups=groups)
    share = {
        name: np.sum(kept & sample.free & (sample.region == name))
        / np.sum(sample.free & (sample.region == name))
        for name in ("north", "south")
    }
    assert scaled[None] == (5, 10)
    assert scaled["region"]["north"] == round(8 * share["north"])
    assert scaled["region"]["south"] == pytest.approx((2 * share["south"], 4 * share["south"]))


def test_cross_validation_takes_groups_along(sample):
    with sklearn.config_context(enable_metadata_routing=True):
        clf = CS3VMClassifier("top_tau").set_fit_request(n_positive=True, groups=True)
        params = {"n_positive": sample.by_region, "groups": sample.region}
        scores = cross_val_score(clf, sample.X, sample.y, cv=LabeledKFold(2), params=params)
    assert scores.shape == (2,)
    assert np.all(scores > 0.4)


def test_a_search_passes_groups_on(sample):
    clf = CS3VMClassifier("top_tau")
    search = CS3VMSearch(clf, {"C": [0.1, 1.0]}, criterion="recall", cv=2)
    search.fit(sample.X, sample.y, n_positive=sample.by_region, groups=sample.region)
    names = [one.name for one in search.best_estimator_.fit_.met_totals]
    assert sorted(names) == ["north", "south"]
    search.estimator = CS3VMClassifier("top_tau", totals_of="all")
    with pytest.raises(InvalidProblemError, match="holds out labels"):
        search.fit(sample.X, sample.y, n_positive=sample.by_region, groups=sample.region)
