"""The threads that share a search, and the limits that they all obey.

All Python code of a search holds the crew's lock. It is released only while a compiled kernel works on a
node, which takes most of the time and needs no lock: every searcher has arrays of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Protocol

from ...model.status import Callback
from ..core.arrays import Limits

_WAIT = 0.05  # seconds that a searcher without work sleeps before it looks at the clock


@dataclass(slots=True)
class Options:
    """When to stop."""

    deadline: float
    gap: float = 1e-6
    node_limit: float = float("inf")
    work_limit: float = float("inf")
    memory_limit: float = float("inf")
    cutoff: float = float("inf")
    first_improvement: bool = False
    joint: bool = True
    pause: float = float("inf")  #: work after which another kind of search takes over
    callback: Callback | None = None
    n_jobs: int = 1


@dataclass(slots=True)
class Stopped(Exception):  # noqa: N818
    """Leaves the search loop."""

    reason: str


class Searcher(Protocol):
    """One thread's part in a search."""

    current: float  #: bound of the node at hand; infinite without one
    limits: Limits
    n_nodes: int
    unresolved: float  #: least bound of a node that could be neither closed nor divided
    n_unresolved: int

    @property
    def effort(self) -> int:
        """The numbers that this thread has touched."""

    def work(self) -> dict[str, int]:
        """What this thread has done, by name."""


@dataclass
class Crew:
    """The searchers of one tree. ``with crew:`` gives up the lock for a while."""

    members: list[Searcher] = field(default_factory=list)
    reason: str = ""  #: why all shall stop
    error: BaseException | None = None  #: raised in another thread than the caller's
    lock: Condition = field(default_factory=Condition)
    threads: list[Thread] = field(default_factory=list)

    @property
    def current(self) -> float:
        """The least bound of the nodes that are being worked on."""
        return min(searcher.current for searcher in self.members)

    @property
    def bound(self) -> float:
        """A lower bound on what was closed, given up or is being worked on.

        Nodes are closed at a searcher's own cutoff: not all know the best incumbent at once.
        """
        least = float("inf")
        for searcher in self.members:
            closed = searcher.limits.cutoff * (1.0 - 1e-9)
            least = min(least, searcher.current, searcher.unresolved, closed)
        return least

    @property
    def n_nodes(self) -> int:
        """Nodes of all searchers."""
        return sum(searcher.n_nodes for searcher in self.members)

    @property
    def n_unresolved(self) -> int:
        """The number of nodes that could be neither closed nor divided."""
        return sum(searcher.n_unresolved for searcher in self.members)

    @property
    def effort(self) -> int:
        """The numbers that all searchers have touched."""
        return sum(searcher.effort for searcher in self.members)

    def work(self) -> dict[str, int]:
        """What all searchers have done, by name."""
        total: Counter[str] = Counter()
        for searcher in self.members:
            total.update(searcher.work())
        return dict(total)

    def __enter__(self) -> None:
        """Let the others work, while a kernel runs."""
        self.lock.release()

    def __exit__(self, *error: object) -> None:
        self.lock.acquire()

    def regain(self) -> None:
        """Make sure that the lock is ours: an interrupt may have come just as it was given up or taken."""
        try:
            self.lock.notify(0)
        except RuntimeError:  # it is not
            self.lock.acquire()

    def wait(self) -> None:
        """Sleep until another searcher has stored nodes or ended, or for a moment."""
        self.lock.wait(_WAIT)

    def stop(self, reason: str) -> None:
        """Make all end at their next look at the clock."""
        self.reason = self.reason or reason
        self.lock.notify_all()

    def start(self, work: Callable[[], str]) -> None:
        """Let another thread do its part of the search."""

        def run() -> None:
            with self.lock:
                try:
                    reason = work()
                    if reason != "done":
                        self.stop(reason)
                except BaseException as error:
                    self.error = self.error or error
                    self.stop("error")
                self.lock.notify_all()

        thread = Thread(target=run, name="cs3vm-bnb", daemon=True)
        self.threads.append(thread)
        thread.start()

    def join(self) -> None:
        """Wait until the other threads have ended; raise what one of them raised."""
        for thread in self.threads:
            with self:
                thread.join()
        self.threads.clear()
        if self.error is not None:
            raise self.error
