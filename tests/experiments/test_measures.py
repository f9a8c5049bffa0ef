"""The paper's measures against hand-made counts, and the figures drawn from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import figures, measures, report, rows
from experiments.cells import COLUMNS, KEY, make_cell
from experiments.headlines import headlines
from experiments.scoring import COUNT_COLUMNS


def make_rows(*specifications: dict) -> pd.DataFrame:
    """Rows as a study writes them; ``counts`` are TP, TN, FP, FN of every scope and convention."""
    lines = []
    for given in specifications:
        fields = {
            "study": "biased",
            "dataset": "builtin_iris",
            "seed": 0,
            "sampling": "biased",
            "fraction": 0.1,
            "bias": 0.85,
            "solver": "bnb",
            "time_limit": 10.0,
            "method": given["method"],
            "settings": given.get("settings", {}),
        }
        cell = make_cell(**(fields | {k: v for k, v in given.items() if k in fields}))
        line = dict.fromkeys(COLUMNS, "") | cell | {"n": 20, "m": 80, "status": "feasible", "seconds": 1.0}
        if "counts" in given:
            line |= dict(zip(COUNT_COLUMNS, 4 * given["counts"], strict=True))
        lines.append(line | {k: v for k, v in given.items() if k in COLUMNS and k not in KEY})
    frame = pd.DataFrame(lines)
    for name in measures.NUMBERS:
        frame[name] = pd.to_numeric(frame[name])
    return frame


def example() -> pd.DataFrame:
    return make_rows(
        {"method": "true", "counts": [40, 40, 10, 10], "status": "optimal", "objective": 1.0},
        {"method": "svm", "counts": [50, 10, 40, 0], "objective": 30.0, "lower_bound": 2.0},
        {
            "method": "cs3vm",
            "counts": [30, 45, 5, 20],
            "status": "optimal",
            "objective": 10.0,
            "lower_bound": 10.0,
        },
        {"method": "ircm", "counts": [36, 36, 14, 14], "objective": 11.0, "lower_bound": 2.0},
        {
            "method": "wircm",
            "counts": [0, 50, 0, 50],
            "status": "time limit",
            "objective": 13.0,
            "lower_bound": 3.0,
        },
        {"method": "auto", "status": "error", "error": "MemoryError", "seconds": ""},
    )


def test_measures_of_hand_made_counts():
    found = measures.measured(example()).set_index("method")
    assert "true" not in found.index
    cs3vm = found.loc["cs3vm"]
    assert [cs3vm[f"paper_all_{m}"] for m in measures.MEASURES] == [0.75, 30 / 35, 0.6, 0.1]
    assert cs3vm["honest_unlabelled_AC_hat"] == pytest.approx(0.75 / 0.8)
    assert cs3vm["paper_all_PR_hat"] == pytest.approx((30 / 35) / 0.8)
    assert cs3vm["paper_all_RE_hat"] == pytest.approx(0.6 / 0.8)
    assert cs3vm["paper_all_FPR_hat"] == pytest.approx(0.1 / 0.2)
    assert cs3vm["paper_all_AC_bar"] == pytest.approx((0.75 - 0.6) / 0.6)
    assert cs3vm["paper_all_PR_bar"] == pytest.approx((30 / 35 - 5 / 9) / (5 / 9))
    assert found.loc["svm", "paper_all_AC_bar"] == 0.0


def test_gap_to_the_best_proven_optimum_and_what_ended():
    found = measures.measured(example()).set_index("method")
    assert found["optimum"].dropna().unique().tolist() == [10.0]  # not that of the true hyperplane
    assert found["excess"].round(6).dropna().to_dict() == {
        "svm": 2.0,
        "cs3vm": 0.0,
        "ircm": 0.1,
        "wircm": 0.3,
    }
    assert found["ended"].to_dict() == {
        "svm": True,
        "cs3vm": True,
        "ircm": True,
        "wircm": False,
        "auto": False,
    }
    late = make_rows({"method": "ircm", "seconds": 10.5})
    assert not measures.measured(late)["ended"].any()
    assert not measures.measured(make_rows({"method": "cs3vm"}))["ended"].any()  # an answer without a proof


def test_zero_denominators_are_left_out_and_counted():
    found = measures.measured(example())
    table = measures.box_table(found, "PR_hat").query("points == 'all' and convention == 'paper'")
    table = table.set_index("method")
    assert table.loc["wircm", ["values", "left out"]].tolist() == [0, 1]  # no point called positive: 0/0
    assert table.loc["ircm", ["values", "left out"]].tolist() == [1, 0]
    no_false_positive = example()
    no_false_positive.loc[0, "paper_all_fp"] = 0
    assert measures.measured(no_false_positive)["paper_all_FPR_hat"].isna().all()


def test_ecdf_counts_what_never_ended_in_the_denominator():
    x, share = measures.ecdf(pd.Series([3.0, np.nan, 1.0, np.nan]), 4)
    assert x.tolist() == [1.0, 3.0]
    assert share.tolist() == [0.25, 0.5]


def test_contradictions_are_found():
    rows_ = example()
    assert measures.contradictions(measures.measured(rows_)).empty
    rows_.loc[rows_["method"] == "wircm", "lower_bound"] = 10.1
    assert len(measures.contradictions(measures.measured(rows_))) == 1


def test_solvers_and_time_limits_are_told_apart_where_there_are_several():
    found = measures.series(
        make_rows(
            {"method": "svm"},
            {"method": "cs3vm"},
            {"method": "cs3vm", "solver": "scip"},
            {"method": "ircm", "time_limit": 5.0},
            {"method": "ircm"},
        )
    )
    assert found.tolist() == ["svm", "cs3vm (bnb)", "cs3vm (scip)", "ircm (5 s)", "ircm (10 s)"]


def test_a_cell_that_was_run_again_counts_once(tmp_path: Path):
    for line in example().to_dict("records"):
        rows.append(tmp_path / "rows.csv", line)
    again = example().iloc[-1].to_dict() | {"error": "", "status": "optimal"}
    rows.append(tmp_path / "rows.csv", again)
    found = measures.read(tmp_path)
    assert len(found) == len(example())
    assert found.set_index("method").loc["auto", "status"] == "optimal"


# -- figures -----------------------------------------------------------------------------------------
def test_figures_are_functions_of_a_data_frame():
    found = measures.measured(example())
    time_axes = figures.runtime_ecdf(found).axes[0]
    labels = [text.get_text() for text in time_axes.get_legend().get_texts()]
    assert labels == [
        *("SVM (100% of 1)", "CS³VM (100% of 1)", "IRCM (100% of 1)", "WIRCM (0% of 1)", "auto (0% of 1)"),
    ]
    bounds = figures.bound_ecdf(found).axes[0]
    assert "IRCM (within 20 %: 100% of 1)" in [text.get_text() for text in bounds.get_legend().get_texts()]
    left, right = figures.boxes(found, "AC_hat").axes
    assert (left.get_title(), right.get_title()) == ("all points", "unlabelled points")
    assert [text.get_text() for text in left.get_xticklabels()][-2:] == ["WIRCM: 1", "auto: 0"]


def test_sensitivity_groups_what_depends_on_the_instance_by_its_share():
    given = [
        {"method": "wircm", "settings": {"max_fixed": 16}},
        {"method": "wircm", "settings": {"max_fixed": 8}},
    ]
    given.append({"method": "wircm", "settings": {"max_fixed": 21}, "m": 104, "seed": 1})
    found = measures.measured(make_rows(*given))
    axes = figures.sensitivity(found, "seconds").axes[0]
    assert axes.get_title() == "B_max (max_fixed, times m)"
    assert axes.get_lines()[0].get_xdata().tolist() == [0.1, 0.2]  # 8 of 80; 16 of 80 and 21 of 104


def test_the_headlines_stand_beside_the_papers():
    found = {line.claim: line[1:] for line in headlines(measures.measured(example()))}
    assert found["instances whose optimum is proven by some method"] == ("179 of 485 (37 %)", "1 of 1 (100%)")
    assert found["IRCM: objective within 20 % of a proven optimum"] == ("90 %", "1 of 1 (100%)")
    assert found["IRCM ends, all sizes [bnb]"] == ("57 %", "1 of 1 (100%)")
    assert found["WIRCM proves optimality, N ≤ 500 [bnb]"] == ("> 50 %", "0 of 1 (0%)")
    assert found["auto (ours) proves optimality, N ≤ 500 [bnb]"] == (
        "–",
        "0 of 1 (0%)",
    )  # failed, yet counted
    assert found["WIRCM: better accuracy than the SVM, all points [bnb]"] == ("almost 75 %", "0 of 1 (0%)")


def test_the_report_escapes_what_rows_contain_and_tells_of_failures(tmp_path: Path):
    lines = example().assign(study="peers")
    lines.loc[lines["method"] == "auto", "error"] = "<script>alert(1)</script>"
    for line in lines.astype(object).where(lines.notna(), "").to_dict("records"):
        rows.append(tmp_path / "rows.csv", line)
    page = report.write_report(tmp_path, tmp_path / "report").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page.partition('id="failed"')[2]
