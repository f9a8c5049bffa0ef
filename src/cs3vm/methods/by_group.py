"""Labels by each group's own ranking: the highest scores of each total, as many as are known.

Such labels have a threshold per group (per cell, where totals overlap), so that in general they are not the
sides of one plane: a rule for labels, not a point of the model. The method ``top_tau`` has one intercept.
"""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, RowArray, SignArray
from ..model.raking import probabilities, rake
from ..model.splitting import settle
from ..model.totals import KnownTotals

#: Scores are taken for log-odds in this part of their spread, whatever their scale is.
ODDS_PER_SPREAD = 2.0


def top_by_group(scores: FloatArray, totals: KnownTotals) -> SignArray:
    """1 for the rows with the highest scores of each total, 0 for the others.

    Rows in no total are positive if their score is, and within an interval the sign of the scores decides.
    Where totals overlap, scores are shifted per cell until the expected counts are met (raking), these are
    rounded, and then rows next to a threshold move as long as the totals are met better.
    """
    scores = np.asarray(scores, dtype=float)
    z = (scores > 0).astype(np.int8)
    if not totals.overlap:
        for g, rows in enumerate(totals.rows):
            order = _ranked(scores, rows)
            z[rows] = 0
            z[order[: _number(scores[order], totals.weights[order], totals.low[g], totals.high[g])]] = 1
        return z
    spread = float(scores.std())
    odds = scores * (ODDS_PER_SPREAD / spread if spread > 0.0 else 1.0)
    raked, _ = rake(odds, totals.weights, totals.rows, totals.low, totals.high)
    p = probabilities(raked)
    cells = [_ranked(scores, np.flatnonzero(totals.cells == cell)) for cell in np.unique(totals.cells)]
    cells = [own for own in cells if len(totals.of(int(own[0])))]
    for own in cells:
        weights = totals.weights[own]
        expected = float(weights @ p[own])
        z[own] = 0
        z[own[: _number(scores[own], weights, expected, expected)]] = 1
    settle(totals, z, cells, _next_to_the_threshold)
    return z


def _ranked(scores: FloatArray, rows: RowArray) -> RowArray:
    """The rows with the highest scores first."""
    return np.asarray(rows[np.argsort(-scores[rows], kind="stable")])


def _number(scores: FloatArray, weights: FloatArray, low: float, high: float) -> int:
    """How many of the ranked rows come nearest to the interval; of several, nearest to where scores are 0."""
    counts = np.append(0.0, np.cumsum(weights))
    misses = np.maximum(0.0, np.maximum(low - counts, counts - high))
    best = np.flatnonzero(misses <= misses.min() + 1e-12 * counts[-1])
    return int(best[np.argmin(np.abs(best - np.count_nonzero(scores > 0)))])


def _next_to_the_threshold(_: KnownTotals, z: SignArray, own: RowArray) -> list[RowArray]:
    """The last positive and the first negative row of a ranked cell."""
    number = int(np.count_nonzero(z[own] > 0))
    return [own[max(0, number - 1) : number], own[number : number + 1]]
