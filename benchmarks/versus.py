"""The engine against general MIQP solvers: the same instances in one run."""

from __future__ import annotations

import math
from pathlib import Path

from cs3vm import solve
from cs3vm.exceptions import SolverLicenseError
from experiments.instances import draw, load, paper_table
from experiments.rows import Row, existing, run_cells


def cell(dataset: str, seed: int, solver: str, time_limit: float) -> Row:
    problem = draw(load(dataset), seed).problem
    method = "auto" if solver == "bnb" else "cs3vm"  # the engine's time includes its heuristic phase
    try:
        result = solve(problem, method, solver=solver, time_limit=time_limit)
    except SolverLicenseError:
        return {
            "m": problem.m,
            "objective": "",
            "lower_bound": "",
            "status": "licence",
            "seconds": time_limit,
        }
    return {
        "m": problem.m,
        "objective": f"{result.objective:.9g}",
        "lower_bound": f"{result.lower_bound:.9g}",
        "status": result.status.value,
        "seconds": f"{result.seconds:.3f}",
    }


def run(out: Path, solvers: list[str], max_n: int, seeds: int, time_limit: float, jobs: int) -> None:
    sets = sorted((row for row in paper_table() if int(row["N"]) <= max_n), key=lambda row: int(row["N"]))
    cells = [
        {"dataset": row["paper_name"], "seed": seed, "solver": solver, "time_limit": time_limit}
        for row in sets
        for seed in range(seeds)
        for solver in ["bnb", *solvers]
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(row["dataset"], row["solver"], row["objective"], row["status"], row["seconds"], flush=True)
    print(table(existing(out), solvers, time_limit))


def table(rows: list[Row], solvers: list[str], time_limit: float) -> str:
    """Ratios of times (geometric mean where at least one finishes, unfinished at the limit)."""
    lines = []
    ours = {(r["dataset"], r["seed"]): r for r in rows if r["solver"] == "bnb"}
    for solver in solvers:
        theirs = {(r["dataset"], r["seed"]): r for r in rows if r["solver"] == solver}
        ratios, disagreements, finished = [], [], [0, 0]
        for key in ours.keys() & theirs.keys():
            pair = ours[key], theirs[key]
            if pair[1]["status"] == "licence":
                continue
            done = [r["status"] == "optimal" for r in pair]
            finished = [a + b for a, b in zip(finished, done, strict=True)]
            times = [float(r["seconds"]) if d else time_limit for r, d in zip(pair, done, strict=True)]
            if any(done):
                ratios.append(max(times[1], 1e-3) / max(times[0], 1e-3))
            for a, b in (pair, pair[::-1]):  # a proven bound above the other's objective is a contradiction
                if float(a["lower_bound"]) > float(b["objective"]) * (1 + 2e-5) + 1e-6:
                    disagreements.append(key)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")
        lines.append(
            f"{solver}: {len(ratios)} instances finished by at least one "
            f"(bnb {finished[0]}, {solver} {finished[1]}); "
            f"geometric mean over these of times {solver}/bnb: {mean:.1f} "
            f"(a run that did not finish counts as {time_limit:g} s, also one that gave up early); "
            f"disagreements: {sorted(set(disagreements)) or 'none'}"
        )
    return "\n".join(lines)
