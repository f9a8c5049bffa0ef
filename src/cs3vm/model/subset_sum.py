"""The subset of weights whose sum comes nearest to a target: how a tied group is split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..exceptions import InvalidProblemError

#: Largest table (members × weight) of the subset-sum dynamic programme; beyond it a greedy choice is flagged.
SUBSET_TABLE_LIMIT = 10**8
#: Up to this many members with fractional weights, all subsets are enumerated.
SUBSET_ENUMERATION_LIMIT = 18


def nearest_subset(weights: FloatArray, target: float) -> tuple[NDArray[np.intp], bool]:
    """Indices whose weights add up as near to ``target`` as possible, and whether that is proven."""
    if np.all(weights == np.round(weights)) and len(weights) * weights.sum() <= SUBSET_TABLE_LIMIT:
        return _subset_by_table(weights.astype(np.int64), target), True
    if len(weights) <= SUBSET_ENUMERATION_LIMIT:
        masks = np.arange(2 ** len(weights))
        sums = np.zeros(len(masks))
        for i, weight in enumerate(weights):
            sums += weight * (masks >> i & 1)
        mask = int(masks[np.argmin(np.abs(sums - target))])
        return np.array([i for i in range(len(weights)) if mask >> i & 1], dtype=np.intp), True
    return _subset_by_greed(weights, target), False


def _subset_by_table(weights: NDArray[np.int64], target: float) -> NDArray[np.intp]:
    """Dynamic programme over sums; each row of the table is the bit set of reachable sums."""
    table = [1]
    for weight in weights:
        table.append(table[-1] | table[-1] << int(weight))
    reachable = table[-1]
    centre = round(target)
    for distance in range(int(weights.sum()) + abs(centre) + 2):
        sums = [t for t in {centre - distance, centre + distance} if t >= 0 and reachable >> t & 1]
        if sums:
            break
    else:  # cannot happen: the empty sum is always reachable
        raise InvalidProblemError(f"no subset sum near {target}")
    rest = min(sums, key=lambda t: abs(t - target))
    chosen = []
    for i in range(len(weights) - 1, -1, -1):
        if not table[i] >> rest & 1:
            chosen.append(i)
            rest -= int(weights[i])
    return np.array(chosen[::-1], dtype=np.intp)


def _subset_by_greed(weights: FloatArray, target: float) -> NDArray[np.intp]:
    chosen, rest = [], target
    for i in np.argsort(-weights, kind="stable"):
        if weights[i] <= rest:
            chosen.append(int(i))
            rest -= float(weights[i])
    return np.array(sorted(chosen), dtype=np.intp)
