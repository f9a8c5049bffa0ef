"""How good probabilities are: log loss, Brier score and reliability, all methods shifted to the same total.

The paper's sets, class-biased and random labels. The rivals are classifiers that learn from the labels alone;
their log-odds are shifted until they add up to the total (:class:`cs3vm.TopTau`, which also keeps
probabilities away from 0 and 1 by half a label). Ours are those of :class:`cs3vm.CS3VMClassifier` with its
default parameters and with the recommended kernel.
"""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import standardised
from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMWarning
from cs3vm.learn.rules import RECOMMENDED
from cs3vm.learn.top_tau import make_rival
from experiments.instances import SAMPLINGS, draw, load, paper_table
from experiments.rows import Row, existing, run_cells

#: Column of the CSV file → name in the table.
TITLES = {
    "flat": "the known share for every row",
    "logistic": "logistic regression, shifted",
    "forest": "random forest, shifted",
    "extra_trees": "extra trees, shifted",
    "linear": "CS³VM, linear",
    "recommended": "CS³VM, Laplacian kernel on ranks",
}
RIVALS = ("logistic", "forest", "extra_trees")
#: This package's classifiers: what differs from the estimator's defaults.
OURS: dict[str, dict[str, Any]] = {"linear": {}, "recommended": {**RECOMMENDED.changes, "n_components": 300}}
#: Of the reliability curve.
BINS = 10
#: A probability is no nearer to 0 or 1 than this when its logarithm is taken.
LEAST = 1e-6


def cell(dataset: str, seed: int, sampling: str, work_limit: float) -> Row:
    problem, truth = standardised(draw(load(dataset), seed, sampling=sampling))
    rows = np.vstack([problem.X, problem.U])
    y = np.append(problem.y, np.full(problem.m, np.nan))
    total = int(problem.n_positive)
    row: Row = {"n": problem.n, "m": problem.m, "d": problem.d, "n_positive": total}
    row["labelled_positive"] = int(np.sum(problem.y > 0))
    for name in TITLES:
        began = time.perf_counter()
        p = _positive(name, rows, y, total, seed, work_limit)
        row[f"{name}_seconds"] = f"{time.perf_counter() - began:.2f}"
        row |= {f"{name}_{measure}": value for measure, value in judge(p, truth).items()}
    return row


def _positive(name: str, rows: np.ndarray, y: np.ndarray, total: int, seed: int, work: float) -> np.ndarray:
    """The probability of the positive class, of each unlabelled row."""
    unlabelled = np.isnan(y)
    if name == "flat":
        return np.full(unlabelled.sum(), total / unlabelled.sum())
    if name in RIVALS:
        clf: Any = make_rival(name, seed)
    else:
        clf = CS3VMClassifier("direct", time_limit=60, work_limit=work, **OURS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf.fit(rows, y, n_positive=total)
    return clf.probabilities_[unlabelled, 1]


def judge(p: np.ndarray, truth: np.ndarray) -> Row:
    """Log loss, Brier score, and rows, sum of probabilities and positives in each bin of the probability."""
    safe = np.clip(p, LEAST, 1 - LEAST)
    loss = -np.mean(np.where(truth, np.log(safe), np.log1p(-safe)))
    which = np.minimum((p * BINS).astype(int), BINS - 1)
    sums = (np.bincount(which, values, BINS) for values in (None, p, truth))
    bins = " ".join("/".join(f"{value:.6g}" for value in triple) for triple in zip(*sums, strict=True))
    return {"loss": f"{loss:.5f}", "brier": f"{np.mean((p - truth) ** 2):.5f}", "bins": bins}


def cells(max_n: int, seeds: int, work_limit: float) -> list[Row]:
    sets = sorted(paper_table(), key=lambda row: int(row["N"]))
    return [
        {"dataset": row["paper_name"], "seed": seed, "sampling": sampling, "work_limit": work_limit}
        for seed in range(seeds)
        for row in sets
        if int(row["N"]) <= max_n
        for sampling in SAMPLINGS
    ]


def run(out: Path, max_n: int, seeds: int, work_limit: float, jobs: int) -> None:
    for row in run_cells(out, cells(max_n, seeds, work_limit), cell, jobs):
        losses = "  ".join(f"{name} {row[f'{name}_loss']}" for name in TITLES)
        print(f"{row['dataset']:<28} {row['seed']} {row['sampling']:<7} {losses}", flush=True)
    rows = existing(out)
    print(table(rows), by_labels(rows), reliability(rows), sep="\n\n")


# -- the tables --------------------------------------------------------------------------------------
def table(rows: list[Row]) -> str:
    """Means over the instances, and how far the recommended kernel is below each of the others."""
    parts = []
    for sampling in SAMPLINGS:
        chosen = [row for row in rows if row["sampling"] == sampling]
        if not chosen:
            continue
        lines = [
            f"| {sampling} labels, {len(chosen)} instances | log loss | Brier score | worse than flat | "
            "log loss minus that of the last line | last line better |",
            "|---|--:|--:|--:|--:|--:|",
        ]
        for name, title in TITLES.items():
            loss, brier = (_mean(chosen, f"{name}_{measure}") for measure in ("loss", "brier"))
            worse = statistics.mean(float(r[f"{name}_loss"]) > float(r["flat_loss"]) + 5e-6 for r in chosen)
            cells = [f"{loss:.4f}", f"{brier:.4f}", f"{100 * worse:.0f} %", *_versus(chosen, name)]
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _mean(rows: list[Row], column: str) -> float:
    return statistics.mean(float(row[column]) for row in rows)


def _versus(rows: list[Row], name: str) -> tuple[str, str]:
    """The difference with its standard error by datasets: seeds of one are not independent."""
    if name == "recommended":
        return "–", "–"
    differences = [
        statistics.mean(
            float(r[f"{name}_loss"]) - float(r["recommended_loss"]) for r in rows if r["dataset"] == dataset
        )
        for dataset in dict.fromkeys(row["dataset"] for row in rows)
    ]
    better = statistics.mean(difference > 0 for difference in differences)
    error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else float("nan")
    return f"{statistics.mean(differences):+.4f} ± {error:.4f}", f"{100 * better:.0f} %"


def by_labels(rows: list[Row]) -> str:
    """Mean log loss by the number of labels."""
    sizes = {"up to 20 labels": (0, 20), "21 to 60": (21, 60), "more": (61, 10**9)}
    groups = {
        title: group
        for title, (least, most) in sizes.items()
        if (group := [row for row in rows if least <= int(row["n"]) <= most])
    }
    lines = [
        "| log loss | " + " | ".join(f"{t} ({len(group)} instances)" for t, group in groups.items()) + " |",
        "|---|" + "--:|" * len(groups),
    ]
    for name, title in TITLES.items():
        means = (f"{_mean(group, f'{name}_loss'):.4f}" for group in groups.values())
        lines.append(f"| {title} | " + " | ".join(means) + " |")
    return "\n".join(lines)


def curve(rows: list[Row], name: str) -> np.ndarray:
    """For each bin its share of the rows, their mean probability and share of positives; sets count alike."""
    sums = np.zeros((BINS, 3))
    for row in rows:
        bins = np.array([[float(v) for v in triple.split("/")] for triple in row[f"{name}_bins"].split()])
        sums += bins / bins[:, 0].sum()
    return np.column_stack([sums[:, 0] / len(rows), sums[:, 1:] / np.maximum(sums[:, :1], 1e-300)])


def reliability(rows: list[Row]) -> str:
    """Of rows with a probability in each bin, the share that is positive; it should be the probability."""
    names = [name for name in TITLES if name != "flat"]
    lines = [
        "| probability said | " + " | ".join(TITLES[name] for name in names) + " |",
        "|---|" + "--:|" * len(names),
    ]
    curves = {name: curve(rows, name) for name in names}
    for i in range(BINS):
        cells = [
            f"{curves[name][i, 1]:.2f} → {curves[name][i, 2]:.2f}" if curves[name][i, 0] > 0 else "–"
            for name in names
        ]
        lines.append(f"| {i / BINS:.1f} to {(i + 1) / BINS:.1f} | " + " | ".join(cells) + " |")
    off = (np.average(np.abs(c[:, 1] - c[:, 2]), weights=c[:, 0]) for c in curves.values())
    lines.append("| mean distance | " + " | ".join(f"{value:.3f}" for value in off) + " |")
    return "\n".join(lines)
