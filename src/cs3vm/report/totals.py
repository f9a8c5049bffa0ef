"""What the report says about known totals: one number, an interval, or several and how they are met."""

from __future__ import annotations

from typing import Any

from ..learn.design import kish
from ..learn.fit import Fit
from ..learn.known_counts import MOST_SHOWN, interval_of_all
from ..model.problem import Problem
from .figures import format_number
from .words import miss, percent, plain


def known_total(problem: Problem) -> tuple[str, str]:
    """The number of positives as far as it is known, and its share of the unlabelled rows."""
    ends = sorted(set(interval_of_all(problem.totals)))
    shares = [percent(end, problem.total_weight) for end in ends]
    return " to ".join(map(format_number, ends)), " to ".join(shares)


def missed(problem: Problem, count: float) -> str:
    """How far a count is from what is known."""
    low, high = interval_of_all(problem.totals)
    return miss(count, min(max(count, low), high))


def shown_totals(fit: Fit) -> dict[str, Any] | None:
    """The table of several totals, the worst first; None for one number."""
    met = fit.met_totals
    if not met:
        return None
    rows = [{name: plain(value) for name, value in one.cells().items()} for one in met[:MOST_SHOWN]]
    right = sum(one.missed == 0 for one in met)
    more = len(met) - len(rows)
    said = f"{right} of {len(met)} known totals are met"
    return {"rows": rows, "text": f"{said}; the {len(rows)} worst are shown." if more else f"{said}."}


def weights_words(fit: Fit) -> str:
    """What unequal weights cost; empty if there are none."""
    design = kish(fit.weight)
    return "" if design is None else str(design.sentence)
