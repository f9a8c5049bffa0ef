"""The clock of a run: one for all its phases."""

from __future__ import annotations

from time import perf_counter


class Clock:
    """Counts the seconds of a run against its limit."""

    def __init__(self, limit: float) -> None:
        self.limit, self.began = limit, perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds left; below zero when the limit has passed."""
        return self.limit - self.seconds

    def part(self, share: float) -> float:
        """Seconds for a phase that gets this share of the run."""
        return max(0.0, min(share * self.limit, self.left))
