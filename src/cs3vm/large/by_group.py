"""How many positives each group has, added up exactly over all rows in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import Note
from ..learn.by_group import MISSING
from ..learn.group_totals import GroupRow, GroupTotals
from .calibration import Calibrated
from .cells import cells_of, sort_key
from .exact_sums import ExactSums
from .pieces import Piece
from .rounds import Passes
from .survey import read_weights

#: What is added up for each group: weight, probabilities and labels of unlabelled rows; weight and positives
#: of labelled ones.
COLUMNS = 5


@dataclass(frozen=True, eq=False)
class GroupAdder:
    """Adds up one piece by the groups of a column."""

    calibrated: Calibrated
    column: str

    def __call__(self, piece: Piece) -> dict[Any, ExactSums]:
        """The sums of each group that occurs."""
        labeller = self.calibrated.labeller
        cell, _ = labeller.reader(piece)
        weight = read_weights(piece)
        keys, group = cells_of(piece, (self.column,))
        found = labeller(piece)
        positive = found.codes == labeller.positive
        p = self.calibrated.of_positive(labeller.plane.distances(piece)[0], cell)
        unlabelled = np.where(cell >= 0, weight, 0.0)
        labelled = np.zeros(len(piece))
        given, _ = labeller.given(piece)
        labelled[given] = weight[given]
        sums = ExactSums(len(keys), COLUMNS)
        columns = [unlabelled, unlabelled * p, unlabelled * positive, labelled, labelled * positive]
        sums.add(np.column_stack(columns), group)
        return {key[0]: _one(sums, k) for k, key in enumerate(keys)}

    @staticmethod
    def combine(one: dict[Any, ExactSums], other: dict[Any, ExactSums]) -> dict[Any, ExactSums]:
        """Both; the first is changed."""
        for key, sums in other.items():
            if key in one:
                one[key] += sums
            else:
                one[key] = sums
        return one


def _one(sums: ExactSums, k: int) -> ExactSums:
    part = ExactSums(1, COLUMNS)
    part.parts = sums.parts[k : k + 1]
    return part


def totals_by(passes: Passes, calibrated: Calibrated, column: str) -> GroupTotals:
    """The estimated number of positives in each group, beside that by labels; without intervals."""
    adder = GroupAdder(calibrated, column)
    return group_totals(calibrated, passes.run("groups", adder, adder.combine))


def group_totals(calibrated: Calibrated, found: dict[Any, ExactSums]) -> GroupTotals:
    """The table of what was added up."""
    label = calibrated.labeller.classes.tolist()[calibrated.labeller.positive]
    rows = []
    for key in sorted(found, key=lambda value: sort_key((value,))):
        weight, number, by_labels, labelled, labelled_number = found[key].values()[0].tolist()
        name = MISSING if key is None else key
        rows.append(
            GroupRow(name, label, weight, number, number, number, by_labels, labelled, labelled_number)
        )
    note = Note(
        "the numbers are added up over all rows; intervals, which need fits with other labels, are left out: "
        "ask the local classifier about the sample for them"
    )
    return GroupTotals(tuple(rows), tuple(rows), notes=(note,))
