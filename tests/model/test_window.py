"""Values at given ranks of very many scores."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.model.window import MANY, SAMPLE, ranked_values


@pytest.mark.parametrize("kind", ["normal", "equal", "two", "sorted", "misleading"])
@pytest.mark.parametrize("place", [0, 1, 5000, MANY, 3 * MANY // 2 - 1])
def test_it_is_the_value_of_a_sort(kind, place):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(3 * MANY // 2)
    if kind == "equal":
        scores[:] = 2.0
    elif kind == "two":
        scores = np.where(scores > 0.3, 1.0, -1.0)
    elif kind == "sorted":
        scores.sort()
    elif kind == "misleading":  # those that are looked at first tell nothing about the others
        scores[:: len(scores) // SAMPLE] += 100.0
    places = [place, place + 1] if place + 1 < len(scores) else [place]
    assert np.array_equal(ranked_values(scores, places), np.sort(scores)[places])
