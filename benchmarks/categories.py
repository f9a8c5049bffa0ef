"""The heuristic with little work, where columns have few values, beside the best point that our runs find.

For each dataset, scaling and margin: ``direct`` with the short limit, and ``direct`` and ``auto`` with the
long one. A short run is good if it comes within one per cent of the best value of all runs of that instance.
The limits are of work, so that a busy machine measures the same as an idle one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from cs3vm import Problem, solve
from experiments.instances import draw, load
from experiments.rows import Row, existing, run_cells

DATASETS = "flare,xd6,tic_tac_toe,monk1,monk2,monk3,cmc,connect_4,churn,profb"
SCALINGS, MARGINS = ("zscore", "paper"), ("0", "auto")
#: A value within this share of the best is good.
NEAR = 0.01


def instance(dataset: str, seed: int, scaling: str, margin: str) -> Problem:
    """The instance of the study, with columns scaled and a margin of a thousandth or one over the rows."""
    problem = draw(load(dataset), seed).problem
    if scaling == "zscore":
        rows = np.vstack([problem.X, problem.U])
        centre, spread = rows.mean(axis=0), rows.std(axis=0)
        spread[spread == 0.0] = 1.0
        problem = replace(problem, X=(problem.X - centre) / spread, U=(problem.U - centre) / spread)
    if margin == "auto":
        problem = replace(problem, side_margin=min(1e-3, 1.0 / len(np.unique(problem.U, axis=0))))
    return problem


def cell(dataset: str, seed: int, scaling: str, margin: str, method: str, work_limit: float) -> Row:
    problem = instance(dataset, seed, scaling, margin)
    began = process_time()
    result = solve(problem, method, time_limit=600.0, work_limit=work_limit)
    return {
        "objective": f"{result.objective:.9g}",
        "miscount": f"{result.count - problem.n_positive:g}",
        "on_plane": result.on_plane,
        "status": result.status.value,
        "hurried": int(result.hurried),
        "work": f"{result.work:.4g}",
        "cpu_seconds": f"{process_time() - began:.2f}",
    }


def run(out: Path, datasets: list[str], seeds: int, short: float, long: float, jobs: int) -> None:
    runs = [("direct", short), ("auto", long), ("direct", long)]
    cells = [
        {
            "dataset": dataset,
            "seed": seed,
            "scaling": scaling,
            "margin": margin,
            "method": method,
            "work_limit": limit,
        }
        for method, limit in runs
        for seed in range(seeds)
        for dataset in datasets
        for scaling in SCALINGS
        for margin in MARGINS
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(
            f"{row['dataset']:<12} {row['seed']} {row['scaling']:<7} ε {row['margin']:<5}"
            f"{row['method']:<7}{row['work_limit']:>6}  {row['objective']}, miscount {row['miscount']}",
            flush=True,
        )
    print(table(existing(out)))


def excess(rows: list[Row]) -> dict[tuple[str, ...], float]:
    """By how much the short run of each instance is above the best value of its runs, if it has others."""
    values: dict[tuple[str, ...], dict[tuple[str, float], float]] = defaultdict(dict)
    for row in rows:
        key = (str(row["dataset"]), str(row["margin"]), str(row["scaling"]), str(row["seed"]))
        values[key][str(row["method"]), float(row["work_limit"])] = float(row["objective"])
    short = min((float(row["work_limit"]) for row in rows), default=0.0)
    return {
        key: found["direct", short] / min(found.values()) - 1.0
        for key, found in values.items()
        if ("direct", short) in found and len(found) > 1
    }


def table(rows: list[Row]) -> str:
    """Per dataset and margin: in how many instances the short run is good, and the worst of them."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (dataset, margin, _, _), above in excess(rows).items():
        groups[dataset, margin].append(above)
    lines = ["| dataset | ε | instances | within 1 % | worst |", "|---|---|--:|--:|--:|"]
    for (dataset, margin), above_all in groups.items():
        good = sum(above <= NEAR for above in above_all)
        lines.append(f"| {dataset} | {margin} | {len(above_all)} | {good} | {100 * max(above_all):.1f} % |")
    return "\n".join(lines)
