r"""Tilt: a plane with too many rows on it becomes a proper one.

With a side margin ε no row may lie within ε of the plane. Where the scores have no gap of 2ε at the wanted
total, a group of rows without such gaps blocks it: often they all lie on one plane. The plane turned a
little, (w, b) + δ·(v, -c), ranks these rows by v. Each gap of v between them is a place to cut, costs what it
miscounts, and needs δ = 2ε/gap; the turn costs about δ times the slope of the objective along v. Rows that
still block are turned apart again, by less. Columns alone are good directions: categories have wide gaps. So
are sums and differences of a few columns on a grid, by one step of each: their gaps are as wide, and they are
so many that one of them meets the total.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, RowArray
from ...model.intercept_of_several import prices_along
from ...model.ranks import descending
from .incumbent import IMPROVEMENT, Plane, Search

#: How often rows that still block are turned apart.
ROUNDS = 12
#: How many directions are tried each time: fewer with more rows.
MOST, LEAST, ROWS = 24, 3, 30_000
#: Tries along a direction: in units of the least turn that widens the gap enough, and of the rows' spread.
TURNS, SPREADS = (1.0, 2.0, 5.0), (0.7, 0.35, 0.17, 0.08, 0.04, 0.01, 0.002)
#: Rows of the group that tell where a direction has gaps.
SAMPLE_ROWS = 3000
#: Sums of columns are tried until so many numbers are looked at.
SUM_NUMBERS = 200_000
#: What sorting a column costs, in numbers per row.
SORTING = 60
#: A turn is a bit longer than the gap needs, so that rounding does not undo it.
LONGER = 1.0 + 1e-6


class Group(NamedTuple):
    """Free rows that block the wanted total, and the weight of them that should be positive."""

    rows: RowArray
    need: float


def tilt(
    search: Search, plane: Plane, directions: Sequence[FloatArray] = (), least: float = -np.inf
) -> Plane:
    """The best proper plane found by turning this one, by columns or the directions given.

    ``least`` is its value with rows on it, below which no small turn leads: sums of columns are tried only
    where that is less than the incumbent's.
    """
    sums = search.sums if least < search.value else search.sums[:, :0]
    for _ in range(ROUNDS):
        group = blocking(search, plane)
        if group is None or search.expired:
            break
        better = min(_turned(search, plane, group, directions, sums), key=lambda p: p.value, default=plane)
        if not better.value < plane.value * (1.0 - IMPROVEMENT):
            break
        plane = better
    return plane


def blocking(search: Search, plane: Plane) -> Group | None:
    """The run of scores without a gap of 2ε in which the wanted total lies; None if a gap is there."""
    problem, ranking = search.problem, search.ranking
    rows = ranking.free if ranking.any_fixed else np.arange(problem.m)
    if len(rows) == 0:
        return None
    rows = rows[descending(plane.unlabelled[rows])]
    scores = plane.unlabelled[rows]
    totals = np.append(0.0, np.cumsum(problem.weights[rows]))
    gaps = scores[:-1] - scores[1:] >= 2.0 * problem.side_margin * (1.0 - 1e-9)
    cuts = np.concatenate([[0], np.flatnonzero(gaps & (scores[:-1] > scores[1:])) + 1, [len(rows)]])
    above = totals[cuts]
    if ranking.several:
        short, over = prices_along(problem.totals, ranking.fixed_counts, rows)
        target = float(totals[int(np.argmin(short + over))])
    else:
        target = ranking.target
    at = int(np.searchsorted(above, target, side="right")) - 1
    if at < 0 or at >= len(cuts) - 1 or above[at] == target:
        return None
    return Group(rows[cuts[at] : cuts[at + 1]], target - float(above[at]))


def _turned(
    search: Search, plane: Plane, group: Group, directions: Sequence[FloatArray], sums: FloatArray
) -> Iterator[Plane]:
    """Planes turned along the most promising directions, and lengthened."""
    problem = search.problem
    number = min(max(ROWS // problem.m, LEAST), MOST)
    longer = [plane.w] if plane.w.any() else []
    sums = sums[:, : SUM_NUMBERS // min(len(group.rows), SAMPLE_ROWS)]
    given = np.column_stack([np.zeros((problem.d, 0)), *directions, *longer, sums])
    for v, least in _promising(search, plane, group, given, number):
        labelled, unlabelled = problem.X @ v, problem.U @ v
        search.spend((problem.n + problem.m) * problem.d)
        spread = max(float(unlabelled.std()), 1e-300)
        steps = [turn * least * LONGER for turn in TURNS]
        steps += [size / spread for size in SPREADS if size > least * spread]
        for step in steps:
            if search.expired:
                return
            yield search.judge(
                plane.w + step * v, plane.labelled + step * labelled, plane.unlabelled + step * unlabelled
            )


def _promising(
    search: Search, plane: Plane, group: Group, directions: FloatArray, number: int
) -> Iterator[tuple[FloatArray, float]]:
    """Columns or directions, and the least turns along them, the one with the least expected cost first."""
    problem = search.problem
    rows = group.rows[:: max(1, len(group.rows) // SAMPLE_ROWS)]
    V = np.column_stack([problem.U[rows], problem.U[rows] @ directions])
    search.spend(V.size * SORTING)
    order = np.argsort(-V, axis=0, kind="stable")
    V = np.take_along_axis(V, order, axis=0)
    total = float(problem.weights[group.rows].sum())
    above = np.cumsum(problem.weights[rows][order], axis=0)[:-1]
    above *= total / float(problem.weights[rows].sum())  # of the group, where only a sample was looked at
    gap = V[:-1] - V[1:]
    wide = gap > 1e-9 * np.abs(V).max(initial=0.0)
    least = 2.0 * problem.side_margin / np.where(wide, gap, 1.0)
    slack = 1.0 - problem.y * (plane.labelled + plane.b)
    pull = problem.C * problem.y * (slack > 0.0)
    gradient = plane.w - pull @ problem.X
    along = np.append(gradient, gradient @ directions)
    squares = np.append(np.ones(problem.d), (directions * directions).sum(axis=0))
    slope = along + 0.5 * (V[:-1] + V[1:]) * float(pull.sum())  # the intercept moves against the cut
    reach = 0.5 / np.maximum(V.std(axis=0), 1e-300)  # about where labelled rows meet their margins
    found: list[tuple[float, int, int, float]] = []
    price = float(problem.totals.penalty.max(initial=0.0))
    for sign in (1.0, -1.0):
        miscount = np.abs((above if sign > 0 else total - above) - group.need)
        with np.errstate(over="ignore"):  # a turn without end costs without end: it is not among the least
            rise = np.where(sign * slope > 0.0, least, reach) * sign * slope
        cost = price * miscount + rise + 0.5 * least * least * squares
        cost[~wide] = np.inf
        best = np.argmin(cost, axis=0) if len(cost) else np.zeros(0, dtype=np.intp)
        for k, c in enumerate(best):
            if np.isfinite(cost[c, k]):
                found.append((float(cost[c, k]), k, int(sign), float(least[c, k])))
    for _, k, sign, turn in sorted(found)[:number]:
        if k < problem.d:
            direction = np.zeros(problem.d)
            direction[k] = sign
        else:
            direction = sign * directions[:, k - problem.d]
        yield direction, turn
