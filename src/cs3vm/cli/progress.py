"""Live lines on the terminal while something runs."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..model.status import TracePoint, relative_gap

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text


class LiveLine:
    """A line that is written anew several times a second; nothing at all where the output is no terminal."""

    per_second = 4.0

    def __init__(self, console: Console | None = None, *, hidden: bool = False) -> None:
        from rich.console import Console

        self.console, self.hidden = console or Console(stderr=True), hidden
        self.began = time.perf_counter()
        self._live: Live | None = None

    def text(self) -> str:
        """The line as it is now."""
        raise NotImplementedError

    @property
    def is_shown(self) -> bool:
        """Whether the line is on a terminal now."""
        return self._live is not None

    def __enter__(self) -> Self:
        from rich.live import Live

        self.began = time.perf_counter()
        if self.console.is_terminal and not self.hidden:
            self._live = Live(self, console=self.console, refresh_per_second=self.per_second, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(self.text(), no_wrap=True, overflow="ellipsis")


class ProgressLine(LiveLine):
    """Shows incumbent, bound, gap and seconds; nothing at all where the output is no terminal.

    Parameters
    ----------
    time_limit
        Seconds that the search may take, shown beside those it has taken.
    console
        The rich console to write to. Default: standard error.

    Examples
    --------
    >>> from cs3vm import Problem, solve
    >>> problem = Problem([[3.0], [1.0]], [1, -1], [[0.0]], 0)
    >>> with ProgressLine() as line:
    ...     result = solve(problem, "top_tau", callback=line)
    """

    per_second = 8.0

    def __init__(self, time_limit: float | None = None, console: Console | None = None) -> None:
        super().__init__(console)
        self.time_limit = time_limit
        self.point: TracePoint | None = None

    def __call__(self, point: TracePoint) -> None:
        """Take note of the search's progress."""
        self.point = point

    def text(self) -> str:
        """The line as it is now."""
        limit = "" if self.time_limit is None else f" of {self.time_limit:g}"
        clock = f"{time.perf_counter() - self.began:.1f}{limit} s"
        if self.point is None or not math.isfinite(self.point.incumbent):
            return f"searching  {clock}"
        best, bound = self.point.incumbent, self.point.bound
        gap = max(0.0, relative_gap(best, bound))
        return f"best {best:.6g}  bound {bound:.6g}  gap {100 * gap:.1f} %  {clock}  (Ctrl-C keeps the best)"
