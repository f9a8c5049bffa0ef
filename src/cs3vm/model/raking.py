"""Raking: shift log-odds by one number per total until the expected counts are what is known.

The shifts are the multipliers of the totals: a total whose interval holds the expected count has none, the
others meet the nearer end of theirs. Totals are adjusted one after the other, a few times where they overlap,
which climbs the concave dual of the least change (in relative entropy) that meets them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import FloatArray, RowArray

#: How often all totals are adjusted, and the change of a shift that ends it.
SWEEPS, SETTLED = 60, 1e-4
#: Log-odds beyond this are certain.
CERTAIN = 40.0
#: Steps of Newton's method, with halving where it leaves the bracket, for one total.
STEPS = 30


def rake(
    odds: FloatArray, weights: FloatArray, rows: Sequence[RowArray], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log-odds whose expected counts lie in the intervals, as far as that is possible, and the shifts.

    ``rows[g]`` are those that the total g counts; its expected count is the sum of their weights times their
    probabilities.
    """
    raked, shifts = np.array(odds, dtype=float), np.zeros(len(rows))
    for _ in range(SWEEPS):
        largest = 0.0
        for g, own in enumerate(rows):
            if len(own) == 0:
                continue
            new = _shift(raked[own] - shifts[g], weights[own], float(low[g]), float(high[g]))
            largest = max(largest, abs(new - shifts[g]))
            raked[own] += new - shifts[g]
            shifts[g] = new
        if largest <= SETTLED:
            break
    return raked, shifts


def probabilities(odds: FloatArray) -> FloatArray:
    """The probabilities of log-odds."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * odds)))


def _shift(odds: FloatArray, weights: FloatArray, low: float, high: float) -> float:
    """The smallest shift that brings the expected count into the interval."""
    count = float(weights @ probabilities(odds))
    if low <= count <= high:
        return 0.0
    target = low if count < low else high
    below, above = -CERTAIN - float(odds.max()), CERTAIN - float(odds.min())
    shift, tolerance = 0.0, 1e-9 * (1.0 + target)
    for _ in range(STEPS):
        p = probabilities(odds + shift)
        miss = float(weights @ p) - target
        if abs(miss) <= tolerance:
            break
        below, above = (below, shift) if miss > 0.0 else (shift, above)
        slope = float(weights @ (p * (1.0 - p)))
        step = shift - miss / slope if slope > 0.0 else np.inf
        shift = step if below < step < above else 0.5 * (below + above)
    return shift
