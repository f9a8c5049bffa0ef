"""A folder that appears as a whole at its place, and what a run knows before that.

Beside the place of the output, in a hidden folder, are the results of the passes that are complete, and then
the output while it is written. So a run that is killed leaves the old output or none, and another one can go
on where it was. An old output that has to make room waits in the hidden folder, too: if a run is killed just
then, the next one puts it back.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Protocol, TypeVar

import numpy as np

from ..exceptions import OutputError

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

#: The name of an old output in the hidden folder.
OLD = "old"
P = TypeVar("P")
T = TypeVar("T")
#: What files of pass results may be made of, besides our own classes.
_ALLOWED = {
    "builtins": {"set", "frozenset", "slice", "complex", "bytearray"},
    "numpy": {"ndarray", "dtype"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.numeric": {"_frombuffer"},
}


class Reduces(Protocol):
    """What passes are run over."""

    def reduce(self, function: Callable[[Any], T], combine: Callable[[T, T], T]) -> T:
        """One pass."""


def put_back(target: Path) -> None:
    """Put an old output back to its place if a run was killed while it was making room for the new one."""
    folder = _hidden(target)
    if not (folder / OLD).exists():
        return
    lock = _locked(folder)
    if lock is not None:  # else that run is at work
        try:
            _put_back(folder, target)
        finally:
            lock.close()


def _put_back(folder: Path, target: Path) -> None:
    """The same by who has the lock; where the new output is in its place, the old one is removed."""
    old = folder / OLD
    if not old.exists():
        return
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        return
    try:
        os.rename(old, target)
    except OSError as error:
        raise OutputError(
            f"an earlier run was killed while it replaced {target}; what was there is in {old} and cannot be "
            f"put back: {error.strerror or error}"
        ) from error


def _hidden(target: Path) -> Path:
    return target.with_name(f".{target.name}.unfinished")


def _locked(folder: Path) -> IO[bytes] | None:
    """The lock of a hidden folder; None if another process has it.

    The system gives up the lock of a process that ends, whatever ends it.
    """
    lock = (folder / "lock").open("ab")
    try:
        if fcntl is not None:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


class Unfinished:
    """Work on a folder that is to appear at ``target``.

    Parameters
    ----------
    target
        Where the output will be.
    key
        Tells inputs and options from others: results of passes are used again for the same key only.
    resume
        Whether to go on with what a run that was stopped has left.
    """

    def __init__(self, target: Path, key: str = "", *, resume: bool = False) -> None:
        self.target = target
        self.folder = _hidden(target)
        self.n_resumed = 0  #: passes that were not run again
        self._next = 0
        self._lock: IO[bytes] | None = None
        self._begin(key, resume)

    def _begin(self, key: str, resume: bool) -> None:
        kept = self.folder / "key"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.folder)
            if self._lock is None:
                raise OutputError(
                    f"another run is writing {self.target}: wait for it, or write elsewhere (--out)"
                )
            _put_back(self.folder, self.target)
            before = kept.read_text("utf-8") if kept.exists() else None
            if resume and before not in (None, key):
                raise OutputError(
                    f"what was left of {self.target} belongs to other data, options or another version: "
                    "leave --resume out to begin again"
                )
            if not resume or before is None:
                self._clear()
                kept.write_text(key, "utf-8")
            shutil.rmtree(self.output, ignore_errors=True)
            self.output.mkdir()
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write beside {self.target}: {error.strerror or error}") from error

    def _clear(self) -> None:
        for file in self.folder.glob("pass-*"):
            file.unlink()

    @property
    def output(self) -> Path:
        """The folder to write into."""
        return self.folder / "output"

    # -- passes ----------------------------------------------------------------------------------------
    def run(self, source: Reduces, function: Callable[[Any], T], combine: Callable[[T, T], T]) -> T:
        """One pass, or its result if an earlier run has it."""
        path = self.folder / f"pass-{self._next:03d}"
        self._next += 1
        mark = _mark(function)
        kept = _read(path, mark)
        if kept is not None:
            self.n_resumed += 1
            found: T = kept[0]
            return found
        found = source.reduce(function, combine)
        _write(path, mark, found)
        return found

    # -- the end ---------------------------------------------------------------------------------------
    def publish(self) -> None:
        """Put the output in its place, instead of what is there."""
        try:
            if self.target.exists():
                os.rename(self.target, self.folder / OLD)
            os.rename(self.output, self.target)
        except OSError as error:
            raise OutputError(f"cannot write {self.target}: {error.strerror or error}") from error
        self.discard()

    def publish_file(self, name: str) -> None:
        """Put one file of the output in the place of the target instead."""
        try:
            os.replace(self.output / name, self.target)
        except OSError as error:
            raise OutputError(f"cannot write {self.target}: {error.strerror or error}") from error
        self.discard()

    def close(self) -> None:
        """Leave what there is for another run."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def discard(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.close()


class SavedPasses:
    """A source whose passes are kept, for those who run them through ``reduce``."""

    def __init__(self, source: Any, unfinished: Unfinished) -> None:
        self.source, self.unfinished = source, unfinished

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.source.n_columns)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Their names."""
        names: tuple[str, ...] | None = self.source.names
        return names

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known."""
        n_rows: int | None = self.source.n_rows
        return n_rows

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the columns of groups."""
        return tuple(self.source.group_names)

    def reduce(self, function: Callable[[P], T], combine: Callable[[T, T], T]) -> T:
        """One pass, or its result if an earlier run has it."""
        return self.unfinished.run(self.source, function, combine)


def _mark(function: Any) -> bytes:
    """The same for functions that do the same, whether their parts were read back or computed."""
    file = io.BytesIO()
    pickler = _Canonical(file, protocol=5)
    pickler.fast = True  # parts are written out wherever they occur, not only where they do first
    pickler.dump(function)
    return hashlib.sha256(file.getbuffer()).digest()


class _Canonical(pickle.Pickler):
    """Writes arrays by their values, however they lie in memory, and data classes by their fields.

    What a data class has computed and kept does not count.
    """

    def reducer_override(self, obj: Any) -> Any:
        """Arrays and data classes; the rest as usual."""
        if is_dataclass(obj) and not isinstance(obj, type):
            return tuple, ([type(obj).__qualname__, *(getattr(obj, field.name) for field in fields(obj))],)
        if isinstance(obj, np.ndarray) and obj.dtype != object:
            return bytes, (repr((obj.dtype.str, obj.shape)).encode() + obj.tobytes(),)
        return NotImplemented


def _write(path: Path, mark: bytes, found: Any) -> None:
    temporary = path.with_name(f"{path.name}.{token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(mark)
            pickle.dump(found, file, protocol=5)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write beside the output: {error.strerror or error}") from error


def _read(path: Path, mark: bytes) -> tuple[Any] | None:
    """What a pass found, if it is there and belongs to the same pass; else None."""
    if not path.exists():
        return None
    content = path.read_bytes()
    if content[: len(mark)] != mark:
        return None
    try:
        return (_Plain(io.BytesIO(content[len(mark) :])).load(),)
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError):  # damaged
        return None


class _Plain(pickle.Unpickler):
    """Reads our own data classes and arrays, and runs no other code."""

    def find_class(self, module: str, name: str) -> Any:
        """A class that results of passes are made of.

        Ours are those that our modules define themselves: what a module imports, such as a way to start
        processes, could be reached through it otherwise.
        """
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        if module.startswith("cs3vm.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise OutputError(f"the results of earlier passes hold {module}.{name}: leave --resume out")
