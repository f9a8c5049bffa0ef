"""How many unlabelled rows get their true class: this package beside others that know the same total.

Features have mean 0 and standard deviation 1 over all rows, C = 1. An answer's sides are its ``z``, also for
rows on the plane. Unlabelled rows are shuffled first: a file sorted by class must not break the ties.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from cs3vm import Problem, solve
from cs3vm.scaling import make_scaling
from experiments.instances import Instance, draw, load, paper_table
from experiments.rows import Row, existing, run_cells

SAMPLINGS = ("biased", "random")
#: Column of the CSV file → name in the table.
TITLES = {
    "majority": "the more frequent class, by τ alone",
    "svm": "`svm`",
    "top_tau": "`top_tau`",
    "direct": "`direct`",
    "direct_margin": "`direct`, `side_margin=0.1`",
    "logistic": "logistic regression + top-τ",
    "forest": "random forest + top-τ",
    "extra_trees": "extra trees + top-τ",
}
REFERENCE = "top_tau"


def cell(dataset: str, seed: int, sampling: str, time_limit: float) -> Row:
    problem, truth = standardised(draw(load(dataset), seed, sampling=sampling))
    tau = int(problem.n_positive)
    direct = solve(problem, "direct", time_limit=time_limit)
    margin = solve(replace(problem, side_margin=0.1), "direct", time_limit=time_limit)
    sides = {
        "majority": np.full(problem.m, 2 * tau >= problem.m),
        "svm": solve(problem, "svm").z,
        "top_tau": solve(problem, "top_tau").z,
        "direct": direct.z,
        "direct_margin": margin.z,
        "logistic": top_tau(LogisticRegression(max_iter=1000), problem),
        "forest": top_tau(RandomForestClassifier(n_estimators=200, random_state=seed), problem),
        "extra_trees": top_tau(ExtraTreesClassifier(n_estimators=200, random_state=seed), problem),
    }
    row: Row = {"n": problem.n, "m": problem.m, "d": problem.d, "n_positive": tau}
    row |= {name: f"{np.mean((z > 0) == truth):.4f}" for name, z in sides.items()}
    return row | {
        "direct_on_plane": direct.on_plane,
        "direct_trivial": int(direct.is_trivial),
        "direct_seconds": f"{direct.seconds:.2f}",
    }


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
    probability = model.predict_proba(problem.U)[:, list(model.classes_).index(1.0)]
    z = np.zeros(problem.m, dtype=bool)
    z[np.argsort(-probability, kind="stable")[: int(problem.n_positive)]] = True
    return z


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
    """Mean and median accuracy of each method, and how often it beats the reference."""
    return "\n\n".join(
        f"{sampling.capitalize()} labels\n\n{_table([row for row in rows if row['sampling'] == sampling])}"
        for sampling in SAMPLINGS
        if any(row["sampling"] == sampling for row in rows)
    )


def _table(rows: list[Row]) -> str:
    lines = [
        f"| {len(rows)} instances | mean | median | minus `{REFERENCE}` | better | equal | worse |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, title in TITLES.items():
        values = [float(row[name]) for row in rows]
        differences = [float(row[name]) - float(row[REFERENCE]) for row in rows]
        versus = [_with_error(differences), *(str(sum(test)) for test in _signs(differences))]
        cells = [f"{statistics.mean(values):.3f}", f"{statistics.median(values):.3f}"]
        cells += ["–"] * len(versus) if name == REFERENCE else versus
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


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


def against(rows: list[Row], ours: str = "direct", other: str = "forest", most: int = 6) -> str:
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
