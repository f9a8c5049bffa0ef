"""Side by side: what the plain SVM, the top-τ rule and the model say about the same data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from ..exceptions import Note
from ..model.result import Result
from .accuracy import Accuracy
from .baselines import title_of
from .bias import Bias
from .calibrating import estimate_probabilities
from .fit import Fit
from .known_counts import MetTotal, count_of_all, known_words, totals_table
from .text_table import format_table


class _Solved(Protocol):
    """What both kinds of rows say about the answer to their problem."""

    @property
    def on_plane(self) -> int: ...
    @property
    def objective(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def status(self) -> str: ...
    @property
    def seconds(self) -> float: ...


def _answer_fields(result: Result) -> dict[str, Any]:
    return {
        "on_plane": result.on_plane,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "status": result.status.value,
        "seconds": result.seconds,
    }


def _answer_cells(row: _Solved) -> dict[str, str]:
    return {
        "on plane": str(row.on_plane),
        "objective": f"{row.objective:.6g}",
        "bound": f"{row.lower_bound:.6g}",
        "gap": f"{100 * row.gap:.2f} %",
        "status": row.status,
        "seconds": f"{row.seconds:.2f}",
    }


@dataclass(frozen=True)
class SummaryRow:
    """One method's answer to the problem."""

    method: str
    count: float
    n_positive: float
    on_plane: int
    objective: float
    lower_bound: float
    gap: float
    status: str
    seconds: float
    known: str = ""  #: what is known about the count, in words

    @classmethod
    def of(cls, method: str, result: Result) -> SummaryRow:
        """The row of a result."""
        return cls(
            method=method,
            count=result.count,
            n_positive=count_of_all(result),
            known=known_words(result),
            **_answer_fields(result),
        )

    def cells(self) -> dict[str, str]:
        """Column names and formatted values, for any kind of table."""
        return {
            "method": self.method,
            "positives": f"{self.count:g} of {self.known}",
            **_answer_cells(self),
        }


@dataclass(frozen=True)
class ClassRow:
    """One of several classes against the rest; its total is met by the labels, whatever this plane counts."""

    label: str
    labelled: int
    total: float
    svm_count: int  #: unlabelled rows for which plain SVMs, one per class, have this class highest
    on_plane: int
    objective: float
    lower_bound: float
    gap: float
    status: str
    seconds: float

    @classmethod
    def of(cls, label: str, result: Result, svm_count: int) -> ClassRow:
        """The row of a class and the result of its problem."""
        return cls(
            label=label,
            labelled=int(np.sum(result.problem.y > 0)),
            total=count_of_all(result),
            svm_count=svm_count,
            **_answer_fields(result),
        )

    def cells(self) -> dict[str, str]:
        """Column names and formatted values, for any kind of table."""
        return {
            "class": self.label,
            "labelled": str(self.labelled),
            "total": f"{self.total:g}",
            "SVM says": str(self.svm_count),
            **_answer_cells(self),
        }


@dataclass(frozen=True, repr=False)
class Summary:
    """How many labels are right, a table of methods, or of several classes, and what to beware of.

    ``print`` it, or take ``accuracy``, ``bias``, ``rows`` and ``notes``.
    """

    rows: tuple[SummaryRow, ...] | tuple[ClassRow, ...]
    notes: tuple[Note, ...]
    accuracy: Accuracy | None = None
    bias: Bias | None = None
    totals: tuple[MetTotal, ...] = ()  #: several known totals and how they are met, the worst first

    def __str__(self) -> str:
        first = [] if self.accuracy is None else [f"{self.accuracy}\n"]
        first += [] if self.bias is None else [f"{self.bias.sentence}\n"]
        met = [f"\n{totals_table(self.totals)}\n"] if self.totals else []
        return "\n".join([*first, self.table, *met, *(f"! {note}" for note in self.notes)])

    __repr__ = __str__

    @property
    def table(self) -> str:
        """The rows as plain text, without the notes."""
        return format_table([row.cells() for row in self.rows])

    def to_frame(self) -> Any:
        """The rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def summarize(fit: Fit, accuracy: Accuracy | None = None, bias: Bias | None = None) -> Summary:
    """Put a fit beside the baselines; of several classes each beside what plain SVMs would give it."""
    rows = _class_rows(fit) if fit.is_several else _method_rows(fit)
    notes = fit.notes()
    if accuracy is not None:  # labels were hidden, or could not be
        notes += [*accuracy.notes, *estimate_probabilities(fit).notes]
    notes += [] if bias is None else bias.notes
    return Summary(rows, tuple(notes), accuracy, bias, tuple(fit.met_totals))


def _method_rows(fit: Fit) -> tuple[SummaryRow, ...]:
    answers = {**fit.baselines, fit.method: fit.results}
    return tuple(SummaryRow.of(title_of(name), result) for name, (result,) in answers.items())


def _class_rows(fit: Fit) -> tuple[ClassRow, ...]:
    counts = np.bincount(fit.svm_codes, minlength=len(fit.classes)).tolist()
    rows = zip(fit.plane_labels, fit.results, counts, strict=True)
    return tuple(ClassRow.of(str(label), result, count) for label, result, count in rows)
