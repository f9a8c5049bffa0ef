"""What the report says about groups: a picture of the shares, and a table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..exceptions import Note
from ..learn.group_totals import GroupRow, GroupTotals
from .figures import INK, MUTED, NEGATIVE, POSITIVE, axes_or_new, show
from .svg import data_address
from .words import plain, sentence

#: Groups in one picture; more are in the table.
MAX_PICTURED = 40
#: Classes with a picture.
MAX_CLASSES = 6


def group_shares(totals: GroupTotals, ax: Any = None, *, label: Any = None) -> Any:
    """The estimated share of a class in each group with its interval, beside that by labels.

    Parameters
    ----------
    totals
        Numbers by group, from ``clf.totals_by(...)``.
    ax
        Matplotlib axes. Default: new ones.
    label
        The class. Default: the first; of two that is the positive one.
    """
    ax = axes_or_new(ax)
    label = totals.rows[0].label if label is None else label
    rows = [row for row in totals.shown if row.label == label and row.weight > 0][:MAX_PICTURED]
    everywhere = [row for row in totals.rows if row.label == label]
    whole = sum(row.weight for row in everywhere)
    places = np.arange(len(rows))[::-1]
    shares = np.array([row.share for row in rows])
    if totals.n_replicates:
        ends = np.array([row.share_interval for row in rows]).reshape(-1, 2)
        ax.hlines(places, ends[:, 0], ends[:, 1], color=POSITIVE, lw=2.4, alpha=0.55)
    ax.plot(shares, places, "o", color=POSITIVE, label="from probabilities")
    by_labels = [row.share_by_labels for row in rows]
    ax.plot(by_labels, places, "D", mfc="none", color=NEGATIVE, ms=5, label="from labels")
    if whole:
        known = sum(row.number for row in everywhere) / whole
        ax.axvline(known, color=MUTED, lw=1.2, ls="--", label=f"all rows: {100 * known:.0f} %")
    ax.set_yticks(places, [show(row.group) for row in rows])
    ax.set_xlabel(f"share of {show(label)} among the unlabelled rows", color=INK)
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8)
    return ax


def shown_groups(
    totals: GroupTotals | None, column: str, for_command_line: bool = False
) -> dict[str, Any] | None:
    """Everything that the section on groups shows; None without groups."""
    if totals is None:
        return None
    labels = list(dict.fromkeys(row.label for row in totals.rows))
    n_rows = min(MAX_PICTURED, sum(row.label == labels[0] for row in totals.shown))
    notes = [
        note.for_command_line() if for_command_line and isinstance(note, Note) else note
        for note in totals.notes
    ]
    return {
        "column": plain(column),
        "pictures": [
            (plain(c), data_address(partial(group_shares, totals, label=c), 1.3 + 0.26 * n_rows))
            for c in labels[:MAX_CLASSES]
        ],
        "several": totals.several,
        "cells": [{plain(k): plain(v) for k, v in row.items()} for row in totals.cells()],
        "level": f"{100 * totals.level:g}",
        "has_intervals": totals.n_replicates > 0,
        "notes": [sentence(str(note)) for note in notes],
        "differs": _differing(totals),
    }


def _differing(totals: GroupTotals) -> list[str]:
    """The groups that differ most from the share of all rows, beyond their interval."""
    rows = totals.rows
    whole: dict[Any, float] = {}
    number: dict[Any, float] = {}
    for row in rows:
        whole[row.label] = whole.get(row.label, 0.0) + row.weight
        number[row.label] = number.get(row.label, 0.0) + row.number

    def beyond(row: GroupRow) -> bool:
        low, high = row.share_interval
        return row.weight > 0 and not low <= number[row.label] / whole[row.label] <= high

    return [plain(row.group) for row in rows if totals.n_replicates and beyond(row)][:5]
