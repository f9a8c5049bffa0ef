"""Several classes: accuracy on unlabelled rows by the scale of the scores, beside others with the totals."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from cs3vm import Problem, solve
from cs3vm.learn.assignment import assign
from cs3vm.learn.kernel import make_kernel
from cs3vm.learn.kernel_map import fit_kernel_map
from cs3vm.learn.scaling import make_scaling
from experiments.rows import Row, existing, run_cells

DATASETS = (
    *("iris", "wine_recognition", "penguins", "tae", "balance_scale", "new_thyroid", "hayes_roth", "cars"),
    *("cmc", "waveform_21", "dna"),
)
MAX_ROWS = 1000  # of a larger dataset a random part
SHARE = 0.1  # labelled


def instance(dataset: str, seed: int, biased: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardised rows, their classes, and which are labelled: one of each class at least.

    Biased: the chance to be labelled differs between the classes by up to a factor of 8.
    """
    folder = Path(os.environ.get("CS3VM_DATA", "../shared/pmlb"))
    table = pd.read_csv(folder / dataset / f"{dataset}.tsv.gz", sep="\t").dropna()
    rng = np.random.default_rng(seed)
    table = table.iloc[np.sort(rng.permutation(len(table))[:MAX_ROWS])]
    y = np.unique(table["target"], return_inverse=True)[1]
    k = int(y.max()) + 1
    chance = (rng.permutation(np.geomspace(1, 8, k)) if biased else np.ones(k))[y]
    first = [int(rng.choice(np.flatnonzero(y == c))) for c in range(k)]
    chance[first] = 0.0
    size = max(2 * k, round(SHARE * len(y))) - k
    labelled = np.zeros(len(y), dtype=bool)
    labelled[first] = labelled[rng.choice(len(y), size, replace=False, p=chance / chance.sum())] = True
    X = table.drop(columns="target").to_numpy(float)
    return make_scaling("zscore", X).transform(X), y, labelled


def planes(X: np.ndarray, y: np.ndarray, labelled: np.ndarray, method: str, seconds: float) -> tuple:
    """The scores of the unlabelled rows, one against the rest, and the lengths of the normal vectors."""
    U, totals = X[~labelled], np.bincount(y[~labelled])
    signs = [np.where(y[labelled] == c, 1, -1) for c in range(len(totals))]
    problems = [Problem(X[labelled], s, U, int(t)) for s, t in zip(signs, totals, strict=True)]
    results = [solve(problem, method, time_limit=seconds) for problem in problems]
    scores = np.column_stack([result.problem.scores(result.coef, result.intercept) for result in results])
    return scores, np.array([np.linalg.norm(result.coef) for result in results])


def mapped(X: np.ndarray, kernel: str) -> np.ndarray:
    made = make_kernel(kernel, "scale", 3, 0.0, X, np.ones(len(X)))
    return fit_kernel_map(made, X, np.arange(len(X)), n_components=None, exact_limit=3000, random_state=0)[1]


def cell(dataset: str, seed: int, sample: str, seconds: float) -> Row:
    from sklearn.linear_model import LogisticRegression

    X, y, labelled = instance(dataset, seed, sample == "biased")
    truth = y[~labelled]
    totals = np.bincount(truth, minlength=int(y.max()) + 1)
    plain, _ = planes(X, y, labelled, "svm", seconds)
    ours, length = planes(X, y, labelled, "direct", seconds)
    logistic = LogisticRegression(max_iter=5000).fit(X[labelled], y[labelled])
    log_odds = logistic.predict_log_proba(X[~labelled])
    spread = np.abs(ours).mean(axis=0)
    with_totals = {
        "SVM + totals": plain,
        "logistic + totals": log_odds,
        "CS3VM, margin": ours,
        "CS3VM, length": ours / np.where(length > 1e-9, length, 1.0),
        "CS3VM, spread": ours / np.where(spread > 1e-9, spread, 1.0),
        "rbf CS3VM, margin": planes(mapped(X, "rbf"), y, labelled, "direct", seconds)[0],
    }
    row = {name: np.mean(assign(scores, totals).labels == truth) for name, scores in with_totals.items()}
    row |= {
        "SVM": np.mean(plain.argmax(axis=1) == truth),
        "logistic": np.mean(log_odds.argmax(axis=1) == truth),
    }
    return {name: f"{value:.4f}" for name, value in row.items()}


def run(out: Path, seeds: int, seconds: float, jobs: int) -> None:
    cells = [
        {"dataset": dataset, "seed": seed, "sample": sample, "seconds": seconds}
        for dataset in DATASETS
        for seed in range(seeds)
        for sample in ("biased", "random")
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(f"{row['dataset']:<18} seed {row['seed']}  {row['sample']}", flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """The mean accuracy of each rule, biased and random."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    names = [name for name in rows[0] if name not in ("dataset", "seed", "sample", "seconds")]
    for row in rows:
        for name in names:
            values[name, row["sample"]].append(float(row[name]))
    lines = ["| rule | biased | random |", "|---|---|---|"]
    for name in names:
        means = [np.mean(values[name, sample]) for sample in ("biased", "random")]
        lines.append(f"| {name} | {means[0]:.3f} | {means[1]:.3f} |")
    return "\n".join(lines)
