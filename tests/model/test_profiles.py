"""Equal rows are found, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cs3vm.model.profiles import automatic_margin, profiles

SMALL = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e300, 5e-324, 1.0 + 2.0**-52])


@settings(derandomize=True, deadline=None)
@given(arrays(float, st.tuples(st.integers(0, 12), st.integers(0, 4)), elements=SMALL))
def test_equal_rows_have_one_number(rows):
    numbers = profiles(rows)
    equal = (rows[:, None] == rows[None]).all(axis=2)
    np.testing.assert_array_equal(numbers[:, None] == numbers[None], equal)
    assert set(numbers.tolist()) == set(range(len(set(numbers.tolist()))))


def test_rows_that_fall_together_by_chance_are_told_apart(monkeypatch):
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [3.0, 3.0]])
    expected = profiles(rows)
    monkeypatch.setattr("cs3vm.model.profiles.np.unique", _all_equal(np.unique))
    found = profiles(rows)
    np.testing.assert_array_equal(found[:, None] == found[None], expected[:, None] == expected[None])


def _all_equal(unique):
    def wrong(values, *args, axis=None, **kwargs):
        if axis is None:  # the sums: all the same
            return unique(np.zeros_like(values), *args, **kwargs)
        return unique(values, *args, axis=axis, **kwargs)

    return wrong


@pytest.mark.parametrize(("number", "margin"), [(0, 0.0), (1, 1e-3), (1000, 1e-3), (10_000, 1e-4)])
def test_the_margin_shrinks_with_the_number_of_profiles(number, margin):
    assert automatic_margin(number) == margin
