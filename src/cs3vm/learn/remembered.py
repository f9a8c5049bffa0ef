"""What was found out about a fit once somebody asked: computed once, and kept with it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .accuracy import Accuracy
from .probabilities import HeldOut


class Remembered:
    """Answers by what was asked; each is filled by the module that computes it."""

    @cached_property
    def estimated(self) -> dict[tuple[object, ...], Accuracy]:
        """How many labels are right, as far as anybody has asked; see :mod:`cs3vm.learn.comparing`."""
        return {}

    @cached_property
    def held_out(self) -> dict[str, tuple[int, tuple[HeldOut, ...]]]:
        """By rule, how often every row was hidden and the scores it had, once anybody has hidden any."""
        return {}

    @cached_property
    def replicated(self) -> list[Any]:
        """Planes from labels drawn again, once anybody has drawn any; see :mod:`cs3vm.learn.replicates`."""
        return []

    @cached_property
    def certified(self) -> dict[tuple[object, ...], Any]:
        """What is certain, once anybody has asked; see :mod:`cs3vm.learn.certainty`."""
        return {}

    @cached_property
    def probable(self) -> dict[bool, Any]:
        """The probabilities, once anybody has asked; see :mod:`cs3vm.learn.calibrating`."""
        return {}
