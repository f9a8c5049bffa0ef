"""Who compiles: helpers, once ever and for all; every process loads what they leave in the cache on disk.

Code that is called in the process that compiled it is not the same to the last digit: a kernel then calls
the single copies of what it calls, later its own, which the compiler has fitted into it. Searches that end by
work would end elsewhere the first time. So the process that finds the cache empty waits for its helpers, one
on each of two cores, and other processes wait for it.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EACCES, EAGAIN
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from time import perf_counter, sleep
from typing import IO

from .jit import cache_folder, is_compiled, remove_stale

try:
    import fcntl
except ImportError:  # no such locks here: every process compiles for itself
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)
#: What compiles a part by calling it: a function without arguments that helpers can import.
Task = Callable[[], None]
#: Seconds to wait for other processes that compile, and between two looks at a lock.
_WAIT, _LOOK = 300.0, 0.1
#: Marks a helper: it starts none itself.
_MARK = "CS3VM_COMPILES"


@contextmanager
def ready(what: str, *tasks: Task) -> Iterator[None]:
    """All kernels that are known by now are in the cache, to be loaded by what is done inside.

    What helpers have not compiled, for whatever reason, is compiled inside: nothing is lost but time.
    """
    with _turn():
        if not is_compiled():
            logger.warning("compiling the %s: this happens once and takes about half a minute", what)
            remove_stale()
            _have_compiled(tasks)
        with _no_garbage_collection():
            yield


@contextmanager
def _turn() -> Iterator[None]:
    """Wait while another process compiles; then it is our turn, if anything is left to compile."""
    file = None if is_compiled() else _lock_file()
    try:
        if file is not None:
            _wait_for(file)
            if is_compiled():  # by another process: the next one need not wait for this one
                file.close()
        yield
    finally:
        if file is not None:
            file.close()


def _lock_file() -> IO[bytes] | None:
    """The file whose lock has the process that compiles; None where nothing is cached or locks are unknown.

    The system gives up the lock of a process that ends. The file stays: removed, it would be another one for
    the next process than for those that wait.
    """
    folder = cache_folder()
    if folder is None or fcntl is None:
        return None
    try:
        return open(Path(folder) / f"cs3vm-compiling.{sys.implementation.cache_tag}.lock", "ab")
    except OSError:
        return None


def _wait_for(file: IO[bytes]) -> None:
    """Return once this process has the lock, or the others have had time enough.

    A kernel may be compiled for more than one kind of arguments, so that none is missing does not mean that
    whoever compiles is done.
    """
    deadline, told = perf_counter() + _WAIT, False
    while perf_counter() < deadline:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (EACCES, EAGAIN):  # a folder without locks
                return
        if not told:
            logger.warning("another process is compiling the exact engine: waiting for it")
            told = True
        sleep(_LOOK)


def _have_compiled(tasks: Sequence[Task]) -> None:
    """Let helpers compile, each one task where there is a core for each; they meet in the cache on disk."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = [[task] for task in tasks] if cores >= len(tasks) else [list(tasks)]
    helpers: list[Popen[bytes]] = []
    deadline = perf_counter() + _WAIT
    try:
        for share in shares:
            helpers += _start_helper(share)
        for helper in helpers:
            with suppress(TimeoutExpired):
                helper.wait(max(0.0, deadline - perf_counter()))
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()


def _start_helper(tasks: Sequence[Task]) -> list[Popen[bytes]]:
    """Do this in another process, if there can be one."""
    plain = sys.executable and not getattr(sys, "frozen", False)  # else it is no Python but a program
    if not plain or _MARK in os.environ or cache_folder() is None:
        return []
    calls = [f"from {task.__module__} import {task.__name__}; {task.__name__}()" for task in tasks]
    command = "; ".join(["import gc; gc.disable()", *calls])
    path = os.pathsep.join(filter(None, sys.path))
    try:
        helper = Popen(
            [sys.executable, "-P", "-c", command],
            env={**os.environ, "PYTHONPATH": path, _MARK: "1"},
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
        )
    except OSError:
        return []
    return [helper]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """The compiler makes millions of objects that stay: to look through them takes an eighth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
