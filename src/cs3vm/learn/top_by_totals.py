"""Scores of any classifier and totals of all kinds: labels that meet them, and probabilities that add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from .._typing import BoolArray, FloatArray, IntArray
from ..exceptions import InvalidProblemError
from ..methods.by_group import top_by_group
from ..model.totals import KnownTotals as TotalsOfRows
from ..model.totals import Totals, bind
from .margins import Margins, coded_columns
from .row_probabilities import members_of
from .shifting import NEVER, shift_classes_to_totals, shift_to_totals


class Counted(NamedTuple):
    """The unlabelled rows that count, and what is known about them."""

    scores: FloatArray  #: a column per class
    weights: FloatArray
    totals: Sequence[Totals]  #: of the positive one of two classes, or of each of several
    positive: int | None

    @property
    def first(self) -> TotalsOfRows:
        """The totals of the first class, bound to the rows: those of the others count the same ones."""
        return bind(self.totals[0], self.weights, 1.0)

    @property
    def table(self) -> FloatArray:
        """Of several classes: classes by totals."""
        return np.array([[total.low for total in totals] for totals in self.totals], dtype=float)

    @property
    def ahead(self) -> FloatArray:
        """Of two classes: how far the score of the positive one is above that of the other."""
        own = int(self.positive or 0)
        return np.asarray(self.scores[:, own] - self.scores[:, 1 - own])

    def labels(self, random_state: Any) -> IntArray:
        """The class of each row, by the highest scores; rows with the same score are divided at random."""
        if self.positive is None:
            from .class_margins import assign_by_totals  # loads numba

            return assign_by_totals(self.scores, self.first, self.table).labels
        order = check_random_state(random_state).permutation(len(self.weights))
        mixed = bind(self.first.taken(order), self.weights[order], 1.0)
        above = np.zeros(len(order), dtype=bool)
        above[order] = top_by_group(self.ahead[order], mixed) > 0
        return np.where(above, self.positive, 1 - self.positive)

    def probabilities(self, slope: float, everybody: FloatArray) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Of each class, and what the rows of each total have on top of their scores, by its name.

        They add up to every total; rows in none have the probabilities of all rows together.
        """
        totals, classes = self.first, self.scores.shape[1]
        if self.positive is None:
            p, shifts = shift_classes_to_totals(slope * self.scores, self.weights, totals.rows, self.table)
        else:
            members = members_of(totals.rows, len(self.weights))
            found = shift_to_totals(slope * self.ahead, self.weights, members, totals.low, totals.high)
            own = np.arange(classes) == self.positive
            p = np.where(own, found.probabilities[:, None], 1.0 - found.probabilities[:, None])
            full = totals.low >= totals.weight * (1.0 - 1e-9)  # no finite shift says all, or none
            none = totals.high <= 1e-9 * totals.weight
            shift = np.where(none, NEVER, np.where(full, -NEVER, found.shifts))
            shifts = np.where(own, shift[:, None], 0.0)
        counted = np.diff(totals.of_row.start) > 0
        return np.where(counted[:, None], p, everybody), dict(zip(totals.names, shifts, strict=True))


class GroupShifts(NamedTuple):
    """What new rows of each group have on top of their scores."""

    columns: dict[str, dict[Any, FloatArray]]  #: by column and group, one number per class
    everybody: FloatArray | None  #: if there is a total of all rows, what it gives every row

    @classmethod
    def of(cls, given: Margins, shifts: dict[str, FloatArray]) -> GroupShifts:
        """Those of the groups that were given."""
        columns = {
            margin.name: {g: shifts[margin.called(g)] for g in margin.groups if margin.called(g) in shifts}
            for margin in given.margins
        }
        return cls(columns, shifts.get("all rows", shifts.get("")))

    def add(self, scores: FloatArray, groups: Any) -> tuple[FloatArray, BoolArray]:
        """Scores with their groups' shifts, and which rows any total counts."""
        given = coded_columns(groups)
        if set(given) != set(self.columns):
            raise InvalidProblemError(
                f"groups has the columns {', '.join(map(repr, given))}, but the fit had "
                f"{', '.join(map(repr, self.columns))}: give the same"
            )
        shifted = scores if self.everybody is None else scores + self.everybody
        counted = np.full(len(scores), self.everybody is not None)
        nothing = np.zeros(scores.shape[1])
        for name, (labels, codes) in given.items():
            if len(codes) != len(scores):
                raise InvalidProblemError(f"groups has {len(codes)} values, but there are {len(scores)} rows")
            own = self.columns[name]
            shifted = shifted + np.array([*(own.get(label, nothing) for label in labels), nothing])[codes]
            counted |= np.array([*(label in own for label in labels), False])[codes]
        return shifted, counted

    def probabilities(self, scores: FloatArray, groups: Any, everybody: FloatArray) -> FloatArray:
        """Of new rows of these groups, from scores as steep as probabilities are."""
        shifted, counted = self.add(scores, groups)
        return np.where(counted[:, None], softmax(shifted, axis=1), everybody)
