"""The table of the benchmark of rows in pieces is the same whatever its pieces are."""

from __future__ import annotations

import numpy as np

from benchmarks import large as bench


def test_the_rows_do_not_depend_on_the_pieces():
    one, other = (bench.MadeSource(120_000, rows) for rows in (bench.BLOCK, 3 * bench.BLOCK))
    for name in ("X", "labels"):
        parts = [np.concatenate([getattr(p, name) for p in source.pieces()]) for source in (one, other)]
        assert np.array_equal(*parts, equal_nan=True)
    assert one.total() == other.total()
    labels = parts[0]
    assert np.count_nonzero(~np.isnan(labels)) == bench.LABELLED
    assert np.nansum(labels) == 0.85 * bench.LABELLED


def test_the_table_has_a_line_for_each_run_in_pieces():
    row = {
        "rows": "1000000",
        "what": "stream",
        "objective": "2955",
        "count": "5",
        "total": "5",
        "passes": "7",
        "seconds": "3",
        "seconds_once": "0.1",
        "times_once": "2.0",
        "processor_seconds": "14",
        "processor_seconds_once": "0.5",
        "extra_mb": "200",
        "piece_mb": "19",
    }
    text = bench.table(
        [row, {**row, "what": "memory", "objective": "2956"}, {**row, "rows": "20", "count": "4"}]
    )
    lines = text.splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| 20 | made on the fly")
    assert "4 of 5" in lines[2]
    assert "| 2.0 (4.0) | 2955 | 2956, 3 (14) s | exact | 181 |" in lines[3]
