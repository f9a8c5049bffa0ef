"""Labels of several classes that meet totals by group, also by several columns of groups at once.

Groups that do not overlap are assigned one by one. Where they overlap, rows in the same totals are a cell.
Scores say how many of each class a cell should have (raking), these numbers are rounded so that the totals
are met, or missed as little as can be (a small integer programme), and then each cell is assigned.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from .._typing import FloatArray, IntArray
from ..model.totals import KnownTotals
from .agreement import cells_of
from .assignment import Assignment, assign
from .class_totals import largest_remainder
from .shifting import shift_classes_to_totals

#: Scores are taken for log-odds in this part of their spread, whatever their scale is.
ODDS_PER_SPREAD = 2.0
#: The part of all rows by which raking may miss a total: the numbers are rounded anyway.
ROUGHLY = 1e-5
#: What a missed total costs, for each unit by which a cell has not what its scores say.
DEARER = 1e4
#: Nodes of the integer programme; its first relaxation is nearly always whole.
NODES = 2000


def assign_by_totals(scores: FloatArray, totals: KnownTotals, table: FloatArray) -> Assignment:
    """One class per row, with the highest scores, as many of each as the totals say, or nearly.

    Rows without totals choose by the prices of all others together, as new rows do.

    Parameters
    ----------
    scores
        Rows by classes.
    totals
        Which rows each total counts; the same for all classes.
    table
        Classes by totals: how many rows of each class. They add up to the rows of each total.
    """
    known = np.flatnonzero(np.diff(totals.of_row.start) > 0)
    labels = np.zeros(len(scores), dtype=np.int64)
    value = gap = 0.0
    groups, numbers = list(totals.rows), table.round().astype(np.int64)
    if totals.overlap:
        cells = totals.cells[known]
        groups = [known[cells == cell] for cell in np.unique(cells)]
        numbers = _numbers_of_cells(scores, totals, table)
    for g, rows in enumerate(groups):
        own = assign(scores[rows], numbers[:, g])
        labels[rows] = own.labels
        value, gap = value + own.value, gap + own.gap
    everybody = assign(scores[known], np.bincount(labels[known], minlength=scores.shape[1]))
    free = np.diff(totals.of_row.start) == 0
    labels[free] = np.argmax(scores[free] - everybody.prices, axis=1)
    return Assignment(labels, everybody.prices, value, gap)


def _numbers_of_cells(scores: FloatArray, totals: KnownTotals, table: FloatArray) -> IntArray:
    """How many rows of each class (row) each cell with a total (column) has."""
    member, sizes = cells_of(totals.rows, np.ones(len(scores)))  # cells by their number, with and without
    counted = np.flatnonzero(np.asarray(member.sum(axis=0)).ravel() > 0)
    member, sizes = csr_array(member[:, counted]), sizes[counted]
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = float(centred.std())
    odds = centred * (ODDS_PER_SPREAD / spread if spread > 0.0 else 1.0)
    p, _ = shift_classes_to_totals(odds, np.ones(len(scores)), totals.rows, table, ROUGHLY)
    cell = totals.cells
    expected = np.array([np.bincount(cell, p[:, k]) for k in range(p.shape[1])])
    expected = expected[:, np.unique(cell[np.diff(totals.of_row.start) > 0])]
    return _rounded(expected, member, sizes, table)


def _rounded(expected: FloatArray, member: csr_array, sizes: FloatArray, table: FloatArray) -> IntArray:
    """Whole numbers near the expected ones that meet the totals, or miss them by as little as can be."""
    classes, cells = expected.shape
    number, misses = classes * cells, table.size
    one, slack = eye_array(number), eye_array(misses)
    near = hstack([one, -one, one, csr_array((number, 2 * misses))])  # above and below what is expected
    met = hstack([kron(eye_array(classes), member), csr_array((misses, 2 * number)), slack, -slack])
    whole = hstack(
        [kron(np.ones((1, classes)), eye_array(cells)), csr_array((cells, 2 * number + 2 * misses))]
    )
    ends = np.concatenate([expected.ravel(), table.ravel(), sizes])
    found = milp(
        np.concatenate([np.zeros(number), np.ones(2 * number), np.full(2 * misses, DEARER)]),
        integrality=np.append(np.ones(number), np.zeros(2 * number + 2 * misses)),
        bounds=Bounds(0.0, np.inf),
        constraints=LinearConstraint(csr_array(vstack([near, met, whole])), ends, ends),
        options={"node_limit": NODES},
    )
    best = expected.ravel() if found.x is None else found.x[:number]
    best = best.reshape(classes, cells)
    return np.column_stack([largest_remainder(best[:, c], round(sizes[c])) for c in range(cells)])
