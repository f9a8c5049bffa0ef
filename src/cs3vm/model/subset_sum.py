"""The subset of weights whose sum comes nearest to a target: how a tied group is split."""

from __future__ import annotations

from math import ceil, floor

import numpy as np

from .._typing import FloatArray, IntArray, RowArray, SignArray
from .totals import KnownTotals

#: Largest table (members × weight, in bits) of the dynamic programme; beyond it a greedy choice is flagged.
SUBSET_TABLE_LIMIT = 10**8
#: Up to this many members all subsets are enumerated; with fractional or huge weights, up to the second.
SUBSET_QUICK_LIMIT, SUBSET_ENUMERATION_LIMIT = 12, 18
#: How often the rows of each cell are chosen anew, where totals overlap.
SWEEPS = 4


def split(totals: KnownTotals, z: SignArray, rows: RowArray) -> RowArray:
    """Which of these rows to make positive, besides those of ``z``, for the totals' sake.

    Rows that are in the same totals are chosen together, cell after cell; a few times where totals overlap.
    """
    counts = totals.counts(z)
    cells = totals.cells[rows]
    members = [rows[cells == cell] for cell in np.unique(cells)]
    chosen = [np.zeros(0, dtype=np.intp) for _ in members]
    for _ in range(SWEEPS if totals.overlap else 1):
        for i, own in enumerate(members):
            g = totals.of_row.total[totals.of_row.start[own[0]] : totals.of_row.start[own[0] + 1]]
            weights = totals.weights[own]
            base = counts[g] - float(totals.weights[chosen[i]].sum())
            picked = own[_for_interval(totals, g, base, weights)]
            counts[g] = base + float(totals.weights[picked].sum())
            chosen[i] = picked
    return np.concatenate(chosen)


def _for_interval(totals: KnownTotals, g: IntArray, base: FloatArray, weights: FloatArray) -> RowArray:
    """Indices of the weights to add to the counts ``base`` of the totals g."""
    breaks = np.concatenate([[0.0, weights.sum()], totals.low[g] - base, totals.high[g] - base])
    breaks = np.unique(np.clip(breaks, 0.0, weights.sum()))
    counts = base[:, None] + breaks
    misses = np.maximum(0.0, np.maximum(totals.low[g][:, None] - counts, counts - totals.high[g][:, None]))
    cost = totals.penalty[g] @ misses
    good = breaks[cost <= cost.min() * (1.0 + 1e-12)]
    if np.all(weights == 1.0):
        return np.arange(int(np.ceil(good[0] - 1e-9)) if good[-1] >= np.ceil(good[0]) else round(good[0]))
    return nearest_subset(weights, 0.5 * float(good[0] + good[-1]))[0]


def nearest_subset(weights: FloatArray, target: float) -> tuple[RowArray, bool]:
    """Indices whose weights add up as near to ``target`` as possible, and whether that is proven."""
    integers = bool(np.all(weights == np.round(weights)))
    small = integers and len(weights) * weights.sum() <= SUBSET_TABLE_LIMIT
    if len(weights) <= (SUBSET_QUICK_LIMIT if small else SUBSET_ENUMERATION_LIMIT):
        return _subset_by_enumeration(weights, target), True
    if small:
        return _subset_by_table(weights.astype(np.int64), target), True
    return _subset_by_greed(weights, target), False


def _subset_by_enumeration(weights: FloatArray, target: float) -> RowArray:
    masks = np.arange(2 ** len(weights))
    sums = np.zeros(len(masks))
    for i, weight in enumerate(weights):
        sums += weight * (masks >> i & 1)
    mask = int(masks[np.argmin(np.abs(sums - target))])
    return np.array([i for i in range(len(weights)) if mask >> i & 1], dtype=np.intp)


def _subset_by_table(weights: IntArray, target: float) -> RowArray:
    """Dynamic programme over sums; each row of the table is the bit set of reachable sums."""
    table = [1]
    for weight in weights:
        table.append(table[-1] | table[-1] << int(weight))
    rest = _nearest_bit(table[-1], target)
    chosen = []
    for i in range(len(weights) - 1, -1, -1):
        if not table[i] >> rest & 1:
            chosen.append(i)
            rest -= int(weights[i])
    return np.array(chosen[::-1], dtype=np.intp)


def _nearest_bit(bits: int, target: float) -> int:
    """The place of the set bit nearest to ``target``. Bit 0, the empty sum, is always set."""
    below = (bits & ((1 << max(0, floor(target)) + 1) - 1)).bit_length() - 1
    start = max(0, ceil(target))
    rest = bits >> start
    if rest == 0:
        return below
    above = start + (rest & -rest).bit_length() - 1
    return below if target - below <= above - target else above


def _subset_by_greed(weights: FloatArray, target: float) -> RowArray:
    chosen, rest = [], target
    for i in np.argsort(-weights, kind="stable"):
        if weights[i] <= rest:
            chosen.append(int(i))
            rest -= float(weights[i])
    return np.array(sorted(chosen), dtype=np.intp)
