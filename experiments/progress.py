"""What a running study shows: a live line in a terminal, one line per row elsewhere."""

from __future__ import annotations

from collections import defaultdict
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.rows import Row


class Board:
    """Done, running, failed and the time left, from the seconds that each method took so far."""

    def __init__(self, todo: list[Row], skipped: int, slots: int, console: Console | None = None) -> None:
        self.left: dict[str, int] = defaultdict(int)
        for cell in todo:
            self.left[cell["method"]] += 1
        self.limit = {cell["method"]: float(cell["time_limit"] or 1.0) for cell in todo}
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.total, self.skipped, self.slots = len(todo), skipped, slots
        self.done = self.failed = 0
        self.console = console or Console()
        self.bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task(self.line(), total=self.total)

    def __enter__(self) -> Board:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def finished(self, row: Row, seconds: float) -> None:
        """Count a row that is safely in the file."""
        self.done += 1
        self.failed += bool(row["error"])
        self.left[row["method"]] -= 1
        self.seconds[row["method"]].append(seconds)
        self.bar.update(self.task, advance=1, description=self.line())
        if not self.console.is_terminal:
            what = " ".join(str(row[k]) for k in ("dataset", "seed", "method", "solver") if row[k] != "")
            self.console.print(
                f"{self.done}/{self.total} {what}: {row['error'] or row['status']} "
                f"({row['seconds'] or '–'} s); {self.line()}",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )

    @property
    def running(self) -> int:
        return min(self.slots, self.total - self.done)

    @property
    def time_left(self) -> float:
        """Seconds: the mean of each method so far, or its time limit, for every cell that is left."""
        cells = [
            count * (sum(self.seconds[m]) / len(self.seconds[m]) if self.seconds[m] else self.limit[m])
            for m, count in self.left.items()
        ]
        return sum(cells) / max(self.slots, 1)

    def line(self) -> str:
        hours, rest = divmod(round(self.time_left), 3600)
        return (
            f"running {self.running}, failed {self.failed}, there before {self.skipped}, "
            f"about {hours}:{rest // 60:02d}:{rest % 60:02d} left"
        )
