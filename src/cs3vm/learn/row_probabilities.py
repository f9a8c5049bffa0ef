"""Probabilities of the unlabelled rows of a fit that add up to every known total, also to those of groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from .._typing import FloatArray, RowArray
from .fit import Fit
from .probabilities import calibrate
from .shifting import shift_classes_to_totals, shift_to_totals


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
        return _of_classes(fit, everybody, slope * scores)
    own, totals = fit.labels.positive, fit.problem.totals
    odds = slope * (scores[:, own] - scores[:, 1 - own])
    p = shift_to_totals(
        odds, weights, members_of(totals.rows, len(weights)), totals.low, totals.high
    ).probabilities
    return np.column_stack([p, 1.0 - p] if own == 0 else [1.0 - p, p])


def _of_classes(fit: Fit, everybody: FloatArray, scores: FloatArray) -> FloatArray:
    """Of several classes: each group with its own shifts; rows of no group have those of all together."""
    table = np.array([result.problem.totals.low for result in fit.results])
    totals = fit.problem.totals
    met, _ = shift_classes_to_totals(scores, fit.problem.weights, totals.rows, table)
    return np.where((np.diff(totals.of_row.start) > 0)[:, None], met, everybody)


def members_of(groups: Sequence[RowArray], m: int) -> csr_array:
    """Which rows (columns) each group (rows) has."""
    places = np.concatenate([*groups, np.zeros(0, dtype=np.intp)])
    starts = np.append(0, np.cumsum([len(rows) for rows in groups]))
    return csr_array((np.ones(len(places)), places, starts), shape=(len(groups), m))
