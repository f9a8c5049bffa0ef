"""What every test may rely on, and which tests are slow."""

from __future__ import annotations

import signal

import pytest

#: Files and functions that ``make check`` leaves out, by the start of their name; ``make test`` runs all.
SLOW = (
    "tests/benchmarks/test_accuracy.py",
    "tests/engine/test_warm_up.py",
    "tests/experiments/test_run.py",
    "tests/experiments/test_studies.py",
    "tests/methods/test_methods.py::test_brute_force",
    "tests/solvers/test_agreement.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="session")
def interrupts_arrive():
    """A run in the background starts with Ctrl-C ignored, and so would every process it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
