"""Unlabelled rows that are there several times, as in tables of categories: what that costs the exact search.

Beside each table of copies stands one whose copies differ in the ninth digit: the same problem, but every row
is one of its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cs3vm import Problem, solve
from experiments.instances import draw, load
from experiments.rows import Row, existing, run_cells

DATASETS = ("tae", "hayes_roth", "hepatitis", "breast_cancer", "flare", "monk1", "monk3")
TIMES = (1, 4, 16)
_APART = 1e-9


def copied(dataset: str, times: int, margin: float, apart: bool) -> Problem:
    """The paper's instance, seed 0, with every unlabelled row so many times."""
    problem = draw(load(dataset), 0).problem
    U = np.repeat(problem.U, times, axis=0)
    if apart:
        U = U + _APART * np.random.default_rng(0).normal(size=U.shape)
    total = times * float(problem.n_positive)
    return Problem(problem.X, problem.y, U, total, side_margin=margin)


def cell(dataset: str, times: int, margin: float, apart: bool, work_limit: float) -> Row:
    problem = copied(dataset, times, margin, apart)
    result = solve(problem, "cs3vm", time_limit=600.0, work_limit=work_limit, boxes=False)
    return {
        "m": result.problem.m,
        "status": result.status.value,
        "gap": f"{result.gap:.1e}",
        "nodes": result.n_nodes,
        "work": f"{result.work:.3e}",
        "seconds": f"{result.seconds:.2f}",
    }


def run(out: Path, work_limit: float, jobs: int) -> None:
    cells = [
        {"dataset": name, "times": times, "margin": margin, "apart": apart, "work_limit": work_limit}
        for name in DATASETS
        for margin in (1e-3, 0.0)
        for times in TIMES
        for apart in (False, True)
        if times > 1 or not apart
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(*row.values(), flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """Work, in 10⁹ numbers (about a second each), or the gap where that is used up."""
    lines = ["| set, ε | once | " + " | ".join(f"{t} times | {t} times, apart" for t in TIMES[1:]) + " |"]
    lines.append("|---|" + "--:|" * (2 * len(TIMES) - 1))
    found = {
        (row["dataset"], float(row["margin"]), int(row["times"]), str(row["apart"]) == "True"): row
        for row in rows
    }
    for name, margin in dict.fromkeys((key[0], key[1]) for key in found):
        line = [f"{name}, {margin:g}", _ending(found.get((name, margin, 1, False)))]
        line += [_ending(found.get((name, margin, t, apart))) for t in TIMES[1:] for apart in (False, True)]
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


def _ending(row: Row | None) -> str:
    if row is None:
        return ""
    if row["status"] == "optimal":
        return f"{float(row['work']) / 1e9:.2f}"
    return f"gap {float(row['gap']):.0%}"
