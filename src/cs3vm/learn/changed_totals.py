"""Known totals after a change of the rows: with hidden labels among them, or of a part of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, RowArray
from ..model.problem import Problem
from ..model.totals import Total, Totals
from .class_totals import largest_remainder, nearest_total, read_class_totals
from .margins import Margins, is_interval


def with_hidden(
    problem: Problem, hidden: BoolArray, weight: FloatArray, order: RowArray, members: BoolArray | None
) -> float | Totals:
    """The totals once labelled rows are hidden among the unlabelled ones: each counts its positive ones, too.

    Parameters
    ----------
    problem
        Before anything is hidden.
    hidden
        Which labelled rows are hidden.
    weight
        Of the labelled rows.
    order
        The rows in their new order: unlabelled ones, then the hidden ones.
    members
        Which labelled rows (columns) each total (rows) counts; None: every one.
    """
    positive = weight * (hidden & (problem.y > 0))
    if isinstance(problem.n_positive, float):
        return problem.n_positive + float(positive.sum())
    totals = problem.totals
    members = np.ones((len(totals), len(hidden)), dtype=bool) if members is None else members
    new, added = np.argsort(order), members @ positive
    rows = [
        np.sort(new[np.append(own, problem.m + np.flatnonzero(members[g, hidden]))])
        for g, own in enumerate(totals.rows)
    ]
    return _changed(problem, rows, totals.low + added, totals.high + added)


def scaled_totals(problems: Sequence[Problem], rows: RowArray, whole: int | None) -> list[float | Totals]:
    """The totals of some of the unlabelled rows, to scale.

    Parameters
    ----------
    problems
        One per plane.
    rows
        Which unlabelled rows are kept.
    whole
        Of several classes: how many rows they share.
    """
    kept, first = problems[0].weights[rows], problems[0]
    if first.one_total:
        quotas = [float(p.totals.low[0]) * float(kept.sum()) / first.total_weight for p in problems]
        if whole is None:
            return [nearest_total(quotas[0], kept)]
        return [float(total) for total in largest_remainder(np.array(quotas), whole)]
    known = first.totals.taken(rows)
    parts = [np.asarray(total.rows) for total in known]
    shares = [
        float(kept[part].sum()) / max(w, 1e-300) for part, w in zip(parts, first.totals.weight, strict=True)
    ]
    low, high = (np.array([end * shares for end in ends]) for ends in _ends(problems))
    for g, part in enumerate(parts):
        if whole is not None:
            low[:, g] = high[:, g] = largest_remainder(low[:, g], len(part))
        elif low[0, g] == high[0, g] and len(part):
            low[0, g] = high[0, g] = nearest_total(float(low[0, g]), kept[part])
    return [_changed(p, parts, low[c], high[c]) for c, p in enumerate(problems)]


class Part(NamedTuple):
    """Some of the rows, and what is left of totals as people give them."""

    weight: FloatArray  #: of all rows; 0 where a row is labelled
    kept: BoolArray  #: which rows are kept

    def of_total(self, total: Any, rows: BoolArray | None = None) -> Any:
        """A number, an interval or a number for each class, of all rows or of a group."""
        weight = self.weight if rows is None else np.where(rows, self.weight, 0.0)
        left = weight[self.kept & (weight > 0)]
        share = float(left.sum()) / max(float(weight.sum()), 1e-300)
        if is_interval(total):
            return total[0] * share, total[1] * share
        totals = read_class_totals(total, None)
        return nearest_total(total * share, left) if totals is None else totals.part(share, left)

    def of_margins(self, given: Margins) -> dict[Any, Any]:
        """Totals by group, in the form in which they were given."""
        parts: dict[Any, Any] = {} if given.overall is None else {None: self.of_total(given.overall)}
        for margin in given.margins:
            number = {group: g for g, group in enumerate(margin.groups)}
            own = {
                group: self.of_total(total, margin.codes == number.get(group, -2))
                for group, total in margin.totals.items()
            }
            parts |= {margin.name: own} if margin.name else own
        return parts


def _ends(problems: Sequence[Problem]) -> tuple[list[FloatArray], list[FloatArray]]:
    return [p.totals.low for p in problems], [np.minimum(p.totals.high, p.totals.weight) for p in problems]


def _changed(problem: Problem, rows: Sequence[RowArray], low: FloatArray, high: FloatArray) -> Totals:
    """The same totals with other rows and ends, at the usual price where they have it."""
    totals = problem.totals
    prices = [None if price == problem.count_penalty else float(price) for price in totals.penalty]
    parts = zip(rows, low, high, prices, totals.names, strict=True)
    return Totals(Total(own, float(a), float(b), price, name) for own, a, b, price, name in parts)
