"""Totals of several classes: read from a mapping, checked against the rows, and shares turned into totals."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .exceptions import InvalidProblemError
from .intercept import FloatArray

IntArray = NDArray[np.int64]


class ClassTotals(NamedTuple):
    """One number per class, a total or a share, as the user gave them under this name."""

    name: str  #: ``"n_positive"`` or ``"positive_rate"``
    values: dict[Any, float]

    def of(self, classes: NDArray[Any], weights: FloatArray) -> FloatArray:
        """The totals of these classes for unlabelled rows of these weights.

        Whole numbers where all weights are; shares are then rounded by largest remainder.
        """
        values = np.array([self.values[c] for c in classes.tolist()], dtype=float)
        whole = bool(np.all(weights == np.round(weights)))
        if self.name == "n_positive":
            check_sum(values, weights)
            return values
        quotas = values / values.sum() * weights.sum()
        return largest_remainder(quotas, int(weights.sum())).astype(float) if whole else quotas


def largest_remainder(quotas: FloatArray, total: int) -> IntArray:
    """Integers near the quotas that add up to ``total``: rounded down, and up by largest remainder."""
    floors = np.floor(quotas + 1e-9).astype(np.int64)
    left = int(total - floors.sum())
    floors[np.argsort(-(quotas - floors), kind="stable")[:left]] += 1
    return floors


def read_class_totals(n_positive: Any, positive_rate: Any) -> ClassTotals | None:
    """The totals or shares of several classes, if that is what was given; None for a single number."""
    if _is_mapping(n_positive) and positive_rate is not None:
        raise InvalidProblemError("give n_positive or positive_rate, not both")
    name, given = ("n_positive", n_positive) if _is_mapping(n_positive) else ("positive_rate", positive_rate)
    if not _is_mapping(given):
        return None
    values: dict[Any, float] = {}
    for key, value in given.items():
        label = key.item() if isinstance(key, np.generic) else key
        if label in values:
            raise InvalidProblemError(f"{name} has the class {label!r} twice: give one number per class")
        values[label] = _number(name, label, value)
    if len(values) < 2:
        raise InvalidProblemError(
            f"{name} has {len(values)} classes: give one number for each of at least two, "
            "also for a class that none of the unlabelled rows has (0)"
        )
    if name == "positive_rate":
        _check_shares(values)
    return ClassTotals(name, values)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) or (hasattr(value, "items") and hasattr(value, "index"))


def _number(name: str, label: Any, value: Any) -> float:
    """A total or a share, checked for itself."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise InvalidProblemError(f"{name} of the class {label!r} must be a number, got {value!r}")
    if float(value) < 0:
        raise InvalidProblemError(f"{name} of the class {label!r} must be zero or positive, got {value!r}")
    return float(value)


def _check_shares(values: dict[Any, float]) -> None:
    total = sum(values.values())
    if abs(total - 1.0) > 1e-6:
        raise InvalidProblemError(
            f"the shares of positive_rate add up to {total:.6g}, not to 1: they are the shares of the "
            "classes among the unlabelled rows (for totals use n_positive)"
        )


def check_sum(totals: FloatArray, weights: FloatArray) -> None:
    """Refuse totals that cannot be met: fractional, or with another sum than the unlabelled rows."""
    if np.all(weights == 1.0) and np.any(totals != np.round(totals)):
        broken = totals[totals != np.round(totals)][0]
        raise InvalidProblemError(
            f"n_positive has the total {broken:g}, but rows without weights can only add up to an integer: "
            "round it"
        )
    rows, difference = float(weights.sum()), float(totals.sum() - weights.sum())
    if abs(difference) > 1e-9 * max(1.0, rows):
        weighing = "" if np.all(weights == 1.0) else f" weighing {rows:.10g}"
        raise InvalidProblemError(
            f"the totals in n_positive add up to {totals.sum():.10g}, but there are {len(weights)} "
            f"unlabelled rows{weighing}: that is {abs(difference):.10g} too "
            f"{'many' if difference > 0 else 'few'}. They count the unlabelled rows of each class, not the "
            "whole population"
        )
