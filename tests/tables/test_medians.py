"""Medians of tables in pieces are those that numpy gives."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs3vm.tables import medians as module
from cs3vm.tables.frames import FramePiece
from cs3vm.tables.medians import medians, number_of, sortable
from cs3vm.tables.reading import Table

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def runner(values, cuts):
    """One pass over pieces of a column, and how many there were."""
    passes = []

    def run(function, combine):
        passes.append(function)
        parts = np.split(np.asarray(values, dtype=float), cuts)
        found = [function(FramePiece(0, Table(pd.DataFrame({"x": p}), None), "")) for p in parts]
        while len(found) > 1:
            found = [combine(found[0], found[-1]), *found[1:-1]]
        return found[0]

    return run, passes


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(FINITE, min_size=2, max_size=40).map(sorted))
def test_keys_are_sorted_as_numbers(values):
    keys = sortable(np.array(values))
    assert (np.diff(keys.astype(object)) >= 0).all()
    assert [number_of(int(key)) for key in keys] == [value + 0.0 for value in values]


@pytest.mark.parametrize("few", [0, 3, 1000])
@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_the_median_of_numpy(monkeypatch, n, few):
    monkeypatch.setattr(module, "MOST_DISTINCT", few)
    rng = np.random.default_rng(n)
    values = np.append(np.round(rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n), 3), [np.nan] * 3)
    for cuts in ([], [1], sorted(rng.integers(0, n, 5))):
        run, passes = runner(values, cuts)
        assert medians({"x": n}, run) == {"x": np.nanmedian(values)}
        assert len(passes) <= 4
