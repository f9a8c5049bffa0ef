r"""Labels with the highest summed score that meet the totals of all classes at once.

.. math::

    \max_{c} \sum_{i=1}^m s_{i c_i} \quad \text{s.t.} \quad |\{i : c_i = a\}| = \tau_a \text{ for all } a

is a transportation problem. Its dual has one price per class: with the right prices every row takes the class
with the highest ``score - price``. :func:`assign` guesses the prices on a sample, lets every row choose, and
then repairs the totals exactly: a row moves from a class that has too many rows to one that has too few along
a path of classes, each passing its cheapest row on (successive shortest paths). The graph has one node per
class, so a repair is quick, and after each of them the labels are optimal for the totals they meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidProblemError
from .class_totals import largest_remainder

#: Up to this many rows the prices start at zero; above, at those of a sample of one row in SAMPLE_STEP.
SAMPLE_FROM = 4096
SAMPLE_STEP = 8
#: A pair of classes keeps at least this many candidates for a move.
MIN_CANDIDATES = 32
#: A class with total 0 costs more than the row that likes it best would pay, by this part of its scores.
EMPTY_ROOM = 1e-6


@dataclass(frozen=True, eq=False)
class Assignment:
    """The class of every row, and the prices that prove it best.

    Parameters
    ----------
    labels
        The column chosen for each row.
    prices
        One per class: no row has a class with a higher ``score - price`` than its own, up to ``gap``.
    value
        The summed scores.
    gap
        How far the labels can be from the best ones, in units of ``value``: the sum over the rows of what
        another class would give them at these prices. It is of the order of rounding.
    """

    labels: IntArray
    prices: FloatArray
    value: float
    gap: float


def assign(scores: ArrayLike, totals: ArrayLike) -> Assignment:
    """Choose one class per row, as many of each as its total says, with the highest sum of scores.

    Parameters
    ----------
    scores
        Rows by classes; finite.
    totals
        How many rows each class gets; integers that add up to the number of rows.
    """
    S, wanted = _read_scores(scores), np.asarray(totals)
    _check_totals(wanted, S)
    wanted = wanted.astype(np.int64)
    labels, _ = _solve(S, wanted, np.random.default_rng(0))
    prices = _central_prices(_exchange_costs(S, labels), wanted > 0)
    value = float(S[np.arange(len(S)), labels].sum())
    return Assignment(labels, prices, value, float(_regret(S, labels, prices)))


def _read_scores(scores: ArrayLike) -> FloatArray:
    S = np.ascontiguousarray(scores, dtype=np.float64)
    if S.ndim != 2 or S.shape[1] == 0:
        raise InvalidProblemError(f"scores must be a table of rows by classes, got shape {S.shape}")
    if not np.isfinite(S).all():
        row, column = (int(i[0]) for i in np.nonzero(~np.isfinite(S)))
        raise InvalidProblemError(f"scores must be finite; row {row}, class {column} has {S[row, column]}")
    return S


def _check_totals(totals: NDArray[Any], S: FloatArray) -> None:
    if totals.shape != (S.shape[1],):
        raise InvalidProblemError(
            f"totals must have one value per class ({S.shape[1]}), got shape {totals.shape}"
        )
    if np.any(totals < 0) or np.any(totals != np.round(totals)):
        raise InvalidProblemError(f"totals must be integers of at least 0, got {totals.tolist()}")
    if totals.sum() != len(S):
        raise InvalidProblemError(
            f"the totals add up to {totals.sum():g}, but there are {len(S)} rows: "
            f"{abs(totals.sum() - len(S)):g} too {'many' if totals.sum() > len(S) else 'few'}"
        )


def _solve(S: FloatArray, totals: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Optimal labels and the prices that the repair ended with."""
    prices = np.zeros(S.shape[1])
    if len(S) > SAMPLE_FROM:  # the prices of a sample leave few rows to repair: about the square root of all
        rows = np.sort(rng.choice(len(S), len(S) // SAMPLE_STEP, replace=False, shuffle=False))
        sample_totals = largest_remainder(totals.astype(float) * (len(rows) / len(S)), len(rows))
        _, prices = _solve(S[rows], sample_totals, rng)
    labels = _favourites(S, prices)
    surplus = np.bincount(labels, minlength=S.shape[1]) - totals
    _repair(S, labels, surplus, prices)
    return labels, prices


def _repair(S: FloatArray, labels: IntArray, surplus: IntArray, prices: FloatArray) -> None:
    """Meet the totals by moving rows; all arguments but the scores are changed."""
    candidates = _Candidates.of(S)
    while True:
        pair = _augment(
            S,
            labels,
            surplus,
            prices,
            candidates.cost,
            candidates.stale,
            candidates.keys,
            candidates.rows,
            candidates.size,
            candidates.reach,
        )
        if pair < 0:
            return
        candidates.refill(S, labels, pair)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """For every pair of classes a heap of the rows that are cheapest to move from one to the other.

    A heap holds only the best rows, so that memory stays a fraction of that of the scores. ``reach`` is the
    cost below which it has all; when it runs out of those, the rows of the class are looked through again.
    """

    keys: FloatArray  #: pair × place, the cost of moving
    rows: NDArray[np.int32]
    size: IntArray
    reach: FloatArray
    cost: FloatArray = field(repr=False)  #: class × class, that of the cheapest row
    stale: BoolArray = field(repr=False)  #: classes whose costs must be read again

    @classmethod
    def of(cls, S: FloatArray) -> _Candidates:
        """Empty heaps, of twice as many places as candidates, since rows that move in are added."""
        n, k = S.shape
        room = 2 * min(max(n, 1), max(MIN_CANDIDATES, 2 * n // k**2))
        pairs = k * k
        return cls(
            np.empty((pairs, room)),
            np.empty((pairs, room), dtype=np.int32),
            np.zeros(pairs, dtype=np.int64),
            np.full(pairs, -np.inf),
            np.full((k, k), np.inf),
            np.ones(k, dtype=bool),
        )

    def refill(self, S: FloatArray, labels: IntArray, pair: int) -> None:
        """Find the cheapest rows of a pair anew."""
        source, target = divmod(pair, S.shape[1])
        members = np.flatnonzero(labels == source)
        cost = S[members, source] - S[members, target]
        room = self.keys.shape[1] // 2
        self.reach[pair] = np.inf
        if len(members) > room:
            best = np.argpartition(cost, room - 1)[:room]
            members, cost = members[best], cost[best]
            self.reach[pair] = cost.max()
        order = np.argsort(cost, kind="stable")  # a sorted list is a heap
        self.size[pair] = len(order)
        self.keys[pair, : len(order)] = cost[order]
        self.rows[pair, : len(order)] = members[order]


def _central_prices(cost: FloatArray, used: BoolArray) -> FloatArray:
    """Prices in the middle of those that prove the labels best, so that few rows are undecided.

    Prices are right if ``p_a - p_b`` is at most the cost of the cheapest move from a to b. The shortest
    distances to a class, and the negative ones from it, are extreme right prices; their mean is central.
    """
    prices = np.zeros(len(cost))
    inside = np.flatnonzero(used)
    if len(inside) == 0:
        return prices
    distance = cost[np.ix_(inside, inside)]
    for via in range(len(inside)):
        distance = np.minimum(distance, distance[:, via, None] + distance[via])
    prices[inside] = 0.5 * (distance.mean(axis=1) - distance.mean(axis=0))
    for empty in np.flatnonzero(~used):  # dear enough that no row wants it, with room for rounding
        room = EMPTY_ROOM * (1.0 + np.abs(cost[inside, empty]).max())
        prices[empty] = np.max(prices[inside] - cost[inside, empty]) + room
    return prices


# -- compiled ----------------------------------------------------------------------------------------------
@njit(cache=True)
def _favourites(S, prices):  # type: ignore[no-untyped-def]
    """The class of the highest ``score - price`` of each row."""
    n, k = S.shape
    labels = np.empty(n, dtype=np.int64)
    for i in range(n):
        best = 0
        for c in range(1, k):
            if S[i, c] - prices[c] > S[i, best] - prices[best]:
                best = c
        labels[i] = best
    return labels


@njit(cache=True)
def _exchange_costs(S, labels):  # type: ignore[no-untyped-def]
    """The least cost of moving some row from one class to another; infinite from a class without rows."""
    n, k = S.shape
    cost = np.full((k, k), np.inf)
    for i in range(n):
        own = labels[i]
        for c in range(k):
            cost[own, c] = min(cost[own, c], S[i, own] - S[i, c])
    for c in range(k):
        cost[c, c] = 0.0
    return cost


@njit(cache=True)
def _regret(S, labels, prices):  # type: ignore[no-untyped-def]
    """What all rows together would gain if each had the class it likes best at these prices."""
    n, k = S.shape
    total = 0.0
    for i in range(n):
        own = S[i, labels[i]] - prices[labels[i]]
        best = own
        for c in range(k):
            best = max(best, S[i, c] - prices[c])
        total += best - own
    return total


@njit(cache=True)
def _augment(  # type: ignore[no-untyped-def]
    S, labels, surplus, prices, cost, stale, keys, rows, size, reach
):
    """Move rows along cheapest paths until the totals are met (-1) or a pair needs new candidates."""
    k = len(surplus)
    distance, previous = np.empty(k), np.empty(k, dtype=np.int64)
    while True:
        for a in range(k):
            if stale[a]:
                pair = _read_costs(a, labels, cost, keys, rows, size, reach)
                if pair >= 0:
                    return pair
                stale[a] = False
        end = _nearest_shortage(surplus, prices, cost, distance, previous)
        if end < 0:
            return -1
        for c in range(k):
            prices[c] -= min(distance[c], distance[end])
        surplus[end] += 1
        while previous[end] >= 0:
            start = previous[end]
            row = rows[start * k + end, 0]
            labels[row] = end
            stale[start] = stale[end] = True
            for c in range(k):
                if c != end:
                    _push(end * k + c, S[row, end] - S[row, c], row, keys, rows, size, reach)
            end = start
        surplus[end] -= 1


@njit(cache=True)
def _read_costs(a, labels, cost, keys, rows, size, reach):  # type: ignore[no-untyped-def]
    """The costs of moving a row out of class ``a``; returns a pair that has run out of candidates, or -1."""
    k = len(cost)
    for b in range(k):
        pair = a * k + b
        if b == a:
            continue
        while size[pair] > 0 and labels[rows[pair, 0]] != a:  # it has moved away since
            _pop(pair, keys, rows, size)
        cost[a, b] = keys[pair, 0] if size[pair] > 0 else np.inf
        if cost[a, b] > reach[pair]:
            return pair
    return -1


@njit(cache=True)
def _nearest_shortage(surplus, prices, cost, distance, previous):  # type: ignore[no-untyped-def]
    """Dijkstra's algorithm from all classes with too many rows to the nearest with too few; -1: none."""
    k = len(surplus)
    done = np.zeros(k, dtype=np.bool_)
    for c in range(k):
        distance[c] = 0.0 if surplus[c] > 0 else np.inf
        previous[c] = -1
    while True:
        u = -1
        for c in range(k):
            if not done[c] and distance[c] < np.inf and (u < 0 or distance[c] < distance[u]):
                u = c
        if u < 0 or surplus[u] < 0:
            return u
        done[u] = True
        for v in range(k):
            if not done[v]:
                through = distance[u] + max(0.0, cost[u, v] - prices[u] + prices[v])
                if through < distance[v]:
                    distance[v] = through
                    previous[v] = u


@njit(cache=True)
def _push(pair, key, row, keys, rows, size, reach):  # type: ignore[no-untyped-def]
    """Add a row to the heap of a pair, unless it lies beyond its reach; a full heap has a shorter one."""
    if key >= reach[pair]:
        return
    place = size[pair]
    if place == keys.shape[1]:
        reach[pair] = key
        return
    size[pair] += 1
    while place > 0 and keys[pair, (place - 1) // 2] > key:
        above = (place - 1) // 2
        keys[pair, place], rows[pair, place] = keys[pair, above], rows[pair, above]
        place = above
    keys[pair, place], rows[pair, place] = key, row


@njit(cache=True)
def _pop(pair, keys, rows, size):  # type: ignore[no-untyped-def]
    """Remove the first row of a heap."""
    size[pair] -= 1
    last = size[pair]
    key, row = keys[pair, last], rows[pair, last]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= last:
            break
        if below + 1 < last and keys[pair, below + 1] < keys[pair, below]:
            below += 1
        if keys[pair, below] >= key:
            break
        keys[pair, place], rows[pair, place] = keys[pair, below], rows[pair, below]
        place = below
    keys[pair, place], rows[pair, place] = key, row
