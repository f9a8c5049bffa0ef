"""Whether totals can hold together, and by how much they must be missed if they cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from .._typing import FloatArray, IntArray, RowArray

#: Contradictions that rounding explains are tolerated: so much for each total,
#: or this part of the weight of all rows, whichever is more.
ROUNDING, SHARE = 0.5, 1e-3


class Contradiction(NamedTuple):
    """By how much totals are missed at least, whatever the labels are."""

    size: float  #: the sum over all totals
    misses: FloatArray  #: of each total, in one of the ways in which the sum is least


def tolerated(n_totals: int, weight: float) -> float:
    """How large a contradiction may be that rounding explains."""
    return max(ROUNDING * n_totals, SHARE * weight)


def contradiction(
    rows: Sequence[RowArray], low: FloatArray, high: FloatArray, weights: FloatArray
) -> Contradiction:
    """The least sum of misses, by a linear programme over the cells, rows that are in the same totals.

    Parameters
    ----------
    rows
        Which rows each total counts.
    low, high
        The intervals of the totals.
    weights
        Of all rows.
    """
    member, weight = cells_of(rows, weights)
    number, cells = member.shape
    slack = eye_array(number)
    counts = hstack([member, slack, -slack])  # too few are made up for, too many are taken away
    high = np.minimum(high, np.maximum(low, member @ weight))  # none is infinite
    found = linprog(
        np.append(np.zeros(cells), np.ones(2 * number)),
        A_ub=vstack([counts, -counts]),
        b_ub=np.append(high, -low),
        bounds=[*((0.0, float(most)) for most in weight), *[(0.0, None)] * (2 * number)],
        method="highs",
    )
    misses = found.x[cells:].reshape(2, -1).sum(axis=0)
    rounding = 1e-9 * max(1.0, float(weights.sum()))
    return Contradiction(float(found.fun) if found.fun > rounding else 0.0, misses)


def contradiction_of_classes(rows: Sequence[RowArray], table: FloatArray, n_rows: int) -> Contradiction:
    """The same for rows of several classes.

    Parameters
    ----------
    rows
        Which rows each total counts.
    table
        Classes by totals: how many rows of each class it has. Misses come in the same order, class by class.
    n_rows
        How many rows there are.
    """
    member, sizes = cells_of(rows, np.ones(n_rows))
    classes, cells = len(table), len(sizes)
    number, misses = classes * cells, table.size
    slack = eye_array(misses)
    met = hstack([kron(eye_array(classes), member), slack, -slack])
    whole = hstack([kron(np.ones((1, classes)), eye_array(cells)), csr_array((cells, 2 * misses))])
    found = linprog(
        np.append(np.zeros(number), np.ones(2 * misses)),
        A_eq=vstack([met, whole]),
        b_eq=np.append(table.ravel(), sizes),
        method="highs",
    )
    size = float(found.fun) if found.fun > 1e-9 * max(1.0, n_rows) else 0.0
    return Contradiction(size, found.x[number:].reshape(2, -1).sum(axis=0))


def cells_of(rows: Sequence[RowArray], weights: FloatArray) -> tuple[csr_array, FloatArray]:
    """Which cells each total counts, and their weights."""
    cell: IntArray = np.zeros(len(weights), dtype=np.int64)
    for own in rows:
        inside = np.zeros(len(cell), dtype=np.int64)
        inside[own] = 1
        cell = np.unique(2 * cell + inside, return_inverse=True)[1].ravel().astype(np.int64)
    number = int(cell.max(initial=-1)) + 1
    first = [np.unique(cell[own]) for own in rows]
    totals = np.repeat(np.arange(len(rows)), [len(own) for own in first])
    places = np.concatenate([*first, np.zeros(0, dtype=np.int64)])
    member = csr_array((np.ones(len(places)), (totals, places)), shape=(len(rows), number))
    return member, np.asarray(np.bincount(cell, weights, number), dtype=float)
