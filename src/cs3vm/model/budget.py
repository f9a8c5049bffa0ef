"""What a search may do: an amount of work, and seconds as a guard.

Work is the count of numbers that were touched: passes over the data times their size, pivots times the length
of a row. It is the same on every machine, so a search that ends by work gives the same answer everywhere.
"""

from __future__ import annotations

import time

#: Every step counts as at least so many numbers: small ones take their time in the language, not in the data.
STEP = 20_000
#: A limit may be passed by this share, or by so many seconds.
OVERRUN, GRACE = 0.05, 0.5
#: Seconds per number: what machines take.
FASTEST, SLOWEST = 3e-10, 5e-9


class Budget:
    """Counts work against its limit and seconds against theirs; the parts of a budget count for the whole."""

    def __init__(
        self, seconds: float = float("inf"), work: float = float("inf"), whole: Budget | None = None
    ) -> None:
        self.started = time.perf_counter()
        self.deadline, self.limit, self.whole = self.started + seconds, work, whole
        self.work = 0.0
        self.hurried = False  #: whether the guard has struck, here or in a part

    def spend(self, numbers: float) -> None:
        """Count a step that touched so many numbers."""
        part: Budget | None = self
        while part is not None:
            part.work += STEP + numbers
            part = part.whole

    def part(self, share: float) -> Budget:
        """A budget for a part of the search: that share of the work that is left, and of the seconds."""
        left = self.deadline - time.perf_counter()
        return Budget(share * left, share * (self.limit - self.work), self)

    def has_room(self, numbers: float) -> bool:
        """Whether a step of that size would end in time: one that cannot be interrupted is better left out.

        Its seconds are guessed from those of the work so far, within what machines differ.
        """
        if self.work + numbers > self.limit * (1.0 + OVERRUN):
            return False
        pace = min(max(self.seconds / max(self.work, 1.0), FASTEST), SLOWEST)
        if time.perf_counter() + pace * numbers > self.deadline + GRACE:
            self._hurry()
            return False
        return self.whole is None or self.whole.has_room(numbers)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def is_over(self) -> bool:
        """Whether the search must end."""
        if self.work >= self.limit:
            return True
        if time.perf_counter() >= self.deadline:
            self._hurry()
            return True
        return self.whole is not None and self.whole.is_over

    def _hurry(self) -> None:
        part: Budget | None = self
        while part is not None:
            part.hurried, part = True, part.whole
