"""Decorators that compile, and the cache of compiled code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be reordered and fused: no bound here depends on it. Infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": _FAST,
    "no_cfunc_wrapper": True,
}
_INNER: dict[str, Any] = {"no_cpython_wrapper": True}


def _digest() -> str:
    """Of all source files here: kernels contain what they call, so a change anywhere makes them stale."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _digest()


def _jit(function: Function, **options: Any) -> Function:
    """Compile on the first call, cached on disk until a source file changes.

    Numba itself looks only at the function's own file: a kernel with old callees could corrupt memory.
    """
    dispatcher = numba.njit(**options)(function)
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = _SOURCES
    return cast(Function, dispatcher)


def is_compiled(dispatcher: Any) -> bool:
    """Whether a kernel is in the cache on disk, as far as numba lets us see."""
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if not hasattr(index, "_load_index"):
        return True  # an unknown version of numba: say nothing
    return bool(index._load_index())


# The kernels below allocate nothing. Without reference counting and, for those that only other kernels call,
# without a Python wrapper they are faster and compile in half the time.


def kernel(function: Function) -> Function:
    """Compile a function that does not allocate."""
    return _jit(function, _nrt=False, **_OPTIONS)


def inner(function: Function) -> Function:
    """Compile a function that only kernels call."""
    return _jit(function, _nrt=False, **_INNER, **_OPTIONS)


def inlined(function: Function) -> Function:
    """Compile into the caller: a call that passes all these arrays costs more than a short function does."""
    return _jit(function, _nrt=False, forceinline=True, **_INNER, **_OPTIONS)


def spliced(function: Function) -> Function:
    """Copy into the one kernel that calls it: on its own, all that it calls would be compiled once more."""
    return _jit(function, inline="always", **_OPTIONS)


def strict_kernel(function: Function) -> Function:
    """Compile a function that does not allocate, with plain IEEE arithmetic."""
    return _jit(function, _nrt=False, **{**_OPTIONS, "fastmath": False})


def compiled_strictly(function: Function) -> Function:
    """Compile an inner function with plain IEEE arithmetic: for everything that a proof rests on."""
    return _jit(function, _nrt=False, **_INNER, **{**_OPTIONS, "fastmath": False})
