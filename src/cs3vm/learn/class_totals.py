"""Totals of several classes: read from a mapping, checked against the rows, and shares turned into totals."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..exceptions import InvalidProblemError
from .labels import Labels, is_missing, kind, nothing_unlabelled_error

IntArray = NDArray[np.int64]


class ClassTotals(NamedTuple):
    """One number per class, a total or a share, as the user gave them under this name."""

    name: str  #: ``"n_positive"`` or ``"positive_rate"``
    values: dict[Any, float]

    def of_positive(self, labels: Labels, weight: FloatArray) -> tuple[float | None, float | None]:
        """The total or else the share of the positive one of two classes, for rows of these weights."""
        check_names(self, np.unique(labels.decode(labels.signs[labels.signs != 0])))
        label = labels.classes.tolist()[labels.positive]
        if label not in self.values:
            raise InvalidProblemError(
                f"pos_label is {label!r}, which has no number in {self.name}: it knows "
                f"{_shown(list(self.values))}"
            )
        value = self.values[label]
        if self.name == "positive_rate":
            return None, value
        check_sum(np.array(list(self.values.values())), weight[(labels.signs == 0) & (weight > 0)])
        return value, None

    def part(self, share: float, weights: FloatArray) -> dict[Any, float]:
        """The totals of a share of the rows, which has these weights."""
        quotas = np.array(list(self.values.values())) * share
        if np.all(weights == np.round(weights)):
            quotas = largest_remainder(quotas, round(float(weights.sum()))).astype(float)
        return dict(zip(self.values, quotas.tolist(), strict=True))


def whole_totals(totals: ClassTotals | None, classes: NDArray[Any], weights: FloatArray) -> FloatArray:
    """The totals of several classes for unlabelled rows of these weights; shares by largest remainder."""
    if totals is None:
        return np.zeros(len(classes))
    if totals.name == "positive_rate" and len(weights) == 0:
        raise nothing_unlabelled_error(totals.name)
    check_unit(weights)
    values = np.array([totals.values[label] for label in classes.tolist()])
    if totals.name == "positive_rate":
        return largest_remainder(values / values.sum() * len(weights), len(weights)).astype(float)
    check_sum(values, weights)
    return values


def check_unit(weights: FloatArray) -> None:
    """Refuse weights with which the totals of several classes could in general not be met."""
    odd = weights[weights != 1.0]
    if len(odd):
        raise InvalidProblemError(
            f"{len(odd)} unlabelled rows have a sample_weight other than 1, the first of them {odd[0]:g}: "
            "the totals of more than two classes can be met exactly only by rows that count as one each. "
            "Give the unlabelled rows weight 1, or 0 to leave one out"
        )


def largest_remainder(quotas: FloatArray, total: int) -> IntArray:
    """Integers near the quotas that add up to ``total``: rounded down, and up by largest remainder."""
    floors = np.floor(quotas + 1e-9).astype(np.int64)
    left = int(total - floors.sum())
    floors[np.argsort(-(quotas - floors), kind="stable")[:left]] += 1
    return floors


def read_class_totals(n_positive: Any, positive_rate: Any, mark: Any = None) -> ClassTotals | None:
    """The totals or shares of several classes, if that is what was given; None for a single number.

    ``mark`` is the value that marks unlabelled rows, besides missing ones.
    """
    several = _is_mapping(n_positive) or _is_mapping(positive_rate)
    if several and n_positive is not None and positive_rate is not None:
        raise InvalidProblemError("give n_positive or positive_rate, not both")
    if not several:
        return None
    name, given = ("n_positive", n_positive) if positive_rate is None else ("positive_rate", positive_rate)
    values: dict[Any, float] = {}
    for key, value in given.items():
        label = key.item() if isinstance(key, np.generic) else key
        if is_missing(label) or (mark is not None and kind(label) == kind(mark) and label == mark):
            raise InvalidProblemError(
                f"{name} has a number for {label!r}, which is no class but the mark of an unlabelled row: "
                "leave it out"
            )
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


def check_names(totals: ClassTotals, seen: NDArray[Any], declared: NDArray[Any] | None = None) -> None:
    """Every label needs a total; a total without label is allowed, unless ``y`` says that it is no class."""
    names, labels = list(totals.values), seen.tolist()
    kinds, expected = {kind(name) for name in names}, kind(labels[0])
    if kinds != {expected}:
        other = sorted(kinds - {expected})[0]
        raise InvalidProblemError(
            f"{totals.name} names classes by {other}, but the labels in y are {expected}: use the same values"
        )
    missing = [label for label in labels if label not in totals.values]
    if missing:
        raise InvalidProblemError(
            f"{totals.name} has no number for the class {_shown(missing)}, which is among the labels: give "
            f"one, 0 if no unlabelled row has it. It knows {_shown(names)}"
        )
    unknown = [name for name in names if declared is not None and name not in declared.tolist()]
    if unknown:
        raise InvalidProblemError(
            f"{totals.name} has the unknown class {_shown(unknown)}: the categories of y are "
            f"{_shown(np.asarray(declared).tolist())}"
        )


def _shown(values: list[Any]) -> str:
    return ", ".join(repr(value) for value in values[:5]) + (", ..." if len(values) > 5 else "")
