"""Decorators that compile, and the cache of compiled code.

=================  =====================================================================================
decorator          use it for
=================  =====================================================================================
``kernel``         all that is compiled, whether Python or another kernel calls it; small ones are inlined
``inner_kernel``   what only other kernels call: the code that takes arguments from Python is left out (a
                   tenth less to compile in all), and a call from Python is a ``TypeError``
``small_kernel``   an inner kernel that is copied to where it is called: a loop over a few dozen numbers,
                   which takes less time than handing over seven words for each array, or what is called once
``strict_kernel``  what a proof rests on, or what must not depend on how sums are ordered: IEEE arithmetic;
                   ``strict_inner_kernel`` is the same for what only kernels call
``spliced``        a part of one long kernel that takes the large structures: it is copied into its caller
                   before that is compiled. On its own, it and all that it calls would be compiled once more
                   (a third more time in all). A second caller means a second copy: make it a kernel then.
=================  =====================================================================================

**Kernels do not allocate**: they are compiled without reference counts, which makes them faster and halves
the time to compile. They write to arrays that Python allocates.

**Constants as arguments.** Numba gives the argument of ``f(0)`` the type "literal 0", for which it compiles
another copy of f and of all that f calls. So a constant that is passed to a kernel has a name and the type of
a number: ``ZERO``, ``NO_ROW``, ``YES``, ``NO`` here, and ``MAX_PIVOTS = integer(400)`` where it belongs.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

logger = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be reordered and fused: no bound here depends on it. Infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": _FAST,
    "no_cfunc_wrapper": True,
}
#: What reading a file that is not all there may raise.
_DAMAGES = (pickle.UnpicklingError, EOFError, ValueError, IndexError, AttributeError, ImportError, TypeError)
#: Every kernel, in the order of their definition.
KERNELS: list[Any] = []


# -- decorators ------------------------------------------------------------------------------------
def kernel(function: Function) -> Function:
    """Compile on the first call."""
    return _jit(function, _nrt=False, **_OPTIONS)


def strict_kernel(function: Function) -> Function:
    """The same with plain IEEE arithmetic."""
    return _jit(function, _nrt=False, **{**_OPTIONS, "fastmath": False})


def inner_kernel(function: Function) -> Function:
    """A kernel that Python cannot call."""
    return _refusing(_jit(function, _nrt=False, **_OPTIONS, no_cpython_wrapper=True))


def small_kernel(function: Function) -> Function:
    """An inner kernel that is copied to where it is called."""
    return _refusing(_jit(function, _nrt=False, **_OPTIONS, no_cpython_wrapper=True, forceinline=True))


def strict_inner_kernel(function: Function) -> Function:
    """The same with plain IEEE arithmetic."""
    options = {**_OPTIONS, "fastmath": False, "no_cpython_wrapper": True}
    return _refusing(_jit(function, _nrt=False, **options))


def _refusing(dispatcher: Function) -> Function:
    """Make a call from Python an error: there is no code for it, and the process would end."""
    plain: Any = type(dispatcher)
    dispatcher.__class__ = _refusing_type(plain)
    return dispatcher


@cache
def _refusing_type(plain: Any) -> type:
    def refuse(dispatcher: Any, *_: object, **__: object) -> None:
        raise TypeError(f"{dispatcher.__name__} is an inner kernel: only kernels can call it")

    return type("InnerKernel", (plain,), {"__call__": refuse, "__module__": __name__})


def spliced(function: Function) -> Function:
    """Copy into the one kernel that calls it."""
    return cast(Function, numba.njit(inline="always", **_OPTIONS)(function))


def integer(value: int) -> int:
    """A constant that may be an argument of a kernel."""
    return cast(int, np.int64(value))


ZERO, NO_ROW = integer(0), integer(-1)
YES, NO = cast(bool, np.bool_(True)), cast(bool, np.bool_(False))


# -- the cache -------------------------------------------------------------------------------------
def _jit(function: Function, **options: Any) -> Function:
    """Compile on the first call, and cache on disk until a source file changes."""
    dispatcher = _cached(function, options)
    if dispatcher is None:
        dispatcher = numba.njit(**options)(function)
    KERNELS.append(dispatcher)
    return cast(Function, dispatcher)


def _cached(function: Callable[..., object], options: dict[str, Any]) -> Any:
    """A kernel with a cache that knows of all source files; None where there can be none.

    Numba itself looks only at the function's own file. A kernel contains what it calls, and one with old
    callees could corrupt memory: rather none is cached.
    """
    dispatcher = _placed(function, options)
    if dispatcher is None:
        return None
    index, sources = _index(dispatcher), _digest()
    if index is None or not sources:
        why = "the engine's source files are missing" if index else "this version of numba is unknown"
        _warn_once(f"{why}: compiled code is not kept, every process compiles")
        return None
    index._source_stamp = sources
    # numba writes the index before the data: a process killed in between must not leave old data under it
    index._data_name_pattern = f"{Path(index._index_path).stem}.{sources}.{{number:d}}.nbc"
    _make_careful(dispatcher._cache, index)
    return dispatcher


def _placed(function: Callable[..., object], options: dict[str, Any]) -> Any:
    """A kernel with a cache where numba wants it, or in a private folder if others can write there."""
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place where it may write
        folder = _private_folder("")
    else:
        if _is_safe(Path(dispatcher.stats.cache_path)):
            return dispatcher
        place = numba.config.CACHE_DIR or "the folder for it"
        folder = _private_folder(f"others can write to {place}, and compiled code is executed: ")
    if folder is None:
        return None
    with _caching_in(folder):
        return numba.njit(cache=True, **options)(function)


def _index(dispatcher: Any) -> Any:
    """The list of what a kernel's cache holds, in the versions of numba that we know; else None."""
    index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    attributes = ("_source_stamp", "_index_path", "_data_name_pattern")
    methods = ("_load_index", "_load_data", "_data_path")
    known = all(hasattr(index, name) for name in attributes)
    return index if known and all(callable(getattr(index, name, None)) for name in methods) else None


def _make_careful(kept: Any, index: Any) -> None:
    """Let a cache read nothing that others can write or that is damaged; a full disk ends nothing."""
    load_index, load_data, save = index._load_index, index._load_data, kept.save_overload

    def read_index() -> Any:
        try:
            return load_index() if _is_safe(Path(index._index_path)) else {}
        except _DAMAGES:
            return {}

    def read_data(name: str) -> Any:
        path = index._data_path(name)
        if not _is_safe(Path(path)):
            raise OSError(f"others can write to {path}")  # as if it were not there
        try:
            return load_data(name)
        except _DAMAGES as error:
            raise OSError(f"{path} is damaged") from error

    def write(signature: Any, data: Any) -> None:
        try:
            save(signature, data)
        except OSError as error:
            _warn_once(f"compiled code cannot be kept ({error.strerror or error}): every process compiles")

    index._load_index, index._load_data, kept.save_overload = read_index, read_data, write


def is_compiled(*kernels: Any) -> bool:
    """Whether these kernels, or all that are known so far, are in the cache on disk."""
    return all(index is not None and _is_complete(index) for index in map(_index, kernels or KERNELS))


def _is_complete(index: Any) -> bool:
    paths = _data_files(index)
    return len(paths) > 0 and all(map(os.path.exists, paths))


def _data_files(index: Any) -> list[str]:
    return [index._data_path(name) for name in index._load_index().values()]


def compiled_files() -> list[str]:
    """The files that hold the compiled code of all kernels that are known so far."""
    known = [index for index in map(_index, KERNELS) if index is not None]
    return [path for index in known for path in (index._index_path, *_data_files(index))]


def cache_folder() -> str | None:
    """Where compiled code is kept, the first of several folders; None where none is."""
    folders = (kernel.stats.cache_path for kernel in KERNELS)
    return min(filter(None, folders), default=None)


def remove_stale() -> None:
    """Remove what was compiled from other source files by this version of Python.

    A process that still runs when another version is installed leaves that one's code alone.
    """
    if _digest() != _digest_of_files():
        return
    python = f".py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}."
    for folder in {Path(index._index_path).parent for index in map(_index, KERNELS) if index is not None}:
        for path in folder.glob("*.nbc"):
            if python in path.name and _digest() not in path.name:
                with suppress(OSError):
                    path.unlink()


@cache
def _digest() -> str:
    """What the source files were when this process began."""
    return _digest_of_files()


def _digest_of_files() -> str:
    """Of numba and all source files here: a change makes kernels stale. Empty where there are no files."""
    paths = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=16)
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest() if paths else ""


# -- who can write there ---------------------------------------------------------------------------
@cache
def _private_folder(why: str) -> str | None:
    """A temporary folder of this user's own, or None; it says so, once."""
    try:
        user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
        folder = Path(tempfile.gettempdir()) / f"cs3vm-compiled{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        private = _is_closed(folder.lstat())
    except OSError:
        private = False
    kept = f"in {folder}" if private else "nowhere: every process compiles"
    change = "set NUMBA_CACHE_DIR to a writable folder of your own to change that"
    logger.warning("%scompiled code is kept %s; %s", why, kept, change)
    return str(folder) if private else None


def _is_safe(place: Path) -> bool:
    """Whether nobody else can write to a file or folder, or move another one there: it will be executed.

    Whoever owns this package runs code here anyway. Folders above may have any owner, as in containers: every
    file is looked at for its own owner before it is read.
    """
    if not hasattr(os, "getuid"):  # where the folders of a user belong to that user anyway
        return True
    try:
        place = place.resolve()
        own, *above = (path.stat() for path in (place, *place.parents))
        if own.st_uid not in {0, os.getuid(), Path(__file__).stat().st_uid}:
            return False
    except OSError:  # also if there is no such file
        return False
    if any(map(_is_closed, above)):
        return True
    return not _is_open(own) and not any(_is_open(up) and not up.st_mode & stat.S_ISVTX for up in above)


def _is_closed(status: os.stat_result) -> bool:
    """Whether it is a folder that nobody else can even enter."""
    if not hasattr(os, "getuid"):
        return True
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _is_open(status: os.stat_result) -> bool:
    """Whether people other than the owner can write to it."""
    group = status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid)
    return bool(group or status.st_mode & stat.S_IWOTH)


@cache
def _is_own_group(number: int) -> bool:
    """Whether a group is the one that many systems make for each user, with nobody else in it."""
    try:
        import grp
        import pwd

        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(number)
    except (ImportError, KeyError):
        return False
    mine = user.pw_gid == number and group.gr_name == user.pw_name
    return mine and set(group.gr_mem) <= {user.pw_name}


@contextmanager
def _caching_in(folder: str) -> Iterator[None]:
    """Let numba choose this folder for the functions that are decorated meanwhile."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def _warn_once(message: str) -> None:
    logger.warning(message)
