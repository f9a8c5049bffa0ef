"""Progress of passes over a table in pieces: a live line on a terminal, and a line for each that is done."""

from __future__ import annotations

import threading
import time

import typer

from .progress import LiveLine


class PassLine(LiveLine):
    """Counts rows as they are read.

    Parameters
    ----------
    n_rows
        Rows of the table, if that is known.
    quiet
        Whether nothing is to be shown.
    """

    def __init__(self, n_rows: int | None = None, *, quiet: bool = False) -> None:
        super().__init__(hidden=quiet)
        self.n_rows, self.quiet = n_rows, quiet
        self.number, self.rows = 1, 0
        self._lock = threading.Lock()

    def read(self, rows: int) -> None:
        """Take note that rows were read."""
        with self._lock:
            self.rows += rows

    def done(self, name: str, seconds: float, *, kept: bool = False) -> None:
        """Take note that a pass is complete."""
        how = "from the run before" if kept else f"{seconds:.1f} s"
        text = f"pass {self.number} ({name}): {how}"
        if self.is_shown:
            self.console.print(text, markup=False, highlight=False)
        elif not self.quiet:
            typer.echo(text, err=True)
        self.number, self.rows, self.began = self.number + 1, 0, time.perf_counter()

    def text(self) -> str:
        """The line as it is now."""
        whole = "" if self.n_rows is None else f" of {self.n_rows}"
        done = f"{self.rows}{whole} rows" if self.rows else "between passes"  # a search in memory
        return f"pass {self.number}: {done}  {time.perf_counter() - self.began:.1f} s"
