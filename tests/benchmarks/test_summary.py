"""One table of figures, a function of the stored rows."""

from pathlib import Path

from benchmarks.categories import excess
from benchmarks.summary import figures
from experiments.rows import append


def test_parts_that_were_not_run_have_no_line(tmp_path: Path):
    assert len(figures(tmp_path).splitlines()) == 2


def test_proofs_are_counted_where_both_margins_were_tried(tmp_path: Path):
    for dataset, margin, status in (
        ("a", "0", "optimal"),
        ("a", "auto", "optimal"),
        ("b", "0", "optimal"),
        ("b", "auto", "time limit"),
        ("c", "0", "optimal"),
    ):
        row = {"dataset": dataset, "margin": margin, "status": status, "on_plane": 0}
        append(tmp_path / "margin.csv", row)
    lines = figures(tmp_path).splitlines()
    assert lines[2] == "| proofs with the automatic margin | `margin` | 2 | 2, as without | 1 |"


def test_a_short_run_is_compared_with_the_best_of_its_instance(tmp_path: Path):
    common = {"dataset": "x", "margin": "0", "scaling": "paper", "seed": 0}
    for method, limit, objective in (("direct", 1.0, 10.2), ("auto", 9.0, 10.0), ("direct", 9.0, 11.0)):
        row = {**common, "method": method, "work_limit": limit, "objective": objective}
        append(tmp_path / "categories.csv", row)
    assert figures(tmp_path).splitlines()[2].endswith("| 1 | 1 | 0 |")
    rows = [{**common, "method": "direct", "work_limit": 1.0, "objective": 5.0}]
    assert excess(rows) == {}  # nothing to compare with
