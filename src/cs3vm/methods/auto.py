"""The default method."""

from __future__ import annotations

from typing import Any

from ..problem import Problem
from ..result import Result
from .wircm import wircm


def auto(problem: Problem, **options: Any) -> Result:
    """IRCM, followed by WIRCM's exact phase in the remaining time."""
    return wircm(problem, **options)
