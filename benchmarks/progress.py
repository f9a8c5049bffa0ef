"""How fast a run gets on: figures of its trace, as solvers are compared by them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from cs3vm import Result
from experiments.rows import Row

#: Gaps, and the distance from the best known value, to which the time is measured.
GAPS, NEAR = (0.1, 0.01), 0.01


def primal_integral(result: Result, best: float) -> float:
    """Seconds, each weighted by how far the incumbent is above the best known value; 1 without one."""
    total, since, distance = 0.0, 0.0, 1.0
    for point in result.trace:
        total += distance * (point.seconds - since)
        since, distance = point.seconds, min(distance, _above(point.incumbent, best))
    return total + distance * max(0.0, result.seconds - since)


def seconds_to_value(result: Result, best: float, near: float = NEAR) -> float | None:
    """When the incumbent was first within this share of the best known value."""
    return next((p.seconds for p in result.trace if _above(p.incumbent, best) <= near), None)


def seconds_to_gap(result: Result, gap: float) -> float | None:
    """When incumbent and bound were first this close; what only the end shows counts as the end."""
    for point in result.trace:
        if _above(point.incumbent, point.bound) <= gap:
            return point.seconds
    return result.seconds if result.gap <= gap else None


def columns(result: Result, best: float) -> Row:
    """All of them, for a row of results; nothing where it did not happen."""
    times = {
        "to_1_percent": seconds_to_value(result, best),
        **{f"to_gap_{100 * gap:.0f}": seconds_to_gap(result, gap) for gap in GAPS},
    }
    row: Row = {name: "" if value is None else f"{value:.2f}" for name, value in times.items()}
    return row | {"primal_integral": f"{primal_integral(result, best):.3f}"}


def summary(rows: Sequence[Row], column: str) -> str:
    """In how many rows it happened, and the median of all, where it never happened counting as never."""
    values = sorted(float(row[column]) if row[column] else float("inf") for row in rows)
    happened = sum(value < float("inf") for value in values)
    middle = statistics.median_low(values)
    return f"{happened} ({happened / len(values):.0%}), " + (f"{middle:.2f} s" if middle < 1e9 else "–")


def _above(value: float, best: float) -> float:
    """By how much of itself a value is above another."""
    return max(0.0, value - best) / value if value > 0.0 else 0.0
