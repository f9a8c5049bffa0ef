"""From the words of a command to a source of pieces: what a table holds is found out in a pass or some."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..exceptions import TableError
from ..large.pieces import Piece, TransformedSource
from ..tables.column_tally import (
    ColumnTally,
    Place,
    TallyColumns,
    add_counts,
    combine_columns,
    learn_columns,
)
from ..tables.encoding import Column, Encoding
from ..tables.frames import FramePiece, Frames
from ..tables.medians import medians
from ..tables.reading import Table
from .inputs import (
    LOOKS_LIKE_ID,
    Known,
    Question,
    check_columns,
    check_one_total,
    columns_of_text,
    feature_names,
    known_totals,
    other_totals,
)
from .label_counts import LabelCounts, text_labels
from .margins import LOOKS_LIKE_WEIGHT, ColumnTotals, group_columns, read_weight

#: One pass: what a function of pieces gives, combined.
Run = Callable[[Frames, Callable[[FramePiece], Any], Callable[[Any, Any], Any]], Any]


@dataclass(frozen=True, eq=False)
class PieceData:
    """A table in pieces made ready for a fit, with what is known about its rows without label."""

    frames: Frames
    table: Table  #: names of the columns, and no rows
    encoding: Encoding
    to_piece: ToPiece
    labels: LabelCounts
    n_rows: int
    notes: tuple[str, ...]
    classes: tuple[str, ...]
    positive: str
    totals: dict[str, int]
    other: Known | None = None

    @property
    def X(self) -> None:
        """Not in memory."""

    @property
    def negative(self) -> str:
        """The other class."""
        return next(name for name in self.classes if name != self.positive)

    @property
    def known(self) -> Any:
        """What the classifier is told about the rows without label."""
        if self.other is not None:
            return self.other.n_positive
        total = self.totals[self.positive]
        if len(self.labels.by_value) == 2:
            return total
        return {self.positive: total, self.negative: self.labels.unlabelled - total}  # both have a name then

    def source(self, frames: Any) -> TransformedSource:
        """The rows as features, from these frames or from a cluster that reads them."""
        names = tuple(self.encoding.feature_names)
        return _EncodedSource(frames, self.to_piece, len(names), names)  # type: ignore[arg-type]


class _EncodedSource(TransformedSource):
    """Frames as features: groups are known only by what makes pieces of them."""

    @property
    def group_names(self) -> tuple[str, ...]:
        """The columns that totals are by."""
        return tuple(one.column for one in self.function.totals_by)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class ToPiece:
    """Makes features, labels, weights and groups of some rows of a table."""

    encoding: Encoding
    label: str
    weight: str | None = None
    totals_by: tuple[ColumnTotals, ...] = ()

    def __call__(self, piece: FramePiece) -> Piece:
        """The piece as numbers."""
        table = piece.table
        return Piece(
            piece.first_row,
            self.encoding.transform(table),
            text_labels(table, self.label),
            None if self.weight is None else read_weight(table, self.weight),
            group_columns(table, [one.column for one in self.totals_by], "column for --totals-by:"),
            piece.where,
        )


@dataclass(eq=False)
class Tally:
    """What the first pass finds."""

    n_rows: int
    left_out: int
    unlabelled: int
    labels: dict[str, int]
    first: dict[str, Place]  #: the first row with each label
    columns: dict[str, ColumnTally]
    whole: set[str] = field(default_factory=set)  #: columns of whole numbers

    def combine(self, other: Tally) -> Tally:
        """Both; this one is changed."""
        self.n_rows += other.n_rows
        self.left_out += other.left_out
        self.unlabelled += other.unlabelled
        add_counts(self.labels, other.labels)
        for label, place in other.first.items():
            self.first[label] = min(place, self.first.get(label, place))
        combine_columns(self.columns, other.columns)
        self.whole &= other.whole
        return self


@dataclass(frozen=True)
class TallyPiece:
    """Looks at one piece."""

    label: str
    weight: str | None
    columns: TallyColumns

    def __call__(self, piece: FramePiece) -> Tally:
        """What it holds."""
        table = piece.table
        if self.weight is not None:
            read_weight(table, self.weight)
        y = text_labels(table, self.label)
        given = np.flatnonzero(y != None)  # noqa: E711 (element by element)
        counts: dict[str, int] = {}
        first: dict[str, Place] = {}
        for row in given.tolist():
            value = str(y[row])
            counts[value] = counts.get(value, 0) + 1
            if value not in first:
                first[value] = Place(piece.first_row + row, table.rows([row]), value)
        add_counts(counts, {})
        frame = table.frame
        whole = {name for name in self.columns.names if frame[name].dtype.kind in "iu"}
        kept = {value: first[value] for value in counts}
        return Tally(
            len(table), piece.left_out, len(table) - len(given), counts, kept, self.columns(piece), whole
        )


def load_pieces(frames: Frames, question: Question, piece_rows: Callable[[int], int], run: Run) -> PieceData:
    """Look at all rows, and check everything that can be checked before the search.

    Parameters
    ----------
    frames
        The table.
    question
        What is asked about it.
    piece_rows
        Rows of a piece with so many numbers each.
    run
        Runs one pass.
    """
    check_one_total(question)
    table = frames.naming
    check_columns(table, question)
    for name in [one.column for one in question.totals_by]:
        table.require(name, "column for --totals-by:")
    if question.weight is not None:
        table.require(question.weight, "column for --weight:")
    names, _ = feature_names(table, question)
    categorical = table.split_names(question.categorical, "--categorical")
    read = [question.label, question.id, question.weight, question.by]
    others = [name for name in (*read, *(one.column for one in question.totals_by)) if name is not None]
    frames = frames.reading(
        columns=tuple(dict.fromkeys([*names, *others])),
        as_text=frozenset(columns_of_text(question)) & set(frames.columns),
        verbatim=frozenset([question.id] if question.id else []),
        piece_rows=piece_rows(len(names) + len(others)),
    )
    look = TallyPiece(question.label, question.weight, TallyColumns(tuple(names), frozenset(categorical)))
    found: Tally = run(frames, look, Tally.combine)
    mixed = [name for name, tally in found.columns.items() if tally.needs_text]
    if mixed:
        frames = frames.reading(as_text=frames.wanted.as_text | set(mixed))
        found = run(frames, look, Tally.combine)
    labels = LabelCounts(found.labels, found.unlabelled, _rows_of(found))
    classes, positive, totals = known_totals(table, question, labels)
    if positive is None:
        raise TableError(
            "a table in pieces has two classes: with more of them fit a sample that fits into memory, or "
            "raise --memory"
        )
    if not question.is_plain and len(labels.by_value) < 2:
        raise TableError(
            f"only one class is labelled, {next(iter(labels.by_value))!r}: with totals by group, intervals "
            "or weights a table in pieces needs labels of both"
        )
    columns = learn_columns(table, names, found.columns, found.n_rows, categorical, question.impute)
    if question.impute:
        columns = _filled(columns, found.columns, lambda *passed: run(frames, *passed))
    encoding = Encoding(tuple(columns))
    frames = frames.reading(piece_rows=piece_rows(len(encoding.feature_names) + len(others)))
    return PieceData(
        replace(frames, n_rows=found.n_rows),
        table,
        encoding,
        ToPiece(encoding, question.label, question.weight, tuple(question.totals_by)),
        labels,
        found.n_rows,
        (*frames.notes, *_notes(found, columns, question)),
        classes,
        positive,
        totals,
        None if question.is_plain else other_totals(question),
    )


def _rows_of(found: Tally) -> Callable[[str], str]:
    def words(value: str) -> str:
        more = found.labels[value] - 1
        return found.first[value].words + (f" and {more} more" if more else "")

    return words


def _filled(
    columns: Sequence[Column], tallies: dict[str, ColumnTally], run: Callable[..., Any]
) -> list[Column]:
    """Medians for columns of numbers; those without gaps have one, too, for rows that come later."""
    wanted = {c.name: tallies[c.name].n_values for c in columns if c.kind != "category"}
    found = medians(wanted, run) if wanted else {}
    return [replace(c, fill=found[c.name]) if c.name in found else c for c in columns]


def _notes(found: Tally, columns: Sequence[Column], question: Question) -> list[str]:
    notes = []
    if found.left_out:
        notes.append(f"{found.left_out} rows without any value were left out")
    numbers = [column.name for column in columns if column.kind == "number"]
    if not question.features:
        notes += [
            f"column {name!r} is named like an identifier: if it is one, say --id {shlex.quote(name)}, so "
            "that nothing is learnt from it"
            for name in numbers
            if name in found.whole and LOOKS_LIKE_ID.search(name)
        ]
        notes += [
            f"column {name!r} looks like survey weights and is learnt from as a feature: say --weight "
            f"{shlex.quote(name)}, or --exclude it"
            for name in numbers
            if LOOKS_LIKE_WEIGHT.search(name)
        ]
    gaps = sum(tally.n_missing for tally in found.columns.values())
    if gaps:
        notes.append(f"{gaps} missing values were filled in by the median or the most frequent value")
    return notes
