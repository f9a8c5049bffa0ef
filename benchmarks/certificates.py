"""Does the independent checker confirm the engine's proofs? On the paper's small sets, seed 0."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from cs3vm import solve, verify
from experiments.instances import draw, load, paper_table
from experiments.rows import Row, existing, run_cells


def cell(dataset: str, seed: int, time_limit: float) -> Row:
    problem = draw(load(dataset), seed).problem
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "proof.json.gz"
        result = solve(problem, "auto", time_limit=time_limit, proof=file)
        began = time.perf_counter()
        verdict = verify(problem, file) if file.exists() else None
        size = file.stat().st_size if file.exists() else 0
    return {
        "n": problem.n,
        "m": problem.m,
        "status": result.status.value,
        "confirmed": int(verdict is not None and verdict.confirmed),
        "nodes": "" if verdict is None else verdict.n_nodes,
        "values": "" if verdict is None else verdict.n_values,
        "bytes": size,
        "seconds": f"{result.seconds:.2f}",
        "check_seconds": f"{time.perf_counter() - began:.2f}",
    }


def run(out: Path, max_n: int, time_limit: float, jobs: int) -> None:
    sets = sorted((row for row in paper_table() if int(row["N"]) <= max_n), key=lambda row: int(row["N"]))
    cells = [{"dataset": row["paper_name"], "seed": 0, "time_limit": time_limit} for row in sets]
    for row in run_cells(out, cells, cell, jobs):
        said = "confirmed" if int(row["confirmed"]) else "not confirmed"
        print(f"{row['dataset']:<28} {row['status']}, {row['nodes']} nodes, {said}", flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """How many are proven, how many proofs are confirmed, and how large they are."""
    written = [row for row in rows if row["nodes"] != ""]
    lines = [
        "| sets | proven | confirmed | values checked, median, most | longest check |",
        "|--:|--:|--:|--:|--:|",
    ]
    values = sorted(int(row["values"]) for row in written) or [0]
    proven = sum(row["status"] == "optimal" for row in rows)
    confirmed = sum(int(row["confirmed"]) for row in rows)
    longest = max((float(row["check_seconds"]) for row in written), default=0.0)
    cells = [len(rows), proven, confirmed, f"{values[len(values) // 2]}, {values[-1]}", f"{longest:.1f} s"]
    return "\n".join([*lines, "| " + " | ".join(map(str, cells)) + " |"])
