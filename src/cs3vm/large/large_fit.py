"""What was found: a plane, counts that are exact, and labels piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, LabelArray
from ..learn.classifier import CS3VMClassifier
from .order_statistic import Reader
from .outcome import Division, Plane, divide
from .pieces import Piece, PieceSource
from .rounds import PassDone
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
        self._keep_given(piece, codes)
        sign = -1.0 if self.positive == 0 else 1.0
        return PieceLabels(piece.first_row, codes, sign * distance, undecided)

    def _keep_given(self, piece: Piece, codes: IntArray) -> None:
        """Labels that were given stay; codes are changed."""
        missing, marked = missing_labels(piece, self.reader.mark)
        given = np.flatnonzero(~(missing | marked))
        if piece.labels is not None and len(given):
            place = {label: i for i, label in enumerate(self.classes.tolist())}
            labels = piece.labels[given].tolist()
            codes[given] = [place.get(label, code) for label, code in zip(labels, codes[given], strict=True)]

    def decode(self, codes: IntArray) -> LabelArray:
        """The class label of each code."""
        return np.asarray(self.classes[codes])


@dataclass(frozen=True, eq=False, repr=False)
class LargeFit:
    """A plane for a table in pieces.

    Attributes
    ----------
    classifier
        A plain :class:`~cs3vm.CS3VMClassifier` with this plane. Its rows are the labelled ones and a sample
        whose weights are such that every total is counted as on all rows: what it says about totals and
        the objective is exact, and what it says about single rows is about the sample.
    labeller
        Labels a piece; picklable.
    objective
        On all rows, added up in the last pass.
    counts
        Weight of the positives that each total counts, after ties were divided.
    totals
        What is known: a low and a high end for each.
    names
        Of the totals.
    passes
        Every pass over the table, and the seconds it took.
    exact
        Whether the intercept is proven to be the best for its normal vector.
    margin
        No row is nearer to the plane than this, in units of the labelled margin.
    n_rows
        Of the table.
    n_unlabelled
        Of them those without label that count.
    """

    classifier: CS3VMClassifier
    labeller: Labeller
    objective: float
    counts: FloatArray
    totals: FloatArray
    names: tuple[str, ...]
    passes: tuple[PassDone, ...]
    exact: bool
    margin: float
    n_rows: int
    n_unlabelled: int

    def to_local(self) -> CS3VMClassifier:
        """The classifier, which predicts, explains and can be written to a model file."""
        return self.classifier

    @property
    def n_passes(self) -> int:
        """How often all rows were read."""
        return len(self.passes)

    def labels(self, source: PieceSource) -> Iterator[PieceLabels]:
        """Labels, scores and what was drawn, piece by piece in the order of the rows."""
        return source.map(self.labeller)

    def transduction(self, source: PieceSource) -> LabelArray:
        """A class label for every row: for tables whose labels fit into memory."""
        parts = [part.codes for part in self.labels(source)]
        return self.labeller.decode(np.concatenate([*parts, np.zeros(0, dtype=np.int64)]))

    def __repr__(self) -> str:
        met = ", ".join(
            f"{count:.12g} of {low:.12g}" + ("" if low == high else f" to {high:.12g}")
            for count, (low, high) in list(zip(self.counts, self.totals, strict=True))[:5]
        )
        more = f" and {len(self.counts) - 5} more" if len(self.counts) > 5 else ""
        return (
            f"LargeFit({self.n_rows} rows, objective {self.objective:.6g}, positives {met}{more}, "
            f"{self.n_passes} passes)"
        )
