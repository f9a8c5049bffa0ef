"""A sample depends on the seed and the row numbers only."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm.large.cells import Cells
from cs3vm.large.exact_sums import ExactSums
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource
from cs3vm.large.sampling import drawn_places, row_hashes
from cs3vm.large.survey import Asked, Survey, Surveyor
from tests.large.tables import ShuffledSource, begins, clouds, quick


def survey(source, **changes):
    asked = Asked((), None, 0, 200, 90 * bool(changes.get("columns")), source.n_rows)._replace(**changes)
    return source.reduce(Surveyor(asked), Survey.combine).finished()


def test_hashes_are_spread_evenly_and_differ_by_seed():
    hashes = row_hashes(np.arange(100_000), 0)
    assert len(np.unique(hashes)) == 100_000
    counts = np.bincount((hashes >> np.uint64(60)).astype(int), minlength=16)
    assert np.all(np.abs(counts - 6250) < 400)
    assert not np.array_equal(hashes, row_hashes(np.arange(100_000), 1))
    assert np.array_equal(hashes[500:600], row_hashes(np.arange(500, 600), 0))


@pytest.mark.parametrize("groups", [None, "three"])
def test_the_pieces_and_a_known_length_do_not_matter(groups):
    X, y, _ = clouds(3000)
    column = None if groups is None else np.array(["a", "b", "c"])[np.arange(3000) // 1400]
    columns = () if groups is None else ("",)
    first = survey(ArraySource(X, y, groups=column), columns=columns)
    assert len(first.drawn) >= 200
    for cuts in (10**6, begins(3000, 60)):
        other = ShuffledSource(X, y, groups=column, piece_rows=cuts)
        for n_rows in (None, 3000):
            found = survey(other, columns=columns, n_rows=n_rows)
            assert np.array_equal(found.drawn.number, first.drawn.number)
            assert np.array_equal(found.drawn.X, first.drawn.X)
            assert found.keys == first.keys
            assert np.array_equal(found.sums.parts, first.sums.parts)
            assert np.array_equal(found.weights.values(), first.weights.values())


def test_small_cells_are_drawn_from_too():
    hashes = row_hashes(np.arange(5000), 3)
    cells = (np.arange(5000) % 100 == 0).astype(np.int64)
    places = drawn_places(hashes, cells, 100, 30)
    assert np.count_nonzero(cells[places]) >= 30
    assert set(np.argsort(hashes)[:100]) <= set(places)


def test_where_most_rows_are_labelled_all_others_are_drawn():
    X, _, truth = clouds(6000)
    y = np.where(np.arange(6000) % 24 == 0, np.nan, truth)
    total = int(truth[np.isnan(y)].sum())
    source = ArraySource(X, y, piece_rows=500)
    fit = fit_pieces(source, quick(), n_positive=total, sample_rows=300)
    assert np.array_equal(fit.transduction(source), quick().fit(X, y, n_positive=total).transduction_)


def test_sums_are_exact_in_any_order():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((2000, 2)) * 10.0 ** rng.integers(-8, 9, (2000, 2))
    cells = rng.integers(-1, 3, 2000)
    one, other = ExactSums(3, 2), ExactSums(3, 2)
    one.add(values, cells)
    order = rng.permutation(2000)
    for part in np.array_split(order, 7):
        piece = ExactSums(3, 2)
        piece.add(values[part], cells[part])
        other += piece
    assert np.array_equal(one.parts, other.parts)
    truth = [[values[cells == c, j].astype(np.longdouble).sum() for j in range(2)] for c in range(3)]
    assert np.allclose(one.values(), np.array(truth, dtype=float), rtol=1e-12)
    whole = ExactSums(1, 1)
    whole.add(np.array([[1e15], [1.0], [-1e15], [0.0]]), np.zeros(4, dtype=np.int64))
    assert whole.values()[0, 0] == 1.0


def test_cells_of_a_piece_are_known_by_their_values():
    source = ArraySource(np.zeros((4, 1)), groups={"a": ["x", None, "y", "x"], "b": [1, 1, 2, 2]})
    keys = survey(source, columns=("a", "b")).keys
    assert keys == [(None, 1), ("x", 1), ("x", 2), ("y", 2)]
    (piece,) = source.pieces()
    assert Cells(("a", "b"), keys).of(piece).tolist() == [1, 0, 3, 2]
