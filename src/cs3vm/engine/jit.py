"""Decorators that compile, and the cache of compiled code.

=================  =====================================================================================
decorator          use it for
=================  =====================================================================================
``kernel``         all that is compiled, whether Python or another kernel calls it; small ones are inlined
``strict_kernel``  what a proof rests on, or what must not depend on how sums are ordered: IEEE arithmetic
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
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
#: Every kernel, in the order of their definition.
KERNELS: list[Any] = []


# -- decorators ------------------------------------------------------------------------------------
def kernel(function: Function) -> Function:
    """Compile on the first call."""
    return _jit(function, _nrt=False, **_OPTIONS)


def strict_kernel(function: Function) -> Function:
    """The same with plain IEEE arithmetic."""
    return _jit(function, _nrt=False, **{**_OPTIONS, "fastmath": False})


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
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place where it may write
        folder = _private_folder()
        if folder is None:
            return None
        with _caching_in(folder):
            dispatcher = numba.njit(cache=True, **options)(function)
    index, sources = _index(dispatcher), _digest()
    if index is None or not sources:
        why = "the engine's source files are missing" if index else "this version of numba is unknown"
        _warn_once(f"{why}: compiled code is not kept, every process compiles")
        return None
    index._source_stamp = sources
    return dispatcher


def _index(dispatcher: Any) -> Any:
    """The list of what a kernel's cache holds, in the versions of numba that we know; else None."""
    index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    known = hasattr(index, "_source_stamp") and callable(getattr(index, "_load_index", None))
    return index if known else None


def is_compiled() -> bool:
    """Whether every kernel is in the cache on disk."""
    return all(index is not None and bool(index._load_index()) for index in map(_index, KERNELS))


@cache
def _digest() -> str:
    """Of all source files here: a change anywhere makes kernels stale. Empty where there are no files."""
    paths = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest() if paths else ""


@cache
def _private_folder() -> str | None:
    """A temporary folder of this user's own, or None; it says so, once."""
    try:
        user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
        folder = Path(tempfile.gettempdir()) / f"cs3vm-compiled{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        private = _is_private(folder)
    except OSError:
        private = False
    place = f"in {folder}" if private else "nowhere: every process compiles"
    logger.warning("compiled code is kept %s; set NUMBA_CACHE_DIR to a writable folder to change that", place)
    return str(folder) if private else None


def _is_private(folder: Path) -> bool:
    """Whether nobody else can write to it: what it holds will be executed."""
    if not hasattr(os, "getuid"):  # where temporary folders belong to one user anyway
        return True
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


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
