"""Totals by group as people give them: a column of groups and a number for each, or several such margins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._typing import IntArray, RowArray
from ..exceptions import InvalidProblemError, Note
from .unlabelled import as_vector, find_unlabeled, kind

#: What the rows are that totals count, besides the unlabelled ones.
TOTALS_OF = ("unlabelled", "all")


class Margin(NamedTuple):
    """A column of groups, and what is known about some of them."""

    name: str  #: of the column; empty if it has none
    groups: list[Any]  #: that rows have
    codes: IntArray  #: the group of every row as an index into them, -1 where it is missing
    totals: dict[Any, Any]  #: as given: a number, a pair, or a mapping of classes to numbers

    def called(self, group: Any) -> str:
        """What messages call a group."""
        return f"{self.name}: {group}" if self.name else str(group)


@dataclass(frozen=True, eq=False)
class Margins:
    """Everything that was given as totals, but for a plain number or one for each class."""

    margins: tuple[Margin, ...] = ()
    overall: Any = None  #: of all rows: a number, a pair, or a mapping of classes to numbers
    option: str = "n_positive"  #: where it was given; of ``positive_rate`` the numbers are shares
    of_all: bool = False  #: whether labelled rows are counted, too

    @property
    def are_shares(self) -> bool:
        """Whether the numbers are shares."""
        return self.option == "positive_rate"

    @property
    def any(self) -> bool:
        """Whether there is any number."""
        return self.overall is not None or any(margin.totals for margin in self.margins)

    def class_names(self) -> list[Any] | None:
        """All classes that have a number of their own; None if there is one for the positive class only."""
        given = [self.overall, *(total for margin in self.margins for total in margin.totals.values())]
        names = {plain(name): None for total in given if is_mapping(total) for name in total}
        return list(names) or None


def plain(value: Any) -> Any:
    """A value of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def is_mapping(value: Any) -> bool:
    """Whether it is a dict or a pandas Series."""
    return isinstance(value, Mapping) or (hasattr(value, "items") and hasattr(value, "index"))


def is_interval(value: Any) -> bool:
    """Whether it is a pair of numbers."""
    return (
        isinstance(value, list | tuple | np.ndarray)
        and len(value) == 2
        and all(isinstance(end, Real) and not isinstance(end, bool) for end in value)
    )


def read_margins(
    n_positive: Any, positive_rate: Any, groups: Any, totals_of: str = "unlabelled"
) -> Margins | None:
    """What was given, if there is more to it than a number, or one per class; None otherwise.

    Parameters
    ----------
    n_positive, positive_rate
        As in :meth:`cs3vm.CS3VMClassifier.fit`.
    groups
        The group of every row; or a mapping or data frame of several such columns.
    totals_of
        One of :data:`TOTALS_OF`.
    """
    if n_positive is not None and positive_rate is not None:
        raise InvalidProblemError("give n_positive or positive_rate, not both")
    option, given = ("n_positive", n_positive) if positive_rate is None else ("positive_rate", positive_rate)
    of_all = totals_of == "all"
    if groups is None:
        if is_mapping(given) and any(is_mapping(value) for _, value in given.items()):
            raise InvalidProblemError(
                f"{option} has totals by group and class, but groups is missing: give the group of every row"
            )
        if given is None or not (of_all or is_interval(given)):
            return None
        return Margins(overall=given, option=option, of_all=of_all)
    columns = _columns(groups)
    if not is_mapping(given):  # the groups have thresholds of their own at most
        return Margins(
            tuple(Margin(name, *_coded(c), {}) for name, c in columns.items()), given, option, of_all
        )
    entries = {plain(key): value for key, value in given.items()}
    overall = entries.pop(None, None)
    by_margin = {"": entries} if list(columns) == [""] else _by_margin(entries, columns, option)
    margins = tuple(
        Margin(name, *_coded(column), by_margin.get(name, {})) for name, column in columns.items()
    )
    return Margins(margins, overall, option, of_all)


def _columns(groups: Any) -> dict[str, Any]:
    """The columns of groups by their names; the only one has none."""
    if isinstance(groups, Mapping):
        return {str(name): column for name, column in groups.items()}
    if hasattr(groups, "columns") and hasattr(groups, "__getitem__"):
        return {str(name): groups[name] for name in groups.columns}
    return {"": groups}


def _by_margin(entries: dict[Any, Any], columns: dict[str, Any], option: str) -> dict[str, dict[Any, Any]]:
    unknown = [key for key in entries if str(key) not in columns]
    single = [key for key, value in entries.items() if not is_mapping(value)]
    if unknown or single:
        wrong = repr((unknown or single)[0])
        raise InvalidProblemError(
            f"groups has the columns {', '.join(map(repr, columns))}, so {option} must have a mapping of "
            f"groups to totals for each of them, but {wrong} is {'none of them' if unknown else 'a number'}: "
            f"such as {option}={{{next(iter(columns))!r}: {{group: total, ...}}}}. The total of all rows has "
            "the key None"
        )
    return {str(name): {plain(key): value for key, value in e.items()} for name, e in entries.items()}


def _coded(column: Any) -> tuple[list[Any], IntArray]:
    """The groups that occur, sorted, and that of each row as an index into them; -1 where it is missing."""
    vector = as_vector(column)
    known = ~find_unlabeled(vector)
    index: dict[Any, int] = {}
    numbers = [index.setdefault(value, len(index)) for value in vector[known].tolist()]
    groups = sorted(index, key=lambda group: (kind(group), group))
    order = np.empty(len(groups), dtype=np.int64)
    order[[index[group] for group in groups]] = np.arange(len(groups))
    codes = np.full(len(vector), -1, dtype=np.int64)
    codes[known] = order[numbers] if len(groups) else -1
    return groups, codes


def coded_columns(groups: Any) -> dict[str, tuple[list[Any], IntArray]]:
    """The groups of each column, and the group of each row as an index into them."""
    return {name: _coded(column) for name, column in _columns(groups).items()}


def take_groups(groups: Any, rows: RowArray) -> Any:
    """The groups of some rows."""
    if groups is None:
        return None
    if isinstance(groups, Mapping):
        return {name: as_vector(column)[rows] for name, column in groups.items()}
    return groups.iloc[rows] if hasattr(groups, "iloc") else as_vector(groups)[rows]


def check_length(margins: Margins, n_rows: int) -> None:
    """Refuse columns of another length than the rows."""
    for margin in margins.margins:
        if len(margin.codes) != n_rows:
            name = f" {margin.name!r}" if margin.name else ""
            raise InvalidProblemError(
                f"groups{name} has {len(margin.codes)} values, but there are {n_rows} rows: give the group "
                "of every row, labelled ones included"
            )


def other_rows(of_all: bool) -> Note:
    """What to try where a total is impossible: to count other rows."""
    if of_all:
        return Note(
            "if it counts the unlabelled rows alone, say totals_of='unlabelled'",
            "if it counts the rows without label alone, say --totals-of unlabelled",
        )
    return Note(
        "it counts the unlabelled rows alone; if labelled ones are counted, too, say totals_of='all'",
        "it counts the rows without label alone; if those with label are counted, too, say --totals-of all",
    )
