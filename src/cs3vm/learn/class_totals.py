"""Totals: read from a number or from a mapping of classes, checked against the rows, shares made totals."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray, LabelArray
from ..exceptions import InvalidProblemError
from ..model.totals import Total, Totals, bind
from .margins import Margins, is_interval, is_mapping, other_rows, read_margins
from .unlabelled import is_missing, kind


class ClassTotals(NamedTuple):
    """One number per class, a total or a share, as the user gave them under this name."""

    name: str  #: ``"n_positive"`` or ``"positive_rate"``
    values: dict[Any, float]

    def of_class(self, label: Any) -> tuple[float | None, float | None]:
        """The total or else the share of one of two classes."""
        if label not in self.values:
            raise InvalidProblemError(
                f"pos_label is {label!r}, which has no number in {self.name}: it knows "
                f"{_shown(list(self.values))}"
            )
        value = self.values[label]
        return (None, value) if self.name == "positive_rate" else (value, None)

    def part(self, share: float, weights: FloatArray) -> dict[Any, float]:
        """The totals of a share of the rows, which has these weights."""
        quotas = np.array(list(self.values.values())) * share
        if np.all(weights == np.round(weights)):
            quotas = largest_remainder(quotas, round(float(weights.sum()))).astype(float)
        return dict(zip(self.values, quotas.tolist(), strict=True))


@dataclass(frozen=True)
class KnownTotals:
    """What is known about the unlabelled rows, as given: a total, a share, or one of them for each class."""

    n_positive: Any = None
    positive_rate: Any = None
    by_class: ClassTotals | None = None
    margins: Margins | None = None  #: intervals and totals by group, which need the rows to be understood
    bound: tuple[Any, ...] | None = None  #: those of each plane, where they belong to its rows already

    @classmethod
    def of(
        cls,
        n_positive: Any,
        positive_rate: Any,
        mark: Any = None,
        groups: Any = None,
        totals_of: str = "unlabelled",
    ) -> KnownTotals:
        """Read them; ``mark`` is the value that marks unlabelled rows, besides missing ones."""
        if isinstance(n_positive, Total | Totals):
            raise InvalidProblemError(
                "n_positive is an object for cs3vm.Problem, whose rows are the unlabelled ones: here give a "
                "mapping of groups to totals, and the group of every row as groups"
            )
        margins = read_margins(n_positive, positive_rate, groups, totals_of)
        if margins is None:
            return cls(n_positive, positive_rate, read_class_totals(n_positive, positive_rate, mark))
        names = margins.class_names() or []
        by_class = ClassTotals(margins.option, dict.fromkeys(names, 0.0)) if len(names) > 1 else None
        return cls(n_positive, positive_rate, by_class, margins)

    @property
    def given(self) -> bool:
        """Whether anything is known."""
        return any(known is not None for known in (self.n_positive, self.positive_rate, self.bound))

    @property
    def names(self) -> list[Any] | None:
        """All classes, if each has a number."""
        return None if self.by_class is None else list(self.by_class.values)

    def of_positive(self, label: Any, weights: FloatArray) -> Any:
        """τ of the positive one of two classes, for unlabelled rows of these weights."""
        if self.by_class is None:
            _check_possible(self.n_positive, weights)
            return read_total_or_share(self.n_positive, self.positive_rate, weights)
        total, share = self.by_class.of_class(label)
        if total is not None:
            check_sum(np.array(list(self.by_class.values.values())), weights)
        return read_total_or_share(total, share, weights)

    def of_all(self, classes: LabelArray, positive: int | None, weights: FloatArray) -> FloatArray:
        """The total of each class, for unlabelled rows of these weights; ``positive`` is one of two."""
        if positive is None:
            return whole_totals(self.by_class, classes, weights)
        if self.margins is not None:
            raise InvalidProblemError("this rule needs one number for all rows, or one for each class")
        total = float(bind(self.of_positive(classes.tolist()[positive], weights), weights, 1.0).low[0])
        return np.where(np.arange(2) == positive, total, float(weights.sum()) - total)


def _check_possible(n_positive: Any, weights: FloatArray) -> None:
    """Refuse more positives than there are rows, and say what may be meant."""
    weight = float(weights.sum())
    if len(weights) and isinstance(n_positive, Real) and float(n_positive) > weight * (1 + 1e-12):
        weigh = f"{len(weights)} unlabelled rows weigh only {weight:g}"
        raise InvalidProblemError(other_rows(False).after(f"n_positive is {n_positive:g}, but the {weigh}: "))


def whole_totals(totals: ClassTotals | None, classes: LabelArray, weights: FloatArray) -> FloatArray:
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
    several = is_mapping(n_positive) or is_mapping(positive_rate)
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
        values[label] = _class_number(name, label, value)
    if len(values) < 2:
        raise InvalidProblemError(
            f"{name} has {len(values)} classes: give one number for each of at least two, "
            "also for a class that none of the unlabelled rows has (0)"
        )
    if name == "positive_rate":
        _check_shares(values)
    return ClassTotals(name, values)


def _class_number(name: str, label: Any, value: Any) -> float:
    """A total or a share, checked for itself."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not np.isfinite(float(value)):
        meant = ". For totals by group give the group of every row as groups" if is_interval(value) else ""
        raise InvalidProblemError(f"{name} of the class {label!r} must be a number, got {value!r}{meant}")
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
    if np.all(weights == 1.0):
        _check_whole(totals)
    rows, difference = float(weights.sum()), float(totals.sum() - weights.sum())
    if abs(difference) > 1e-9 * max(1.0, rows):
        weighing = "" if np.all(weights == 1.0) else f" weighing {rows:.10g}"
        raise InvalidProblemError(
            f"the totals in n_positive add up to {totals.sum():.10g}, but there are {len(weights)} "
            f"unlabelled rows{weighing}: that is {abs(difference):.10g} too "
            f"{'many' if difference > 0 else 'few'}. They count the unlabelled rows of each class, not the "
            "whole population"
        )


def _check_whole(totals: FloatArray) -> None:
    """Refuse fractions of rows; numbers below 1 are probably shares."""
    broken = totals[totals != np.round(totals)]
    if len(broken):
        advice = "for shares of the rows use positive_rate" if np.all(broken < 1) else "round it"
        raise InvalidProblemError(
            f"n_positive has the total {broken[0]:g}, but rows without weights can only add up to an "
            f"integer: {advice}"
        )


def check_names(totals: ClassTotals, seen: LabelArray, declared: LabelArray | None = None) -> None:
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


# -- one total -------------------------------------------------------------------------------------
def read_total_or_share(n_positive: Any, positive_rate: Any, weights: FloatArray) -> Any:
    """τ for unlabelled rows of these weights, from a total or a share; never guessed."""
    if n_positive is not None and positive_rate is not None:
        raise InvalidProblemError("give n_positive or positive_rate, not both")
    if len(weights) == 0:
        if positive_rate is None and (n_positive is None or n_positive == 0):
            return 0
        raise nothing_unlabelled_error("positive_rate" if n_positive is None else "n_positive")
    if positive_rate is not None:
        return total_from_rate(positive_rate, weights)
    if n_positive is None:
        raise InvalidProblemError(
            f"{len(weights)} rows are unlabelled, but their total is missing: give n_positive, the known "
            "number of positives among them, or positive_rate, their share; it is never guessed"
        )
    return n_positive


def nothing_unlabelled_error(name: str) -> InvalidProblemError:
    """The error for a total or share of no rows."""
    return InvalidProblemError(
        f"{name} is given, but no row is unlabelled: mark unlabelled rows with NaN or None, "
        f"or name their mark with unlabeled=..., or leave {name} out"
    )


def total_from_rate(positive_rate: Any, weights: FloatArray) -> float:
    """The share of the total weight: to the nearest integer where all weights are integers."""
    if (
        isinstance(positive_rate, bool)
        or not isinstance(positive_rate, Real)
        or not 0 <= float(positive_rate) <= 1
    ):
        raise InvalidProblemError(
            f"positive_rate must be a number between 0 and 1, got {positive_rate!r}: "
            "it is the share of positives among the unlabelled rows (for a total use n_positive)"
        )
    return nearest_total(float(positive_rate) * float(weights.sum()), weights)


def nearest_total(total: float, weights: FloatArray) -> float:
    """``total`` rounded half up where all weights are integers, unchanged otherwise."""
    if np.all(weights == np.round(weights)):
        return float(np.floor(total + 0.5))
    return min(total, float(weights.sum()))
