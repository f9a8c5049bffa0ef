"""How long something took of the processor's time, which other work on the machine does not lengthen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block needs more of the processor than a time limit allows it to."""
    began = process_time()
    yield
    used = process_time() - began
    assert used <= seconds, f"{used:.1f} s of the processor, allowed are {seconds:g}"
