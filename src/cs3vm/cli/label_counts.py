"""Labels of a table as text, and how many rows have each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import LabelArray
from ..tables.reading import Table


class LabelCounts(NamedTuple):
    """How many rows have each label, and how many have none."""

    by_value: dict[str, int]
    unlabelled: int
    rows: Callable[[str], str]  #: where the rows with a value are, in words

    @property
    def labelled(self) -> int:
        """Rows with a label."""
        return sum(self.by_value.values())


def text_labels(table: Table, label: str) -> LabelArray:
    """The labels as text, None where the cell is empty."""
    column = table.frame[label].astype(object)
    given = column.notna().to_numpy(dtype=bool)
    y = np.full(len(table), None, dtype=object)
    y[given] = [str(value).strip() or None for value in column[given]]
    return y


def count_labels(table: Table, y: LabelArray) -> LabelCounts:
    """How many rows of a table have each label."""
    counts = Counter(y.tolist())
    unlabelled = counts.pop(None, 0)
    return LabelCounts(dict(counts), unlabelled, lambda value: table.rows(np.flatnonzero(y == value)))
