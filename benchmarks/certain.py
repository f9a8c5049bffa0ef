"""Are certain and stable labels right more often? The paper's smaller sets, with the truth looked up after.

Each instance is fitted by the default method; its labels are sorted by what is proven about them and by how
often they stay when labels are drawn again. See :mod:`cs3vm.learn.certainty`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.accuracy import SAMPLINGS, standardised
from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMWarning
from cs3vm.learn.certainty import CERTAIN, CHANGES, UNKNOWN
from experiments.instances import draw, load, paper_table
from experiments.rows import Row, existing, run_cells

#: Groups of labels, and what the table calls them.
GROUPS = {
    "all": "all labels",
    "certain": "certain, by proof",
    "changes": "changes in an answer within 5 %",
    "unknown": "not known",
    "always": "stays in all draws",
    "mostly": "stays in 80 to 99 % of them",
    "seldom": "stays in fewer",
    "both": "certain, and stays in all draws",
    "neither": "not certain, and stays in fewer than all",
}


def cell(dataset: str, seed: int, sampling: str, time_limit: float) -> Row:
    """How many labels there are of each group, and how many of them are right."""
    problem, truth = standardised(draw(load(dataset), seed, sampling=sampling))
    X, y = np.vstack([problem.X, problem.U]), np.append(problem.y > 0, np.full(problem.m, np.nan))
    clf = CS3VMClassifier(time_limit=time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf.fit(X, y, n_positive=problem.n_positive)
    began = time.perf_counter()
    certainty = clf.certainty()
    row: Row = {"n": problem.n, "m": problem.m, "d": problem.d, "status": clf.result_.status.value}
    row |= {"gap": f"{clf.result_.gap:.4f}", "seconds": f"{time.perf_counter() - began:.1f}"}
    right = (clf.transduction_[problem.n :] > 0) == truth
    words, stays = certainty.rows[problem.n :], certainty.stability[problem.n :]
    certain, always = words == CERTAIN, stays == 1.0
    groups = {
        "all": np.ones(problem.m, dtype=bool),
        "certain": certain,
        "changes": words == CHANGES,
        "unknown": words == UNKNOWN,
        "always": always,
        "mostly": (stays >= 0.8) & ~always,
        "seldom": stays < 0.8,
        "both": certain & always,
        "neither": ~certain & ~always,
    }
    for name, rows in groups.items():
        row |= {name: int(rows.sum()), f"{name}_right": int(right[rows].sum())}
    return row


def cells(max_n: int, seeds: Sequence[int], time_limit: float) -> list[Row]:
    sets = sorted(paper_table(), key=lambda row: int(row["N"]))
    return [
        {"dataset": row["paper_name"], "seed": seed, "sampling": sampling, "time_limit": time_limit}
        for seed in seeds
        for row in sets
        if int(row["N"]) <= max_n
        for sampling in SAMPLINGS
    ]


def run(out: Path, max_n: int, seeds: Sequence[int], time_limit: float, jobs: int) -> None:
    for row in run_cells(out, cells(max_n, seeds, time_limit), cell, jobs):
        shown = "  ".join(f"{name} {row[f'{name}_right']}/{row[name]}" for name in GROUPS)
        print(f"{row['dataset']:<28} {row['seed']} {row['sampling']:<7} {shown}", flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """The share of right labels in each group, by rows and beside the other labels of the same instances."""
    samplings = [s for s in SAMPLINGS if any(row["sampling"] == s for row in rows)]
    lines = [
        "| labels | "
        + " | ".join(f"{s}: share | right | others of the same instances" for s in samplings)
        + " |",
        "|---|" + "--:|--:|--:|" * len(samplings),
    ]
    for name, title in GROUPS.items():
        cells = []
        for sampling in samplings:
            own = [row for row in rows if row["sampling"] == sampling]
            cells += _cells(own, name)
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cells(rows: list[Row], name: str) -> list[str]:
    whole = sum(int(row["all"]) for row in rows)
    having = [row for row in rows if int(row[name]) > 0]
    number, right = (sum(int(row[key]) for row in having) for key in (name, f"{name}_right"))
    rest = sum(int(row["all"]) - int(row[name]) for row in having)
    rest_right = sum(int(row["all_right"]) - int(row[f"{name}_right"]) for row in having)
    return [
        f"{100 * part / base:.0f} %" if base else "–"
        for part, base in ((number, whole), (right, number), (rest_right, rest))
    ]
