"""Totals by group bound to the rows: what the planes are told; all that is wrong with them in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, RowArray
from ..exceptions import InvalidProblemError, Note
from ..model.totals import Total, Totals
from .agreement import Contradiction, contradiction, contradiction_of_classes, tolerated
from .class_totals import check_unit, nothing_unlabelled_error
from .labels import Labels
from .margins import Margin, Margins, check_length
from .one_total import Entry, RefusedError, Rows, interval, table

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
        check_unit(rows.weight[rows.unlabelled])
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
    if not problems and _n_columns(given) > 1:
        agree = _agree_by_class if labels.is_several else _agree
        missed = agree(entries, np.array(ends), rows, problems)
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


# -- together ------------------------------------------------------------------------------------------
def _agree(entries: Sequence[Entry], ends: FloatArray, rows: Rows, problems: list[Note]) -> float:
    """By how much overlapping totals contradict each other; more than rounding is a problem."""
    weights, own = rows.weight[rows.unlabelled], ends[:, 0]
    found = contradiction(_places(entries, rows), own[:, 0], own[:, 1], weights)
    names = [repr(entry.name) for entry in entries]
    return _judge(found, names, _sums(entries, own, rows), float(weights.sum()), problems)


def _agree_by_class(entries: Sequence[Entry], ends: FloatArray, rows: Rows, problems: list[Note]) -> float:
    """The same for several classes, each of which has a number in each total."""
    table, classes = ends[:, :, 0].T, rows.labels.classes.tolist()
    found = contradiction_of_classes(_places(entries, rows), table, len(rows.unlabelled))
    names = [f"{entry.name!r} ({name})" for name in classes for entry in entries]
    sums = [_sums(entries, ends[:, c], rows, f" of {name}") for c, name in enumerate(classes)]
    return _judge(found, names, "".join(dict.fromkeys(sums)), float(len(rows.unlabelled)), problems)


def _judge(
    found: Contradiction, names: Sequence[str], sums: str, weight: float, problems: list[Note]
) -> float:
    most = tolerated(len(names), weight)
    if found.size > most:
        worst = np.argsort(-found.misses, kind="stable")
        missed = [f"{names[i]} by {found.misses[i]:g}" for i in worst if found.misses[i] > 1e-9]
        more = f" and {len(missed) - MOST_PROBLEMS} more" if len(missed) > MOST_PROBLEMS else ""
        problems.append(
            Note(
                f"the totals cannot hold together: {sums}whatever the labels, they are missed by "
                f"{found.size:g} in all, such as {', '.join(missed[:MOST_PROBLEMS])}{more} (up to {most:g} "
                "would be tolerated as rounding)"
            )
        )
    return found.size


def _sums(entries: Sequence[Entry], ends: FloatArray, rows: Rows, what: str = "") -> str:
    """What the columns add up to, where all of their groups have a total and it is not the same."""
    said, seen = [], set()
    for margin in dict.fromkeys(entry.margin for entry in entries):
        own = [i for i, entry in enumerate(entries) if entry.margin == margin]
        if sum(len(rows.free(entries[i])) for i in own) == len(rows.unlabelled):
            low, high = ends[own].sum(axis=0)
            seen.add((low, high))
            said.append(f"{margin} adds up to {low:g}" + ("" if low == high else f" to {high:g}") + what)
    return f"{', '.join(said)}; " if len(seen) > 1 else ""


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
