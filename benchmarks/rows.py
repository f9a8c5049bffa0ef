"""Rows of a benchmark: appended to a CSV file one by one, so that a killed run resumes where it was."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

Row = dict[str, Any]


def existing(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: Row) -> None:
    """Append one row with a single write, so that a kill never leaves half a line in the middle."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists() or path.stat().st_size == 0
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)
        file.flush()
        os.fsync(file.fileno())


def run_cells(path: Path, cells: Iterable[Row], work: Callable[..., Row], jobs: int = 1) -> Iterator[Row]:
    """Run ``work(**cell)`` for each cell that the file does not hold yet; yield every finished row."""
    cells = list(cells)
    keys = list(cells[0]) if cells else []
    done = {tuple(row[key] for key in keys) for row in existing(path)}
    todo = [cell for cell in cells if tuple(str(cell[key]) for key in keys) not in done]
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=2 * jobs)
    for row in pool(delayed(_cell)(work, cell) for cell in todo):
        append(path, row)
        yield row


def _cell(work: Callable[..., Row], cell: Row) -> Row:
    return cell | work(**cell)
