r"""Sparse rows of many columns, such as texts: a plane for them without a dense table of all their values.

A plane's weights are a sum of rows: those of the SVM of labelled rows, those that meet a count of unlabelled
ones, too. So the problem sees the rows by their coordinates in a basis that some rows span, the labelled ones
and others, and the weights that it finds are turned into weights of columns. With :math:`P` the rows of the
basis and :math:`L` the Cholesky factor of :math:`PP^\top`, the coordinates are :math:`L^{-1}Px`. If the basis
spans all rows nothing is lost; if it spans the labelled ones, nothing of the SVM is. Of what else it spans
only those directions are kept in which rows are longest: that is less memory, and better planes are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array, diags_array, issparse

from .._typing import FloatArray, IntArray, RowArray
from .kernel import blocks
from .kernel_map import pivoted_cholesky, solve_rows

#: Sparse rows with up to so many columns become dense: their coordinates would take as much memory.
DENSE_COLUMNS = 300
#: Rows in the basis, or twice the number of labelled rows if that is more, up to the latter.
BASIS_ROWS, MOST_ROWS = 600, 1500
#: Directions besides the span of the labelled rows, unless the number of rows in the basis is given.
DIRECTIONS = 150
#: Coordinates of all rows, unless the number of rows in the basis is given: 240 MB.
MOST_NUMBERS = 30_000_000


@dataclass(frozen=True, eq=False)
class RowBasis:
    """The rows that span the weights, in scaled units, and the triangle that makes them orthonormal."""

    rows: Any  #: CSR
    triangle: FloatArray
    axes: FloatArray | None  #: orthonormal directions within that span, in columns, or all of it
    made_of: int  #: rows that were tried; of those that depend on each other some are left out
    n_rows: int  #: of the fit

    @property
    def is_complete(self) -> bool:
        """Whether the basis was made of all rows of the fit, so that it spans every possible answer."""
        return bool(self.made_of == self.n_rows)

    def to_columns(self, w: FloatArray) -> FloatArray:
        """The weights of the scaled columns for a normal vector in coordinates."""
        inner = w if self.axes is None else self.axes @ w
        return np.asarray(self.rows.T @ solve_triangular(self.triangle, inner, lower=True, trans="T"))

    def coordinates(self, X: Any, rows: RowArray) -> Iterator[tuple[slice, FloatArray]]:
        """The coordinates of these rows, part by part: which of them, and their values."""
        for part in blocks(len(rows), len(self.triangle)):
            values = solve_rows(self.triangle, (X[rows[part]] @ self.rows.T).toarray())
            yield part, values if self.axes is None else values @ self.axes

    def __str__(self) -> str:
        span = f"that {len(self.triangle)} of the {self.n_rows} rows span"
        kept = "" if self.axes is None else f"in {self.axes.shape[1]} directions "
        return f"weights {kept}{span}"


def is_wide(X: Any) -> bool:
    """Whether rows are sparse and have so many columns that they stay so."""
    return bool(issparse(X)) and X.shape[1] > DENSE_COLUMNS


def canonical(X: Any) -> Any:
    """The rows as CSR in which equal rows look alike: sorted, without zeros."""
    rows = csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def scaled(X: Any, factor: FloatArray) -> Any:
    """The rows with each column times its factor."""
    return X if np.all(factor == 1.0) else csr_array(X @ diags_array(factor))


def row_sums(X: Any) -> FloatArray:
    """Two random sums of the values of each row, which tell it from others: equal for equal rows."""
    return np.asarray(X @ np.random.default_rng(0).normal(size=(X.shape[1], 2)))


def sparse_profiles(X: Any) -> IntArray:
    """A number for each row, the same for equal rows."""
    return np.asarray(np.unique(row_sums(X), axis=0, return_inverse=True)[1].ravel(), dtype=np.int64)


def basis_size(n_labelled: int, n_rows: int, number: int | None) -> int:
    """How many of the rows a basis is made of, if it shall be so many or, by default, as many as usual."""
    usual = max(BASIS_ROWS, min(2 * n_labelled, MOST_ROWS))
    wanted = number or min(usual, max(DENSE_COLUMNS, MOST_NUMBERS // n_rows))
    return min(wanted, n_rows)


def fit_basis(
    X: Any, labelled: RowArray, unlabelled: RowArray, number: int | None, seed: int
) -> tuple[RowBasis, FloatArray]:
    """A basis of scaled rows, and the coordinates of all rows that count, labelled ones first.

    Parameters
    ----------
    X
        Scaled rows, CSR.
    labelled, unlabelled
        The numbers of the rows that count.
    number
        How many rows the basis is made of. Default: as :data:`BASIS_ROWS` says.
    seed
        Draws the rows of the basis.
    """
    rows = np.append(labelled, unlabelled)
    size = basis_size(len(labelled), len(rows), number)
    chosen = _choose(labelled, unlabelled, size, np.random.default_rng(seed))
    P = X[chosen]
    order, factor = pivoted_cholesky((P @ P.T).toarray(), chosen)
    basis = RowBasis(csr_array(P[order]), np.tril(factor[order]), None, len(chosen), len(rows))
    if number is None and not basis.is_complete and len(labelled) + DIRECTIONS < len(order):
        basis = replace(basis, axes=_leading_axes(basis, X, labelled, rows))
    features = np.empty((len(rows), len(order) if basis.axes is None else basis.axes.shape[1]))
    for part, values in basis.coordinates(X, rows):
        features[part] = values
    return basis, features


def _leading_axes(basis: RowBasis, X: Any, labelled: RowArray, rows: RowArray) -> FloatArray:
    """The span of the labelled rows, and the directions besides in which all rows are longest."""
    size = len(basis.triangle)
    products = np.zeros((size, size))
    for _, values in basis.coordinates(X, rows):
        products += values.T @ values
    own = np.vstack([values for _, values in basis.coordinates(X, labelled)])
    _, lengths, axes = np.linalg.svd(own, full_matrices=False)
    inside = axes[lengths > 1e-10 * lengths[0]].T
    beside = np.eye(size) - inside @ inside.T
    _, vectors = np.linalg.eigh(beside @ products @ beside)
    return np.hstack([inside, vectors[:, : -DIRECTIONS - 1 : -1]])


def _choose(labelled: RowArray, unlabelled: RowArray, number: int, rng: np.random.Generator) -> RowArray:
    """The labelled rows and others by chance, or some of the labelled ones if there are too many."""
    if len(labelled) >= number:
        return rng.choice(labelled, number, replace=False)
    return np.append(labelled, rng.choice(unlabelled, number - len(labelled), replace=False))
