"""Rows of a run: appended to a CSV file one by one, so that a killed run resumes where it was."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

Row = dict[str, Any]


def existing(path: Path) -> list[Row]:
    """The rows of the file; half a line at its end, left by a crash of the machine, is no row."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    return list(csv.DictReader(io.StringIO(whole, newline="")))


def append(path: Path, row: Row) -> None:
    """Append one row with a single write, so that a kill never leaves half a line in the middle."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _cut_half_line(path)
    new = not path.exists() or path.stat().st_size == 0
    lines = io.StringIO(newline="")
    writer = csv.DictWriter(lines, fieldnames=list(row), lineterminator="\n")
    if new:
        writer.writeheader()
    writer.writerow({key: _one_line(value) for key, value in row.items()})
    with open(path, "ab") as file:
        file.write(lines.getvalue().encode())
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


def _one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _cut_half_line(path: Path) -> None:
    if not path.exists():
        return
    with open(path, "rb+") as file:
        file.seek(0, os.SEEK_END)
        end = file.tell()
        if end == 0:
            return
        file.seek(end - 1)
        if file.read(1) == b"\n":
            return
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
