"""What rows in pieces cannot do is refused with advice; what is in a piece is checked where it is."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMError, InvalidProblemError
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import ArraySource, Piece, PieceSource, TransformedSource
from tests.large.tables import begins, clouds, quick

SMALL = {"sample_rows": 400, "near_rows": 300}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "ircm"}, "method='ircm' is not possible for rows in pieces: use method='direct'"),
        ({"norm": "l1"}, "use norm='l2'"),
        ({"kernel": "precomputed"}, "name of a kernel"),
        ({"group_intercepts": True}, "leave it out"),
        ({"side_margin": 0.0}, "use 'auto'"),
        ({"options": {"gap": 0.1}}, "'gap'"),
    ],
)
def test_parameters(parameters, message):
    X, y, _ = clouds(600)
    with pytest.raises(InvalidProblemError, match=message):
        fit_pieces(ArraySource(X, y), CS3VMClassifier(**parameters), n_positive=100)


def test_several_classes():
    X, y, _ = clouds(600)
    with pytest.raises(InvalidProblemError, match="two classes"):
        fit_pieces(ArraySource(X, y), n_positive={0: 100, 1: 200, 2: 220})


def test_a_margin_that_no_plane_has():
    X, y, truth = clouds(3000)
    with pytest.raises(CS3VMError, match="lower side_margin"):
        fit_pieces(ArraySource(X, y), quick(side_margin=1e6), n_positive=int(truth.sum()) - 64, **SMALL)


def test_infinity_and_negative_weights_name_the_row():
    X, y, _ = clouds(600)
    X[333, 1] = np.inf
    with pytest.raises(
        InvalidProblemError, match=r"rows 300 to 399: 1 values, the first in row 333, column 1"
    ):
        fit_pieces(ArraySource(X, y, piece_rows=100), n_positive=100)
    X[333, 1] = 0.0
    weights = np.ones(600)
    weights[450] = -1.0
    with pytest.raises(InvalidProblemError, match=r"row 450 in rows 400 to 499 has -1.0"):
        fit_pieces(ArraySource(X, y, weights, piece_rows=100), n_positive=100)


def test_columns_of_another_length():
    X, y, _ = clouds(600)
    with pytest.raises(InvalidProblemError, match="y has 599 values, but X has 600 rows"):
        ArraySource(X, y[1:])


def test_no_rows_and_no_unlabelled_rows():
    with pytest.raises(InvalidProblemError, match="no unlabelled row"):
        fit_pieces(ArraySource(np.zeros((0, 3)), np.zeros(0)), n_positive=0)
    X, _, truth = clouds(600)
    with pytest.raises(InvalidProblemError, match="no unlabelled row"):
        fit_pieces(ArraySource(X, truth), n_positive=0)


def test_minus_one_marks_unlabelled_rows_unless_some_are_missing():
    X, y, truth = clouds(1500)
    total = int(truth[np.isnan(y)].sum())
    marked = np.where(np.isnan(y), -1, y).astype(int)
    source = ArraySource(X, marked, piece_rows=400)
    fit = fit_pieces(source, quick(), n_positive=total, **SMALL)
    assert fit.transduction(source)[np.isnan(y)].sum() == total
    signs = np.where(np.isnan(y), np.nan, 2 * y - 1)
    other = ArraySource(X, signs, piece_rows=400)
    fit = fit_pieces(other, quick(), n_positive=total, **SMALL)
    assert fit.labeller.classes.tolist() == [-1.0, 1.0]
    assert (fit.transduction(other)[np.isnan(y)] == 1).sum() == total
    named = np.where(np.isnan(y), "?", np.where(y == 1, "yes", "no"))
    other = ArraySource(X, named, piece_rows=400)
    fit = fit_pieces(other, quick(unlabeled="?"), n_positive=total, **SMALL)
    assert (fit.transduction(other)[np.isnan(y)] == "yes").sum() == total


class Doubled:
    """A row-wise transform that can be pickled."""

    def __call__(self, piece: Piece) -> Piece:
        return replace(piece, X=np.hstack([piece.X, piece.X[:, :1] ** 2]))


class PicklingSource(ArraySource):
    """Every function, piece and result goes through pickle, as between processes."""

    def reduce(self, function, combine):
        found = None
        for piece in self.pieces():
            sent_function, sent = pickle.loads(pickle.dumps((function, piece)))
            part = pickle.loads(pickle.dumps(sent_function(sent)))
            found = part if found is None else combine(found, part)
        return found


def test_all_that_a_pass_needs_can_be_pickled():
    X, y, truth = clouds(1500)
    total = int(truth[np.isnan(y)].sum())
    found = []
    for kind in (ArraySource, PicklingSource):
        source = TransformedSource(kind(X, y, piece_rows=begins(len(X), 6)), Doubled(), X.shape[1] + 1)
        fit = fit_pieces(source, quick(), n_positive=total, **SMALL)
        labeller = pickle.loads(pickle.dumps(fit.labeller))
        parts = [labeller(Doubled()(piece)) for piece in ArraySource(X, y, piece_rows=200).pieces()]
        found.append(np.concatenate([part.codes for part in parts]))
        assert np.array_equal(fit.transduction(source), found[-1])
    assert np.array_equal(*found)


def test_an_error_in_a_piece_reaches_the_caller():
    class Broken(PieceSource):
        n_columns = 2

        def pieces(self):
            yield Piece(0, np.zeros((5, 2)))
            raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        fit_pieces(Broken(), n_positive=1)
