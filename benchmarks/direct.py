"""How often the heuristic alone finds the optimum, where the exact engine has proven one."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks import progress
from benchmarks.exact import SIZE_CLASSES
from cs3vm import solve
from experiments.instances import draw, load
from experiments.rows import Row, existing, run_cells


def cell(dataset: str, seed: int, time_limit: float, optimum: str) -> Row:
    problem = draw(load(dataset), seed).problem
    result = solve(problem, "direct", time_limit=time_limit)
    near = progress.seconds_to_value(result, float(optimum))
    return {
        "rows": problem.n + problem.m,
        "objective": f"{result.objective:.9g}",
        "seconds": f"{result.seconds:.2f}",
        "found": int(result.objective <= float(optimum) * (1 + 1e-6) + 1e-9),
        "to_1_percent": f"{near:.2f}" if near is not None else "",
        "primal_integral": f"{progress.primal_integral(result, float(optimum)):.3f}",
    }


def run(out: Path, proven: Path, time_limit: float, jobs: int) -> None:
    cells = [
        {"dataset": r["dataset"], "seed": int(r["seed"]), "time_limit": time_limit, "optimum": r["objective"]}
        for r in existing(proven)
        if r["status"] == "optimal"
    ]
    for row in run_cells(out, cells, cell, jobs):
        outcome = "found" if int(row["found"]) else f"missed, {row['objective']} instead"
        print(f"{row['dataset']:<28} {row['seed']}  optimum {row['optimum']} {outcome}, {row['seconds']} s")
    print(table(existing(out)), progress_table(existing(out)), sep="\n\n")


def table(rows: list[Row]) -> str:
    """The share of optima found per size class."""
    lines = ["| size | proven optima | found | median seconds | longest |", "|---|---|---|---|---|"]
    for smallest, largest, name, _ in SIZE_CLASSES:
        group = [row for row in rows if smallest < int(row["rows"]) <= largest]
        if group:
            found = sum(int(row["found"]) for row in group)
            seconds = sorted(float(row["seconds"]) for row in group)
            lines.append(
                f"| {name} | {len(group)} | {found} ({found / len(group):.1%}) | "
                f"{seconds[len(seconds) // 2]:.2f} | {seconds[-1]:.2f} |"
            )
    return "\n".join(lines)


def progress_table(rows: list[Row]) -> str:
    """How fast: to 1 % of the optimum, and the primal integral."""
    lines = ["| size | within 1 % of the optimum | primal integral, median, worst |", "|---|---|---|"]
    for smallest, largest, name, _ in SIZE_CLASSES:
        group = [row for row in rows if smallest < int(row["rows"]) <= largest]
        if group:
            near = progress.summary(group, "to_1_percent")
            integrals = [float(row["primal_integral"]) for row in group]
            lines.append(
                f"| {name} | {near} | {statistics.median(integrals):.3f} s, {max(integrals):.2f} s |"
            )
    return "\n".join(lines)
