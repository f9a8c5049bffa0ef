"""The subset of weights whose sum comes nearest to a target: how a tied group is split."""

from __future__ import annotations

from math import ceil, floor

import numpy as np

from .._typing import FloatArray, IntArray, RowArray

#: Largest table (members × weight, in bits) of the dynamic programme; beyond it a greedy choice is flagged.
SUBSET_TABLE_LIMIT = 10**8
#: Up to this many members all subsets are enumerated; with fractional or huge weights, up to the second.
SUBSET_QUICK_LIMIT, SUBSET_ENUMERATION_LIMIT = 12, 18


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
