"""Rows that a plane cannot tell apart and a total divides: which of them get which label is drawn, and said.

Equal rows have equal scores, so a proper plane can miss a total by less than the weight of one group of them.
Then the group nearest to the plane on the side that has too many is divided. Never another one of the same
total: what is missed beyond that is what the model chose to pay for.
"""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowArray
from ..model.line import EMPTY_TOLERANCE
from ..model.problem import Problem
from ..model.result import Result
from ..model.totals import KnownTotals


def meet_totals(result: Result, seed: int) -> tuple[BoolArray, BoolArray]:
    """Which unlabelled rows are positive, and which of them are in a group that was divided, if any.

    For each total, the one missed most first, at most one group is divided.
    """
    problem, positive = result.problem, np.asarray(result.z) > 0
    divided = np.zeros(problem.m, dtype=bool)
    scores = problem.scores(np.asarray(result.coef), result.intercept)
    tie = EMPTY_TOLERANCE * (1.0 + float(np.abs(scores).max(initial=0.0)))
    if problem.side_margin > 0.0:
        tie = min(tie, 1e-3 * problem.side_margin)
    counts = problem.totals.counts(positive)
    first = problem.totals.misses(counts)
    for g in np.argsort(-first, kind="stable").tolist():
        if first[g] > 0.0 and _divide(problem, g, counts, scores, tie, positive, divided, seed):
            counts = problem.totals.counts(positive)
    return positive, divided


def _divide(
    problem: Problem,
    g: int,
    counts: FloatArray,
    scores: FloatArray,
    tie: float,
    positive: BoolArray,
    divided: BoolArray,
    seed: int,
) -> bool:
    """Divide the group of rows of a total that is nearest to the plane; whether the masks were changed.

    Scores that differ by no more than ``tie`` are the same.
    """
    totals = problem.totals
    missing = max(0.0, float(totals.low[g] - counts[g])) - max(0.0, float(counts[g] - totals.high[g]))
    inside = totals.rows[g]
    movable = inside[(positive[inside] == (missing < 0.0)) & (problem.side[inside] == 0)]
    if missing == 0.0 or len(movable) == 0:
        return False
    distance = np.abs(scores[movable])
    group = movable[distance <= distance.min() + tie]
    if len(group) < 2 or float(problem.weights[group].sum()) <= abs(missing):
        return False
    drawn = np.random.default_rng(seed).permutation(group)
    number = _how_many(totals, counts, drawn, 1.0 if missing > 0.0 else -1.0)
    positive[drawn[:number]] = missing > 0.0
    divided[group] |= 0 < number < len(group)
    return True


def _how_many(totals: KnownTotals, counts: FloatArray, drawn: RowArray, sign: float) -> int:
    """How many of the rows drawn have to change sides for all totals together to be missed least."""
    price = np.zeros(len(drawn) + 1)
    for g in range(len(totals)):
        inside = np.isin(drawn, totals.rows[g], assume_unique=True)
        if inside.any():
            moved = counts[g] + sign * np.append(0.0, np.cumsum(totals.weights[drawn] * inside))
            miss = np.maximum(0.0, np.maximum(totals.low[g] - moved, moved - totals.high[g]))
            price += totals.penalty[g] * miss
    return int(np.argmin(price))


def shuffle_within(labels: IntArray, profiles: IntArray, seed: int) -> IntArray:
    """The same labels with those of equal rows exchanged at random, so that no order of rows decides."""
    order = np.random.default_rng(seed).permutation(len(labels))
    by_profile, drawn = np.argsort(profiles, kind="stable"), order[np.argsort(profiles[order], kind="stable")]
    mixed = labels.copy()
    mixed[drawn] = labels[by_profile]
    return mixed


def is_split(labels: IntArray, profiles: IntArray) -> BoolArray:
    """Whether a row has equal rows with another label."""
    n_profiles = int(profiles.max(initial=-1)) + 1
    lowest, highest = np.full(n_profiles, np.iinfo(np.int64).max), np.full(n_profiles, -1)
    np.minimum.at(lowest, profiles, labels)
    np.maximum.at(highest, profiles, labels)
    return np.asarray((lowest < highest)[profiles])
