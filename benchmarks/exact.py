"""How much is proven: the exact engine on the paper's instances, next to the paper's own figures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import progress
from cs3vm import solve
from experiments.instances import draw, load, paper_table
from experiments.rows import Row, existing, run_cells

#: (N above this, up to this, name, share that CS³VM proves in the paper within 3600 s by Gurobi)
SIZE_CLASSES = (
    (0, 500, "N ≤ 500", "> 50 %"),
    (500, 1500, "500 < N ≤ 1500", "> 10 %"),
    (1500, 10**9, "N > 1500", "0 %"),
)


#: What closes a node: name in the table → counter of the search.
BOUNDS = {
    "SVM of its sides": "svm_closed",
    "order statistic of flips": "flips_closed",
    "graph of pairs": "joint_closed",
    "groups": "group_closed",
    "groups and blocks": "block_closed",
}


def cell(dataset: str, seed: int, time_limit: float) -> Row:
    problem = draw(load(dataset), seed).problem
    result = solve(problem, "auto", time_limit=time_limit)
    return (
        {
            "n": problem.n,
            "m": problem.m,
            "d": problem.d,
            "n_positive": int(problem.n_positive),
            "objective": f"{result.objective:.9g}",
            "lower_bound": f"{result.lower_bound:.9g}",
            "gap": f"{result.gap:.3e}",
            "status": result.status.value,
            "nodes": result.n_nodes,
            "seconds": f"{result.seconds:.2f}",
        }
        | progress.columns(result, result.objective)
        | closed(result.extras)
    )


def closed(extras: Mapping[str, Any]) -> Row:
    """How many nodes of the last search each bound has closed; empty where the root was enough."""
    count = {column: extras.get(column, "") for column in BOUNDS.values()}
    if extras.get("flips_closed"):  # the graph is tried where flips alone do not suffice
        count["flips_closed"] -= count["joint_closed"]
    if extras.get("block_closed"):  # a block is made of groups
        count["group_closed"] -= count["block_closed"]
    return count


def cells(max_n: int | None, seeds: int, large_seeds: int, time_limit: float) -> list[Row]:
    """Small sets first, so that an interrupted run is still of use."""
    sets = sorted(paper_table(), key=lambda row: int(row["N"]))
    return [
        {"dataset": row["paper_name"], "seed": seed, "time_limit": time_limit}
        for row in sets
        if max_n is None or int(row["N"]) <= max_n
        for seed in range(seeds if int(row["N"]) <= 1500 else min(seeds, large_seeds))
    ]


def run(out: Path, max_n: int | None, seeds: int, large_seeds: int, time_limit: float, jobs: int) -> None:
    for row in run_cells(out, cells(max_n, seeds, large_seeds, time_limit), cell, jobs):
        print(
            f"{row['dataset']:<28} {row['seed']}  n={row['n']} m={row['m']} d={row['d']} "
            f"τ={row['n_positive']}  "
            f"UB {row['objective']}  LB {row['lower_bound']}  gap {float(row['gap']):.2%}  "
            f"{row['nodes']} nodes  {row['seconds']} s  {row['status']}",
            flush=True,
        )
    rows = existing(out)
    print(table(rows), progress_table(rows), bounds_table(rows), sep="\n\n")


def table(rows: list[Row]) -> str:
    """Share proven per size class, and the median gap of the rest."""
    lines = [
        "| size | instances | proven | paper (Gurobi, 3600 s) | median gap of the rest |",
        "|---|---|---|---|---|",
    ]
    sizes = [int(row["n"]) + int(row["m"]) for row in rows]
    present = [c for c in SIZE_CLASSES if any(c[0] < size <= c[1] for size in sizes)]
    if len(present) == len(SIZE_CLASSES):
        present += [(0, 1500, "N ≤ 1500", ""), (0, 10**9, "all", "37 %")]
    for smallest, largest, name, paper in present:
        group = [row for row, size in zip(rows, sizes, strict=True) if smallest < size <= largest]
        proven = [row for row in group if row["status"] == "optimal"]
        gaps = [float(row["gap"]) for row in group if row["status"] != "optimal"]
        gap = f"{statistics.median(gaps):.1%}" if gaps else "–"
        share = f"{len(proven)} ({_share(group):.0%})"
        lines.append(f"| {name} | {len(group)} | {share} | {paper} | {gap} |")
    return "\n".join(lines)


def progress_table(rows: list[Row]) -> str:
    """How fast: to 1 % of the value at the end, to gaps of 10 and 1 %, and the primal integral."""
    titles = {
        "to_1_percent": "within 1 % of its last value",
        "to_gap_10": "gap 10 %",
        "to_gap_1": "gap 1 %",
    }
    lines = ["| size | " + " | ".join([*titles.values(), "primal integral, median"]) + " |"]
    lines.append("|---" * (2 + len(titles)) + "|")
    for smallest, largest, name, _ in SIZE_CLASSES:
        group = [row for row in rows if smallest < int(row["n"]) + int(row["m"]) <= largest]
        if group:
            cells = [progress.summary(group, column) for column in titles]
            integral = statistics.median(float(row["primal_integral"]) for row in group)
            lines.append(f"| {name} | " + " | ".join([*cells, f"{integral:.2f} s"]) + " |")
    return "\n".join(lines)


def bounds_table(rows: list[Row]) -> str:
    """Which bound closes how many of the closed nodes: shares of each instance, then their mean."""
    lines = ["| size | instances with closed nodes | " + " | ".join(BOUNDS) + " |"]
    lines.append("|---" * (2 + len(BOUNDS)) + "|")
    for smallest, largest, name, _ in SIZE_CLASSES:
        group = [row for row in rows if smallest < int(row["n"]) + int(row["m"]) <= largest]
        counts = [[int(row[column] or 0) for column in BOUNDS.values()] for row in group]
        shares = [[c / sum(count) for c in count] for count in counts if sum(count)]
        if shares:
            means = [f"{statistics.mean(column):.0%}" for column in zip(*shares, strict=True)]
            lines.append(f"| {name} | {len(shares)} | " + " | ".join(means) + " |")
    return "\n".join(lines)


def _share(rows: list[Row]) -> float:
    """The share proven, every dataset with the same weight: large ones may have fewer seeds."""
    proven: dict[str, list[bool]] = {}
    for row in rows:
        proven.setdefault(row["dataset"], []).append(row["status"] == "optimal")
    return statistics.mean(statistics.mean(found) for found in proven.values())
