"""Reading labels, weights and totals."""

import numpy as np
import pandas as pd
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.class_totals import read_total_or_share
from cs3vm.learn.labels import read_labels
from cs3vm.learn.rows import read_weights
from cs3vm.learn.unlabelled import find_unlabeled

UNLABELLED_AT_1_AND_3 = [
    pytest.param(np.array([0.0, np.nan, 1.0, np.nan]), {}, id="NaN in floats"),
    pytest.param([0, None, 1, None], {}, id="None in a list"),
    pytest.param([0, float("nan"), 1, None], {}, id="NaN and None in a list"),
    pytest.param(["no", float("nan"), "yes", None], {}, id="NaN beside text in a list"),
    pytest.param(np.array(["no", None, "yes", np.nan], dtype=object), {}, id="object array"),
    pytest.param(pd.Series([0, pd.NA, 1, pd.NA], dtype="Int64"), {}, id="nullable integers"),
    pytest.param(pd.Series([False, pd.NA, True, pd.NA], dtype="boolean"), {}, id="nullable booleans"),
    pytest.param(pd.Series(["no", pd.NA, "yes", None], dtype="string"), {}, id="pandas text"),
    pytest.param(pd.Series(["no", None, "yes", None], dtype="category"), {}, id="categorical"),
    pytest.param(pd.Series([0, pd.NA, 1, pd.NA], dtype=object), {}, id="pandas objects"),
    pytest.param([0, -1, 1, -1], {"has_total": True}, id="-1 beside 0 and 1"),
    pytest.param(np.array([2.0, -1.0, 5.0, -1.0]), {"has_total": True}, id="-1.0 in floats"),
    pytest.param([0, -1, 1, -1], {"unlabeled": -1}, id="-1 named"),
    pytest.param(["no", "?", "yes", "?"], {"unlabeled": "?"}, id="a mark in a list of text"),
    pytest.param(np.array(["no", "?", "yes", "?"]), {"unlabeled": "?"}, id="a mark in a text array"),
    pytest.param(np.array(["no", -1, "yes", -1]), {"unlabeled": -1}, id="a mark that numpy made text"),
    pytest.param([0, 9, 1, None], {"unlabeled": 9}, id="a mark and a missing value"),
]


@pytest.mark.parametrize(("y", "how"), UNLABELLED_AT_1_AND_3)
def test_unlabelled_rows_are_found(y, how):
    assert read_labels(y, **how).signs.tolist() == [-1, 0, 1, 0]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, None], [0, 1]),
        ([5, 2, None], [2, 5]),
        (["b", "a", None], ["a", "b"]),
        ([True, False, None], [False, True]),
        (np.array([1.0, -1.0, np.nan]), [-1.0, 1.0]),
        (pd.Series([3, 7, pd.NA], dtype="Int64"), [3, 7]),
    ],
)
def test_any_two_classes_and_the_greater_is_positive(y, classes):
    labels = read_labels(y)
    assert labels.classes.tolist() == classes
    assert labels.classes[labels.positive] == classes[1]
    assert labels.classes.dtype != object
    assert labels.decode(np.array([0, 1])).tolist() == classes


def test_pos_label_turns_the_signs_around():
    labels = read_labels(["no", "yes", None], pos_label="no")
    assert labels.signs.tolist() == [1, -1, 0]
    assert labels.decode(labels.codes[:2]).tolist() == ["no", "yes"]


def test_minus_one_is_a_class_without_a_total():
    assert read_labels([-1, 1, 1]).signs.tolist() == [-1, 1, 1]


def test_minus_one_is_a_class_beside_missing_values():
    assert read_labels([-1, 1, None], has_total=True).signs.tolist() == [-1, 1, 0]


def test_booleans_are_never_minus_one():
    assert not find_unlabeled(np.array([True, False]), has_total=True).any()


@pytest.mark.parametrize(
    ("y", "how", "classes", "signs"),
    [
        ([1, None], {}, [0, 1], [1, 0]),
        ([0, None], {}, [0, 1], [-1, 0]),
        ([-1, None], {}, [-1, 1], [-1, 0]),
        ([1, -1], {"unlabeled": -1}, [0, 1], [1, 0]),
        ([True, None], {}, [False, True], [1, 0]),
        (["no", None], {"pos_label": "yes"}, ["no", "yes"], [-1, 0]),
        (["zero", None], {"pos_label": "one"}, ["one", "zero"], [-1, 0]),
        ([1, None], {"pos_label": 1}, [0, 1], [1, 0]),
        ([1, None], {"pos_label": 2}, [1, 2], [-1, 0]),
        (pd.Categorical(["yes", None], categories=["no", "yes"]), {}, ["no", "yes"], [1, 0]),
    ],
)
def test_one_labelled_class_where_the_other_has_a_name(y, how, classes, signs):
    labels = read_labels(pd.Series(y) if isinstance(y, pd.Categorical) else y, **how)
    assert labels.classes.tolist() == classes
    assert labels.signs.tolist() == signs


@pytest.mark.parametrize(
    ("y", "how", "message"),
    [
        ([None, None], {}, "no labels: all 2 rows are unlabelled"),
        ([-1, -1], {"has_total": True}, "no labels: all 2 rows are unlabelled"),
        (None, {}, "requires y to be passed, but the target y is None"),
        (
            [0, 1, 2],
            {"has_total": True},
            r"y has 3 classes: 0, 1, 2. Give one total for each of them, such as n_positive=\{0: 120, 1: 300",
        ),
        ([-1, 0, 1], {}, "If one of them marks the unlabelled rows, say unlabeled="),
        ([-1, 0, 1, None], {"has_total": True}, "y has 3 classes: -1, 0, 1"),
        ([-1, 1], {"has_total": True}, "ambiguous -1: y has the two values -1 and 1"),
        ([-1, 0], {"has_total": True}, "ambiguous -1: y has the two values -1 and 0"),
        ([1, 1], {}, r"only one class is present \(1\) and no row is unlabelled"),
        (["yes", None], {}, "only the class 'yes' is labelled, so the other class has no name"),
        (["yes", None], {"pos_label": "yes"}, "name it with pos_label; otherwise use labels 1 and 0"),
        (
            [1, None],
            {"pos_label": "yes"},
            r"pos_label is 'yes' \(text\), but the labelled class is 1 \(numbers\)",
        ),
        ([0, 1], {"pos_label": 7}, "pos_label is 7, but the classes are 0 and 1"),
        (["a", 1, None], {}, "y mixes numbers and text"),
        ([0, float("inf")], {}, "y contains infinity in row 1"),
        ([None, 1.0, float("inf")], {}, "y contains infinity in row 2"),
    ],
)
def test_labels_that_cannot_be_used(y, how, message):
    with pytest.raises(InvalidProblemError, match=message):
        read_labels(y, **how)


def test_continuous_targets_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        read_labels([0.1, 0.7, None])


def test_weights():
    assert read_weights(None, 3).tolist() == [1, 1, 1]
    assert read_weights(2, 3).tolist() == [2, 2, 2]
    assert read_weights([0, 1.5, 2], 3).tolist() == [0, 1.5, 2]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], r"one value per row: got shape \(2,\) for 3 rows"),
        ([[1], [1], [1]], "one value per row"),
        ([1, -2, 1], "must not be negative; row 1 has -2.0"),
        ([0, 0, 0], "all sample weights are zero"),
        ([1, np.nan, 1], "sample_weight contains NaN"),
    ],
)
def test_weights_that_cannot_be_used(weight, message):
    with pytest.raises(ValueError, match=message):
        read_weights(weight, 3)


@pytest.mark.parametrize(
    ("rate", "weights", "total"),
    [
        (0.3, [1] * 10, 3),
        (0.25, [1] * 10, 3),  # half up, not to even
        (0.35, [1] * 10, 4),
        (0, [1] * 4, 0),
        (1, [1] * 4, 4),
        (0.5, [2, 3], 3),
        (0.5, [0.5, 2.0], 1.25),  # fractional weights: no rounding
        (0.3, [0.1] * 10, 0.3),
    ],
)
def test_total_from_a_rate(rate, weights, total):
    assert read_total_or_share(None, rate, np.array(weights, dtype=float)) == pytest.approx(total, abs=1e-12)


def test_total_of_no_rows():
    none = np.zeros(0)
    assert read_total_or_share(None, None, none) == 0
    assert read_total_or_share(0, None, none) == 0


@pytest.mark.parametrize(
    ("n_positive", "rate", "m", "message"),
    [
        (None, None, 3, "3 rows are unlabelled, but their total is missing: give n_positive"),
        (1, 0.5, 3, "n_positive or positive_rate, not both"),
        (2, None, 0, "n_positive is given, but no row is unlabelled"),
        (None, 0.0, 0, "positive_rate is given, but no row is unlabelled"),
        (None, 1.2, 3, "positive_rate must be a number between 0 and 1, got 1.2"),
        (None, -0.1, 3, "between 0 and 1, got -0.1"),
        (None, "0.5", 3, "between 0 and 1, got '0.5'"),
        (None, True, 3, "between 0 and 1, got True"),
        (None, float("nan"), 3, "between 0 and 1, got nan"),
    ],
)
def test_totals_that_cannot_be_used(n_positive, rate, m, message):
    with pytest.raises(InvalidProblemError, match=message):
        read_total_or_share(n_positive, rate, np.ones(m))


@pytest.mark.parametrize(
    ("dtype", "values", "classes"),
    [("boolean", [True, False, None], [False, True]), ("Int64", [2, 1, None], [1, 2])],
)
def test_pandas_own_types_keep_their_values(dtype, values, classes):
    labels = read_labels(pd.Series(values, dtype=dtype))
    assert labels.classes.tolist() == classes
    assert [type(c) for c in labels.classes.tolist()] == [type(c) for c in classes]
    assert labels.signs.tolist() == [1, -1, 0]


class Column:
    """A column of another library: a type that numpy does not know, and no arguments of ``to_numpy``."""

    dtype, ndim = "own", 1

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def to_numpy(self):
        return np.array(self.values, dtype=object)


@pytest.mark.parametrize("values", [["no", None, "yes", None], [0, None, 1, None], [False, None, True, None]])
def test_columns_of_other_libraries(values):
    labels = read_labels(Column(values))
    assert labels.signs.tolist() == [-1, 0, 1, 0]
    assert labels.classes.tolist() == [values[0], values[2]]
    assert [type(c) for c in labels.classes.tolist()] == [type(values[0])] * 2


@pytest.mark.parametrize("k", [2, 3])
def test_polars(k):
    pl = pytest.importorskip("polars")
    names = ["a", "b", "c"][:k]
    y = [*names, *[None] * 9]
    X = np.arange(2.0 * len(y)).reshape(-1, 2) ** 2 % 17
    known = dict(zip(names, [9 - 2 * (k - 1), 2, 2][:k], strict=True))
    frame = pl.DataFrame({"f": X[:, 0], "g": X[:, 1]})
    clf = CS3VMClassifier("top_tau").fit(frame, pl.Series(y), n_positive=known)
    plain = CS3VMClassifier("top_tau").fit(X, y, n_positive=known)
    assert clf.classes_.tolist() == names
    assert clf.transduction_.tolist() == plain.transduction_.tolist()
    assert clf.feature_names_in_.tolist() == ["f", "g"]
    assert clf.predict(frame).tolist() == plain.predict(X).tolist()


def test_polars_types():
    pl = pytest.importorskip("polars")
    for values, dtype, classes in (
        ([True, False, None], pl.Boolean, [False, True]),
        ([2, 1, None], pl.Int8, [1, 2]),
        (["yes", None, None], pl.Enum(["no", "yes"]), ["no", "yes"]),
        (["yes", "no", None], pl.Categorical, ["no", "yes"]),
    ):
        labels = read_labels(pl.Series(values, dtype=dtype))
        assert labels.classes.tolist() == classes
        assert labels.codes[-1] == -1


# -- a share under the wrong name --------------------------------------------------------------------------
@pytest.mark.parametrize("share", [0.4, np.float64(0.25)])
def test_a_share_given_as_a_total_is_recognised(share):
    X, y = np.arange(6.0)[:, None], [0, 1, None, None, None, None]
    with pytest.raises(InvalidProblemError, match=rf"for a share of the rows use positive_rate={share}"):
        CS3VMClassifier("top_tau").fit(X, y, n_positive=share)
    weight = np.full(6, 0.1)  # a total of less than 1 is possible with weights
    CS3VMClassifier("top_tau").fit(X, y, n_positive=share, sample_weight=weight)


def test_shares_given_as_totals_are_recognised():
    X, y = np.arange(6.0)[:, None], [0, 1, None, None, None, None]
    for shares in ({0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.25, 2: 0.25}):
        with pytest.raises(InvalidProblemError, match="for shares of the rows use positive_rate"):
            CS3VMClassifier("top_tau").fit(X, y, n_positive=shares)
