"""What the commands share: where they print to, and how they are entered."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterable
from errno import EPIPE
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperGroup

from ..exceptions import CS3VMError, MissingPackageError
from ..model.status import Callback, TracePoint

#: Said in the help of every command that can fail.
EXIT_CODES = """
**Exit codes**: 0 done (also if Ctrl-C or the time limit ended the search: the best answer is written);
1 unexpected failure; 2 bad input, with nothing written; 130 stopped by Ctrl-C before there was an answer.
"""

_WORDS = "cs3vm.words"


class Commands(TyperGroup):
    """The group of all commands: remembers the words it was called with, and explains our errors."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words for the report before they are parsed."""
        ctx.meta[_WORDS] = list(args)
        return list(super().parse_args(ctx, args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; one of our own errors becomes a message and exit code 2.

        So do, with exit code 1, faults of the machine: memory that is full, output that cannot be written.
        """
        try:
            return super().invoke(ctx)
        except CS3VMError as error:
            _complain(error.for_command_line())
            raise typer.Exit(2) from error
        except MemoryError as error:
            _complain(f"not enough memory{f' ({error})' if str(error) else ''}: give fewer rows or columns")
            raise typer.Exit(1) from error
        except OSError as error:
            if error.errno == EPIPE:  # whoever read the output has gone
                raise
            _complain(str(error))
            raise typer.Exit(1) from error


def _complain(message: str) -> None:
    typer.secho("Error: ", fg="red", bold=True, err=True, nl=False)
    typer.echo(message, err=True)


class CtrlC:
    """A callback that makes sure that Ctrl-C ends the search.

    Compiled code may swallow the interrupt; then the next call from the search raises it again.
    """

    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        self.asked = False
        self._previous: Any = None

    def __enter__(self) -> CtrlC:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _interrupt(self, *_: object) -> None:
        self.asked = True
        raise KeyboardInterrupt

    def __call__(self, point: TracePoint) -> None:
        """Pass the progress on, unless the search is to end."""
        if self.asked:
            raise KeyboardInterrupt
        self.callback(point)


def command_line(ctx: typer.Context) -> str:
    """The command as it was typed, fit to be pasted into a shell."""
    return shlex.join(["cs3vm", *ctx.meta.get(_WORDS, sys.argv[1:])])


def check_packages(*, report: bool = False) -> None:
    """Refuse to begin without the packages that tables and the report need, before anything is loaded."""
    get = 'pip install "cs3vm[report]"'
    if find_spec("pandas") is None:
        raise MissingPackageError(f"a table needs the package pandas, which is not installed: {get}")
    missing = [name for name in ("matplotlib", "jinja2") if report and find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"the report needs the package {' and '.join(missing)}, which is not installed: "
            f"{get}, or leave the report out with --no-report"
        )


def tell(messages: Iterable[str], *, quiet: bool) -> None:
    """Print notes to standard error."""
    for message in () if quiet else messages:
        typer.echo(f"note: {message}", err=True)
