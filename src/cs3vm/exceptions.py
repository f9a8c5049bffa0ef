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


class TableError(CS3VMError, ValueError):
    """A file or one of its columns cannot be used as given."""


class ModelFileError(CS3VMError, ValueError):
    """A model file is not one, is damaged, or was written by a newer version."""


class OutputError(CS3VMError, OSError):
    """A file cannot be written where it was asked for."""


class MissingPackageError(CS3VMError, ImportError):
    """An optional package is not installed."""


class CS3VMWarning(UserWarning):
    """The fit succeeded, but its answer says less about the data than it seems to."""
