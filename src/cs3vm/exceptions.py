"""The errors a user can meet. Every message says what is wrong, where, and what to do."""

from __future__ import annotations


class Note(str):
    """A message in the words of Python that also knows those of the command line.

    It is text like any other. Where the two differ, ``command`` has the words for the command line.
    """

    command: str

    def __new__(cls, text: str, command: str | None = None) -> Note:
        """The words of Python, and those of the command line where they differ."""
        note = super().__new__(cls, text)
        note.command = str(text) if command is None else command
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.command

    def for_command_line(self) -> str:
        """The message in the words of the command line."""
        return self.command

    def after(self, start: str) -> Note:
        """The same message after a few words that are equal for both."""
        return Note(f"{start}{self}", f"{start}{self.command}")


class _Spoken:
    """What errors and warnings share: their message may be a :class:`Note`."""

    args: tuple[object, ...]

    def for_command_line(self) -> str:
        """The message in the words of the command line."""
        first = self.args[0] if self.args else None
        return first.for_command_line() if isinstance(first, Note) else str(self)


class CS3VMError(_Spoken, Exception):
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


class CS3VMWarning(_Spoken, UserWarning):
    """The fit succeeded, but its answer says less about the data than it seems to."""
