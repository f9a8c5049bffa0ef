"""Kernels: how many exact proofs there are on small sets, and time and memory on a million rows."""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scaling import synthetic
from cs3vm import CS3VMClassifier
from experiments.instances import biased_rows, load, paper_table
from experiments.rows import Row, existing, run_cells

KERNELS = ("rbf", "laplacian")


# -- proofs ------------------------------------------------------------------------------------------------
def cell(dataset: str, seed: int, kernel: str, time_limit: float) -> Row:
    """The instance of the other benchmarks, with the kernel on standardised features."""
    data = load(dataset)
    labelled = biased_rows(data.y, seed)
    y = np.full(len(data.y), np.nan)
    y[labelled] = data.y[labelled]
    total = int((data.y[np.isnan(y)] > 0).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = CS3VMClassifier(kernel=kernel, time_limit=time_limit, side_margin=0).fit(
            data.X, y, n_positive=total
        )
    result = clf.result_
    return {
        "n": result.problem.n,
        "m": result.problem.m,
        "d": data.X.shape[1],
        "rank": clf.kernel_map_.rank,
        "exact": clf.kernel_map_.exact,
        "n_positive": total,
        "objective": f"{result.objective:.9g}",
        "lower_bound": f"{result.lower_bound:.9g}",
        "gap": f"{result.gap:.3e}",
        "status": result.status.value,
        "nodes": result.n_nodes,
        "seconds": f"{result.seconds:.2f}",
        "accuracy": f"{np.mean(clf.transduction_[np.isnan(y)] == data.y[np.isnan(y)]):.4f}",
    }


def run(out: Path, max_n: int, seeds: int, time_limit: float, jobs: int) -> None:
    sets = sorted((row for row in paper_table() if int(row["N"]) <= max_n), key=lambda row: int(row["N"]))
    cells = [
        {"dataset": row["paper_name"], "seed": seed, "kernel": kernel, "time_limit": time_limit}
        for row in sets
        for seed in range(seeds)
        for kernel in KERNELS
    ]
    for row in run_cells(out, cells, cell, jobs):
        print(
            f"{row['dataset']:<28} {row['seed']} {row['kernel']:<10} n={row['n']} m={row['m']} "
            f"rank={row['rank']}  UB {row['objective']}  gap {float(row['gap']):.2%}  {row['nodes']} nodes  "
            f"{row['seconds']} s  {row['status']}",
            flush=True,
        )
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """Share proven by kernel, the median time of the proofs and the median gap of the rest."""
    lines = [
        "| kernel | instances | proven | median seconds of a proof | median gap of the rest |",
        "|---|---|---|---|---|",
    ]
    for kernel in KERNELS:
        group = [row for row in rows if row["kernel"] == kernel]
        if not group:
            continue
        proven = [float(row["seconds"]) for row in group if row["status"] == "optimal"]
        gaps = [float(row["gap"]) for row in group if row["status"] != "optimal"]
        seconds = f"{statistics.median(proven):.2f}" if proven else "–"
        gap = f"{statistics.median(gaps):.1%}" if gaps else "–"
        share = f"{len(proven)} ({len(proven) / len(group):.0%})"
        lines.append(f"| {kernel} | {len(group)} | {share} | {seconds} | {gap} |")
    return "\n".join(lines)


# -- many rows -----------------------------------------------------------------------------------------------
def measure(rows: int, kernel: str, landmarks: int, method: str, queue: Any) -> None:
    problem = synthetic(rows)
    X = np.vstack([problem.X, problem.U])
    y = np.append(problem.y, np.full(problem.m, np.nan))
    total = problem.n_positive
    del problem
    clf = CS3VMClassifier(method, kernel=kernel, n_components=landmarks, time_limit=30.0, side_margin=0)
    began, cpu = time.perf_counter(), time.process_time()
    clf.fit(X, y, n_positive=total)
    queue.put(
        {
            "objective": f"{clf.result_.objective:.6g}",
            "count": f"{clf.result_.count:g}",
            "n_positive": f"{total:g}",
            "residual": f"{clf.kernel_map_.residual:.4f}",
            "search_seconds": f"{clf.result_.seconds:.1f}",
            "seconds": f"{time.perf_counter() - began:.1f}",
            "cpu_seconds": f"{time.process_time() - cpu:.1f}",
            "peak_gb": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f}",
        }
    )


def large_cell(rows: int, kernel: str, landmarks: int, method: str) -> Row:
    """In a process of its own, so that its peak memory, with the data, is its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(rows, kernel, landmarks, method, queue))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the measurement of {rows} rows ended with exit code {process.exitcode}")
    return dict(queue.get())


def run_large(out: Path, rows: int, landmarks: int, methods: list[str]) -> None:
    cells = [
        {"rows": rows, "kernel": kernel, "landmarks": landmarks, "method": method}
        for method in methods
        for kernel in KERNELS
    ]
    for row in run_cells(out, cells, large_cell):
        print(
            f"{row['rows']} rows, {row['landmarks']} landmarks  {row['kernel']:<10} {row['method']:<7} "
            f"{row['seconds']} s ({row['cpu_seconds']} of the processor), peak {row['peak_gb']} GB, "
            f"count {row['count']} of {row['n_positive']}",
            flush=True,
        )
