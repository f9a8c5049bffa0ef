"""Probabilities of the unlabelled rows of a fit that add up to every known total, also to those of groups."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from .._typing import BoolArray, FloatArray, IntArray
from ..model.totals import KnownTotals
from .fit import Fit
from .probabilities import calibrate
from .shifting import shift_classes, shift_to_totals


def row_probabilities(fit: Fit, scores: FloatArray, slope: float) -> FloatArray:
    """The probability of each class (column) for the unlabelled rows that count (rows).

    Parameters
    ----------
    fit
        The answer, whose totals are to be met.
    scores
        Of the unlabelled rows, a column per class.
    slope
        How steep probabilities are in these scores.
    """
    weights = fit.problem.weights
    everybody = calibrate(scores, weights, fit.class_totals, slope).probabilities(scores)
    if fit.problem.one_total:
        return everybody
    if fit.labels.positive is None:
        return _by_group(fit, everybody, slope * scores)
    own, totals = fit.labels.positive, fit.problem.totals
    odds = slope * (scores[:, own] - scores[:, 1 - own])
    p = shift_to_totals(odds, weights, _members(totals), totals.low, totals.high).probabilities
    return np.column_stack([p, 1.0 - p] if own == 0 else [1.0 - p, p])


def _by_group(fit: Fit, everybody: FloatArray, scores: FloatArray) -> FloatArray:
    """Of several classes: each group with its own shifts; rows of no group have those of all together."""
    table = np.array([result.problem.totals.low for result in fit.results])
    for g, rows in enumerate(fit.problem.totals.rows):
        weights = fit.problem.weights[rows]
        everybody[rows] = shift_classes(scores[rows], weights, table[:, g]).probabilities
    return everybody


def known_groups(fit: Fit, codes: IntArray, n_groups: int) -> BoolArray:
    """Which groups of unlabelled rows are those of an exact total: their number is no matter of chance."""
    totals, known = fit.problem.totals, np.zeros(n_groups, dtype=bool)
    sizes = np.bincount(codes, minlength=n_groups)
    for g in np.flatnonzero(totals.low == totals.high):
        own = np.unique(codes[totals.rows[g]])
        if len(own) == 1 and sizes[own[0]] == len(totals.rows[g]):
            known[own[0]] = True
    return known


def _members(totals: KnownTotals) -> csr_array:
    """Which rows (columns) each total (rows) counts."""
    places = np.concatenate([*totals.rows, np.zeros(0, dtype=np.intp)])
    starts = np.append(0, np.cumsum([len(rows) for rows in totals.rows]))
    return csr_array((np.ones(len(places)), places, starts), shape=(len(totals), len(totals.weights)))
