"""Totals of several classes from the command line: repeated ``--total yes=120``, or a table of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..exceptions import TableError
from ..tables.reading import MISSING, Table, read_table, suggestion

if TYPE_CHECKING:
    from .label_counts import LabelCounts

#: The columns of a table of totals.
CLASS, TOTAL = "class", "total"


def read_totals(path: Path | None, words: Sequence[str] | None) -> dict[str, int] | None:
    """The total of each class from ``--totals`` or ``--total``; None if neither is given."""
    if path is not None and words:
        raise TableError("give --totals (a table) or --total (one class each), not both")
    if path is not None:
        return _collect(_from_table(path), f"in {path.name}")
    return _collect(map(_from_word, words), "in --total") if words else None


def _from_table(path: Path) -> list[tuple[str, str]]:
    table = read_table(path, (CLASS, TOTAL))
    for name in (CLASS, TOTAL):
        table.require(name, "column for --totals:")
    columns = (table.frame[name] for name in (CLASS, TOTAL))
    pairs = zip(*(column.astype(object).where(column.notna(), "") for column in columns), strict=True)
    return [(str(label).strip(), str(total).strip()) for label, total in pairs]


def _from_word(word: str) -> tuple[str, str]:
    label, equals, total = word.rpartition("=")
    if not equals:
        raise TableError(f"--total {shlex.quote(word)} is not of the form class=number, such as yes=120")
    return label.strip(), total.strip()


def _collect(pairs: Iterable[tuple[str, str]], place: str) -> dict[str, int]:
    totals: dict[str, int] = {}
    for label, text in pairs:
        if label in MISSING:  # as in the label column, whose cells are read in the same way
            raise TableError(f"a class {place} has no name: give one class and one total each")
        if label in totals:
            raise TableError(f"the class {label!r} is twice {place}: give one total per class")
        number = text.removesuffix(".0")  # spreadsheets write whole numbers so
        if not (number.isascii() and number.isdigit()):
            raise TableError(f"the total of the class {label!r} {place} is {text!r}: it must be 0, 1, 2, ...")
        totals[label] = int(number)
    if len(totals) < 2:
        raise TableError(
            f"there is a total for {len(totals)} classes only {place}: give one for each of at least two, "
            "also for a class that none of the rows without label has (0)"
        )
    return totals


def check_totals(table: Table, label: str, labels: LabelCounts, totals: dict[str, int]) -> None:
    """Refuse totals that do not fit the rows without label, or leave out a class."""
    seen = sorted(labels.by_value)
    if not seen:
        raise TableError(f"column {label!r} of {table.path.name} is empty: label at least one row")
    for value in seen:
        if value not in totals:
            raise TableError(
                f"column {label!r} of {table.path.name} has the value {value!r} in "
                f"{labels.rows(value)} ({table.convention}), which has no total: say "
                f"--total {shlex.quote(f'{value}=0')} if none of the rows without label has it"
                + suggestion(value, totals)
            )
    unlabelled, given = labels.unlabelled, sum(totals.values())
    if given != unlabelled:
        raise TableError(
            f"the totals add up to {given}, but {unlabelled} rows of {table.path.name} have no label: that "
            f"is {abs(given - unlabelled)} too {'many' if given > unlabelled else 'few'}. They count the "
            "rows without label only"
        )
