"""Side by side: what the plain SVM, the top-τ rule and the model say about the same data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..methods.front_door import solve
from ..model.norms import unused
from ..model.result import Result

#: The baselines of every summary and the names they are shown under.
BASELINES = {"svm": "SVM", "top_tau": "SVM + top-τ"}
#: How to ask for a plane without unlabelled rows on it; commands say it in their own words.
OFF_THE_PLANE = "options={'side_margin': 0.01}"
#: So many features that the 1-norm leaves out are named.
MAX_DROPPED = 10


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

    @classmethod
    def of(cls, method: str, result: Result) -> SummaryRow:
        """The row of a result."""
        return cls(
            method=method,
            count=result.count,
            n_positive=result.problem.n_positive,
            on_plane=result.on_plane,
            objective=result.objective,
            lower_bound=result.lower_bound,
            gap=result.gap,
            status=result.status.value,
            seconds=result.seconds,
        )

    def cells(self) -> dict[str, str]:
        """Column names and formatted values, for any kind of table."""
        return {
            "method": self.method,
            "positives": f"{self.count:g} of {self.n_positive:g}",
            "on plane": str(self.on_plane),
            "objective": f"{self.objective:.6g}",
            "bound": f"{self.lower_bound:.6g}",
            "gap": f"{100 * self.gap:.2f} %",
            "status": self.status,
            "seconds": f"{self.seconds:.2f}",
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
            total=result.problem.n_positive,
            svm_count=svm_count,
            on_plane=result.on_plane,
            objective=result.objective,
            lower_bound=result.lower_bound,
            gap=result.gap,
            status=result.status.value,
            seconds=result.seconds,
        )

    def cells(self) -> dict[str, str]:
        """Column names and formatted values, for any kind of table."""
        return {
            "class": self.label,
            "labelled": str(self.labelled),
            "total": f"{self.total:g}",
            "SVM says": str(self.svm_count),
            "on plane": str(self.on_plane),
            "objective": f"{self.objective:.6g}",
            "bound": f"{self.lower_bound:.6g}",
            "gap": f"{100 * self.gap:.2f} %",
            "status": self.status,
            "seconds": f"{self.seconds:.2f}",
        }


@dataclass(frozen=True, repr=False)
class Summary:
    """A table of methods, or of classes where there are several, and notes on what to beware of.

    ``print`` it, or take ``rows`` and ``notes``.
    """

    rows: tuple[SummaryRow, ...] | tuple[ClassRow, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        table = format_table([row.cells() for row in self.rows])
        return "\n".join([table, *(f"! {note}" for note in self.notes)])

    __repr__ = __str__

    def with_notes(self, notes: Iterable[str]) -> Summary:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def to_frame(self) -> Any:
        """The rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def summarize(result: Result, method: str) -> Summary:
    """Put the result beside the baselines, which are solved here: both are convex and fast."""
    rows = []
    if result.problem.m == 0:
        method = "svm"
    else:
        rows = [
            SummaryRow.of(title, solve(result.problem, name))
            for name, title in BASELINES.items()
            if name != method
        ]
    rows.append(SummaryRow.of(BASELINES.get(method, f"CS³VM ({method})"), result))
    return Summary(tuple(rows), tuple(notes_on(result, method)))


def notes_on(result: Result, method: str) -> list[str]:
    """What a user should know before trusting the answer."""
    notes, y = warnings_about(result, method), result.problem.y
    if np.all(y == y[0]):
        sign = "positive" if y[0] > 0 else "negative"
        notes.append(f"all labels are of one class (the {sign} one): only the total speaks for the other")
    return [*notes, *kernel_note(result)]


def kernel_note(result: Result) -> list[str]:
    """What an approximated kernel means for all that is said about the answer; nothing if it is exact."""
    kernel = result.extras.get("kernel")
    if kernel is None or kernel["exact"]:
        return []
    return [f"{kernel['text']}: objective, bound and proof are those of the approximated kernel"]


def dropped_features(
    clf: Any, planes: Iterable[FloatArray], names: Sequence[str] | None = None
) -> NDArray[Any]:
    """The features without weight in any plane: ``names``, or the classifier's names, or numbers."""
    known = getattr(clf, "feature_names_in_", range(clf.n_features_in_)) if names is None else names
    return np.asarray(known)[np.all([unused(plane) for plane in planes], axis=0)]


def dropped_note(clf: Any, names: Sequence[str] | None = None) -> list[str]:
    """Which features a classifier with the 1-norm leaves out; ``names`` replace those it knows."""
    if clf.norm != "l1":
        return []
    results = clf.result_.values() if len(clf.classes_) > 2 else [clf.result_]
    dropped, d = dropped_features(clf, [result.coef for result in results], names), clf.n_features_in_
    if len(dropped) == 0:
        return [f"the 1-norm uses all {d} features"]
    shown = ", ".join(map(str, dropped[:MAX_DROPPED].tolist()))
    more = f" and {len(dropped) - MAX_DROPPED} more" if len(dropped) > MAX_DROPPED else ""
    return [f"the 1-norm leaves out {len(dropped)} of {d} features (weight 0): {shown}{more}"]


def warnings_about(result: Result, method: str) -> list[str]:
    """The notes that are worth a warning: the answer says less than it seems to."""
    problem, notes = result.problem, []
    aims_at_objective = method not in BASELINES or problem.m == 0  # a baseline may well miscount
    if result.is_trivial and aims_at_objective:
        notes.append(
            "the answer is no better than the trivial one, which ignores the features (w = 0): the labels "
            f"{'and the total ' if problem.m else ''}say nothing about other rows. Add labels, or increase C"
        )
    if result.on_plane > problem.d + 1:
        notes.append(
            f"{result.on_plane} of {problem.m} unlabelled rows lie on the hyperplane, more than d + 1 = "
            f"{problem.d + 1}, and may be counted on either side, so their labels are arbitrary: "
            f"{_why_on_plane(result)}"
        )
    return notes


def _why_on_plane(result: Result) -> str:
    if np.allclose(np.asarray(result.coef), 0.0, atol=1e-9):
        return "the hyperplane ignores the features (w = 0)"
    return f"discrete features do this, and {OFF_THE_PLANE} forbids it"


def format_table(rows: Sequence[dict[str, str]]) -> str:
    """Plain text, numbers to the right, text to the left."""
    header = list(rows[0])
    width = {name: max(len(name), *(len(row[name]) for row in rows)) for name in header}
    left = {"method", "class", "status"}

    def line(cells: dict[str, str]) -> str:
        padded = (c.ljust(width[n]) if n in left else c.rjust(width[n]) for n, c in cells.items())
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width[name] for name in header)
    return "\n".join([line({name: name for name in header}), rule, *(line(row) for row in rows)])
