"""The errors a user can meet. Every message says what is wrong, where, and what to do."""

from __future__ import annotations


class CS3VMError(Exception):
    """Base class of all errors raised on purpose by this package."""


class InvalidProblemError(CS3VMError, ValueError):
    """The data, the total or a parameter cannot be used as given."""


class UnknownNameError(CS3VMError, ValueError):
    """There is no method, solver or option of that name."""


class SolverNotInstalledError(CS3VMError, ImportError):
    """The solver exists, but its package is not installed."""


class SolverLicenseError(CS3VMError, RuntimeError):
    """The solver is installed, but its licence does not cover this problem."""
