"""From columns of a table to features: numbers stay, categories become one 0/1 feature per value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..exceptions import TableError
from .reading import Table, plain_text

#: Text that is no number for a computer, but one for people: "1,234.5", "5 %", "€ 7".
LIKE_NUMBER = re.compile(r"[-+]?\s*[€$£¥]?\s*\d[\d.,'’\s]*[%€$£¥]?")
LIKE_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(\D|$)")
#: A column of text with more values than this, or than half the rows, looks like names or identifiers.
MAX_CATEGORIES = 100
#: The most values of a column that is declared to be a category.
MAX_DECLARED = 1000


@dataclass(frozen=True)
class Column:
    """One column: its kind, its known values, and what replaces a missing value (None: nothing may)."""

    name: str
    kind: str  #: "number", "flag" (true/false) or "category"
    categories: tuple[str, ...] = ()
    fill: float | str | None = None

    @property
    def feature_names(self) -> list[str]:
        """The names of the features made from it."""
        if self.kind == "category":
            return [f"{self.name}={value}" for value in self.categories]
        return [self.name]


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become features."""

    columns: tuple[Column, ...]

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, in order."""
        return [name for column in self.columns for name in column.feature_names]

    def transform(self, table: Table, *, allow_unseen: bool = False) -> FloatArray:
        """The features of every row.

        Parameters
        ----------
        allow_unseen
            Whether a category that was not there when the encoding was learnt may occur. It is none of
            the known ones then: all its features are 0.
        """
        for column in self.columns:
            table.require(column.name)
        gaps = {c.name: rows for c in self.columns if c.fill is None and len(rows := gaps_in(table, c.name))}
        if gaps:
            raise _missing_values(table, gaps)
        X = np.zeros((len(table), len(self.feature_names)))
        start = 0
        for column in self.columns:
            stop = start + len(column.feature_names)
            _fill(X[:, start:stop], table, column, allow_unseen)
            start = stop
        return X


def learn_encoding(
    table: Table, names: Sequence[str], *, categorical: Collection[str] = (), impute: bool = False
) -> Encoding:
    """Find out what each column holds; with ``impute``, also its median or most frequent value."""
    if not names:
        raise TableError(
            f"{table.path.name} has no columns left to learn from: check --features and --exclude"
        )
    return Encoding(tuple(_learn(table, name, name in categorical, impute) for name in names))


def missing_count(table: Table, names: Sequence[str]) -> int:
    """How many values of these columns are missing."""
    return sum(len(gaps_in(table, name)) for name in names)


# -- learning ----------------------------------------------------------------------------------------
def _learn(table: Table, name: str, declared: bool, impute: bool) -> Column:
    if len(factorize(table, name)[1]) == 0:
        raise no_values(table, name)
    kind = "category" if declared else _kind(table, name)
    if kind == "category":
        tally = tally_values(table, name)
        check_categories(table, name, len(tally), len(table), declared)
        return category(name, tally, impute)
    values = numbers_of(table, name)
    return Column(name, kind, (), float(np.nanmedian(values)) if impute else None)


def no_values(table: Table, name: str) -> TableError:
    """A column without values."""
    return TableError(f"column {name!r} of {table.path.name} has no values: leave it out{_exclude(name)}")


def category(name: str, tally: dict[str, int], impute: bool) -> Column:
    """A column of categories, by how often each occurs."""
    fill = min(value for value, count in tally.items() if count == max(tally.values()))
    return Column(name, "category", tuple(sorted(tally)), fill if impute else None)


def tally_values(table: Table, name: str) -> dict[str, int]:
    """How often each value occurs, as text."""
    codes, values = factorize(table, name)
    tally: dict[str, int] = {}
    for value, count in zip(values, np.bincount(codes[codes >= 0], minlength=len(values)), strict=True):
        text = plain_text(value)
        tally[text] = tally.get(text, 0) + int(count)
    return tally


def factorize(table: Table, name: str) -> tuple[NDArray[np.intp], Any]:
    """The number of each row's value (-1: missing) and the different values."""
    import pandas as pd

    try:
        codes, values = pd.factorize(table.frame[name])
    except TypeError as error:
        raise _nested(table, name) from error
    if values.dtype == object and any(isinstance(value, bytes | tuple) for value in values):
        raise _nested(table, name)
    return codes, values


def _nested(table: Table, name: str) -> TableError:
    return TableError(
        f"column {name!r} of {table.path.name} holds lists, bytes or other nested values: "
        f"leave it out{_exclude(name)}"
    )


def _exclude(name: str) -> str:
    return f" with --exclude {shlex.quote(name)}"


def _kind(table: Table, name: str) -> str:
    """What a column holds; a mixture is an error that names the first row that does not fit."""
    import pandas as pd

    column = table.frame[name]
    kinds = pd.api.types
    if kinds.is_bool_dtype(column.dtype):
        return "flag"
    if kinds.is_numeric_dtype(column.dtype) and not kinds.is_complex_dtype(column.dtype):
        return "number"
    if kinds.is_datetime64_any_dtype(column.dtype) or kinds.is_timedelta64_dtype(column.dtype):
        raise dates(table, name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "category"
    return _kind_of_values(table, name)


def _kind_of_values(table: Table, name: str) -> str:
    codes, values = factorize(table, name)
    numeric = np.array([is_number(value) for value in values])
    if all(isinstance(value, bool | np.bool_) for value in values):
        return "flag"
    if any(hasattr(value, "isoformat") for value in values):
        raise dates(table, name)
    if not numeric.any():
        _check_text(table, name, codes, values)
    if numeric.all() or not numeric.any():
        return "number" if numeric.all() else "category"
    in_rows = numeric[codes] & (codes >= 0)
    holds_numbers = 2 * in_rows.sum() >= (codes >= 0).sum()
    row = int(np.argmax((codes >= 0) & (in_rows != holds_numbers)))
    value = plain_text(values[codes[row]])
    raise mixture(table, name, f"{table.rows([row])} ({table.convention})", value, holds_numbers)


def mixture(table: Table, name: str, where: str, value: str, holds_numbers: bool) -> TableError:
    """A column of numbers with some text, or the other way round."""
    usual, odd = ("numbers", "the text") if holds_numbers else ("text", "the number")
    emptied = " or empty it and add --impute median" if holds_numbers else ""
    return TableError(
        f"column {name!r} of {table.path.name} mixes numbers and text: it holds {usual}, but {where} has "
        f"{odd} {value!r}. Correct that cell{emptied}; if the column is a category, say --categorical "
        f"{shlex.quote(name)}"
    )


def _check_text(table: Table, name: str, codes: NDArray[np.intp], values: Any) -> None:
    """Refuse text that was meant to be numbers or dates."""
    texts = [plain_text(value) for value in values]
    if all(LIKE_DATE.match(text) for text in texts):
        raise dates(table, name)
    if all(LIKE_NUMBER.fullmatch(text) for text in texts):
        row = int(np.argmax(codes >= 0))
        raise unreadable(table, name, f"{table.rows([row])} ({table.convention})", texts[0])


def unreadable(table: Table, name: str, where: str, text: str) -> TableError:
    """A column of numbers as only people read them."""
    return TableError(
        f"column {name!r} of {table.path.name} holds numbers that cannot be read, such as {text!r} in "
        f"{where}. Write them with a decimal point and without units or signs between thousands; if it is a "
        f"category, say --categorical {shlex.quote(name)}"
    )


def is_number(value: Any) -> bool:
    """Whether a value, also one written as text, is a number."""
    if isinstance(value, bool | np.bool_):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def dates(table: Table, name: str) -> TableError:
    """A column of dates."""
    return TableError(
        f"column {name!r} of {table.path.name} holds dates: turn them into a number (such as an age), "
        f"or leave the column out{_exclude(name)}"
    )


def check_categories(
    table: Table, name: str, number: int, n_rows: int, declared: bool, *, at_least: bool = False
) -> None:
    """Refuse columns with so many different values that they are names or identifiers.

    ``at_least`` says that nobody counted further than ``number``.
    """
    limit = MAX_DECLARED if declared else min(MAX_CATEGORIES, max(10, n_rows // 2))
    if number > limit:
        remedy = "" if declared else f", or say --categorical {shlex.quote(name)} if it really is a category"
        many = f"at least {number}" if at_least else f"{number}"
        raise TableError(
            f"column {name!r} of {table.path.name} has {many} different values in {n_rows} rows, too many "
            f"for a category. If it identifies the rows, say --id {shlex.quote(name)}; else leave it "
            f"out{_exclude(name)}{remedy}"
        )


# -- transforming ------------------------------------------------------------------------------------
def _fill(target: FloatArray, table: Table, column: Column, allow_unseen: bool) -> None:
    if column.kind == "category":
        codes = _codes(table, column, allow_unseen)
        known = np.flatnonzero(codes >= 0)
        target[known, codes[known]] = 1.0
        return
    values = numbers_of(table, column.name)
    if column.fill is not None:
        values = np.where(np.isnan(values), float(column.fill), values)
    target[:, 0] = values


def _codes(table: Table, column: Column, allow_unseen: bool) -> NDArray[np.intp]:
    """The number of each row's category; -1 for one that is not known."""
    codes, values = factorize(table, column.name)
    place = {value: i for i, value in enumerate(column.categories)}
    positions = np.array([place.get(plain_text(value), -1) for value in values] + [-1], dtype=np.intp)
    if (positions[:-1] < 0).any() and not allow_unseen:
        rows = np.flatnonzero((codes >= 0) & (positions[codes] < 0))
        value = plain_text(values[codes[rows[0]]])
        raise TableError(
            f"column {column.name!r} of {table.path.name} has the value {value!r} in {table.rows(rows)} "
            f"({table.convention}), which was not there when the model was fitted. Correct it, or add "
            "--allow-unseen to treat it as none of the known values"
        )
    if column.fill is not None:
        positions[-1] = place[str(column.fill)]
    return np.asarray(positions[codes])


def numbers_of(table: Table, name: str) -> FloatArray:
    """A column of numbers, missing values as NaN; infinite ones are an error."""
    import pandas as pd

    column = table.frame[name]
    numbers = pd.to_numeric(column.astype(object) if column.dtype == object else column, errors="coerce")
    values = np.asarray(numbers.to_numpy(dtype=float, na_value=np.nan))
    bad = np.flatnonzero((np.isnan(values) & ~column.isna().to_numpy(dtype=bool)) | np.isinf(values))
    if len(bad):
        raise TableError(
            f"column {name!r} of {table.path.name} must hold finite numbers, but {table.rows(bad[:1])} "
            f"({table.convention}) has {plain_text(column.iloc[bad[0]])!r}: correct it or leave it empty"
        )
    return values


def gaps_in(table: Table, name: str) -> NDArray[np.intp]:
    """The rows in which a value is missing."""
    return np.flatnonzero(table.frame[name].isna().to_numpy(dtype=bool))


def _missing_values(table: Table, gaps: dict[str, NDArray[np.intp]]) -> TableError:
    places = {name: table.rows(rows) for name, rows in gaps.items()}
    return missing_values(table, places, sum(len(rows) for rows in gaps.values()))


def missing_values(table: Table, places: dict[str, str], total: int) -> TableError:
    """Columns with missing values, and where they are."""
    shown = [f"{name!r} in {where}" for name, where in list(places.items())[:5]]
    more = f", and {len(places) - 5} more columns" if len(places) > 5 else ""
    return TableError(
        f"{table.path.name} has {total} missing feature values ({table.convention}): "
        f"{'; '.join(shown)}{more}. Fill them in, leave columns out with --exclude, or add --impute median "
        "when fitting"
    )
