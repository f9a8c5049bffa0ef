"""Labels of the rows of any piece, the same wherever it is cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, LabelArray, RowArray
from .order_statistic import Reader
from .outcome import Division, Plane, divide
from .pieces import Piece
from .survey import missing_labels


class PieceLabels(NamedTuple):
    """What a fit says about the rows of a piece."""

    first_row: int
    codes: IntArray  #: the class of each row as an index into the classes: as given, or by the plane
    scores: FloatArray  #: above 0 speaks for the second of the classes
    undecided: BoolArray  #: whether the label was drawn among rows with the same score


class Remembered(NamedTuple):
    """The labels of all rows of a table that fits into memory."""

    number: IntArray
    codes: IntArray
    undecided: BoolArray


@dataclass(frozen=True, eq=False)
class Labeller:
    """Labels rows of any piece; picklable, and the same wherever the piece is cut."""

    classes: LabelArray
    positive: int
    plane: Plane
    reader: Reader
    divided: tuple[Division, ...] = ()
    seed: int = 0
    remembered: Remembered | None = None

    def __call__(self, piece: Piece) -> PieceLabels:
        """Labels, scores and which labels were drawn, of a piece of the table that was fitted."""
        distance, relative = self.plane.distances(piece)
        numbers = piece.first_row + np.arange(len(piece), dtype=np.int64)
        cell = self.reader(piece)[0] if self.divided else numbers
        positive, undecided = divide(
            self.divided, distance >= 0.0, relative, cell, piece.first_row, self.seed
        )
        codes = np.where(positive, self.positive, 1 - self.positive).astype(np.int64)
        if self.remembered is not None and len(self.remembered.number):
            own = np.searchsorted(self.remembered.number, numbers).clip(0, len(self.remembered.number) - 1)
            seen = self.remembered.number[own] == numbers
            codes[seen] = self.remembered.codes[own[seen]]
            undecided[seen] = self.remembered.undecided[own[seen]]
        rows, labels = self.given(piece)
        codes[rows] = labels
        sign = -1.0 if self.positive == 0 else 1.0
        return PieceLabels(piece.first_row, codes, sign * distance, undecided)

    def given(self, piece: Piece) -> tuple[RowArray, IntArray]:
        """The rows whose label was given, and these labels."""
        missing, marked = missing_labels(piece, self.reader.mark)
        rows = np.flatnonzero(~(missing | marked))
        if piece.labels is None or len(rows) == 0:
            return rows, np.zeros(0, dtype=np.int64)
        place = {label: i for i, label in enumerate(self.classes.tolist())}
        return rows, np.array([place[label] for label in piece.labels[rows].tolist()], dtype=np.int64)

    def decode(self, codes: IntArray) -> LabelArray:
        """The class label of each code."""
        return np.asarray(self.classes[codes])
