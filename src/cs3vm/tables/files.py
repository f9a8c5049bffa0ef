"""Writing files so that nothing is lost: checked before the work starts, and never half written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from secrets import token_hex
from typing import IO

from ..exceptions import OutputError

#: Files that are written but not yet in place, with their places.
_waiting: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("_waiting", default=None)


def check_outputs(paths: Iterable[Path], *, force: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Make sure that every path can be written; creates missing folders and nothing else.

    Parameters
    ----------
    force
        Whether files that exist may be replaced.
    inputs
        Files that must never be replaced.
    """
    paths = list(paths)
    for path in paths:
        if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
            raise OutputError(f"{path} is the input itself: choose another name for the output")
    existing = [str(path) for path in paths if path.exists()]
    if existing and not force:
        verb = "exists" if len(existing) == 1 else "exist"
        raise OutputError(
            f"{', '.join(existing)} {verb} already: add --force to replace, or write elsewhere "
            "(see --help for the options that begin with --out)"
        )
    for path in paths:
        if path.is_dir():
            raise OutputError(f"cannot write {path}: it is a folder")
    for folder in {path.parent for path in paths}:
        _check_folder(folder)


def _check_folder(folder: Path) -> None:
    probe = folder / f".cs3vm-{token_hex(6)}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.open("x").close()
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"cannot write into {folder}: {error.strerror or error}. Choose another place "
            "(see --help for the options that begin with --out)"
        ) from error


@contextmanager
def all_or_none() -> Iterator[None]:
    """Put the files that are written inside in place at the end, and none if one of them cannot be written.

    Any other error loses only what is not yet written: an answer outlives its report.
    """
    waiting: list[tuple[Path, Path]] = []
    token = _waiting.set(waiting)
    writable = True
    try:
        yield
    except OutputError:
        writable = False
        raise
    finally:
        _waiting.reset(token)
        try:
            for temporary, path in waiting if writable else ():
                _put_in_place(temporary, path)
        finally:
            for temporary, _ in waiting:
                temporary.unlink(missing_ok=True)


def write_atomically(path: Path, write: Callable[[IO[str]], object]) -> None:
    """Call ``write`` with a temporary text file beside ``path``, then put it in place in one step."""
    # no process id: what a killed process left must not be in the way of one with the same number
    temporary = path.with_name(f".{path.name}.{token_hex(6)}.tmp")
    waiting = _waiting.get()
    later = False
    try:
        with temporary.open("x", encoding="utf-8", newline="") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if waiting is None:
            _put_in_place(temporary, path)
        else:
            waiting.append((temporary, path))
            later = True
    except OutputError:
        raise
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        if not later:
            temporary.unlink(missing_ok=True)


def _put_in_place(temporary: Path, path: Path) -> None:
    try:
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> OutputError:
    return OutputError(f"cannot write {path}: {error.strerror or error}")
