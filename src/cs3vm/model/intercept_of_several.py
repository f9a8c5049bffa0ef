"""The best intercept where there are several totals, or intervals: along the ranking, row by row."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, RowArray
from .line import TIE_TOLERANCE, WINDOW_ROWS, Intercept, Line
from .ranks import by_number, descending, is_constant
from .splitting import split
from .totals import KnownTotals
from .window import Part, Window

#: How many runs of tied rows are tried.
SPLITS = 5


def for_several_totals(line: Line) -> Intercept | None:
    """The cheapest ``(b, z)``: along the ranking, the price of each total changes row by row."""
    free, counts = line.side == 0, line.totals.counts(line.side > 0)
    rows = np.flatnonzero(free)
    if len(rows) <= WINDOW_ROWS:
        return _among(line, Part(rows, counts, line.limits))
    if is_constant(line.scores if len(rows) == len(free) else line.scores[rows]):
        return _where_all_tie(line, rows, counts)
    window = Window(
        line.hinge,
        line.scores,
        None if len(rows) == len(free) else free,
        line.totals,
        counts,
        line.limits,
        line.side_margin,
    )
    return window.search(partial(_among, line))


def _among(line: Line, part: Part) -> Intercept | None:
    """The best intercept between some of the rows."""
    hinge, totals = line.hinge, line.totals
    order = part.rows[descending(line.scores[part.rows])]
    ranked = line.scores[order]
    short, over = prices = prices_along(totals, part.counts, order)
    b, reachable = line.clip(ranked, part.limits)
    cost = np.where(reachable, hinge(b) + short + over, np.inf)
    c = int(np.argmin(cost))
    best: Intercept | None = None
    if np.isfinite(cost[c]):
        z = _given(line, part)
        z[order[:c]] = 1
        price = totals.price(totals.counts(z))
        best = Intercept(float(b[c]), z, float(hinge(b[c : c + 1])[0]) + price, True)
    if line.side_margin > 0.0 or len(order) < 2:
        return best
    return _with_a_split(best, line, part, order, prices)


def _where_all_tie(line: Line, rows: RowArray, counts: FloatArray) -> Intercept | None:
    """No free row positive, all of them, or all on the plane: split for the totals' sake then."""
    hinge, totals = line.hinge, line.totals
    none, every = line.given, (line.side >= 0).astype(np.int8)
    b, reachable = line.clip(line.scores[rows[:1]], line.limits)
    prices = np.array([totals.price(counts), totals.price(totals.counts(every))])
    costs = np.where(reachable, hinge(b) + prices, np.inf)
    end = int(np.argmin(costs))
    best: Intercept | None = None
    if np.isfinite(costs[end]):
        best = Intercept(float(b[end]), (none, every)[end], float(costs[end]), True)
    through = -line.scores[rows[:1]]
    if line.side_margin > 0.0 or not line.limits[0] - line.slack <= through[0] <= line.limits[1] + line.slack:
        return best
    promise = hinge(through)[0] + _least_price(totals, counts, totals.counts(every))
    if best is not None and best.cost <= promise:
        return best
    chosen, exact = split(totals, none, rows)
    z = none.copy()
    z[chosen] = 1
    cost = float(hinge(through)[0]) + totals.price(totals.counts(z))
    if best is None or cost < best.cost:
        best = Intercept(float(through[0]), z, cost, True)
    return best._replace(exact=exact or bool(promise >= best.cost * (1.0 - 1e-12)))


def _least_price(totals: KnownTotals, fewest: FloatArray, most: FloatArray) -> float:
    """What totals cost at least between two counts."""
    return float(totals.penalty @ np.maximum(0.0, np.maximum(totals.low - most, fewest - totals.high)))


def _given(line: Line, part: Part) -> NDArray[np.int8]:
    """The sides with every row above a part positive, and those below it negative."""
    z = line.given
    if part.above is not None:
        z[part.above] = 1
    return z


def prices_along(
    totals: KnownTotals, start: FloatArray, order: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """What shortfall and excess cost when the first 0, 1, … rows of the ranking are positive, too.

    ``start`` are the counts without them.
    """
    of_row = totals.of_row
    number = of_row.start[order + 1] - of_row.start[order]
    place = np.repeat(np.arange(len(order)), number)
    first = np.append(0, np.cumsum(number))[:-1]
    total = of_row.total[np.repeat(of_row.start[order] - first, number) + np.arange(len(place))]
    by_total = by_number(total)
    place, total = place[by_total], total[by_total]
    size = np.bincount(total, minlength=len(totals))
    steps = totals.weights[order][place]
    count = np.cumsum(steps)
    begin = np.append(0, np.cumsum(size))[:-1]
    count += np.repeat(start - np.append(0.0, count)[begin], size)
    price = totals.penalty[total]
    short, over = (
        np.append(constant, constant + np.cumsum(np.bincount(place, jump, minlength=len(order))))
        for constant, jump in (
            (
                float(totals.penalty @ np.maximum(0.0, totals.low - start)),
                price * _rise(np.maximum(0.0, totals.low[total] - count), totals.low - start, total, begin),
            ),
            (
                float(totals.penalty @ np.maximum(0.0, start - totals.high)),
                price * _rise(np.maximum(0.0, count - totals.high[total]), start - totals.high, total, begin),
            ),
        )
    )
    return np.maximum(short, 0.0), np.maximum(over, 0.0)


def _rise(
    miss: FloatArray, before: FloatArray, total: NDArray[np.int64], begin: NDArray[np.intp]
) -> FloatArray:
    """By how much each row changes the miss of its total; ``before`` is the miss with no row."""
    previous = np.append(0.0, miss[:-1]) if len(miss) else miss
    first = begin[np.bincount(total, minlength=len(begin)) > 0]
    previous[first] = np.maximum(0.0, before[total[first]])
    return np.asarray(miss - previous)


def _with_a_split(
    best: Intercept | None,
    line: Line,
    part: Part,
    order: NDArray[np.intp],
    prices: tuple[FloatArray, FloatArray],
) -> Intercept | None:
    """Rows that tie may be on either side of a plane through them: split the runs that promise most."""
    hinge, totals, ranked = line.hinge, line.totals, line.scores[order]
    tied = ranked[:-1] - ranked[1:] <= TIE_TOLERANCE * (1.0 + float(np.max(np.abs(ranked))))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
    start, stop = edges[::2], edges[1::2] + 1
    b = -0.5 * (ranked[start] + ranked[stop - 1])
    promise = hinge(b) + prices[0][stop] + prices[1][start]
    promise[(b < part.limits[0] - line.slack) | (b > part.limits[1] + line.slack)] = np.inf
    promising = np.argsort(promise, kind="stable")
    unsure = float(np.min(promise[promising[SPLITS:]], initial=np.inf))
    for run in promising[:SPLITS]:
        if not promise[run] < (np.inf if best is None else best.cost):
            break
        z = _given(line, part)
        z[order[: start[run]]] = 1
        rows, exact = split(totals, z, order[start[run] : stop[run]])
        z[rows] = 1
        cost = float(hinge(b[run : run + 1])[0]) + totals.price(totals.counts(z))
        if not exact:
            unsure = min(unsure, float(promise[run]))
        if best is None or cost < best.cost:
            best = Intercept(float(b[run]), z, cost, True)
    return best if best is None else best._replace(exact=unsure >= best.cost * (1.0 - 1e-12))
