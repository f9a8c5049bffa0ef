"""Limits on the command line: by work unless something speaks against it."""

from __future__ import annotations

import pytest

from cs3vm.cli.settings import GUARD_SECONDS, TIME_LIMIT, WORK_LIMIT, search_limits


@pytest.mark.parametrize(
    ("method", "solver", "norm", "given", "expected"),
    [
        ("auto", "auto", "l2", (None, None), (GUARD_SECONDS, WORK_LIMIT)),
        ("safe", "auto", "l2", (None, None), (GUARD_SECONDS, WORK_LIMIT)),
        ("top_tau", "auto", "l2", (None, None), (GUARD_SECONDS, WORK_LIMIT)),
        ("ircm", "auto", "l2", (None, None), (TIME_LIMIT, None)),
        ("auto", "scip", "l2", (None, None), (TIME_LIMIT, None)),
        ("auto", "auto", "l2", (7.0, None), (7.0, None)),
        ("auto", "auto", "l2", (7.0, 1e8), (7.0, 1e8)),
        ("auto", "auto", "l2", (None, 1e8), (GUARD_SECONDS, 1e8)),
        ("auto", "auto", "l2", (None, 4e10), (600.0, 4e10)),
    ],
)
def test_limits(method, solver, norm, given, expected):
    assert search_limits(method, solver, norm, *given) == expected
