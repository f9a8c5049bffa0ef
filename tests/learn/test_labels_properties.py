"""Labels of any kind, with missing marks of any kind, say the same as the plain ones do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs3vm.learn.labels import read_labels
from cs3vm.learn.rows import read_weights

STEADY = settings(derandomize=True, deadline=None, max_examples=150)
NUMBERS = st.floats(-9, 9) | st.just(float("nan"))
#: Pairs of classes of one kind.
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5)
classes = st.one_of(
    st.just((False, True)),
    st.lists(st.integers(-50, 50), min_size=2, max_size=2, unique=True).map(tuple),
    st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=2, unique=True).map(tuple),
    st.lists(names, min_size=2, max_size=2, unique=True).map(tuple),
)
signs = st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=12).filter(lambda s: {-1, 1} <= set(s))
marks = st.sampled_from([None, float("nan"), pd.NA, np.nan])


def labels_of(code: list[int], pair: tuple, mark: object) -> list:
    low, high = sorted(pair)
    return [mark if s == 0 else high if s > 0 else low for s in code]


@STEADY
@given(signs, classes, marks, st.data())
def test_any_classes_and_missing_marks_are_read(code, pair, mark, data):
    y = labels_of(code, pair, mark)
    form = data.draw(st.sampled_from([list, tuple, lambda y: pd.Series(y, dtype=object), _objects]))
    labels = read_labels(form(y))
    assert labels.signs.tolist() == code
    assert labels.classes.tolist() == sorted(pair)
    assert labels.decode(labels.codes[labels.codes >= 0]).tolist() == [v for v in y if v is not mark]


@STEADY
@given(signs, classes, st.booleans())
def test_the_positive_class_may_be_either(code, pair, greater):
    y = labels_of(code, pair, None)
    labels = read_labels(y, pos_label=max(pair) if greater else min(pair))
    assert labels.signs.tolist() == [s if greater else -s for s in code]
    assert labels.classes.tolist() == sorted(pair)


@STEADY
@given(signs, st.lists(st.integers(-50, 50), min_size=3, max_size=3, unique=True))
def test_a_mark_of_the_users_own_is_no_class(code, values):
    mark, *pair = values
    y = labels_of(code, tuple(pair), mark)
    if 0 in code:
        assert read_labels(y, unlabeled=mark).signs.tolist() == code
        assert read_labels(np.array(y), unlabeled=mark).signs.tolist() == code
        assert read_labels(np.array(y, dtype=float), unlabeled=mark).signs.tolist() == code


@STEADY
@given(
    st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(-3, 3), NUMBERS, st.text(max_size=2)), max_size=6
    ),
    st.booleans(),
)
def test_any_mixture_is_read_or_explained(y, has_total):
    try:
        labels = read_labels(y, has_total=has_total)
    except ValueError:  # ours, or scikit-learn's for numbers that are no classes
        return
    assert len(labels.classes) >= 2
    assert len(labels.codes) == len(y)
    assert labels.is_several == (len(labels.classes) > 2)


@STEADY
@given(st.lists(st.floats(), min_size=1, max_size=6))
def test_weights_are_taken_as_they_are_or_explained(weights):
    values = np.array(weights)
    if np.all(np.isfinite(values)) and np.all(values >= 0) and values.any():
        assert read_weights(weights, len(weights)).tolist() == weights
    else:
        with pytest.raises(ValueError, match=r"sample.weight"):
            read_weights(weights, len(weights))


def _objects(values: list) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
