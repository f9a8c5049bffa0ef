"""How many *new* rows get their true class: a third of each dataset is held out, with nothing known about it.

The other two thirds are the instance of the other benchmarks: few biased labels and a known total. The
rivals learn from the labels and put their threshold where it meets the total on the unlabelled rows. Our fits
end by work, so that a busy machine measures the same as an idle one.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy import OURS
from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMWarning
from experiments.instances import biased_rows, load, paper_table
from experiments.peers import highest
from experiments.rows import Row, existing, run_cells

#: Column of the CSV file → name in the table.
TITLES = {
    "logistic": "logistic regression, threshold by the total",
    "extra_trees": "extra trees, threshold by the total",
    "self_trained": "extra trees, after a round of self-training with the total",
    "linear_plane": "CS³VM, linear: plane",
    "linear_student": "CS³VM, linear: student",
    "recommended_plane": "CS³VM, Laplacian kernel on ranks: plane",
    "recommended_student": "CS³VM, Laplacian kernel on ranks: student",
}
#: What `predict` is with the recommended kernel.
CHOSEN = "recommended_student"
FOLDS = 3


def cell(dataset: str, seed: int, work: float) -> Row:
    data = load(dataset)
    shuffled = np.random.default_rng([seed, 2]).permutation(len(data.y))
    new, seen = shuffled[::FOLDS], np.setdiff1d(np.arange(len(data.y)), shuffled[::FOLDS])
    rows, truth = data.X[seen], data.y[seen]
    labelled = biased_rows(truth, seed)
    y = np.full(len(truth), np.nan)
    y[labelled] = truth[labelled]
    total = int((truth[np.isnan(y)] > 0).sum())
    trees = ExtraTreesClassifier(n_estimators=200, random_state=seed)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    sides = {
        "logistic": by_threshold(linear, rows, y, total, data.X[new]),
        "extra_trees": by_threshold(trees, rows, y, total, data.X[new]),
        "self_trained": self_trained(trees, rows, y, total, data.X[new]),
    }
    row: Row = {"n": len(labelled), "m": len(y) - len(labelled), "new": len(new), "n_positive": total}
    for name in ("linear", "recommended"):
        began = time.perf_counter()
        sides |= ours(name, rows, y, total, data.X[new], work)
        row[f"{name}_seconds"] = f"{time.perf_counter() - began:.2f}"
    return row | {name: f"{np.mean(sides[name] == (data.y[new] > 0)):.4f}" for name in TITLES}


def ours(
    name: str, rows: np.ndarray, y: np.ndarray, total: int, new: np.ndarray, work: float
) -> dict[str, np.ndarray]:
    """What the plane and the student of one fit say about the new rows."""
    clf = CS3VMClassifier("direct", time_limit=600.0, work_limit=work, **OURS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)  # the table says what the accuracy is
        clf.fit(rows, y, n_positive=total)
    said = {}
    for predictor in ("plane", "student"):
        parameters = replace(clf.fit_.parameters, predictor=predictor)
        clf.fit_ = replace(clf.fit_, parameters=parameters)
        said[f"{name}_{predictor}"] = clf.predict(new) > 0
    return said


def by_threshold(model: Any, rows: np.ndarray, y: np.ndarray, total: int, new: np.ndarray) -> np.ndarray:
    """The threshold is where so many of the unlabelled rows are positive as are known to be."""
    model.fit(rows[~np.isnan(y)], y[~np.isnan(y)])
    known = np.sort(_positive(model, rows[np.isnan(y)]))[::-1]
    ends = np.concatenate([[known[0] + 1.0], known, [known[-1] - 1.0]])
    return _positive(model, new) > 0.5 * (ends[total] + ends[total + 1])


def self_trained(model: Any, rows: np.ndarray, y: np.ndarray, total: int, new: np.ndarray) -> np.ndarray:
    """The same model once more, on the labels and the labels that it gave itself by the total."""
    model.fit(rows[~np.isnan(y)], y[~np.isnan(y)])
    own = y.copy()
    own[np.isnan(y)] = np.where(highest(_positive(model, rows[np.isnan(y)]), total), 1.0, -1.0)
    return np.asarray(model.fit(rows, own).predict(new) > 0)


def _positive(model: Any, rows: np.ndarray) -> np.ndarray:
    return model.predict_proba(rows)[:, list(model.classes_).index(1)]


def cells(max_n: int, seeds: Sequence[int], work: float) -> list[Row]:
    sets = sorted(paper_table(), key=lambda row: int(row["N"]))
    return [
        {"dataset": row["paper_name"], "seed": seed, "work": work}
        for row in sets
        if int(row["N"]) <= max_n
        for seed in seeds
    ]


def run(out: Path, max_n: int, seeds: Sequence[int], work: float, jobs: int) -> None:
    for row in run_cells(out, cells(max_n, seeds, work), cell, jobs):
        scores = "  ".join(f"{name} {row[name]}" for name in TITLES)
        print(f"{row['dataset']:<28} {row['seed']} {scores}", flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """Mean accuracy on new rows, and the chosen predictor beside each: its lead, by datasets, ± its error."""
    lines = [
        f"| {len(rows)} instances | mean | median | last line minus this | better | worse |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, title in TITLES.items():
        values = [float(row[name]) for row in rows]
        cells = [f"{statistics.mean(values):.3f}", f"{statistics.median(values):.3f}"]
        lines.append(f"| {title} | " + " | ".join([*cells, *_lead(rows, name)]) + " |")
    return "\n".join(lines)


def _lead(rows: list[Row], other: str) -> list[str]:
    """The seeds of one dataset are not independent, so datasets are counted."""
    if other == CHOSEN:
        return ["–"] * 3
    names = dict.fromkeys(row["dataset"] for row in rows)
    leads = [
        statistics.mean(float(r[CHOSEN]) - float(r[other]) for r in rows if r["dataset"] == name)
        for name in names
    ]
    error = statistics.stdev(leads) / len(leads) ** 0.5 if len(leads) > 1 else float("nan")
    better, worse = sum(lead > 5e-5 for lead in leads), sum(lead < -5e-5 for lead in leads)
    return [f"{statistics.mean(leads):+.3f} ± {error:.3f}", str(better), str(worse)]
