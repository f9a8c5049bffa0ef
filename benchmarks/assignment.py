"""Seconds and memory of the labels that meet all totals at once, and how far they can be from the best."""

from __future__ import annotations

import multiprocessing
import resource
import time
from pathlib import Path

import numpy as np

from experiments.rows import Row, run_cells

KINDS = ("normal", "one favourite", "integers", "equal")


def scores(kind: str, rows: int, classes: int) -> np.ndarray:
    """Random scores; one class far ahead; few distinct values; no difference at all."""
    rng = np.random.default_rng(0)
    if kind == "equal":
        return np.zeros((rows, classes))
    if kind == "integers":
        S = rng.random((rows, classes))
        S *= 3.0
        return np.floor(S, out=S)  # in place, so that the peak of memory is not that of making the scores
    S = rng.standard_normal((rows, classes))
    S[:, 0] += 5.0 * (kind == "one favourite")
    return S


def measure(kind: str, rows: int, classes: int, queue: multiprocessing.Queue) -> None:
    from cs3vm.learn.assignment import assign

    rng = np.random.default_rng(1)
    assign(rng.standard_normal((100, classes)), [100] + [0] * (classes - 1))  # compiles
    S = scores(kind, rows, classes)
    totals = rng.multinomial(rows, rng.dirichlet(np.ones(classes)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    answer = assign(S, totals)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    met = np.array_equal(np.bincount(answer.labels, minlength=classes), totals)
    queue.put((seconds, (after - before) / 1024, S.nbytes / 2**20, answer.gap, met))


def cell(kind: str, rows: int, classes: int) -> Row:
    """Each in a process of its own, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(kind, rows, classes, queue))
    process.start()
    seconds, extra, data, gap, met = queue.get()
    process.join()
    return {
        "seconds": f"{seconds:.2f}",
        "extra_mb": f"{extra:.0f}",
        "scores_mb": f"{data:.0f}",
        "gap": f"{gap:.2g}",
        "totals_met": str(met),
    }


def run(out: Path, rows: int, classes: int) -> None:
    cells = [{"kind": kind, "rows": rows, "classes": classes} for kind in KINDS]
    for row in run_cells(out, cells, cell):
        print(
            f"{row['rows']} × {row['classes']}  {row['kind']:<13}  {row['seconds']} s  extra memory "
            f"{row['extra_mb']} MB (scores {row['scores_mb']} MB)  gap {row['gap']}  "
            f"totals met: {row['totals_met']}",
            flush=True,
        )
