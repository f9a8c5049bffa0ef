"""Choosing the kernel and C without more labels: what each criterion chooses, and how accurate that is.

Instances as in the accuracy benchmark. Every candidate is fitted to all labels, whence its accuracy on the
unlabelled rows, and without each of three folds of them; all criteria read the same fits.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from benchmarks.accuracy import SAMPLINGS, standardised
from cs3vm import CS3VMClassifier, CS3VMSearch
from cs3vm.selection.criteria import CRITERIA, combine, ranking
from cs3vm.selection.search import DEFAULT_CRITERION
from experiments.instances import draw, load, paper_table
from experiments.rows import Row, existing, run_cells

GRID = {"kernel": ["linear", "laplacian"], "C": [0.1, 1.0, 10.0]}
CANDIDATES = [f"{kernel} {C:g}" for kernel in GRID["kernel"] for C in GRID["C"]]
REFERENCES = ("laplacian 1", "linear 1")
#: Choices of the table: criteria and sums of their ranks.
CHOICES = (*CRITERIA, "auc+stability", "separation+auc", "separation+consensus")


def cell(dataset: str, seed: int, sampling: str, time_limit: float) -> Row:
    problem, truth = standardised(draw(load(dataset), seed, sampling=sampling))
    X, y = np.vstack([problem.X, problem.U]), np.append(problem.y, np.full(problem.m, np.nan))
    classifier = CS3VMClassifier("direct", time_limit=time_limit, standardize=None, side_margin=0)
    search = CS3VMSearch(classifier, GRID, criterion="stability", refit=False)
    search.fit(X, y, n_positive=problem.n_positive)
    results = search.cv_results_
    row: Row = {"n": problem.n, "m": problem.m, "d": problem.d, "n_positive": int(problem.n_positive)}
    for i, params in enumerate(results["params"]):
        name = f"{params['kernel']} {params['C']:g}"
        row[f"accuracy {name}"] = f"{np.mean((search.evidence_[i].full.codes > 0) == truth):.4f}"
        row |= {f"{criterion} {name}": f"{results[f'score_{criterion}'][i]:.6f}" for criterion in CRITERIA}
    return row


def cells(max_n: int, seeds: Sequence[int], time_limit: float) -> list[Row]:
    sets = sorted(paper_table(), key=lambda row: int(row["N"]))
    return [
        {"dataset": row["paper_name"], "seed": seed, "sampling": sampling, "time_limit": time_limit}
        for seed in seeds
        for sampling in SAMPLINGS
        for row in sets
        if int(row["N"]) <= max_n
    ]


def run(out: Path, max_n: int, seeds: Sequence[int], time_limit: float, jobs: int) -> None:
    for row in run_cells(out, cells(max_n, seeds, time_limit), cell, jobs):
        scores = "  ".join(f"{name} {row[f'accuracy {name}']}" for name in CANDIDATES)
        print(f"{row['dataset']:<28} {row['seed']} {row['sampling']:<7} {scores}", flush=True)
    print(table(existing(out)))


# -- the table -------------------------------------------------------------------------------------
def table(rows: list[Row]) -> str:
    """Mean accuracy of fixed parameters, of each criterion's choice, and of the best choice in hindsight."""
    return "\n\n".join(
        f"{sampling.capitalize()} labels\n\n{_table([row for row in rows if row['sampling'] == sampling])}"
        for sampling in SAMPLINGS
        if any(row["sampling"] == sampling for row in rows)
    )


def _table(rows: list[Row]) -> str:
    datasets = [row["dataset"] for row in rows]
    accuracies = {
        **{f"always {name}": _column(rows, "accuracy", name) for name in CANDIDATES},
        "a random candidate": _matrix(rows, "accuracy").mean(axis=1),
        **{f"chosen by {_title(name)}": chosen(rows, name) for name in CHOICES},
        "the best in hindsight": _matrix(rows, "accuracy").max(axis=1),
    }
    lines = [
        f"| {len(rows)} instances | mean | "
        + " | ".join(f"minus {reference} | p" for reference in REFERENCES)
        + " |",
        "|---|--:|" + "--:|--:|" * len(REFERENCES),
    ]
    for title, values in accuracies.items():
        versus = [
            "– | –"
            if title == f"always {reference}"
            else compared(values - accuracies[f"always {reference}"], datasets)
            for reference in REFERENCES
        ]
        lines.append(f"| {title} | {values.mean():.3f} | {' | '.join(versus)} |")
    return "\n".join(lines)


def _title(name: str) -> str:
    return f"`{name}` (the default)" if name == DEFAULT_CRITERION else f"`{name}`"


def chosen(rows: list[Row], choice: str) -> np.ndarray:
    """The accuracy of what the criterion chooses, on each instance."""
    accuracy, second = _matrix(rows, "accuracy"), _matrix(rows, "consensus")
    parts = [_matrix(rows, name) for name in choice.split("+")]
    best = [
        int(np.argmin(ranking(combine([part[i] for part in parts]), second[i]))) for i in range(len(rows))
    ]
    return accuracy[np.arange(len(rows)), best]


def compared(differences: np.ndarray, datasets: list[str]) -> str:
    """The mean with its standard error, and Wilcoxon's p, both over datasets: seeds are not independent."""
    by_dataset: dict[str, list[float]] = {}
    for name, difference in zip(datasets, differences.tolist(), strict=True):
        by_dataset.setdefault(name, []).append(difference)
    means = [statistics.mean(values) for values in by_dataset.values()]
    error = statistics.stdev(means) / len(means) ** 0.5 if len(means) > 1 else float("nan")
    p = wilcoxon(means).pvalue if np.any(means) else 1.0
    return f"{statistics.mean(means):+.3f} ± {error:.3f} | {'< 0.01' if p < 0.005 else f'{p:.2f}'}"


def _matrix(rows: list[Row], quantity: str) -> np.ndarray:
    """One row per instance, one column per candidate."""
    return np.column_stack([_column(rows, quantity, name) for name in CANDIDATES])


def _column(rows: list[Row], quantity: str, candidate: str) -> np.ndarray:
    return np.array([float(row[f"{quantity} {candidate}"]) for row in rows])
