"""Totals by group and survey weights on the command line: ``--totals-by region=totals.csv``, ``--weight``."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, LabelArray
from ..exceptions import TableError
from ..tables.encoding import factorize
from ..tables.reading import MISSING, Table, plain_text, read_table

#: Columns of a file of totals: the group (or the column's own name), and one or two of the others.
GROUP, TOTAL, LOW, HIGH, CLASS = "group", "total", "low", "high", "class"
#: Names under which weights are kept; such a column is hardly ever a feature.
LOOKS_LIKE_WEIGHT = re.compile(
    r"(^|[_. ])(weights?|wts?|wgts?|pw|pwts?|pweights?|pwgts?|fnlwgt|finalwt|perwt|hhwt|popwt)\d*$",
    re.IGNORECASE,
)


class ColumnTotals(NamedTuple):
    """What a file says about the groups in a column."""

    column: str
    path: Path
    totals: dict[str, Any]  #: a number, a pair, or a mapping of classes to numbers

    @property
    def classes(self) -> list[str]:
        """The classes that have numbers of their own."""
        tables = [total for total in self.totals.values() if isinstance(total, dict)]
        return sorted({name for table in tables for name in table})


# -- files of totals -----------------------------------------------------------------------------------
def read_totals_by(words: Sequence[str] | None) -> list[ColumnTotals]:
    """The totals of each ``--totals-by column=file``."""
    found: list[ColumnTotals] = []
    for word in words or ():
        column, equals, path = word.partition("=")
        column = column.strip()
        if not (equals and column and path.strip()):
            raise TableError(
                f"--totals-by {shlex.quote(word)} is not of the form column=file, such as region=totals.csv"
            )
        if any(column == other.column for other in found):
            raise TableError(f"--totals-by names the column {column!r} twice: put its totals into one file")
        file = Path(path.strip())
        found.append(ColumnTotals(column, file, _read_file(file, column)))
    return found


def _read_file(path: Path, column: str) -> dict[str, Any]:
    known = (GROUP, column, TOTAL, LOW, HIGH, CLASS)
    table = read_table(path, known)
    names = table.columns
    group = next((name for name in (column, GROUP) if name in names), None)
    if group is None:
        raise TableError(
            f"{path.name} has neither a column {column!r} nor {GROUP!r}, but {_listed(names)}: one of them "
            "names the groups"
        )
    cells = {name: _texts(table, name) for name in names}
    groups = cells.pop(group)
    for row, name in enumerate(groups):
        if name in MISSING:
            raise TableError(f"{path.name} has no group in {table.rows([row])} ({table.convention})")
    if CLASS in cells and TOTAL in cells:
        return _long(path, groups, cells[CLASS], cells[TOTAL])
    repeated = sorted({name for name in groups if groups.count(name) > 1})
    if repeated:
        raise TableError(f"{path.name} has the group {repeated[0]!r} twice: give each group one row")
    if {TOTAL, LOW, HIGH} & set(cells):
        parts = [cells.get(name, [""] * len(groups)) for name in (TOTAL, LOW, HIGH)]
        rows = {g: _interval(path, g, *part) for g, *part in zip(groups, *parts, strict=True)}
        return {g: total for g, total in rows.items() if total is not None}
    if not cells:
        raise TableError(
            f"{path.name} has no numbers: give a column {TOTAL!r}, or {LOW!r} and {HIGH!r}, or one per class"
        )
    return {
        g: {name: _number(path, f"{g} ({name})", column_[row]) for name, column_ in cells.items()}
        for row, g in enumerate(groups)
    }


def _texts(table: Table, name: str) -> list[str]:
    import pandas as pd

    codes, values = pd.factorize(table.frame[name])
    texts = [*(plain_text(value).strip() for value in values), ""]  # the last one is for empty cells
    return [texts[code] for code in codes.tolist()]


def _long(path: Path, groups: list[str], classes: list[str], totals: list[str]) -> dict[str, Any]:
    found: dict[str, dict[str, float]] = {}
    for group, label, total in zip(groups, classes, totals, strict=True):
        own = found.setdefault(group, {})
        if label in own:
            raise TableError(f"{path.name} has the class {label!r} of the group {group!r} twice")
        own[label] = _number(path, f"{group} ({label})", total)
    return found


def _interval(path: Path, group: str, total: str, low: str, high: str) -> Any:
    """A number, a pair, or None for a group without any; an end that is missing is the farthest one."""
    if total:
        return _number(path, group, total)
    if not (low or high):
        return None
    return _number(path, group, low or "0"), _number(path, group, high) if high else math.inf


def _number(path: Path, what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise TableError(f"the total of {what} in {path.name} is {text!r}: it must be a number of at least 0")
    return value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:6]) + (", ..." if len(names) > 6 else "")


# -- columns of the table ------------------------------------------------------------------------------
def group_columns(table: Table, names: Iterable[str], purpose: str) -> dict[str, Any]:
    """The groups of all rows as text, by column; None where the cell is empty."""
    names = list(names)
    for name in names:
        table.require(name, purpose)
    return {name: group_texts(table, name) for name in names}


def group_texts(table: Table, column: str) -> LabelArray:
    """The groups in a column as text; None where the cell is empty."""
    codes, values = factorize(table, column)
    texts = [_as_group(plain_text(value)) or None for value in values]
    return np.array([*texts, None], dtype=object)[codes]


def _as_group(text: str) -> str:
    """Whole numbers as a file of totals has them: a column with gaps was read as 1.0, 2.0, ..."""
    return text.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", text) else text


def read_weight(table: Table, name: str) -> FloatArray:
    """The weights of the rows: numbers of at least 0."""
    import pandas as pd

    table.require(name, "column for --weight:")
    values = pd.to_numeric(table.frame[name], errors="coerce").to_numpy(dtype=float)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise TableError(
            f"column {name!r} of {table.path.name} is to hold weights, but has no number of at least 0 in "
            f"{table.rows(wrong)} ({table.convention})"
        )
    return np.asarray(values)


def weight_notes(table: Table, names: Sequence[str]) -> list[str]:
    """Which features may be weights, by their names."""
    return [
        f"column {name!r} looks like survey weights and is learnt from as a feature: say --weight "
        f"{shlex.quote(name)}, or --exclude it"
        for name in names
        if LOOKS_LIKE_WEIGHT.search(name) and table.frame[name].dtype.kind in "iuf"
    ]


# -- words ---------------------------------------------------------------------------------------------
def read_total(text: str) -> float | tuple[float, float]:
    """``900`` or ``900:1100``, from the command line."""
    low, colon, high = text.partition(":")
    try:
        ends = float(low), float(high) if colon else float(low)
    except ValueError:
        ends = math.nan, math.nan
    if not (0 <= ends[0] < math.inf and 0 <= ends[1] < math.inf):
        raise ValueError(f"{text!r} is neither a number nor low:high, such as 900:1100")
    if ends[0] > ends[1]:
        raise ValueError(f"{text} is upside down: say {high}:{low}")
    return ends if colon else ends[0]


def said(n_positive: Any, totals: Sequence[ColumnTotals]) -> str:
    """What is known about the number of positives, in words."""
    words = []
    if n_positive is not None:
        words.append(
            f"{n_positive:g}" if isinstance(n_positive, float) else "{:g} to {:g}".format(*n_positive)
        )
    words += [f"{len(one.totals)} totals by {one.column}" for one in totals]
    return " and ".join(words)
