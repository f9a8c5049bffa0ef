"""What every test may rely on."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def interrupts_arrive():
    """A run in the background starts with Ctrl-C ignored, and so would every process it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
