"""The paper's methods side by side on a few of its datasets."""

from __future__ import annotations

from pathlib import Path

from cs3vm import solve
from experiments.instances import draw, load
from experiments.rows import Row, existing, run_cells

SETS = ("lupus", "iris", "tae", "haberman", "glass2", "prnn_synth")
METHODS = ("svm", "top_tau", "cs3vm", "rcm", "ircm", "wircm")


def cell(dataset: str, seed: int, method: str, solver: str, time_limit: float) -> Row:
    problem = draw(load(dataset), seed).problem
    result = solve(problem, method, solver=solver, time_limit=time_limit)
    return {
        "n": problem.n,
        "m": problem.m,
        "d": problem.d,
        "objective": f"{result.objective:.6f}",
        "lower_bound": f"{result.lower_bound:.6f}",
        "status": result.status.value,
        "seconds": f"{result.seconds:.2f}",
        "steps": len(result.iterations),
    }


def run(out: Path, datasets: list[str], solver: str, time_limit: float, jobs: int) -> None:
    cells = [
        {
            "dataset": name,
            "seed": 0,
            "method": method,
            "solver": solver,
            "time_limit": time_limit,
        }
        for name in datasets
        for method in METHODS
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(row["dataset"], row["method"], row["objective"], row["status"], row["seconds"], flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """A Markdown table: objective and seconds per dataset and method."""
    lines = ["| dataset | " + " | ".join(METHODS) + " |", "|---|" + "---|" * len(METHODS)]
    for name in dict.fromkeys(row["dataset"] for row in rows):
        found = {row["method"]: row for row in rows if row["dataset"] == name}
        entries = []
        for method in METHODS:
            row = found.get(method)
            proof = "*" if row and row["status"] == "optimal" else ""
            entries.append(
                "" if row is None else f"{float(row['objective']):.4f}{proof} ({row['seconds']} s)"
            )
        lines.append(f"| {name} | " + " | ".join(entries) + " |")
    return "\n".join([*lines, "", "\\* proven optimal"])
