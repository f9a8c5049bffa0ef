"""The order of scores, as fast as the machine sorts."""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowArray

#: Fewer numbers are sorted in no time.
MANY = 1000
#: Where so many of the first scores have ties, there will be others.
PROBE = 64
#: From so many scores on, about so many of them tell where a rank lies, up to so many places.
VERY_MANY, SAMPLE, SPARE = 100_000, 4096, 160
#: Bins in which the scores that matter for a count are looked for.
BINS = 1024


def descending(scores: FloatArray) -> RowArray:
    """The order of scores, the highest first; equal ones stay as they came."""
    negative = -scores
    if len(scores) >= MANY and not _has_ties(np.sort(negative[:PROBE])):
        # a sort that is not stable is twice as fast, and the same where nothing ties
        order: RowArray = np.argsort(negative)
        if not _has_ties(negative[order]):
            return order
    return np.argsort(negative, kind="stable")


def _has_ties(ranked: FloatArray) -> bool:
    return bool(np.any(ranked[1:] == ranked[:-1]))


def is_constant(scores: FloatArray) -> bool:
    """Whether all are the same; that they are not is usually seen at once."""
    return bool(scores[0] == scores[-1] and np.all(scores == scores[0]))


def by_number(numbers: IntArray) -> RowArray:
    """The stable order of small whole numbers; those of two bytes are sorted without comparing them."""
    short = len(numbers) >= MANY and int(numbers.max()) <= np.iinfo(np.int16).max
    return np.argsort(numbers.astype(np.int16) if short else numbers, kind="stable")


def highest(scores: FloatArray, weights: FloatArray, total: float) -> BoolArray:
    """The rows with the highest scores, so many that their weight is nearest to the total; fewer if it ties.

    Only the rows in the bin of scores in which the total lies are sorted.
    """
    m = len(scores)
    low, width = float(np.min(scores, initial=0.0)), float(np.ptp(scores)) / BINS if m else 0.0
    number = np.zeros(m, dtype=np.int64)
    if m > MANY and width > 0.0:
        number = np.minimum((scores - low) * (1.0 / width), BINS - 1.0).astype(np.int64)
    above = np.cumsum(np.bincount(number, weights, minlength=BINS)[::-1])[::-1]  # in bin k and those above
    k = max(int(np.searchsorted(-above, -total, side="right")) - 1, 0)
    chosen = number > k
    rows = np.flatnonzero(number == k)
    rows = rows[descending(scores[rows])]
    counted = np.append(0.0, np.cumsum(weights[rows])) + (above[k + 1] if k + 1 < len(above) else 0.0)
    chosen[rows[: int(np.argmin(np.abs(counted - total)))]] = True
    return np.asarray(chosen)


def ranked_values(scores: FloatArray, places: list[int]) -> FloatArray:
    """The values at these neighbouring places of the ascending order, exactly.

    Of many scores a few thousand tell between which two values they lie, so that only those are ordered.
    """
    if len(scores) < VERY_MANY:
        return np.partition(scores, places)[places]
    few = np.sort(scores[:: len(scores) // SAMPLE])
    share = len(few) / len(scores)
    low = few[max(0, int(share * places[0]) - SPARE)]
    high = few[min(len(few) - 1, int(share * places[-1]) + SPARE)]
    below = int(np.count_nonzero(scores < low))
    inside = scores[(scores >= low) & (scores <= high)]
    if not below <= places[0] <= places[-1] < below + len(inside):
        return np.partition(scores, places)[places]
    within = [place - below for place in places]
    return np.asarray(np.partition(inside, within)[within])


def affordable(rank: int, gain: float, price: float, miss: float, n_scores: int) -> list[int]:
    """Between which places of the ascending order the best intercept lies.

    At the ``rank`` that meets the total, but for a ``miss``, the hinge sum is above its minimum by ``gain``:
    whoever misses the total by more than that pays for has nothing to win.
    """
    rows = int(min(n_scores, np.ceil(gain / price + 2.0 * miss))) + 2
    return [max(0, rank - 1 - rows), min(n_scores - 1, rank + rows)]
