"""How many rows of each class there are in each group: a table of estimates with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import Note
from .text_table import format_table

#: How often an interval is to hold the truth.
LEVEL = 0.9


@dataclass(frozen=True)
class GroupRow:
    """One class in one group: its unlabelled rows, and its labelled ones beside them."""

    group: Any
    label: Any  #: the class
    weight: float  #: of the unlabelled rows of the group; their number, without weights
    number: float  #: how much of it is of the class, estimated from probabilities
    low: float
    high: float
    by_labels: float  #: the same counted from the labels of the answer
    labelled: float  #: weight of the labelled rows of the group
    labelled_number: float  #: how much of that is of the class

    @property
    def share(self) -> float:
        """The estimated share; NaN without unlabelled rows."""
        return self.number / self.weight if self.weight else float("nan")

    @property
    def share_interval(self) -> tuple[float, float]:
        """Its interval."""
        return (self.low / self.weight, self.high / self.weight) if self.weight else (0.0, 1.0)

    @property
    def share_by_labels(self) -> float:
        """The share by the labels of the answer."""
        return self.by_labels / self.weight if self.weight else float("nan")


@dataclass(frozen=True, repr=False)
class GroupTotals:
    """Estimated numbers by group; ``print`` it for a table, take ``rows``, or ``to_frame()`` for all of it.

    Numbers are about the unlabelled rows, as the known totals are; add ``labelled_number`` for all rows.
    """

    rows: tuple[GroupRow, ...]  #: by group and class
    shown: tuple[GroupRow, ...]  #: of more groups than fit into a table: some of them, and the rest summed up
    level: float = LEVEL
    n_replicates: int = 0
    several: bool = False
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        return "\n".join([format_table(self.cells()), *(f"! {note}" for note in self.notes)])

    __repr__ = __str__

    def cells(self) -> list[dict[str, str]]:
        """Column names and formatted values of the rows that are shown."""
        return [
            {
                "group": str(row.group),
                **({"class": str(row.label)} if self.several else {}),
                "unlabelled": f"{row.weight:g}",
                "estimated": f"{row.number:.0f}",
                **self._interval(row),
                "share": _per_cent(row.share),
                "by labels": f"{row.by_labels:g}",
                "labelled": f"{row.labelled_number:g} of {row.labelled:g}",
            }
            for row in self.shown
        ]

    def _interval(self, row: GroupRow) -> dict[str, str]:
        if not self.n_replicates:
            return {}
        return {f"{100 * self.level:g} % interval": f"{row.low:.0f} to {row.high:.0f}"}

    def columns(self) -> dict[str, list[Any]]:
        """All rows as columns, for files and data frames."""
        plain = ("group", "label", "weight", "number", "low", "high")
        columns = {name: [getattr(row, name) for row in self.rows] for name in plain}
        columns["share"] = [row.share for row in self.rows]
        columns["share_low"] = [row.share_interval[0] for row in self.rows]
        columns["share_high"] = [row.share_interval[1] for row in self.rows]
        for name in ("by_labels", "share_by_labels", "labelled", "labelled_number"):
            columns[name] = [getattr(row, name) for row in self.rows]
        return {"class" if name == "label" else name: values for name, values in columns.items()}

    def to_frame(self) -> Any:
        """All rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.columns())


def _per_cent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f} %"
