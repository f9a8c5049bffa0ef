"""Columns on a grid: their values are multiples of one step, as those of categories and counts are.

The best planes of such tables pass through many rows at once, and so their normal vectors are small whole
numbers in units of one over the steps.
"""

from __future__ import annotations

from itertools import combinations, product
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray, RowArray
from ...model.problem import Problem

#: A column is on a grid if it has at most so many values, at places up to this, to this precision.
MOST_VALUES, MOST_PLACES, PRECISION = 50, 60, 1e-5
#: The square of a smaller step, or of one over it, is no number to count on.
SMALLEST = 1e-100
#: How many sums of columns there are at most, and of how many columns.
MOST_SUMS, MOST_TERMS = 450, 5
#: So many rows of each kind tell which columns are on a grid, and which planes are good there.
SAMPLE_ROWS = 3000


class Grid(NamedTuple):
    """The columns on a grid, their steps, and the places of some rows there: one line for each column."""

    columns: NDArray[np.intp]
    step: FloatArray
    labelled: RowArray  #: which rows these are
    unlabelled: RowArray
    labelled_places: IntArray
    unlabelled_places: IntArray

    @classmethod
    def of(cls, problem: Problem) -> Grid:
        """Find them."""
        labelled = np.arange(problem.n)[:: max(1, -(-problem.n // SAMPLE_ROWS))]
        unlabelled = np.arange(problem.m)[:: max(1, -(-problem.m // SAMPLE_ROWS))]
        rows = np.vstack([problem.X[labelled], problem.U[unlabelled]])
        columns, steps, places = [], [], []
        for j, column in enumerate(rows.T):
            values, number = np.unique(column, return_inverse=True)
            step = _step(values)
            if step > 0.0:
                columns.append(j)
                steps.append(step)
                places.append(np.rint((values - values[0]) / step)[number])
        whole = np.array(places, dtype=np.int64).reshape(len(columns), len(rows))
        return cls(
            np.array(columns, dtype=np.intp),
            np.array(steps),
            labelled,
            unlabelled,
            np.ascontiguousarray(whole[:, : len(labelled)]),
            np.ascontiguousarray(whole[:, len(labelled) :]),
        )

    def sums(self, d: int) -> FloatArray:
        """Sums and differences of two, three, … of d columns, by one step of each; if too many, some."""
        size, rng, found = len(self.columns), np.random.default_rng(0), np.zeros((d, MOST_SUMS))
        number = 0
        for k in range(2, min(size, MOST_TERMS) + 1):
            for terms in _chosen(size, k, MOST_SUMS - number, rng):
                for signs in product((1.0, -1.0), repeat=k - 1):
                    if number < MOST_SUMS:
                        found[self.columns[terms], number] = np.array([1.0, *signs]) / self.step[terms]
                        number += 1
        return found[:, :number]


def _chosen(size: int, k: int, most: int, rng: np.random.Generator) -> list[list[int]]:
    """All sets of k of so many columns; if they are far too many, some at random."""
    if comb(size, k) > most:
        return [sorted(rng.choice(size, k, replace=False).tolist()) for _ in range(-(-most // 2 ** (k - 1)))]
    return [list(terms) for terms in combinations(range(size), k)]


def _step(values: FloatArray) -> float:
    """The least difference of two values, if all are multiples of it and they are few; else 0."""
    if not 2 <= len(values) <= MOST_VALUES:
        return 0.0
    with np.errstate(over="ignore"):  # a width without end is that of no grid
        step, width = float(np.diff(values).min()), float(values[-1] - values[0])
    if not SMALLEST < step <= width <= (MOST_PLACES + 0.5) * step < 1.0 / SMALLEST:
        return 0.0
    place = (values - values[0]) / step
    if np.abs(place - np.rint(place)).max() > PRECISION:
        return 0.0
    return width / round(float(place[-1]))
