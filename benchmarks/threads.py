"""Two threads beside one: nodes per second of the exact search after its root, for as many nodes."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from cs3vm import solve
from cs3vm.model.status import TracePoint
from cs3vm.solvers.bnb_ import solve as bnb
from experiments.instances import draw, load
from experiments.rows import Row, existing, run_cells

DATASETS = ("sonar", "spectf", "heart_statlog")
#: Nodes before the others may join in: the root, and what comes at once.
_FIRST = 20


def cell(dataset: str, run: int, threads: int, nodes: int) -> Row:
    problem = draw(load(dataset), 0).problem
    start = solve(problem, "direct", work_limit=1e9, time_limit=60.0)
    trace: list[TracePoint] = []
    found = bnb(
        problem,
        start=start,
        time_limit=600.0,
        node_limit=nodes,
        n_jobs=threads,
        boxes=False,
        callback=trace.append,
    )
    began = next(point for point in trace if point.nodes > _FIRST)
    rate = (found.n_nodes - began.nodes) / (found.seconds - began.seconds)
    return {"done": found.n_nodes, "pivots": found.extras["pivots"], "nodes_per_second": f"{rate:.0f}"}


def run(out: Path, runs: int, nodes: int) -> None:
    cells = [
        {"dataset": dataset, "run": number, "threads": threads, "nodes": nodes}
        for dataset in DATASETS
        for number in range(runs)
        for threads in (1, 2)
    ]
    for row in run_cells(out, cells, cell):
        print(*row.values(), flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """The best of all runs: what else the machine does makes them slower, never faster."""
    lines = ["| set | one thread | two | ratio |", "|---|--:|--:|--:|"]
    for dataset, group in groupby(sorted(rows, key=_name), _name):
        best = {1: 0.0, 2: 0.0}
        for row in group:
            threads = int(row["threads"])
            best[threads] = max(best[threads], float(row["nodes_per_second"]))
        lines.append(f"| {dataset} | {best[1]:.0f} | {best[2]:.0f} | {best[2] / best[1]:.2f} |")
    return "\n".join(lines)


def _name(row: Row) -> str:
    return str(row["dataset"])
