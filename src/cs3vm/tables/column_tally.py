"""What the columns of a table in pieces hold, found in one pass: from it follows how they become features.

The rules are those of :mod:`cs3vm.tables.encoding`; the answer does not depend on the pieces.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..exceptions import TableError
from .encoding import (
    LIKE_DATE,
    LIKE_NUMBER,
    MAX_DECLARED,
    Column,
    category,
    check_categories,
    dates,
    factorize,
    gaps_in,
    is_number,
    missing_values,
    mixture,
    no_values,
    numbers_of,
    unreadable,
)
from .frames import FramePiece
from .reading import Table, plain_text

#: Different values of a column that are counted.
MOST_VALUES = MAX_DECLARED + 1


class Place(NamedTuple):
    """A cell."""

    row: int  #: in the whole table
    words: str  #: where it is
    value: str


@dataclass(eq=False)
class ColumnTally:
    """What some rows of a column hold."""

    kinds: set[str] = field(default_factory=set)  #: "number", "flag", "category" or "text", by piece
    n_values: int = 0
    n_missing: int = 0
    n_numbers: int = 0  #: among values that are neither all numbers nor all flags
    values: dict[str, int] = field(default_factory=dict)  #: how often each occurs
    like_dates: bool = True  #: whether all text is
    like_numbers: bool = True
    first: dict[str, Place] = field(default_factory=dict)  #: "number", "text", "missing"

    def combine(self, other: ColumnTally) -> ColumnTally:
        """Both; this one is changed."""
        self.kinds |= other.kinds
        self.n_values += other.n_values
        self.n_missing += other.n_missing
        self.n_numbers += other.n_numbers
        self.like_dates = self.like_dates and other.like_dates
        self.like_numbers = self.like_numbers and other.like_numbers
        add_counts(self.values, other.values)
        for kind, place in other.first.items():
            self.first[kind] = min(place, self.first.get(kind, place))
        return self

    @property
    def needs_text(self) -> bool:
        """Whether pieces were read differently, so that all must be read as text."""
        return len(self.kinds) > 1 and self.kinds != {"category", "text"}


def add_counts(values: dict[str, int], others: dict[str, int]) -> None:
    """Add how often others occur; no more different ones are kept than tell that there are too many."""
    for value, count in others.items():
        values[value] = values.get(value, 0) + count
    for value in sorted(values)[MOST_VALUES:]:
        del values[value]


def tally_column(piece: FramePiece, name: str, declared: bool) -> ColumnTally:
    """What the rows of a piece hold; dates and infinite numbers are refused at once."""
    import pandas as pd

    table, found = piece.table, ColumnTally()
    column, types = table.frame[name], pd.api.types
    gaps = gaps_in(table, name)
    found.n_missing, found.n_values = len(gaps), len(table) - len(gaps)
    if len(gaps):
        found.first["missing"] = _place(piece, int(gaps[0]), "")
    if found.n_values == 0:
        return found
    if not declared and types.is_bool_dtype(column.dtype):
        found.kinds.add("flag")
    elif not declared and types.is_numeric_dtype(column.dtype) and not types.is_complex_dtype(column.dtype):
        numbers_of(table, name)
        found.kinds.add("number")
    elif types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype):
        raise dates(table, name)
    else:
        is_category = declared or isinstance(column.dtype, pd.CategoricalDtype)
        _tally_values(found, piece, name, is_category)
    return found


def _tally_values(found: ColumnTally, piece: FramePiece, name: str, is_category: bool) -> None:
    codes, values = factorize(piece.table, name)
    texts = [plain_text(value) for value in values]
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    for text, count in zip(texts, counts, strict=True):
        found.values[text] = found.values.get(text, 0) + count
    add_counts(found.values, {})
    if is_category:
        found.kinds.add("category")
        return
    if all(isinstance(value, bool | np.bool_) for value in values):
        found.kinds.add("flag")
        return
    if any(hasattr(value, "isoformat") for value in values):
        raise dates(piece.table, name)
    numeric = np.array([is_number(value) for value in values])
    found.kinds.add("text")
    in_rows = numeric[codes] & (codes >= 0)
    found.n_numbers = int(in_rows.sum())
    found.like_dates = all(LIKE_DATE.match(text) for text in texts)
    found.like_numbers = all(LIKE_NUMBER.fullmatch(text) for text in texts)
    for kind, rows in (("number", in_rows), ("text", ~in_rows & (codes >= 0))):
        if rows.any():
            row = int(np.argmax(rows))
            found.first[kind] = _place(piece, row, texts[codes[row]])


def _place(piece: FramePiece, row: int, value: str) -> Place:
    table = piece.table
    return Place(piece.first_row + row, f"{table.rows([row])} ({table.convention})", value)


@dataclass(frozen=True)
class TallyColumns:
    """Looks at some columns of a piece."""

    names: tuple[str, ...]
    declared: frozenset[str]

    def __call__(self, piece: FramePiece) -> dict[str, ColumnTally]:
        """What each of them holds."""
        return {name: tally_column(piece, name, name in self.declared) for name in self.names}


def combine_columns(one: dict[str, ColumnTally], other: dict[str, ColumnTally]) -> dict[str, ColumnTally]:
    """Both; the first is changed."""
    for name, tally in other.items():
        one[name].combine(tally)
    return one


def learn_column(
    table: Table, name: str, tally: ColumnTally, n_rows: int, declared: bool, impute: bool
) -> Column:
    """What a column is; the median of numbers, which takes further passes, is not filled in."""
    if tally.n_values == 0:
        raise no_values(table, name)
    kind = "category" if declared else _kind(table, name, tally)
    if kind != "category":
        return Column(name, kind)
    number = len(tally.values)
    check_categories(table, name, number, n_rows, declared, at_least=number >= MOST_VALUES)
    return category(name, tally.values, impute)


def _kind(table: Table, name: str, tally: ColumnTally) -> str:
    if tally.kinds != {"text"}:
        return next(iter(tally.kinds - {"text"}))
    if tally.n_numbers == 0:
        if tally.like_dates:
            raise dates(table, name)
        if tally.like_numbers:
            raise unreadable(table, name, tally.first["text"].words, tally.first["text"].value)
        return "category"
    if tally.n_numbers == tally.n_values:
        return "number"
    holds_numbers = 2 * tally.n_numbers >= tally.n_values
    odd = tally.first["text" if holds_numbers else "number"]
    raise mixture(table, name, odd.words, odd.value, holds_numbers)


def gaps_error(table: Table, tallies: dict[str, ColumnTally]) -> TableError | None:
    """What to say about missing values if nothing may fill them in."""
    gaps = {name: tally for name, tally in tallies.items() if tally.n_missing}
    if not gaps:
        return None
    places = {
        name: tally.first["missing"].words.partition(" (")[0] + _and_more(tally.n_missing - 1)
        for name, tally in gaps.items()
    }
    return missing_values(table, places, sum(tally.n_missing for tally in gaps.values()))


def _and_more(number: int) -> str:
    return f" and {number} more" if number else ""


def learn_columns(
    table: Table,
    names: Sequence[str],
    tallies: dict[str, ColumnTally],
    n_rows: int,
    categorical: Collection[str],
    impute: bool,
) -> list[Column]:
    """All columns as they become features; medians are still missing."""
    if not names:
        raise TableError(
            f"{table.path.name} has no columns left to learn from: check --features and --exclude"
        )
    columns = [
        learn_column(table, name, tallies[name], n_rows, name in categorical, impute) for name in names
    ]
    error = None if impute else gaps_error(table, tallies)
    if error is not None:
        raise error
    return columns
