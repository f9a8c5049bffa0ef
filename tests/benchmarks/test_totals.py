"""Totals by group instead of one."""

from __future__ import annotations

from benchmarks import totals


def test_many_rows_are_timed_in_turns():
    row = totals.many_cell(rows=500, groups=5, noise=1.0, repeats=1)
    cells = {"rows": 500, "groups": 5, "noise": 1.0, **row}
    assert totals.many_table([cells]).endswith(f"| {row['ratio']} |")
