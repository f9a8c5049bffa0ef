"""What was found: a plane, counts that are exact, and labels piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, LabelArray
from ..learn.classifier import CS3VMClassifier
from ..learn.group_totals import GroupTotals
from .by_group import totals_by
from .calibration import Calibrated, calibrate, for_new_rows
from .labeller import Labeller, PieceLabels
from .pieces import PieceSource, Source
from .rounds import PassDone, Passes
from .selection import Counts


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
    known
        The totals by cell.
    weights
        Of the unlabelled rows of each cell.
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
    known: Counts
    weights: FloatArray

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

    def calibrated(
        self, source: Source, *, hide: bool = True, callback: Callable[[PassDone], None] | None = None
    ) -> Calibrated:
        """A function of a piece that gives the probability of each class; they add up to the totals.

        How steep they are is learnt in memory, by hiding labels, unless ``hide`` is false; passes over all
        rows make them add up. From then on ``predict_proba`` of the local classifier adds up over all rows,
        too, and not only over the sample.
        """
        passes, local = Passes(source, callback), self.classifier.fit_
        found = calibrate(passes, self.labeller, local, self.known, self.weights, hide=hide)
        if self.labeller.remembered is not None:  # its rows are all there are
            return found
        return for_new_rows(passes, found, local, hide=hide)

    def totals_by(self, source: Source, column: str, calibrated: Calibrated | None = None) -> GroupTotals:
        """How many positives each group of a column of groups has, by probabilities and by labels.

        One pass adds them up; intervals are left out.
        """
        return totals_by(Passes(source), calibrated or self.calibrated(source), column)

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
