"""Groups of new rows, for models whose groups have thresholds of their own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .margins import group_columns

if TYPE_CHECKING:
    from ..tables.model import Model
    from ..tables.reading import Table


def model_groups(model: Model, rows: Table) -> dict[str, Any]:
    """The groups with thresholds of their own, by column."""
    columns = [one.column for one in model.thresholds]
    return group_columns(rows, columns, "column of groups, each of which has a threshold in the model:")


def unknown_groups(model: Model, groups: dict[str, Any]) -> dict[str, Counter[str]]:
    """How many rows have groups that the fit did not have, by column."""
    found = {}
    for one in model.thresholds:
        cells = groups[one.column]
        unknown = cells[~one.known(cells)].tolist()
        if unknown:
            found[one.column] = Counter("an empty cell" if text is None else repr(text) for text in unknown)
    return found


def unknown_notes(unknown: dict[str, Counter[str]]) -> list[str]:
    """What is said about them."""
    notes = []
    for column, counts in unknown.items():
        names = sorted(counts)
        more = ", ..." if len(names) > 5 else ""
        notes.append(
            f"{counts.total()} rows have a group in column {column!r} for which the model has no threshold "
            f"({', '.join(names[:5])}{more}): they get the mean one"
        )
    return notes
