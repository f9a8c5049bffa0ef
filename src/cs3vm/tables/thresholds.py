"""The thresholds of groups in a model file: what a row's group adds to its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray
from ..exceptions import ModelFileError

if TYPE_CHECKING:
    from ..learn.fit import Fit


class Thresholds(NamedTuple):
    """The groups in one column with a threshold of their own."""

    column: str
    groups: tuple[str, ...]
    planes: FloatArray  #: what each group (row) adds to the scores of each plane (column)
    student: FloatArray | None  #: the same for those of the student, if one predicts

    def known(self, cells: Any) -> BoolArray:
        """Which rows have a group that the fit had, by the texts in the column; None where it is empty."""
        groups = set(self.groups)
        return np.array([text in groups for text in cells], dtype=bool)

    def shift(self, cells: Any, *, of_planes: bool) -> FloatArray:
        """What rows add to their scores; those of an unknown group nothing: they have the mean threshold."""
        shifts = self.planes if of_planes or self.student is None else self.student
        number = {group: g for g, group in enumerate(self.groups)}
        padded = np.vstack([shifts, np.zeros((1, shifts.shape[1]))])
        return np.asarray(padded[[number.get(text, -1) for text in cells]])


def thresholds_of(fit: Fit) -> tuple[Thresholds, ...]:
    """Those of a fit: none if its groups have no threshold of their own."""
    columns = fit.group_columns
    if columns is None:
        return ()
    if any(not margin.name for margin in columns.margins):
        raise ModelFileError(
            "the groups have thresholds of their own, and a model file must name their column: fit with "
            "groups={'name of the column': the group of every row}, or keep the classifier itself with pickle"
        )
    planes = columns.shifts(np.array([result.coef for result in fit.results]))
    student = columns.shifts(fit.student_planes[0]) if fit.has_student else [None] * len(planes)
    return tuple(
        Thresholds(margin.name, tuple(map(str, margin.groups)), own, taught)
        for margin, own, taught in zip(columns.margins, planes, student, strict=True)
    )


def shift_by(
    thresholds: tuple[Thresholds, ...], groups: Mapping[str, Any] | None, *, of_planes: bool
) -> FloatArray | float:
    """What the groups of rows, by column, add to their scores; without groups nothing."""
    if not thresholds or groups is None:
        return 0.0
    return np.asarray(sum(one.shift(groups[one.column], of_planes=of_planes) for one in thresholds))


def as_record(one: Thresholds) -> dict[str, Any]:
    """Plain values for a file."""
    student = None if one.student is None else one.student.tolist()
    return {
        "column": one.column,
        "groups": list(one.groups),
        "planes": one.planes.tolist(),
        "student": student,
    }


def read_thresholds(given: list[dict[str, Any]], n_planes: int, taught: bool, name: str) -> Any:
    """From a file, whose lists must fit its planes."""
    found = []
    for record in given:
        tables = [record["planes"], *([] if record["student"] is None else [record["student"]])]
        groups = record["groups"]
        fits = len(set(groups)) == len(groups) and (record["student"] is not None) == taught
        if not fits or any(len(t) != len(groups) or {*map(len, t)} - {n_planes} for t in tables):
            raise ModelFileError(f"{name} contradicts itself: its thresholds do not fit its planes")
        parts = [np.array(table, dtype=float).reshape(len(groups), n_planes) for table in tables]
        found.append(Thresholds(record["column"], tuple(groups), parts[0], parts[1] if taught else None))
    return tuple(found)
