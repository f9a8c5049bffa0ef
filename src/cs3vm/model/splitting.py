"""Rows that tie, or nearly do, are chosen for the totals' sake: which of them to make positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray, RowArray, SignArray
from .raking import probabilities, rake
from .ranks import by_number
from .subset_sum import SUBSET_QUICK_LIMIT, nearest_subset
from .totals import KnownTotals

#: Up to this many choices of a sum for each cell of totals are all compared.
ENUMERATION_LIMIT = 2**13
#: How often one row or two are moved, and how many of each cell and side are tried.
MOVES, CANDIDATES = 60, 4


class Split(NamedTuple):
    """Rows to make positive, and whether no other choice is cheaper for certain."""

    rows: RowArray
    exact: bool


def split(totals: KnownTotals, z: SignArray, rows: RowArray) -> Split:
    """Which of these rows to make positive, besides those of ``z``, for the totals' sake.

    Rows that are in the same totals make a cell. Few choices are all compared. Otherwise each cell is chosen
    by itself; where totals overlap, by raking, and then rows are moved one or two at a time.
    """
    z = z.copy()
    counts = totals.counts(z)
    cells = totals.cells[rows]
    order = by_number(cells)
    members = np.split(rows[order], 1 + np.flatnonzero(np.diff(cells[order])))
    sums = [_possible_sums(totals.weights[own]) for own in members]
    if prod(len(each) for each in sums) <= ENUMERATION_LIMIT:
        return Split(_by_enumeration(totals, counts, members, sums), True)
    if totals.overlap:
        z[_by_raking(totals, counts, members)] = 1
        settle(totals, z, members, _of_different_weights)
        return Split(rows[z[rows] > 0], False)
    chosen = [_for_its_total(totals, counts, own) for own in members]
    return Split(np.concatenate([own.rows for own in chosen]), all(own.exact for own in chosen))


# -- few choices -------------------------------------------------------------------------------------------
def _possible_sums(weights: FloatArray) -> FloatArray:
    """What subsets of equal weights, or of few, can weigh; those of many others are too many to compare."""
    if np.all(weights == weights[0]):
        return np.asarray(weights[0] * np.arange(len(weights) + 1.0))
    if len(weights) > SUBSET_QUICK_LIMIT:
        return np.zeros(ENUMERATION_LIMIT + 1)
    sums = np.zeros(1)
    for weight in weights:
        sums = np.append(sums, sums + weight)
    return np.unique(sums)


def _by_enumeration(
    totals: KnownTotals, counts: FloatArray, members: Sequence[RowArray], sums: Sequence[FloatArray]
) -> RowArray:
    """The cheapest choice of a sum for each cell, of all; of two as cheap, the one with less weight."""
    choices = np.stack([axis.ravel() for axis in np.meshgrid(*sums, indexing="ij")])
    choices = choices[:, np.argsort(choices.sum(axis=0), kind="stable")]
    added = np.repeat(counts[:, None], choices.shape[1], axis=1)
    for own, weight in zip(members, choices, strict=True):
        added[totals.of(int(own[0]))] += weight
    best = int(np.argmin(_prices(totals, added.T)))
    picked = [
        own[nearest_subset(totals.weights[own], float(weight))[0]]
        for own, weight in zip(members, choices[:, best], strict=True)
    ]
    return np.concatenate(picked)


def _prices(totals: KnownTotals, counts: FloatArray) -> FloatArray:
    """What the misses of several counts cost; the totals are the last axis."""
    return np.asarray(np.maximum(0.0, np.maximum(totals.low - counts, counts - totals.high)) @ totals.penalty)


# -- many choices ------------------------------------------------------------------------------------------
def _for_its_total(totals: KnownTotals, counts: FloatArray, own: RowArray) -> Split:
    """Rows of a cell that bring the count of its only total nearest to its interval; none if it has none."""
    g = totals.of(int(own[0]))
    if len(g) == 0:
        return Split(own[:0], True)
    weights = totals.weights[own]
    ends = np.array([totals.low[g[0]], totals.high[g[0]]]) - counts[g[0]]
    low, high = np.clip(ends, 0.0, float(weights.sum()))
    if np.all(weights == weights[0]):
        numbers = np.minimum(np.floor(low / weights[0]) + np.arange(2.0), len(weights))
        sums = weights[0] * numbers
        misses = np.maximum(0.0, np.maximum(low - sums, sums - high))
        return Split(own[: int(numbers[np.argmin(misses)])], True)
    chosen, exact = nearest_subset(weights, 0.5 * float(low + high))
    return Split(own[chosen], exact)


def _by_raking(totals: KnownTotals, counts: FloatArray, members: Sequence[RowArray]) -> RowArray:
    """From each cell so much that the expected counts are what is known, rounded."""
    mass = np.array([float(totals.weights[own].sum()) for own in members])
    of_cell = [totals.of(int(own[0])) for own in members]
    cells = [np.flatnonzero([g in own for own in of_cell]) for g in range(len(totals))]
    odds, _ = rake(np.zeros(len(members)), mass, cells, totals.low - counts, totals.high - counts)
    wanted = mass * probabilities(odds)
    picked = [
        own[_nearest(totals.weights[own], float(weight))] for own, weight in zip(members, wanted, strict=True)
    ]
    return np.concatenate(picked)


def _nearest(weights: FloatArray, target: float) -> RowArray:
    if np.all(weights == weights[0]):
        return np.arange(round(target / float(weights[0])))
    return nearest_subset(weights, target)[0]


Candidates = Callable[[KnownTotals, SignArray, RowArray], Sequence[RowArray]]


def settle(totals: KnownTotals, z: SignArray, members: Sequence[RowArray], candidates: Candidates) -> None:
    """Move one row or two at a time to the other side, in place, as long as missed totals get cheaper."""
    for _ in range(MOVES):
        moves = np.concatenate([some for own in members for some in candidates(totals, z, own)])
        cost, now = _pair_prices(totals, z, moves), totals.price(totals.counts(z))
        first, second = divmod(int(np.argmin(cost)), len(cost))
        moved = moves[[place for place in (first, second) if place < len(moves)]]
        z[moved] = 1 - z[moved]
        if not totals.price(totals.counts(z)) < now * (1.0 - 1e-12):
            z[moved] = 1 - z[moved]
            return


def _pair_prices(totals: KnownTotals, z: SignArray, moves: RowArray) -> FloatArray:
    """By how much each pair of moves changes the price; the last one of them is no move.

    A total that only one of them counts changes as by that one alone: few pairs have to be looked at.
    """
    counts = totals.counts(z)
    steps = np.where(z[moves] > 0, -1.0, 1.0) * totals.weights[moves]
    number = [len(totals.of(int(row))) for row in moves]
    move = np.repeat(np.arange(len(moves)), number)
    total = np.concatenate([*(totals.of(int(row)) for row in moves), np.zeros(0, dtype=np.int64)])

    def price(g: IntArray, change: FloatArray) -> FloatArray:
        count = counts[g] + change
        return totals.penalty[g] * np.maximum(0.0, np.maximum(totals.low[g] - count, count - totals.high[g]))

    alone = price(total, steps[move]) - price(total, np.zeros(len(total)))
    single = np.append(np.bincount(move, alone, minlength=len(moves)), 0.0)
    cost = single[:, None] + single[None]
    for g in np.unique(total):
        own = move[total == g]
        both = steps[own][:, None] + steps[own][None]
        here = alone[total == g]
        together = price(np.full(both.shape, g), both) - price(np.full(1, g), np.zeros(1))
        cost[np.ix_(own, own)] += together - here[:, None] - here[None]
    np.fill_diagonal(cost, 0.0)
    return np.asarray(cost)


def _of_different_weights(totals: KnownTotals, z: SignArray, own: RowArray) -> list[RowArray]:
    """A few rows of a cell that are positive, and a few that are not."""
    parts = []
    for here in (own[z[own] > 0], own[z[own] <= 0]):
        order = here[np.argsort(totals.weights[here], kind="stable")]
        if len(order) and totals.weights[order[0]] < totals.weights[order[-1]]:
            places = np.linspace(0, len(order) - 1, CANDIDATES).round().astype(np.intp)
            parts.append(order[np.unique(places)])
        else:
            parts.append(order[:1])
    return parts
