"""Tables for the tests of rows in pieces."""

from __future__ import annotations

import numpy as np

from cs3vm import CS3VMClassifier
from cs3vm.large.pieces import ArraySource


def clouds(n_rows=4000, d=4, seed=0, n_labelled=80, kind=np.float64):
    """Two overlapping clouds with few, biased labels: rows, labels (NaN: none), and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_rows) < 0.3).astype(float)
    X = rng.standard_normal((n_rows, d)) + np.where(truth > 0, 0.8, -0.8)[:, None] * (np.arange(d) < 2)
    y = np.full(n_rows, np.nan)
    n_positive = int(0.8 * n_labelled)
    for label, number in ((1.0, n_positive), (0.0, n_labelled - n_positive)):
        y[rng.permutation(np.flatnonzero(truth == label))[:number]] = label
    return X.astype(kind), y, truth


class ShuffledSource(ArraySource):
    """The same pieces in another order, combined as a tree from the right."""

    def pieces(self):
        found = list(super().pieces())
        np.random.default_rng(5).shuffle(found)
        return iter(found)

    def reduce(self, function, combine):
        parts = [function(piece) for piece in self.pieces()]
        while len(parts) > 1:
            parts = [
                combine(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i]
                for i in range(0, len(parts), 2)
            ][::-1]
        return parts[0]


def begins(n_rows, n_pieces, seed=0):
    """Where so many pieces of different lengths begin, and an empty one at the end."""
    cuts = np.random.default_rng(seed).choice(np.arange(1, n_rows), n_pieces - 1, replace=False)
    return [*cuts.tolist(), n_rows]


def quick(**parameters):
    """A classifier whose searches in memory are short."""
    return CS3VMClassifier("direct", work_limit=2e7, options={"patience": 0}, **parameters)
