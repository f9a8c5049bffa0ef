"""Rows that a plane cannot tell apart and a total divides: which of them get which label is drawn, and said.

Equal rows have equal scores, so a proper plane can miss a total by less than the weight of one group of them.
Then the group nearest to the plane on the side that has too many is divided. Never another one: what is
missed beyond that is what the model chose to pay for.
"""

from __future__ import annotations

import numpy as np

from .._typing import BoolArray, IntArray
from ..model.intercept import EMPTY_TOLERANCE
from ..model.result import Result


def meet_total(result: Result, seed: int) -> tuple[BoolArray, BoolArray]:
    """Which unlabelled rows are positive, and which of them are in the group that was divided, if any."""
    problem, z = result.problem, np.asarray(result.z) > 0
    nobody = np.zeros(problem.m, dtype=bool)
    missing = problem.n_positive - result.count
    movable = np.flatnonzero((z == (missing < 0.0)) & (problem.side == 0))
    if missing == 0.0 or len(movable) == 0:
        return z, nobody
    scores = problem.scores(np.asarray(result.coef), result.intercept)
    distance = np.abs(scores[movable])
    tie = EMPTY_TOLERANCE * (1.0 + float(np.abs(scores).max()))
    if problem.side_margin > 0.0:
        tie = min(tie, 1e-3 * problem.side_margin)
    group = movable[distance <= distance.min() + tie]
    if len(group) < 2 or float(problem.weights[group].sum()) <= abs(missing):
        return z, nobody
    drawn = np.random.default_rng(seed).permutation(group)
    moved = np.append(0.0, np.cumsum(problem.weights[drawn]))
    number = int(np.argmin(np.abs(moved - abs(missing))))
    positive, divided = z.copy(), nobody.copy()
    positive[drawn[:number]] = missing > 0.0
    divided[group] = 0 < number < len(group)
    return positive, divided


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
