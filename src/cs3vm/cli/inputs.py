"""From the words of a command to data for the classifier, with errors in the words of the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, LabelArray
from ..exceptions import TableError
from ..tables.encoding import Encoding, learn_encoding, missing_count
from ..tables.reading import Table, read_table, suggestion
from .label_counts import LabelCounts, count_labels, text_labels
from .margins import ColumnTotals, group_columns, read_weight, said, weight_notes
from .totals import check_totals

LOOKS_LIKE_ID = re.compile(r"(^|[_ ])(id|key|nr|no|number|index)$", re.IGNORECASE)


@dataclass(frozen=True)
class Question:
    """What a user wants to know about which table."""

    path: Path
    label: str
    positive: str | None = None
    n_positive: float | tuple[float, float] | None = None
    positive_rate: float | None = None
    total_positive: int | None = None
    id: str | None = None
    features: Sequence[str] = ()
    exclude: Sequence[str] = ()
    categorical: Sequence[str] = ()
    impute: bool = False
    totals: dict[str, int] | None = None  #: of several classes
    totals_by: Sequence[ColumnTotals] = ()
    weight: str | None = None
    of_all: bool = False  #: whether totals count rows with label, too
    by: str | None = None  #: the column whose groups are counted

    @property
    def is_plain(self) -> bool:
        """Whether totals are whole numbers of rows without label, which can be checked at once."""
        interval = isinstance(self.n_positive, tuple)
        return not (self.totals_by or self.weight or self.of_all or interval)


class Known(NamedTuple):
    """What is known if it is more than a plain number of rows."""

    n_positive: Any  #: as the classifier takes it
    positive_rate: float | None
    groups: dict[str, Any] | None  #: the group of every row, by column
    weight: FloatArray | None
    words: str


@dataclass(frozen=True, eq=False)
class Data:
    """A table made ready for the classifier, with what is known about its rows without label."""

    table: Table
    encoding: Encoding
    X: FloatArray
    y: LabelArray  #: the label of each row as text, None where it has none
    notes: tuple[str, ...]
    classes: tuple[str, ...]  #: sorted
    positive: str | None  #: the one of two classes that the total counts
    totals: dict[str, int]  #: the known totals by class; of two classes that of the positive one
    other: Known | None = None  #: instead of them, if they are no plain numbers of rows

    @property
    def labelled(self) -> BoolArray:
        """Which rows have a label."""
        return np.array([value is not None for value in self.y.tolist()])

    @property
    def labels(self) -> LabelCounts:
        """How many rows have each label."""
        return count_labels(self.table, self.y)

    @property
    def negative(self) -> str | None:
        """The other one of two classes."""
        return None if self.positive is None else next(c for c in self.classes if c != self.positive)

    @property
    def known(self) -> Any:
        """What the classifier is told about the rows without label."""
        if self.other is not None:
            return self.other.n_positive
        return self.totals if self.positive is None else self.totals[self.positive]


def load(question: Question) -> Data:
    """Read the table and check everything that can be checked before the search."""
    check_one_total(question)
    table = read_table(question.path, columns_of_text(question), [question.id] if question.id else [])
    check_columns(table, question)
    names, notes = feature_names(table, question)
    y = text_labels(table, question.label)
    other = None if question.is_plain else _other(table, question)
    known = known_totals(table, question, count_labels(table, y))
    categorical = table.split_names(question.categorical, "--categorical")
    encoding = learn_encoding(table, names, categorical=categorical, impute=question.impute)
    gaps = missing_count(table, names) if question.impute else 0
    if gaps:
        notes.append(f"{gaps} missing values were filled in by the median or the most frequent value")
    return Data(table, encoding, encoding.transform(table), y, (*table.notes, *notes), *known, other)


def check_columns(table: Table, question: Question) -> None:
    """Refuse names that the table does not have."""
    table.require(question.label, "column for --label:")
    if question.id is not None:
        table.require(question.id, "column for --id:")
    if question.by is not None:
        table.require(question.by, "column for --by:")
        if question.by == question.label:
            raise TableError(f"--by is {question.by!r}, which is --label: name another column to count by")


def _other(table: Table, question: Question) -> Known:
    """What the classifier is told if it is more than a plain number; it checks it itself."""
    weight = None if question.weight is None else read_weight(table, question.weight)
    names = [one.column for one in question.totals_by]
    groups = group_columns(table, names, "column for --totals-by:") if names else None
    return other_totals(question)._replace(groups=groups, weight=weight)


def other_totals(question: Question) -> Known:
    """The same without the columns of the table."""
    whole: Any = question.n_positive if question.totals is None else dict(question.totals)
    by: dict[str | None, Any] = {one.column: one.totals for one in question.totals_by}
    given = by | ({} if whole is None else {None: whole}) if by else whole
    words = said(question.n_positive, question.totals_by) or "a known share"
    return Known(given, question.positive_rate, None, None, words)


def known_totals(
    table: Table, question: Question, labels: LabelCounts
) -> tuple[tuple[str, ...], str | None, dict[str, int]]:
    """All classes, the positive one of two, and the totals by class."""
    if question.totals is not None:
        check_totals(table, question.label, labels, question.totals)
    classes = {name for one in question.totals_by for name in one.classes}
    if question.totals is None and len(classes) < 2:
        positive, negative = _classes(table, question, labels)
        names = tuple(sorted([positive, negative]))
        return names, positive, {positive: _total(question, labels, positive)} if question.is_plain else {}
    names = tuple(sorted(classes or question.totals or ()))
    if len(names) > 2:
        _check_weightless(question)
        return names, None, dict(question.totals or {})
    positive = question.positive or names[-1]
    if positive not in names:
        raise TableError(f"--positive is {positive!r}, which has no total" + suggestion(positive, names))
    return names, positive, {positive: question.totals[positive]} if question.totals else {}


def _check_weightless(question: Question) -> None:
    if question.weight is not None:
        raise TableError(
            "--weight works with two classes only: the totals of more can be met exactly only by rows that "
            "count as one each. Leave it out"
        )


def columns_of_text(question: Question) -> list[str]:
    """Columns to read as text, before the table is there to tell names from lists of names."""
    declared = [part.strip() for value in question.categorical for part in (value, *value.split(","))]
    return [question.label, *declared]


def check_one_total(question: Question) -> None:
    """Refuse several totals that say the same, and none."""
    given = {
        "--n-positive": question.n_positive,
        "--positive-rate": question.positive_rate,
        "--total-positive": question.total_positive,
        "--total or --totals": question.totals,
    }
    named = [option for option, value in given.items() if value is not None]
    if question.totals_by:
        named = [option for option in named if option != "--n-positive"] + ["--totals-by"]
    if question.total_positive is not None and not question.is_plain:
        raise TableError("--total-positive counts rows: say --n-positive with --totals-of all instead")
    if len(named) > 1:
        raise TableError(f"give only one of {' and '.join(named)}: they say the same in different ways")
    if not named:
        raise TableError(
            "the total is missing: give --n-positive (how many of the rows without label are positive), "
            "--positive-rate (their share) or --total-positive (in the whole table), --totals-by for groups, "
            "or --total for each of several classes; it is never guessed"
        )
    if question.totals is not None and len(question.totals) > 2 and question.positive is not None:
        raise TableError("--positive names one of two classes, but there are more totals: leave it out")


def feature_names(table: Table, question: Question) -> tuple[list[str], list[str]]:
    """The columns to learn from, and notes about those that may be there by mistake."""
    special = [name for name in (question.label, question.id, question.weight) if name is not None]
    chosen = table.split_names(question.features, "--features")
    for name in chosen:
        if name in special:
            option = {question.label: "--label", question.id: "--id"}.get(name, "--weight")
            raise TableError(f"column {name!r} is in --features and in {option}: leave it out of one of them")
    excluded = {*special, *table.split_names(question.exclude, "--exclude")}
    names = [name for name in (chosen or table.columns) if name not in excluded]
    suspects = [] if chosen else [name for name in names if _looks_like_id(table, name)]
    notes = [
        f"column {name!r} differs in every row: if it identifies the rows, say --id {shlex.quote(name)}, "
        "so that nothing is learnt from it"
        for name in suspects
    ]
    return names, notes if chosen else [*notes, *weight_notes(table, names)]


def _looks_like_id(table: Table, name: str) -> bool:
    """Whether a column differs in every row, and is named like an identifier or counts the rows."""
    column = table.frame[name]
    if column.dtype.kind not in "iu" or not column.is_unique:
        return False
    return LOOKS_LIKE_ID.search(name) is not None or column.max() - column.min() == len(column) - 1


def _classes(table: Table, question: Question, labels: LabelCounts) -> tuple[str, str]:
    """The positive and the negative value of the label column."""
    label, values = question.label, sorted(labels.by_value)
    if not values:
        raise TableError(
            f"column {label!r} of {table.path.name} is empty: label at least one row of each class"
        )
    if question.positive is not None and question.positive not in values:
        raise TableError(
            f"column {label!r} of {table.path.name} has no value {question.positive!r} (--positive)"
            + suggestion(question.positive, values)
        )
    if len(values) > 2:
        raise _too_many_values(table, label, labels)
    if len(values) == 1 and question.positive is None:
        raise TableError(
            f"column {label!r} of {table.path.name} has the one value {values[0]!r}. If the total counts it, "
            f"say --positive {shlex.quote(values[0])}; if not, label some rows of the other class"
        )
    positive = question.positive or values[-1]
    return positive, next((value for value in values if value != positive), f"not {positive}")


def _too_many_values(table: Table, label: str, labels: LabelCounts) -> TableError:
    counts = {value: labels.by_value[value] for value in sorted(labels.by_value)}
    rare = min(counts, key=lambda value: counts[value])
    shown = ", ".join(f"{value!r} ({count} rows)" for value, count in list(counts.items())[:6])
    more = ", ..." if len(counts) > 6 else ""
    return TableError(
        f"column {label!r} of {table.path.name} has {len(counts)} different values: {shown}{more}. Two are "
        "needed, and empty cells where the label is not known; with a total for each class (fit --total) "
        f"there may be more. The rarest, {rare!r}, is in "
        f"{labels.rows(rare)} ({table.convention}): correct, merge or empty those cells"
    )


def _total(question: Question, labels: LabelCounts, positive: str) -> int:
    """The positives among the rows without label."""
    unlabelled, known = labels.unlabelled, labels.by_value.get(positive, 0)
    if unlabelled == 0:
        raise TableError(
            f"every row of {question.path.name} has a label in column {question.label!r}, so there is "
            "nothing to classify: leave the cells empty whose label is not known"
        )
    if question.positive_rate is not None:
        return int(np.floor(question.positive_rate * unlabelled + 0.5))
    if question.n_positive is not None:
        if float(question.n_positive) > unlabelled:  # type: ignore[arg-type]
            raise TableError(
                f"--n-positive is {question.n_positive:g}, but only {unlabelled} rows have no label. If it "
                "counts the whole table, labelled rows included, say --totals-of all (or --total-positive)"
            )
        return _whole(question.n_positive)
    total = int(question.total_positive or 0)
    if not known <= total <= known + unlabelled:
        raise TableError(
            f"--total-positive is {total}, but {known} rows are labelled {positive!r} and {unlabelled} "
            f"have no label: the total must be between {known} and {known + unlabelled}"
        )
    return total - known


def _whole(total: Any) -> int:
    if total != round(total):
        raise TableError(f"--n-positive is {total:g}: give a whole number; for a share use --positive-rate")
    return int(total)
