"""What several totals say about all rows together, and how an answer meets each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from .._typing import BoolArray, IntArray
from ..exceptions import Note
from ..model.result import Result
from ..model.totals import KnownTotals
from .labels import Labels
from .text_table import format_table

#: So many totals are shown, the worst first.
MOST_SHOWN = 20
#: Rounding of sums of weights, as a part of the weight: no miss.
_ROUNDING = 1e-9


def interval_of_all(totals: KnownTotals) -> tuple[float, float]:
    """The least and the greatest number of positives among all rows that the totals allow.

    Totals that follow each other and do not overlap are added up; the rows beside them are free.
    """
    whole = float(totals.weights.sum())
    low, high = 0.0, whole
    covered, ends = np.zeros(len(totals.weights), dtype=bool), np.zeros(2)
    for g in range(len(totals) + 1):
        if g == len(totals) or np.any(covered[totals.rows[g]]):
            low = max(low, float(ends[0]))
            high = min(high, float(ends[1]) + float(totals.weights[~covered].sum()))
            covered[:], ends = False, np.zeros(2)
        if g < len(totals):
            covered[totals.rows[g]] = True
            ends += (totals.low[g], min(totals.high[g], totals.weight[g]))
    return low, max(low, high)


def middle_of_all(totals: KnownTotals) -> float:
    """The number of positives among all rows, as far as it is known before there is an answer."""
    if len(totals) == 1 and totals.of_all[0] and totals.low[0] == totals.high[0]:
        return float(totals.low[0])
    return float(np.mean(interval_of_all(totals)))


def count_of_all(result: Result) -> float:
    """The number of positives among all rows: as it is known, or the answer's, as far as the totals allow."""
    problem = result.problem
    if problem.one_total:
        return float(problem.n_positive)  # type: ignore[arg-type]
    low, high = interval_of_all(problem.totals)
    return float(np.clip(result.count, low, high))


def as_given(results: Sequence[Result]) -> list[Any]:
    """What is known of each plane's class among the unlabelled rows: a number, or totals."""
    totals = [result.problem.n_positive for result in results]
    return [round(total) if len(totals) > 1 and isinstance(total, float) else total for total in totals]


def total_words(low: float, high: float) -> str:
    """A total or an interval in words."""
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def known_words(result: Result) -> str:
    """What is known about the number of positives, in a word or two."""
    totals = result.problem.totals
    if len(totals) == 1 and totals.of_all[0]:
        return total_words(float(totals.low[0]), float(totals.high[0]))
    return total_words(*interval_of_all(totals))


@dataclass(frozen=True)
class MetTotal:
    """A known total, and what the answer gives."""

    name: str
    low: float
    high: float
    count: float
    weight: float  #: of the unlabelled rows that it counts

    @property
    def missed(self) -> float:
        """By how much the answer lies above the interval; negative if below."""
        over, under = max(0.0, self.count - self.high), max(0.0, self.low - self.count)
        missed = over - under
        return missed if abs(missed) > _ROUNDING * max(1.0, self.weight) else 0.0

    def cells(self) -> dict[str, str]:
        """Column names and formatted values, for any kind of table."""
        missed = "met" if self.missed == 0 else f"{self.missed:+g}"
        wanted = total_words(self.low, self.high)
        return {"total of": self.name, "wanted": wanted, "got": f"{self.count:g}", "missed": missed}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        return {**asdict(self), "missed": self.missed}


#: What a file holds of each.
MET_FIELDS = tuple(field.name for field in fields(MetTotal))


def met_by(result: Result, own: BoolArray) -> list[MetTotal]:
    """The totals of a plane, and what it is given if these unlabelled rows are of its class."""
    totals = result.problem.totals
    parts = zip(totals.names, totals.low, totals.high, totals.counts(own), totals.weight, strict=True)
    return [MetTotal(name or "all rows", *map(float, numbers)) for name, *numbers in parts]


def met_totals(labels: Labels, results: Sequence[Result], answer: IntArray) -> list[MetTotal]:
    """Every total of a fit and what its labels give, the worst first; nothing for one number."""
    if results[0].problem.one_total:
        return []
    met = []
    for c, result in zip(labels.plane_classes, results, strict=True):
        of_class = f" ({labels.classes.tolist()[c]})" if labels.is_several else ""
        met += [replace(one, name=f"{one.name}{of_class}") for one in met_by(result, answer == c)]
    return sorted(met, key=lambda one: -abs(one.missed))


def totals_note(met: Sequence[MetTotal], contradiction: float) -> list[Note]:
    """Which totals the answer misses, and whether it had to."""
    missed = [one for one in met if one.missed != 0]
    if not missed:
        return []
    shown = ", ".join(f"{one.name} ({one.missed:+g})" for one in missed[:5])
    more = f" and {len(missed) - 5} more" if len(missed) > 5 else ""
    if contradiction > 0:
        start = (
            f"the totals contradict each other by {contradiction:g}, as rounding does, and cannot all be met"
        )
        return [Note(f"{start}: {shown}{more} gave way")]
    start = f"{len(missed)} of {len(met)} totals are missed: {shown}{more}. A higher "
    return [Note(f"{start}count_penalty makes it dearer", f"{start}--count-penalty makes it dearer")]


def totals_table(met: Sequence[MetTotal]) -> str:
    """The totals as plain text, the worst ones first."""
    rest = len(met) - MOST_SHOWN
    missed = sum(one.missed != 0 for one in met[MOST_SHOWN:])
    more = f"\n... and {rest} more, {missed or 'none'} of them missed" if rest > 0 else ""
    return format_table([one.cells() for one in met[:MOST_SHOWN]]) + more
