"""One total by group, read and checked against its rows: how many positives are among the unlabelled ones."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, RowArray
from ..exceptions import InvalidProblemError, Note
from .agreement import tolerated
from .class_totals import largest_remainder, nearest_total
from .labels import Labels
from .margins import Margins, is_interval, is_mapping, other_rows

#: So many names are shown in one message.
MOST_NAMES = 5


class Entry(NamedTuple):
    """One total as it was given."""

    name: str  #: empty where it is the only one
    margin: str  #: what its column is called in messages
    rows: RowArray  #: that it counts, labelled ones included
    value: Any
    is_known: bool = True  #: whether the group occurs at all

    def __str__(self) -> str:
        return f"the total of {self.name!r}" if self.name else "n_positive"


class Rows(NamedTuple):
    """What totals are checked against."""

    labels: Labels
    weight: FloatArray
    unlabelled: RowArray  #: those that count
    given: Margins

    def free(self, entry: Entry) -> RowArray:
        """The unlabelled rows of a total."""
        return entry.rows[self.labels.codes[entry.rows] < 0]

    def labelled(self, entry: Entry, c: int) -> float:
        """The weight of the rows that are known to have a class, where the total counts them."""
        own = entry.rows[self.labels.codes[entry.rows] == c]
        return float(self.weight[own].sum()) if self.given.of_all else 0.0

    def base(self, entry: Entry) -> float:
        """The weight that a share is a part of."""
        return float(self.weight[entry.rows if self.given.of_all else self.free(entry)].sum())


class RefusedError(InvalidProblemError):
    """A total that cannot be; it is told together with all others."""


# -- two classes ---------------------------------------------------------------------------------------
def interval(entry: Entry, rows: Rows) -> FloatArray:
    """The least and the greatest number of positives among the unlabelled rows of a total."""
    own, value = int(rows.labels.positive or 0), entry.value
    if is_mapping(value):
        label, table = rows.labels.classes.tolist()[own], dict(value.items())
        if label not in table:
            raise RefusedError(f"{entry} has no number for the class {label!r}: it knows {shown(table)}")
        value = table[label]
    low, high = _ends(entry, value)
    free = rows.weight[rows.free(entry)]
    if rows.given.are_shares:
        low, high = _from_shares(entry, low, high, rows)
    elif low == high and np.all(free == 1.0) and low != round(low):
        advice = "for shares use positive_rate" if low < 1 else "round it, or give a pair"
        raise RefusedError(f"{entry} is {low:g}, but rows without weights add up to integers: {advice}")
    return _within(entry, low, high, rows.labelled(entry, own), rows)


def _ends(entry: Entry, value: Any) -> tuple[float, float]:
    """A number or a pair as an interval."""
    low, high = value if is_interval(value) else (value, value)
    if not (is_number(low) and is_number(high)):
        raise RefusedError(f"{entry} must be a number or a pair (low, high), got {value!r}")
    if low > high:
        raise RefusedError(f"{entry} is an interval from {low:g} to {high:g}: give the lower end first")
    if low < 0:
        raise RefusedError(f"{entry} is {low:g}: it must be zero or positive")
    return float(low), float(high)


def is_number(value: Any) -> bool:
    """Whether it is a number, and neither true, false nor NaN."""
    return not isinstance(value, bool) and isinstance(value, Real) and float(value) == float(value)


def _from_shares(entry: Entry, low: float, high: float, rows: Rows) -> tuple[float, float]:
    if high > 1:
        raise RefusedError(f"the share of {entry.name or 'all rows'!r} is {high:g}: it must be at most 1")
    base, weights = rows.base(entry), rows.weight[rows.free(entry)]
    if low < high:
        return low * base, high * base
    total = nearest_total(low * base, weights) if len(weights) else 0.0
    return total, total


def _within(entry: Entry, low: float, high: float, labelled: float, rows: Rows) -> FloatArray:
    """The interval without the labelled positives, and within what the unlabelled rows can have."""
    free = rows.free(entry)
    most = float(rows.weight[free].sum())
    slack = 0.0 if np.all(rows.weight[free] == 1.0) else tolerated(1, most)
    if low - labelled <= most + slack and high - labelled >= -slack:
        least = min(max(low - labelled, 0.0), most)
        return np.array([least, min(max(high - labelled, least), most)])
    if not entry.is_known:
        groups = [group for margin in rows.given.margins for group in margin.groups]
        raise RefusedError(f"{entry} is {low:g}, but no row is in that group: the groups are {shown(groups)}")
    hint = other_rows(rows.given.of_all)
    if high - labelled < 0:
        raise RefusedError(
            hint.after(f"{entry} is {high:g}, but {labelled:g} are labelled positive already: ")
        )
    at_least = "" if low == high else "at least "
    has = f"{len(free)} unlabelled rows" + ("" if most == len(free) else f" weighing {most:g}")
    has += f" and {labelled:g} labelled positives" if rows.given.of_all else ""
    raise RefusedError(hint.after(f"{entry} is {at_least}{low:g}, but there are only {has}: "))


# -- several classes -----------------------------------------------------------------------------------
def table(entry: Entry, rows: Rows) -> FloatArray:
    """For each class its total among the unlabelled rows, as an interval without width."""
    names, size = rows.labels.classes.tolist(), len(rows.free(entry))
    where = f"of {entry.name!r}" if entry.name else "in n_positive"
    if not is_mapping(entry.value):
        raise RefusedError(f"the total {where} must have a number for each class, got {entry.value!r}")
    given = dict(entry.value.items())
    if set(given) != set(names):
        raise RefusedError(f"the totals {where} are of {shown(given)}, but the classes are {shown(names)}")
    if not all(is_number(value) and value >= 0 for value in given.values()):
        raise RefusedError(f"the totals {where} must be zero or positive, got {list(given.values())}")
    values = np.array([float(given[name]) for name in names])
    if rows.given.are_shares:
        if abs(values.sum() - 1.0) > 1e-6:
            raise RefusedError(f"the shares {where} add up to {values.sum():g}, not to 1")
        whole = round(rows.base(entry))
        values = largest_remainder(values * whole, whole).astype(float)
    values -= [rows.labelled(entry, c) for c in range(len(names))]
    _check_table(values, where, size, other_rows(rows.given.of_all))
    return np.column_stack([values, values])


def _check_table(values: FloatArray, where: str, size: int, hint: Note) -> None:
    if np.any(values != np.round(values)):
        raise RefusedError(f"the totals {where} must be integers")
    if np.any(values < 0):
        more = f"a class {where} has {-values.min():g} labelled rows more than its total: "
        raise RefusedError(hint.after(more))
    if values.sum() != size:
        raise RefusedError(
            hint.after(f"the totals {where} add up to {values.sum():g} for {size} unlabelled rows: ")
        )


def shown(names: Iterable[Any]) -> str:
    """Some names in a message."""
    names = list(names)
    return ", ".join(map(repr, names[:MOST_NAMES])) + (", ..." if len(names) > MOST_NAMES else "")
