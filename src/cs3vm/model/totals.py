"""Known totals: how many positives there are among which unlabelled rows, exactly or between two numbers.

What people hold is a :class:`Total`, or several of them, which may overlap: by region, by sex, for all. A
problem binds them to its rows as :class:`KnownTotals`, arrays that every part of the package counts with.
One number for all rows is the simplest case of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray, RowArray
from ..exceptions import InvalidProblemError

#: Sums of weights that miss a whole number, or their sum, by no more than this (relative) are rounded.
_ROUNDING = 1e-12
#: So many totals are counted one by one; more in one pass over all rows.
FEW = 3


@dataclass(frozen=True, eq=False)
class Total:
    """A known total weight of positives: of these unlabelled rows, from ``low`` to ``high``.

    Parameters
    ----------
    rows
        Which unlabelled rows are counted: a mask, their numbers, or None for all.
    low, high
        The total lies between them; without ``high`` it is ``low``. ``high`` may be infinite.
    penalty
        The price of each unit by which it is missed; None is the problem's ``count_penalty``.
    name
        What messages and reports call it.
    """

    rows: RowArray | NDArray[np.bool_] | None
    low: float
    high: float | None = None
    penalty: float | None = None
    name: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        """The least and the greatest total."""
        return self.low, self.low if self.high is None else self.high


class Totals:
    """Several known totals; ``+`` joins two lists of them.

    >>> region = ["north", "south", "south"]
    >>> Totals.by_group(region, {"north": 1, "south": (0, 1)})
    Totals(north: 1, south: 0 to 1)
    """

    def __init__(self, totals: Iterable[Total]) -> None:
        self.totals: tuple[Total, ...] = tuple(totals)
        wrong = next((total for total in self.totals if not isinstance(total, Total)), None)
        if wrong is not None:
            raise InvalidProblemError(f"Totals takes objects of type Total, got {wrong!r}")

    @classmethod
    def by_group(
        cls,
        groups: ArrayLike,
        totals: Mapping[Any, float | tuple[float, float]],
        penalty: float | None = None,
    ) -> Totals:
        """One total per group of rows; rows of a group that is not named belong to none."""
        groups = np.asarray(groups)
        return cls(
            Total(np.flatnonzero(groups == group), *_pair(total, str(group)), penalty, str(group))
            for group, total in totals.items()
        )

    def __iter__(self) -> Iterator[Total]:
        return iter(self.totals)

    def __len__(self) -> int:
        return len(self.totals)

    def __add__(self, other: Totals) -> Totals:
        return Totals([*self, *other])

    def __repr__(self) -> str:
        return f"Totals({', '.join(_words(total, i) for i, total in enumerate(self))})"


def _pair(value: Any, name: str) -> tuple[float, float]:
    """A total or an interval as an interval."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return value[0], value[1]
    if isinstance(value, Real):
        return float(value), float(value)
    raise InvalidProblemError(f"the total of {name!r} must be a number or a pair (low, high), got {value!r}")


def _name(total: Total, number: int) -> str:
    return total.name or f"total {number}"


def _words(total: Total, number: int) -> str:
    low, high = total.interval
    return f"{_name(total, number)}: {low:g}" + ("" if high == low else f" to {high:g}")


@dataclass(frozen=True, eq=False)
class KnownTotals:
    """The totals of a problem, bound to its rows: G totals, each over some of the m unlabelled rows."""

    weights: FloatArray  #: of the unlabelled rows
    low: FloatArray
    high: FloatArray
    penalty: FloatArray
    names: tuple[str, ...]
    rows: tuple[RowArray, ...]  #: of each total, ascending

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def of_all(self) -> NDArray[np.bool_]:
        """Which totals count every row."""
        return np.array([len(rows) == len(self.weights) for rows in self.rows], dtype=bool)

    @cached_property
    def weight(self) -> FloatArray:
        """Weight of the rows of each total."""
        return np.array([float(self._weights(g).sum()) for g in range(len(self))])

    def _weights(self, g: int) -> FloatArray:
        return self.weights if self.of_all[g] else self.weights[self.rows[g]]

    @cached_property
    def pairs(self) -> tuple[RowArray, IntArray]:
        """Every row with each of its totals, row by row."""
        totals = np.repeat(np.arange(len(self)), [len(rows) for rows in self.rows])
        rows = np.concatenate([*self.rows, np.zeros(0, dtype=np.intp)])
        if len(rows) == len(self.weights) and np.all(np.bincount(rows, minlength=len(rows)) == 1):
            of_row = np.empty(len(rows), dtype=np.int64)  # each row has one: nothing needs to be sorted
            of_row[rows] = totals
            return np.arange(len(rows)), of_row
        order = np.argsort(rows, kind="stable")
        return rows[order], totals[order].astype(np.int64)

    @cached_property
    def of_row(self) -> OfRow:
        """The totals of each row."""
        rows, totals = self.pairs
        number = np.bincount(rows, minlength=len(self.weights))
        return OfRow(np.append(0, np.cumsum(number)).astype(np.int64), totals)

    def of(self, row: int) -> IntArray:
        """The totals of one row."""
        start = self.of_row.start
        return self.of_row.total[start[row] : start[row + 1]]

    @cached_property
    def cells(self) -> IntArray:
        """A number for each row, the same for rows that are in the same totals."""
        cell = np.zeros(len(self.weights), dtype=np.int64)
        if not self.overlap:
            rows, total = self.pairs
            cell[rows] = 1 + total
            return cell
        for rows in self.rows:
            inside = np.zeros(len(cell), dtype=np.int64)
            inside[rows] = 1
            cell = np.unique(2 * cell + inside, return_inverse=True)[1].ravel().astype(np.int64)
        return cell

    @cached_property
    def overlap(self) -> bool:
        """Whether a row is in several totals."""
        return bool(np.any(np.diff(self.of_row.start) > 1))

    @cached_property
    def partition(self) -> bool:
        """Whether every row is in exactly one total."""
        return bool(np.all(np.diff(self.of_row.start) == 1))

    def counts(self, z: ArrayLike) -> FloatArray:
        """Weight of the positive rows of each total."""
        positive = np.asarray(z) > 0
        if len(self) > FEW:
            rows, total = self.pairs
            if self.partition:
                sums = np.bincount(total, self.weights * positive, minlength=len(self))
            else:
                kept = positive[rows]
                sums = np.bincount(total[kept], self.weights[rows[kept]], minlength=len(self))
            return np.asarray(sums, dtype=float)
        return np.array(
            [
                float(self._weights(g) @ (positive if self.of_all[g] else positive[self.rows[g]]))
                for g in range(len(self))
            ]
        )

    def misses(self, counts: FloatArray) -> FloatArray:
        """By how much each count lies outside its interval."""
        return np.maximum(*self.eta(counts))

    def eta(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(η₁, η₂) of each total: its shortfall and its excess."""
        return np.maximum(0.0, self.low - counts), np.maximum(0.0, counts - self.high)

    def price(self, counts: FloatArray) -> float:
        """What is paid for the misses of these counts."""
        return float(np.sum(self.penalty * self.misses(counts)))

    def least_misses(self, side: ArrayLike) -> FloatArray:
        """The part of each miss that fixed sides alone make unavoidable."""
        side = np.asarray(side)
        fixed, most = self.counts(side > 0), self.weight - self.counts(side < 0)
        return np.maximum(0.0, np.maximum(fixed - self.high, self.low - most))

    @cached_property
    def prices_of_rows(self) -> FloatArray:
        """What a unit of weight on the wrong side may cost in all totals of a row together."""
        prices = np.zeros(len(self.weights))
        for rows, penalty in zip(self.rows, self.penalty, strict=True):
            prices[rows] += penalty
        return prices

    @cached_property
    def rounding(self) -> FloatArray:
        """A bound on the rounding of sums of weights, per total: 0 where they are exact integers."""
        slack = np.zeros(len(self))
        for g in range(len(self)):
            ends = [end for end in (self.low[g], self.high[g]) if np.isfinite(end)]
            numbers = np.append(self._weights(g), ends)
            if not (np.all(numbers == np.round(numbers)) and self.weight[g] < 2.0**52):
                slack[g] = 2.0**-52 * (len(self.rows[g]) + 2) * self.weight[g]
        return slack

    def taken(self, rows: RowArray) -> Totals:
        """The same totals of some of the rows, or of all in another order."""
        place = np.full(len(self.weights), -1, dtype=np.intp)
        place[rows] = np.arange(len(rows))
        kept = [np.sort(place[own][place[own] >= 0]) for own in self.rows]
        return self.over(kept)

    @property
    def share(self) -> float:
        """About which share of the rows is positive, by these totals; one half where there is none."""
        middle = np.clip(0.5 * (self.low + np.minimum(self.high, self.weight)), 0.0, self.weight)
        return float(middle.sum() / self.weight.sum()) if self.weight.sum() > 0.0 else 0.5

    def sampled(self, rows: RowArray) -> Totals:
        """What the totals of some of the rows would be, in proportion; each price is for the whole again."""
        scaled = []
        weights = self.weights[rows]
        for g, total in enumerate(self.taken(rows)):
            own = weights[total.rows]
            part = float(own.sum()) / self.weight[g] if self.weight[g] > 0.0 else 0.0
            if part == 0.0:
                continue
            low, high = min(self.low[g] * part, float(own.sum())), self.high[g] * part
            if np.all(own == 1.0):
                low, high = (round(low),) * 2 if low == high else (np.floor(low), np.ceil(high))
            price = float(self.penalty[g]) / part
            scaled.append(Total(total.rows, float(low), float(high), price, total.name))
        return Totals(scaled)

    def over(self, rows: Sequence[RowArray]) -> Totals:
        """The same totals over other rows."""
        parts = zip(rows, self.low, self.high, self.penalty, self.names, strict=True)
        return Totals(Total(own, float(a), float(b), float(c), name) for own, a, b, c, name in parts)


class OfRow(NamedTuple):
    """The totals of row j are ``total[start[j] : start[j + 1]]``."""

    start: IntArray
    total: IntArray


def bind(given: Any, weights: FloatArray, count_penalty: float) -> KnownTotals:
    """Read what was given as ``n_positive``; all that is wrong with it is in one message."""
    totals = as_totals(given)
    problems: list[str] = []
    rows = [_rows(total, i, len(weights), problems) for i, total in enumerate(totals)]
    unweighted = bool(np.all(weights == 1.0))
    for i, (total, own) in enumerate(zip(totals, rows, strict=True)):
        alone = len(totals) == 1 and len(own) == len(weights)
        _check(total, i, weights[own], alone, unweighted, problems)
    if problems:
        raise InvalidProblemError("; ".join(problems))
    penalties = [count_penalty if total.penalty is None else total.penalty for total in totals]
    intervals = np.array([total.interval for total in totals], dtype=float).reshape(-1, 2)
    return KnownTotals(
        weights,
        low=intervals[:, 0],
        high=intervals[:, 1],
        penalty=np.array(penalties, dtype=float),
        names=tuple(total.name for total in totals),
        rows=tuple(rows),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def as_totals(given: Any) -> Totals:
    """A number, a pair or a total as a list of totals; prices that are not given stay open."""
    if isinstance(given, Totals):
        return given
    if isinstance(given, Total):
        return Totals([given])
    ends = list(given) if isinstance(given, list | tuple) else [given]
    if len(ends) in (1, 2) and all(_is_number(end) for end in ends):
        return Totals([Total(None, float(ends[0]), float(ends[-1]))])
    raise InvalidProblemError(
        f"n_positive must be a number, got {given!r} ({type(given).__name__}): give the known total of "
        "positives among the unlabelled rows, a pair (low, high), or Totals"
    )


def _rows(total: Total, number: int, m: int, problems: list[str]) -> RowArray:
    if total.rows is None:
        return np.arange(m)
    rows: NDArray[Any] = np.asarray(total.rows)
    if rows.dtype == bool and rows.shape == (m,):
        return np.flatnonzero(rows)
    whole = rows.size == 0 or (rows.ndim == 1 and np.issubdtype(rows.dtype, np.integer))
    ascending = whole and bool(np.all(rows[1:] > rows[:-1]))
    if ascending and (rows.size == 0 or (rows[0] >= 0 and rows[-1] < m)):
        return rows.astype(np.intp).ravel()
    if not whole or np.any(rows < 0) or np.any(rows >= m) or len(np.unique(rows)) < rows.size:
        problems.append(
            f"{_name(total, number)}: rows must be a mask of the {m} unlabelled rows or numbers from 0 to "
            f"{m - 1}, each once"
        )
        return np.zeros(0, dtype=np.intp)
    return np.sort(rows.astype(np.intp).ravel())


def _check(
    total: Total, number: int, weights: FloatArray, alone: bool, unweighted: bool, problems: list[str]
) -> None:
    """Note what is wrong with a total of rows with these weights; ``alone`` it is the n_positive."""
    name = "n_positive" if alone and not total.name else _name(total, number)
    low, high = total.interval
    ends: tuple[Any, ...] = (low, high)
    for end in ends:
        if isinstance(end, bool) or not isinstance(end, Real):
            problems.append(f"{name} must be a number, got {end!r}")
            return
    if total.penalty is not None and not 0.0 < total.penalty < np.inf:
        problems.append(f"the penalty of {name} must be positive and finite, got {total.penalty!r}")
    weight = float(weights.sum())
    if not low >= 0:
        problems.append(f"{name} must be zero or positive, got {low!r}")
    elif not high >= low:
        problems.append(f"{name} is an interval from {low:g} to {high:g}: give the lower end first")
    elif low > weight * (1 + _ROUNDING):
        of = "unlabelled rows weigh" if alone else "unlabelled rows that it counts weigh"
        problems.append(
            f"{name} is {low:g}, but the {len(weights)} {of} only {weight:g}: "
            "it counts the positives among the unlabelled rows, not in the whole population"
        )
    elif low == high and unweighted and low != round(low):
        share = f"for a share of the rows use positive_rate={low}" if low < 1 and alone else "round it"
        problems.append(f"{name} is {low:g}, but rows without weights can only add up to an integer: {share}")
