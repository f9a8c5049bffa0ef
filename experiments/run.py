"""Run the cells of a study through joblib, here or on a Dask cluster, and append their rows to one file."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from joblib import Parallel, delayed, parallel_config

from experiments.cells import COLUMNS, KEY
from experiments.progress import Board
from experiments.rows import Row, append, existing
from experiments.sandbox import Limits, run_cell

FILE = "rows.csv"


class RunError(RuntimeError):
    """A run cannot start; the message says what to do."""


def run(
    cells: list[Row],
    out: Path,
    *,
    limits: Limits | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    retry_failed: bool = False,
) -> Board:
    """Run every cell whose row is not there yet. Only this process writes, one finished row after another."""
    with _locked(out):
        path = out / FILE
        rows = existing(path)
        if rows and tuple(rows[0]) != COLUMNS:
            raise RunError(f"{path} has the columns of another version: choose another --out")
        there = {cell_key(row) for row in rows if not (retry_failed and row["error"])}
        todo = [cell for cell in cells if cell_key(cell) not in there]
        with _backend(jobs, scheduler) as slots, Board(todo, len(cells) - len(todo), slots) as board:
            for row, seconds in _finished(todo, limits or Limits(), slots):
                append(path, row)
                board.finished(row, seconds)
    return board


def cell_key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEY)


def _finished(todo: list[Row], limits: Limits, slots: int) -> Iterator[tuple[Row, float]]:
    pool = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch=2 * slots)
    return pool(delayed(_timed)(cell, limits) for cell in todo)


def _timed(cell: Row, limits: Limits) -> tuple[Row, float]:
    began = time.perf_counter()
    return run_cell(cell, limits), time.perf_counter() - began


@contextlib.contextmanager
def _backend(jobs: int, scheduler: str | None) -> Iterator[int]:
    """Joblib's backend and the number of cells at a time: threads that each wait for a sandbox, or Dask."""
    if scheduler is None:
        with parallel_config("threading", n_jobs=jobs):
            yield jobs
        return
    try:
        from distributed import Client
    except ImportError:
        raise RunError('--scheduler needs Dask: pip install "cs3vm[experiments]"') from None
    with Client(scheduler) as client:
        client.wait_for_workers(1, timeout=60)
        slots = sum(client.nthreads().values())
        with parallel_config("dask", client=client, wait_for_workers_timeout=60):
            yield slots


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """One run at a time per folder. The lock goes with the process, however it ends."""
    out.mkdir(parents=True, exist_ok=True)
    with open(out / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(f"another run writes to {out}: wait for it, or choose another --out") from None
        yield
