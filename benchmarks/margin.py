"""Does the automatic side margin cost proofs? The exact engine with and without it, one after the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cs3vm import solve
from cs3vm.model.profiles import automatic_margin, profiles
from experiments.instances import draw, load, paper_table
from experiments.rows import Row, existing, run_cells


def cell(dataset: str, seed: int, margin: str, time_limit: float, work_limit: float) -> Row:
    problem = draw(load(dataset), seed).problem
    if margin == "auto":
        problem = replace(problem, side_margin=automatic_margin(int(profiles(problem.U).max()) + 1))
    result = solve(problem, "auto", time_limit=time_limit, work_limit=work_limit or None)
    return {
        "m": problem.m,
        "side_margin": f"{problem.side_margin:.3g}",
        "objective": f"{result.objective:.9g}",
        "gap": f"{result.gap:.3e}",
        "status": result.status.value,
        "nodes": result.n_nodes,
        "seconds": f"{result.seconds:.2f}",
        "hurried": int(result.hurried),
        "count": f"{result.count:g}",
        "n_positive": f"{problem.n_positive:g}",
        "on_plane": result.on_plane,
    }


def run(out: Path, max_n: int, time_limit: float, work_limit: float, jobs: int) -> None:
    sets = sorted((row for row in paper_table() if int(row["N"]) <= max_n), key=lambda row: int(row["N"]))
    cells: list[Row] = [
        {
            "dataset": row["paper_name"],
            "seed": 0,
            "margin": margin,
            "time_limit": time_limit,
            "work_limit": work_limit,
        }
        for row in sets
        for margin in ("0", "auto")
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(
            f"{row['dataset']:<24} margin {row['margin']:>4}  {row['objective']:>12}  {row['status']:<10} "
            f"{row['nodes']:>7} nodes  {row['seconds']:>6} s  {row['count']} of {row['n_positive']}  "
            f"{row['on_plane']} on the plane",
            flush=True,
        )
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """How many are proven, and how many rows lie on planes, with and without a margin."""
    lines = ["| side margin | instances | proven | count met | rows on the plane |", "|---|--:|--:|--:|--:|"]
    for margin in ("0", "auto"):
        group = [row for row in rows if row["margin"] == margin]
        proven = sum(row["status"] == "optimal" for row in group)
        met = sum(float(row["count"]) == float(row["n_positive"]) for row in group)
        touching = sum(int(row["on_plane"]) > 0 for row in group)
        lines.append(f"| {margin} | {len(group)} | {proven} | {met} | {touching} |")
    return "\n".join(lines)
