"""From rows to the paper's measures. Everything here takes a data frame and returns one, or a number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.cells import KEY, PROBLEM_OPTIONS, TRUE
from experiments.datasets import size
from experiments.scoring import CONVENTIONS, COUNT_COLUMNS, COUNTS, SCOPES

#: What all methods of an instance share.
INSTANCE = ["dataset", "seed", "sampling", "fraction", "bias"]
#: The largest N of each class of the paper's Appendix E, and its name.
SIZE_CLASSES = ((500, "N ≤ 500"), (1500, "500 < N ≤ 1500"), (np.inf, "N > 1500"))
MEASURES = ("AC", "PR", "RE", "FPR")
EXACT = ("cs3vm", "wircm", "auto")  # they have ended when they have a proof, the others when they stop
NUMBERS = (
    *("seed", "fraction", "bias", "time_limit", "n", "m", "d", "n_positive", "seconds", "objective"),
    *("lower_bound", "gap", "count", "on_plane", "labelled_on_plane", "iterations", "nodes", *COUNT_COLUMNS),
)


def read(path: Path) -> pd.DataFrame:
    """The rows of a folder or a file; of a cell that was run again, the last row counts."""
    file = path / "rows.csv" if path.is_dir() else path
    if not file.exists():
        raise FileNotFoundError(f"no rows at {file}: first run a study with --out {path}")
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    rows = rows.drop_duplicates(list(KEY), keep="last").reset_index(drop=True)
    for name in NUMBERS:
        rows[name] = [float(text or "nan") for text in rows[name]]
    return rows


def measured(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with all measures; those of the true hyperplane are used for them and left out."""
    rows = rows.copy()
    rows["N"] = (rows["n"] + rows["m"]).fillna(rows["dataset"].map(size))  # a failed cell counts as well
    rows["size"] = pd.cut(
        rows["N"], [0, *(most for most, _ in SIZE_CLASSES)], labels=[n for _, n in SIZE_CLASSES]
    )
    finished = rows["status"].eq("feasible") & ~rows["method"].isin(EXACT) | rows["status"].eq("optimal")
    rows["ended"] = finished & ~(rows["seconds"] > rows["time_limit"])
    rows["problem"] = rows["settings"].map(_problem_options)
    rows = rows.join(basic(rows))
    rows = rows.join(_compared(rows, TRUE, "hat")).join(_compared(rows, "svm", "bar"))
    rows = rows[rows["method"] != TRUE].copy()
    rows["optimum"] = optimum(rows)
    rows["excess"] = (rows["objective"] - rows["optimum"]) / np.maximum(rows["optimum"], 1e-10)  # eq. (gap)
    rows["series"] = series(rows)
    return rows.reset_index(drop=True)


def basic(rows: pd.DataFrame) -> pd.DataFrame:
    """AC, PR, RE and FPR (eqs. AC, prec, recall, fpr) for both conventions and scopes; 0/0 is NaN."""
    columns = {}
    for convention in CONVENTIONS:
        for scope in SCOPES:
            tp, tn, fp, fn = (rows[f"{convention}_{scope}_{name}"] for name in COUNTS)
            values = (
                ratio(tp + tn, tp + tn + fp + fn),
                ratio(tp, tp + fp),
                ratio(tp, tp + fn),
                ratio(fp, tn + fp),
            )
            columns |= {f"{convention}_{scope}_{m}": value for m, value in zip(MEASURES, values, strict=True)}
    return pd.DataFrame(columns, index=rows.index)


def ratio(numerator: pd.Series, denominator: pd.Series) -> pd.Series:
    """The quotient; with a zero denominator NaN, which is left out and counted."""
    return numerator / denominator.where(denominator != 0)


def _compared(rows: pd.DataFrame, reference: str, suffix: str) -> pd.DataFrame:
    """Ratios to the true hyperplane (eqs. compartrue), or relative differences from the SVM (comparSVM)."""
    names = [f"{c}_{s}_{m}" for c in CONVENTIONS for s in SCOPES for m in MEASURES]
    base = rows[(rows["method"] == reference) & (rows["settings"] == "") & (rows["error"] == "")]
    base = base.drop_duplicates(INSTANCE, keep="last")[[*INSTANCE, *names]]
    joined = rows[INSTANCE].merge(base, on=INSTANCE, how="left").set_index(rows.index)
    if suffix == "hat":
        found = {f"{name}_hat": ratio(rows[name], joined[name]) for name in names}
    else:
        found = {f"{name}_bar": ratio(rows[name] - joined[name], joined[name]) for name in names}
    return pd.DataFrame(found, index=rows.index)


def optimum(rows: pd.DataFrame) -> pd.Series:
    """f*: the best objective that some method proved optimal on the row's instance, NaN if none did."""
    proven = rows["objective"].where(rows["status"] == "optimal")
    return proven.groupby([rows[name] for name in (*INSTANCE, "problem")], dropna=False).transform("min")


def contradictions(rows: pd.DataFrame) -> pd.DataFrame:
    """Instances on which one method claims a lower bound above another's objective; there must be none."""
    groups = rows.groupby([*INSTANCE, "problem"], dropna=False)
    worst = groups.agg(lower_bound=("lower_bound", "max"), objective=("objective", "min")).reset_index()
    return worst[worst["lower_bound"] > worst["objective"] * (1 + 2e-5) + 1e-6]


def series(rows: pd.DataFrame) -> pd.Series:
    """The name of a row's line or box: its method, with solver and time limit where there are several."""
    name = rows["method"].copy()
    for column, shown in (("solver", "{}"), ("time_limit", "{:g} s")):
        several = rows.groupby("method")[column].transform("nunique") > 1
        text = rows[column].map(lambda value, shown=shown: shown.format(value))
        name = name.where(~several, name + " (" + text + ")")
    return name


def ecdf(values: pd.Series, total: int) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (perf): the steps of the share of ``total`` problems whose value is at most σ; NaN never is."""
    found = np.sort(values.dropna().to_numpy(dtype=float))
    return found, np.arange(1, len(found) + 1) / max(total, 1)


def ended_by(rows: pd.DataFrame, method: str = "cs3vm") -> pd.DataFrame:
    """The rows of the instances on which this method ended."""
    ended = rows[(rows["method"] == method) & rows["ended"]][INSTANCE].drop_duplicates()
    return rows.merge(ended, on=INSTANCE)


def box_table(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Quartiles of a measure per series, scope and convention, with the number of values left out."""
    lines = []
    for scope in SCOPES:
        for convention in CONVENTIONS:
            for name, values in rows.groupby("series", sort=False)[f"{convention}_{scope}_{measure}"]:
                q1, median, q3 = values.quantile([0.25, 0.5, 0.75])
                lines.append((name, scope, convention, values.count(), values.isna().sum(), q1, median, q3))
    columns = [
        "method",
        "points",
        "convention",
        "values",
        "left out",
        "lower quartile",
        "median",
        "upper quartile",
    ]
    return pd.DataFrame(lines, columns=columns)


def _problem_options(settings: str) -> str:
    chosen = json.loads(settings or "{}")
    return json.dumps({name: chosen[name] for name in sorted(PROBLEM_OPTIONS & chosen.keys())})
