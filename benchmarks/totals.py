"""Totals by group instead of one: what they are worth, what wrong ones cost, and how often they are proven.

Groups are the quantiles of one column, drawn by the seed; the rivals meet the total of every group by its
own threshold. Wrong totals are off by a share of the truth, alone and as intervals that hold the truth. Where
rows are many, what counts is time.
"""

from __future__ import annotations

import statistics
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.accuracy import OURS, standardised
from cs3vm import CS3VMClassifier, Problem, solve
from cs3vm.exceptions import CS3VMWarning
from cs3vm.model.totals import Totals
from experiments.instances import draw, load, paper_table
from experiments.peers import highest
from experiments.rows import Row, existing, run_cells

GROUPS = (1, 3, 6)
MANY_ROWS, MANY_GROUPS = 1_000_000, 50
WRONG = (-0.5, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2, 0.5)
TITLES = {
    "logistic": "logistic regression + top-τ by group",
    "extra_trees": "extra trees + top-τ by group",
    "linear": "CS³VM, linear",
    "linear_by_group": "CS³VM, linear, a threshold for each group",
    "recommended": "CS³VM, Laplacian kernel on ranks",
    "recommended_by_group": "CS³VM, Laplacian kernel on ranks, a threshold for each group",
}
CHOSEN, RIVALS = "recommended_by_group", ("logistic", "extra_trees")


def groups_of(column: np.ndarray, number: int) -> np.ndarray:
    """Groups of about the same size by the quantiles of a column; fewer where values repeat."""
    cuts = np.quantile(column, np.arange(1, number) / number)
    return np.searchsorted(cuts, column, side="left")


def by_group(truth: np.ndarray, group: np.ndarray) -> dict[int, int]:
    """The true totals."""
    return {int(g): int(truth[group == g].sum()) for g in np.unique(group)}


# -- what they are worth -----------------------------------------------------------------------------
def cell(dataset: str, seed: int, groups: int, work: float) -> Row:
    problem, truth = standardised(draw(load(dataset), seed))
    column = int(np.random.default_rng([seed, 7]).integers(problem.d))
    values = np.append(problem.X[:, column], problem.U[:, column])
    group = groups_of(values, groups)
    own = group[problem.n :]
    totals = by_group(truth, own)
    row: Row = {"n": problem.n, "m": problem.m, "column": column, "used": len(totals)}
    sides = {
        "logistic": _rival(LogisticRegression(max_iter=1000), problem, own, totals),
        "extra_trees": _rival(
            ExtraTreesClassifier(n_estimators=200, random_state=seed), problem, own, totals
        ),
    }
    for name in ("linear", "recommended"):
        for thresholds in (False, True):
            key = f"{name}_by_group" if thresholds else name
            sides[key] = _ours(name, problem, group, totals, thresholds, work)
    return row | {name: f"{np.mean((sides[name] > 0) == truth):.4f}" for name in TITLES}


def _rival(model: object, problem: Problem, group: np.ndarray, totals: dict[int, int]) -> np.ndarray:
    model.fit(problem.X, problem.y)  # type: ignore[attr-defined]
    score = model.predict_proba(problem.U)[:, -1]  # type: ignore[attr-defined]
    positive = np.zeros(problem.m, dtype=bool)
    for g, total in totals.items():
        rows = np.flatnonzero(group == g)
        positive[rows] = highest(score[rows], total)
    return positive


def _ours(
    name: str,
    problem: Problem,
    group: np.ndarray,
    totals: dict[int, int],
    thresholds: bool,
    work: float,
) -> np.ndarray:
    y = np.append(problem.y, np.full(problem.m, np.nan))
    clf = CS3VMClassifier("direct", work_limit=work, group_intercepts=thresholds, **OURS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf.fit(np.vstack([problem.X, problem.U]), y, n_positive=totals, groups=group)
    return clf.transduction_[problem.n :] > 0


# -- what wrong totals cost ----------------------------------------------------------------------------
def wrong_cell(dataset: str, seed: int, off: float, work: float) -> Row:
    problem, truth = standardised(draw(load(dataset), seed))
    true = int(truth.sum())
    given = int(np.clip(round(true * (1.0 + off)), 0, problem.m))
    share = abs(off)
    interval = (
        max(0, int(given * (1.0 - share))),
        min(problem.m, int(np.ceil(given / max(1e-9, 1.0 - share)))),
    )
    answers = {
        "top_tau": solve(replace(problem, n_positive=given), "top_tau").z,
        "number": _recommended(problem, given, work),
        "interval": _recommended(problem, interval, work),
    }
    row: Row = {"m": problem.m, "true": true, "given": given, "low": interval[0], "high": interval[1]}
    return row | {name: f"{np.mean((z > 0) == truth):.4f}" for name, z in answers.items()}


def _recommended(problem: Problem, total: int | tuple[int, int], work: float) -> np.ndarray:
    y = np.append(problem.y, np.full(problem.m, np.nan))
    clf = CS3VMClassifier("direct", work_limit=work, **OURS["recommended"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf.fit(np.vstack([problem.X, problem.U]), y, n_positive=total)
    return clf.transduction_[problem.n :] > 0


# -- how often they are proven -------------------------------------------------------------------------
def proof_cell(dataset: str, seed: int, groups: int, time_limit: float) -> Row:
    instance = draw(load(dataset), seed)
    problem, truth = instance.problem, instance.true_side > 0
    group = groups_of(problem.U[:, 0], groups)
    result = solve(
        replace(problem, n_positive=Totals.by_group(group, by_group(truth, group))),
        "auto",
        time_limit=time_limit,
    )
    return {
        "m": problem.m,
        "used": len(np.unique(group)),
        "objective": f"{result.objective:.9g}",
        "gap": f"{result.gap:.3e}",
        "status": result.status.value,
        "nodes": result.n_nodes,
        "seconds": f"{result.seconds:.2f}",
    }


# -- many rows -------------------------------------------------------------------------------------------
def many_cell(rows: int, groups: int, noise: float, repeats: int) -> Row:
    """Seconds of ``direct`` with one total and with one per group, in turns; the median of several runs."""
    rng = np.random.default_rng(0)
    w, X, U = rng.normal(size=20), rng.normal(size=(1000, 20)), rng.normal(size=(rows, 20))
    y = np.where(X @ w + rng.normal(size=1000) > 0.5, 1, -1)
    truth, group = U @ w + noise * rng.normal(size=rows) > 1.0, rng.integers(0, groups, rows)
    totals = {"one": int(truth.sum()), "several": Totals.by_group(group, by_group(truth, group))}
    solve(Problem(X[:50], y[:50], U[:500], 100), "direct")  # compiles
    seconds: dict[str, list[float]] = {name: [] for name in totals}
    for _ in range(repeats):
        for name, total in totals.items():
            problem = Problem(X, y, U, total)
            began = time.perf_counter()
            solve(problem, "direct")
            seconds[name].append(time.perf_counter() - began)
    one, several = (statistics.median(times) for times in seconds.values())
    return {"one_seconds": f"{one:.2f}", "seconds": f"{several:.2f}", "ratio": f"{several / one:.2f}"}


# -- all -------------------------------------------------------------------------------------------------
def _sets(max_n: int) -> list[str]:
    table = sorted(paper_table(), key=lambda row: int(row["N"]))
    return [row["paper_name"] for row in table if int(row["N"]) <= max_n]


def run(folder: Path, max_n: int, seeds: list[int], work: float, proof_limit: float, jobs: int) -> None:
    sets = _sets(max_n)
    worth: list[Row] = [
        {"dataset": name, "seed": seed, "groups": number, "work": work}
        for name in sets
        for seed in seeds
        for number in GROUPS
    ]
    wrong: list[Row] = [
        {"dataset": name, "seed": seeds[0], "off": off, "work": work} for name in sets for off in WRONG
    ]
    proofs: list[Row] = [
        {"dataset": name, "seed": 0, "groups": 3, "time_limit": proof_limit} for name in _sets(300)
    ]
    many: list[Row] = [
        {"rows": MANY_ROWS, "groups": MANY_GROUPS, "noise": noise, "repeats": 5} for noise in (0.0, 1.0)
    ]
    for part, cells, function in (
        ("many", many, many_cell),
        ("worth", worth, cell),
        ("proofs", proofs, proof_cell),
        ("wrong", wrong, wrong_cell),
    ):
        for row in run_cells(folder / f"totals_{part}.csv", cells, function, jobs):
            print(part, *row.values(), flush=True)
    print(tables(folder))


def tables(folder: Path) -> str:
    """The tables, of what is stored."""
    parts = (
        ("worth", worth_table),
        ("wrong", wrong_table),
        ("proofs", proof_table),
        ("many", many_table),
    )
    return "\n\n".join(table(existing(folder / f"totals_{part}.csv")) for part, table in parts)


def worth_table(rows: list[Row]) -> str:
    """Mean accuracy by the number of groups, and the lead over the best rival."""
    lines = ["| totals for | " + " | ".join(f"{g} groups" if g > 1 else "all rows" for g in GROUPS) + " |"]
    lines.append("|---" + "|--:" * len(GROUPS) + "|")
    of = {g: [row for row in rows if int(row["groups"]) == g] for g in GROUPS}
    means = {
        name: {g: statistics.mean(float(row[name]) for row in of[g]) for g in GROUPS if of[g]}
        for name in TITLES
    }
    for name, title in TITLES.items():
        lines.append(
            f"| {title} | " + " | ".join(f"{means[name].get(g, float('nan')):.3f}" for g in GROUPS) + " |"
        )
    lead = [f"{means[CHOSEN][g] - max(means[r][g] for r in RIVALS):+.3f}" if of[g] else "–" for g in GROUPS]
    lines.append("| last line above minus the best rival | " + " | ".join(lead) + " |")
    return "\n".join(lines)


def wrong_table(rows: list[Row]) -> str:
    """Mean accuracy by how wrong the total is."""
    lines = [
        "| total off by | `top_tau` | CS³VM, Laplacian kernel on ranks | the same, interval with the truth |",
        "|--:|--:|--:|--:|",
    ]
    for off in WRONG:
        group = [row for row in rows if float(row["off"]) == off]
        if group:
            means = (
                statistics.mean(float(row[name]) for row in group)
                for name in ("top_tau", "number", "interval")
            )
            lines.append(f"| {100 * off:+.0f} % | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    return "\n".join(lines)


def proof_table(rows: list[Row]) -> str:
    """How many instances with three totals are proven."""
    proven = sum(row["status"] == "optimal" for row in rows)
    return f"| instances | proven |\n|--:|--:|\n| {len(rows)} | {proven} |"


def many_table(rows: list[Row]) -> str:
    """Seconds where rows are many."""
    lines = ["| rows | noise | one total | groups | their totals | ratio |", "|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        names = ("rows", "noise", "one_seconds", "groups", "seconds", "ratio")
        lines.append("| " + " | ".join(str(row[name]) for name in names) + " |")
    return "\n".join(lines)
