"""Time and memory of the heuristic against the number of rows, beside one linear SVM fit."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import numpy as np

from cs3vm import Problem, solve
from experiments.rows import Row, existing, run_cells

FEATURES = 20


def synthetic(rows: int, seed: int = 0) -> Problem:
    """Two overlapping clouds, 1 % labelled (at most 10,000) with a strong bias towards positives."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.3, 1, -1)
    X = rng.standard_normal((rows, FEATURES))
    X[:, :5] += 0.6 * y[:, None]
    n = min(rows // 100, 10_000)
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    labelled = np.append(positive[: int(0.85 * n)], negative[: n - int(0.85 * n)])
    rest = np.ones(rows, dtype=bool)
    rest[labelled] = False
    return Problem(X[labelled], y[labelled], X[rest], int((y[rest] > 0).sum()))


def measure(rows: int, what: str, queue: multiprocessing.Queue) -> None:
    problem = synthetic(rows)
    work(synthetic(500), what)  # loads and compiles what is needed
    before = forget_peak_memory()
    began = time.perf_counter()
    objective = work(problem, what)
    seconds = time.perf_counter() - began
    data = (problem.X.nbytes + problem.U.nbytes) / 2**20
    queue.put((objective, seconds, memory("VmHWM") - before, data))


def work(problem: Problem, what: str) -> float:
    if what == "direct":
        return solve(problem, "direct", time_limit=60).objective
    from sklearn.svm import LinearSVC

    LinearSVC(C=1.0).fit(problem.X, problem.y)
    return float("nan")


def forget_peak_memory() -> float:
    """Reset the record of this process's peak memory (Linux); return what it holds now, in MB."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(name: str) -> float:
    """A figure of this process's memory in MB, by Linux' name."""
    line = next(s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith(name))
    return int(line.split()[1]) / 1024


def cell(rows: int, what: str) -> Row:
    """Each in a process of its own, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(rows, what, queue))
    process.start()
    objective, seconds, extra, data = queue.get()
    process.join()
    return {
        "objective": f"{objective:.6g}",
        "seconds": f"{seconds:.3g}",
        "extra_mb": f"{extra:.0f}",
        "data_mb": f"{data:.0f}",
    }


def run(out: Path, max_rows: int) -> None:
    sizes = [s for s in (2_000, 20_000, 200_000, 1_000_000, 2_000_000) if s <= max_rows]
    cells = [{"rows": rows, "what": what} for rows in sizes for what in ("direct", "svm")]
    for row in run_cells(out, cells, cell):
        print(
            f"{row['rows']:>9} rows  {row['what']:<7} {row['seconds']} s  extra memory {row['extra_mb']} MB "
            f"(data {row['data_mb']} MB)",
            flush=True,
        )
    draw(existing(out), out.with_suffix(".png"))


def draw(rows: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for what, label in (("direct", "heuristic, all rows"), ("svm", "linear SVM, labelled rows")):
        group = sorted((r for r in rows if r["what"] == what), key=lambda r: int(r["rows"]))
        x = [int(r["rows"]) for r in group]
        axes[0].loglog(x, [float(r["seconds"]) for r in group], "o-", label=label)
        axes[1].loglog(x, [max(1.0, float(r["extra_mb"])) for r in group], "o-", label=label)
    axes[1].loglog(x, [float(r["data_mb"]) for r in group], "k:", label="the data")
    for ax, title in zip(axes, ("seconds", "memory beyond the data, MB"), strict=True):
        ax.set(title=title, xlabel=f"rows × {FEATURES} features")
        ax.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
