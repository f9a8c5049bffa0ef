"""Totals by group bound to the rows: what the planes are told; all that is wrong with them in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, RowArray
from ..exceptions import InvalidProblemError, Note
from ..model.totals import Total, Totals
from .agreement import contradiction, tolerated
from .class_totals import check_unit, nothing_unlabelled_error
from .labels import Labels
from .margins import Margin, Margins, check_length
from .one_total import MOST_NAMES, Entry, RefusedError, Rows, interval, table

#: So many problems are named in one message.
MOST_PROBLEMS = 20


class Bound(NamedTuple):
    """Totals by group of the rows of a fit."""

    totals: list[Totals]  #: for each plane those of its class, over the unlabelled rows that count
    counted: tuple[RowArray, ...]  #: the rows that each total counts, among all rows, labelled ones included
    contradiction: float = 0.0  #: by how much they are missed at least, all together: rounding explains it
    free: tuple[str, ...] = ()  #: groups without a total


def bind_margins(given: Margins, labels: Labels, weight: FloatArray) -> Bound:
    """The totals of each plane; an error with all that is wrong.

    Parameters
    ----------
    given
        The totals, as they were read.
    labels
        The classes, and the class of each row.
    weight
        One per row; rows of weight 0 do not count.
    """
    check_length(given, len(weight))
    counts = weight > 0
    rows = Rows(labels, weight, np.flatnonzero((labels.codes < 0) & counts), given)
    if len(rows.unlabelled) == 0:
        if not given.of_all:
            raise nothing_unlabelled_error(given.option)
        nothing = [Totals([Total(None, 0.0)]) for _ in labels.plane_classes]
        return Bound(nothing, (np.flatnonzero(counts),))
    if labels.is_several:
        _check_several(rows)
    problems, entries, ends = _without_group(rows), [], []
    for entry in _entries(given, counts):
        try:
            found = table(entry, rows) if labels.is_several else interval(entry, rows)[None]
        except RefusedError as error:
            problems.append(_note(error))
        else:
            if len(rows.free(entry)):
                entries.append(entry)
                ends.append(found)
    missed = 0.0
    if not problems and not labels.is_several and _n_columns(given) > 1:
        missed = _agree(entries, np.array([pair[0] for pair in ends]), rows, problems)
    if problems:
        raise InvalidProblemError(_all_of(problems))
    counted = _places(entries, rows)
    parts = list(zip([entry.name for entry in entries], counted, ends, strict=True))
    totals = [
        Totals(Total(own, float(pairs[c, 0]), float(pairs[c, 1]), name=name) for name, own, pairs in parts)
        for c in range(len(labels.plane_classes))
    ]
    return Bound(totals, tuple(entry.rows for entry in entries), missed, tuple(_free_groups(given)))


def _with_totals(given: Margins) -> list[Margin]:
    return [margin for margin in given.margins if margin.totals]


def _n_columns(given: Margins) -> int:
    """How many columns have totals; all rows together are one more."""
    return len(_with_totals(given)) + (given.overall is not None)


def _places(entries: Sequence[Entry], rows: Rows) -> list[RowArray]:
    """Which of the unlabelled rows each total counts."""
    place = np.full(len(rows.weight), -1, dtype=np.intp)
    place[rows.unlabelled] = np.arange(len(rows.unlabelled))
    return [place[rows.free(entry)] for entry in entries]


def _entries(given: Margins, counts: BoolArray) -> Iterator[Entry]:
    """The totals one after the other: that of all rows, then column by column."""
    if given.overall is not None:
        name = "all rows" if _with_totals(given) else ""
        yield Entry(name, "the total of all rows", np.flatnonzero(counts), given.overall)
    for margin in _with_totals(given):
        order = np.argsort(margin.codes, kind="stable")
        order = order[counts[order]]
        starts = np.searchsorted(margin.codes[order], np.arange(len(margin.groups) + 1))
        number = {group: g for g, group in enumerate(margin.groups)}
        title = repr(margin.name) if margin.name else "the groups"
        for group, value in margin.totals.items():
            g = number.get(group)
            own = order[:0] if g is None else order[starts[g] : starts[g + 1]]
            yield Entry(margin.called(group), title, own, value, g is not None)


def _without_group(rows: Rows) -> list[Note]:
    """Rows that no group counts, because theirs is missing."""
    problems = []
    matters = (rows.weight > 0) & (rows.given.of_all | (rows.labels.codes < 0))
    for margin in _with_totals(rows.given):
        missing = np.flatnonzero((margin.codes < 0) & matters)
        if len(missing):
            column = f" {margin.name!r}" if margin.name else ""
            start = f"{len(missing)} rows have no group{column}, the first is "
            words = f"row {missing[0]}", f"row {missing[0] + 1} of the data"
            end = ": fill it in, or make them a group without total"
            problems.append(Note(*(f"{start}{row}{end}" for row in words)))
    return problems


def _free_groups(given: Margins) -> Iterator[str]:
    for margin in _with_totals(given):
        yield from (margin.called(group) for group in margin.groups if group not in margin.totals)


def _check_several(rows: Rows) -> None:
    """Refuse what the totals of several classes cannot have yet."""
    if _n_columns(rows.given) > 1:
        raise InvalidProblemError(
            "totals of more than two classes can be met together for one column of groups only: give "
            "numbers for the groups of one column, and leave the others out"
        )
    check_unit(rows.weight[rows.unlabelled])


# -- together ------------------------------------------------------------------------------------------
def _agree(entries: Sequence[Entry], ends: FloatArray, rows: Rows, problems: list[Note]) -> float:
    """By how much overlapping totals contradict each other; more than rounding is a problem."""
    weights = rows.weight[rows.unlabelled]
    found = contradiction(_places(entries, rows), ends[:, 0], ends[:, 1], weights)
    most = tolerated(len(entries), float(weights.sum()))
    if found.size > most:
        worst = np.argsort(-found.misses)[:MOST_NAMES]
        missed = [f"{entries[i].name!r} by {found.misses[i]:g}" for i in worst if found.misses[i] > 0]
        problems.append(
            Note(
                f"the totals cannot hold together: {_sums(entries, ends, rows)}whatever the labels, they "
                f"are missed by {found.size:g} in all, for example {', '.join(missed)} (up to {most:g} would "
                "be tolerated as rounding)"
            )
        )
    return found.size


def _sums(entries: Sequence[Entry], ends: FloatArray, rows: Rows) -> str:
    """What the columns add up to, where all of their groups have a total."""
    said = []
    for margin in dict.fromkeys(entry.margin for entry in entries):
        own = [i for i, entry in enumerate(entries) if entry.margin == margin]
        if sum(len(rows.free(entries[i])) for i in own) == len(rows.unlabelled):
            low, high = ends[own].sum(axis=0)
            said.append(f"{margin} adds up to {low:g}" + ("" if low == high else f" to {high:g}"))
    return f"{', '.join(said)}; " if len(said) > 1 else ""


def _note(error: RefusedError) -> Note:
    said = error.args[0]
    return said if isinstance(said, Note) else Note(str(said))


def _all_of(problems: Sequence[Note]) -> Note:
    """All problems in one message."""
    if len(problems) == 1:
        return problems[0]
    shown, more = problems[:MOST_PROBLEMS], len(problems) - MOST_PROBLEMS
    start, end = f"the totals have {len(problems)} problems:", f"\n- and {more} more" if more > 0 else ""
    return Note(
        start + "".join(f"\n- {problem}" for problem in shown) + end,
        start + "".join(f"\n- {problem.for_command_line()}" for problem in shown) + end,
    )
