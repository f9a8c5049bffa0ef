"""How many unlabelled rows get their true class: this package beside others that know the same total.

Features have mean 0 and standard deviation 1 over all rows, C = 1. An answer's sides are its ``z``, also for
rows on the plane. Unlabelled rows are shuffled first: a file sorted by class must not break the ties.
"""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from cs3vm import CS3VMClassifier, Problem, solve
from cs3vm.exceptions import CS3VMWarning
from cs3vm.learn.scaling import make_scaling
from experiments.instances import Instance, draw, load, paper_table
from experiments.peers import highest, label_spreading, self_training
from experiments.rows import Row, existing, run_cells

SAMPLINGS = ("biased", "random")
#: Column of the CSV file → name in the table.
TITLES = {
    "majority": "the more frequent class, by τ alone",
    "svm": "`svm`",
    "top_tau": "`top_tau`",
    "logistic": "logistic regression + top-τ",
    "forest": "random forest + top-τ",
    "extra_trees": "extra trees + top-τ",
    "self_training": "self-training + top-τ",
    "label_spreading": "label spreading + top-τ",
    "linear": "CS³VM, linear",
    "rbf": "CS³VM, RBF kernel",
    "laplacian": "CS³VM, Laplacian kernel",
    "recommended": "CS³VM, Laplacian kernel on ranks",
}
#: This package's classifiers: what differs from the estimator's defaults.
OURS: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "laplacian": {"kernel": "laplacian"},
    "recommended": {"kernel": "laplacian", "standardize": "rank", "C": 3.0},
}
#: "Classifier + top-τ": what one would do without this package's model.
RIVALS = ("top_tau", "logistic", "forest", "extra_trees", "self_training", "label_spreading")
#: Chosen before the run, on other samples of the sets with up to 1500 rows (seeds 100 and 101).
CHOSEN = "recommended"


def cell(dataset: str, seed: int, sampling: str, time_limit: float) -> Row:
    problem, truth = standardised(draw(load(dataset), seed, sampling=sampling))
    tau = int(problem.n_positive)
    sides = {
        "majority": np.full(problem.m, 2 * tau >= problem.m),
        "svm": solve(problem, "svm").z,
        "top_tau": solve(problem, "top_tau").z,
        "logistic": top_tau(LogisticRegression(max_iter=1000), problem),
        "forest": top_tau(RandomForestClassifier(n_estimators=200, random_state=seed), problem),
        "extra_trees": top_tau(ExtraTreesClassifier(n_estimators=200, random_state=seed), problem),
        "self_training": top_tau_with_unlabelled(self_training(), problem),
        "label_spreading": top_tau_with_unlabelled(label_spreading(), problem),
    }
    row: Row = {"n": problem.n, "m": problem.m, "d": problem.d, "n_positive": tau}
    seconds: Row = {}
    for name, settings in OURS.items():
        began = time.perf_counter()
        sides[name] = transduced(settings, problem, time_limit)
        seconds[f"{name}_seconds"] = f"{time.perf_counter() - began:.2f}"
    return row | {name: f"{np.mean((sides[name] > 0) == truth):.4f}" for name in TITLES} | seconds


def transduced(settings: dict[str, Any], problem: Problem, time_limit: float) -> np.ndarray:
    """The labels that the classifier gives to the unlabelled rows."""
    rows = np.vstack([problem.X, problem.U])
    y = np.append(problem.y, np.full(problem.m, np.nan))
    clf = CS3VMClassifier("direct", time_limit=time_limit, side_margin=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)  # the table says what the accuracy is
        clf.fit(rows, y, n_positive=problem.n_positive)
    return clf.transduction_[problem.n :] > 0


def standardised(instance: Instance) -> tuple[Problem, np.ndarray]:
    """The instance with mean 0 and standard deviation 1, its unlabelled rows in random order."""
    problem = instance.problem
    shuffle = np.random.default_rng(instance.seed).permutation(problem.m)
    U = problem.U[shuffle]
    scaling = make_scaling("zscore", np.vstack([problem.X, U]), np.ones(problem.n + problem.m))
    truth = instance.true_side[shuffle] > 0
    return Problem(scaling.transform(problem.X), problem.y, scaling.transform(U), problem.n_positive), truth


def top_tau(model, problem: Problem) -> np.ndarray:
    """The τ rows to which the model gives the highest probability."""
    model.fit(problem.X, problem.y)
    return highest(_positive(model, problem.U), problem.n_positive)


def top_tau_with_unlabelled(model, problem: Problem) -> np.ndarray:
    """The same for a semi-supervised model, for which -1 marks a row without a label."""
    model.fit(np.vstack([problem.X, problem.U]), np.append(problem.y > 0, np.full(problem.m, -1)))
    return highest(_positive(model, problem.U), problem.n_positive)


def _positive(model, rows: np.ndarray) -> np.ndarray:
    return model.predict_proba(rows)[:, list(model.classes_).index(1)]


def cells(max_n: int | None, seeds: int, time_limit: float) -> list[Row]:
    sets = sorted(paper_table(), key=lambda row: int(row["N"]))
    return [
        {"dataset": row["paper_name"], "seed": seed, "sampling": sampling, "time_limit": time_limit}
        for row in sets
        if max_n is None or int(row["N"]) <= max_n
        for seed in range(seeds)
        for sampling in SAMPLINGS
    ]


def run(out: Path, max_n: int | None, seeds: int, time_limit: float, jobs: int) -> None:
    for row in run_cells(out, cells(max_n, seeds, time_limit), cell, jobs):
        scores = "  ".join(f"{name} {row[name]}" for name in TITLES)
        print(f"{row['dataset']:<28} {row['seed']} {row['sampling']:<7} {scores}", flush=True)
    rows = existing(out)
    print(table(rows), by_size(rows), against(rows), sep="\n\n")


def table(rows: list[Row]) -> str:
    """Mean and median accuracy of each method, beside those of the chosen one."""
    return "\n\n".join(
        f"{sampling.capitalize()} labels\n\n{_table([row for row in rows if row['sampling'] == sampling])}"
        for sampling in SAMPLINGS
        if any(row["sampling"] == sampling for row in rows)
    )


def _table(rows: list[Row]) -> str:
    """Positive differences, "better" and small p speak for the chosen kernel."""
    lines = [
        f"| {len(rows)} instances | mean | median | last line minus this | better | equal | worse | p |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, title in TITLES.items():
        values = [float(row[name]) for row in rows]
        cells = [f"{statistics.mean(values):.3f}", f"{statistics.median(values):.3f}"]
        cells += ["–"] * 5 if name == CHOSEN else _versus(rows, name)
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _versus(rows: list[Row], other: str) -> list[str]:
    """The chosen method against another, by datasets: the seeds of one are not independent."""
    datasets = dict.fromkeys(row["dataset"] for row in rows)
    differences = [
        statistics.mean(float(r[CHOSEN]) - float(r[other]) for r in rows if r["dataset"] == name)
        for name in datasets
    ]
    p = wilcoxon(differences).pvalue if any(differences) else 1.0
    return [_with_error(differences), *(str(sum(test)) for test in _signs(differences)), f"{p:.2g}"]


def _with_error(differences: list[float]) -> str:
    """The mean and its standard error."""
    error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else float("nan")
    return f"{statistics.mean(differences):+.3f} ± {error:.3f}"


def _signs(differences: list[float]) -> list[list[bool]]:
    """Above, equal, below; a difference below half a unit of the last stored digit is none."""
    return [
        [d > 5e-5 for d in differences],
        [abs(d) <= 5e-5 for d in differences],
        [d < -5e-5 for d in differences],
    ]


def by_size(rows: list[Row], sampling: str = "biased") -> str:
    """Mean accuracy by the number of labels."""
    sizes = {"up to 20 labels": (0, 20), "21 to 60": (21, 60), "more": (61, 10**9)}
    rows = [row for row in rows if row["sampling"] == sampling]
    groups = {
        title: group
        for title, (least, most) in sizes.items()
        if (group := [row for row in rows if least <= int(row["n"]) <= most])
    }
    lines = [
        "| | " + " | ".join(f"{title} ({len(group)} instances)" for title, group in groups.items()) + " |",
        "|---|" + "--:|" * len(groups),
    ]
    for name, title in TITLES.items():
        means = [statistics.mean(float(row[name]) for row in group) for group in groups.values()]
        lines.append(f"| {title} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    return "\n".join(lines)


def against(rows: list[Row], ours: str = CHOSEN, other: str = "forest", most: int = 6) -> str:
    """The datasets on which one method loses, and wins, most against another; means over the seeds."""
    rows = [row for row in rows if row["sampling"] == "biased"]
    names = dict.fromkeys(row["dataset"] for row in rows)
    mean = {
        name: [statistics.mean(float(r[m]) for r in rows if r["dataset"] == name) for m in (ours, other)]
        for name in names
    }
    order = sorted(names, key=lambda name: mean[name][0] - mean[name][1])
    wins = sum(a > b + 5e-5 for a, b in mean.values())
    losses = sum(a < b - 5e-5 for a, b in mean.values())
    lines = [
        f"| {TITLES[ours]} better on {wins} datasets, worse on {losses} | {TITLES[ours]} | {TITLES[other]} |",
        "|---|--:|--:|",
    ]
    shown = [*order[:most], *order[-most:]] if len(order) > 2 * most else order
    lines += [f"| {name} | {mean[name][0]:.3f} | {mean[name][1]:.3f} |" for name in shown]
    return "\n".join(lines)
