"""A threshold for each group: columns that tell the groups apart, and whose weights cost next to nothing.

A plane with weight v on a column that is :data:`SCALE` in a group and 0 elsewhere has the threshold of that
group shifted by SCALE·v, at the price ½v². So a shift of 1, the width of the labelled margin, costs
½/SCALE² = 0.005: the total of a group can be met by its own threshold, and the other features need not bend.
The columns are centred, so that the intercept of the plane is the mean threshold of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, RowArray
from ..exceptions import InvalidProblemError, Note
from .margins import Margin, Margins, check_length, coded_columns

#: How large the columns are.
SCALE = 10.0


@dataclass(frozen=True, eq=False)
class GroupColumns:
    """The groups with a threshold of their own."""

    margins: tuple[Margin, ...]
    shares: tuple[FloatArray, ...]  #: of the weight, of each group of each margin

    @classmethod
    def of(cls, given: Margins | None, weight: FloatArray) -> GroupColumns:
        """Those of the rows of a fit, of these weights."""
        if given is None or not given.margins:
            raise InvalidProblemError(
                Note(
                    "group_intercepts=True needs the group of every row: give groups",
                    "--group-intercepts needs to know the groups: give --totals-by column=file",
                )
            )
        check_length(given, len(weight))
        counted = [
            np.bincount(m.codes[m.codes >= 0], weight[m.codes >= 0], len(m.groups)) for m in given.margins
        ]
        return cls(given.margins, tuple(mass / max(float(mass.sum()), 1e-300) for mass in counted))

    def of_rows(self, rows: RowArray) -> Margins:
        """The groups of some rows, without their totals."""
        return Margins(tuple(m._replace(codes=m.codes[rows], totals={}) for m in self.margins))

    @property
    def number(self) -> int:
        """How many columns there are."""
        return sum(len(margin.groups) for margin in self.margins)

    def columns(self, rows: RowArray) -> FloatArray:
        """The columns of some rows of the fit."""
        return self._columns([margin.codes[rows] for margin in self.margins])

    def of_groups(self, groups: Any, n_rows: int) -> FloatArray:
        """The columns of new rows; those of a group that was not seen have the mean threshold."""
        given = coded_columns(groups)
        if set(given) != {margin.name for margin in self.margins}:
            raise InvalidProblemError(
                f"groups has the columns {', '.join(map(repr, given))}, but the fit had "
                f"{', '.join(repr(margin.name) for margin in self.margins)}: give the same"
            )
        codes = []
        for margin in self.margins:
            labels, own = given[margin.name]
            if len(own) != n_rows:
                raise InvalidProblemError(f"groups has {len(own)} values, but there are {n_rows} rows")
            number = {group: g for g, group in enumerate(margin.groups)}
            known = np.array([*(number.get(label, -1) for label in labels), -1])
            codes.append(known[own])  # the last one is for rows without group
        return self._columns(codes)

    def _columns(self, codes: list[Any]) -> FloatArray:
        parts = []
        for own, shares in zip(codes, self.shares, strict=True):
            part = np.zeros((len(own), len(shares)))
            seen = np.flatnonzero(own >= 0)
            part[seen] = -SCALE * shares
            part[seen, own[seen]] += SCALE
            parts.append(part)
        return np.hstack(parts)

    def without(self, normals: FloatArray) -> FloatArray:
        """Normal vectors of planes, a row each, without these columns, which are the last ones."""
        return normals[:, : -self.number]

    def shift(self, rows: RowArray, normals: FloatArray) -> FloatArray:
        """What the groups of rows of the fit add to their scores, a column for each plane."""
        return np.asarray(self.columns(rows) @ normals[:, -self.number :].T)

    def shift_new(self, groups: Any, n_rows: int, normals: FloatArray) -> FloatArray:
        """The same for new rows of these groups."""
        return np.asarray(self.of_groups(groups, n_rows) @ normals[:, -self.number :].T)

    def shifts(self, normals: FloatArray) -> list[FloatArray]:
        """The same for each group (row) of each margin, a column for each plane."""
        found, start = [], normals.shape[1] - self.number
        for shares in self.shares:
            own = normals[:, start : start + len(shares)]
            start += len(shares)
            found.append(SCALE * (own.T - own @ shares))
        return found

    def by_group(self, normals: FloatArray) -> dict[str, Any]:
        """The same by the name of the group: a number, or one for each of several planes."""
        return {
            margin.called(group): shift if len(shift) > 1 else float(shift[0])
            for margin, shifts in zip(self.margins, self.shifts(normals), strict=True)
            for group, shift in zip(margin.groups, shifts, strict=True)
        }


def no_thresholds_error() -> InvalidProblemError:
    """The error for groups of new rows where they make no difference."""
    return InvalidProblemError(
        "groups is given, but the groups have no threshold of their own: leave it out, or fit with "
        "group_intercepts=True"
    )
