"""Does a proven optimum classify better than the heuristic's answer? On small instances of ``accuracy``."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np

from benchmarks.accuracy import standardised
from cs3vm import solve
from experiments.instances import draw, load, paper_table
from experiments.rows import Row, existing, run_cells


def cell(dataset: str, seed: int, time_limit: float) -> Row:
    problem, truth = standardised(draw(load(dataset), seed))
    quick = solve(problem, "direct", time_limit=time_limit)
    exact = solve(problem, "auto", time_limit=time_limit)
    return {
        "n": problem.n,
        "m": problem.m,
        "d": problem.d,
        "direct": f"{np.mean((quick.z > 0) == truth):.4f}",
        "auto": f"{np.mean((exact.z > 0) == truth):.4f}",
        "direct_objective": f"{quick.objective:.9g}",
        "auto_objective": f"{exact.objective:.9g}",
        "status": exact.status.value,
        "direct_seconds": f"{quick.seconds:.2f}",
        "auto_seconds": f"{exact.seconds:.2f}",
    }


def run(out: Path, max_n: int, seeds: int, time_limit: float, jobs: int) -> None:
    sets = sorted((row for row in paper_table() if int(row["N"]) <= max_n), key=lambda row: int(row["N"]))
    cells = [
        {"dataset": row["paper_name"], "seed": seed, "time_limit": time_limit}
        for row in sets
        for seed in range(seeds)
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(row["dataset"], row["seed"], row["direct"], row["auto"], row["status"], flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """Proven instances only, apart where the heuristic had the optimum already and where it had not."""
    proven = [row for row in rows if row["status"] == "optimal"]
    missed = [r for r in proven if float(r["direct_objective"]) > float(r["auto_objective"]) * (1 + 2e-6)]
    lines = [
        f"| {len(rows)} instances | number | mean accuracy, `direct` | mean accuracy, proven optimum |",
        "|---|--:|--:|--:|",
    ]
    for title, group in (("proven optimal", proven), ("of these, missed by `direct`", missed)):
        means = [statistics.mean(float(row[name]) for row in group) for name in ("direct", "auto") if group]
        shown = " | ".join(f"{mean:.3f}" for mean in means) or "– | –"
        lines.append(f"| {title} | {len(group)} | {shown} |")
    return "\n".join(lines)
