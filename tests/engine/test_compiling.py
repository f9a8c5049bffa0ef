"""The first process has the engine compiled and says so; the others wait for it."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from cs3vm.engine import compiling

COMPILING, WAITING = "compiling the exact engine: this", "another process is compiling"

PROCESS = """
import logging
logging.basicConfig(format="%(message)s")
from cs3vm.engine.jit import KERNELS
from cs3vm.engine.warm_up import warm_up
{change}
warm_up()
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS))
print([kernel.py_func.__qualname__ for kernel in KERNELS if len(kernel.signatures) > 1])
"""
#: An engine of one kernel: all is as it is, but compiling takes no time.
ONE_KERNEL = """
from cs3vm.engine import compiling, jit, warm_up as warm
from time import sleep
from one_kernel import twice
KERNELS.clear()
kernel = jit.kernel(twice)
warm.compile_tree = lambda: (sleep(0.5), kernel(3.0))
warm.compile_heuristic = lambda: None
compiling._start_helper = lambda tasks: []
"""


def start(cache: Path, change: str = "", **environment: str) -> subprocess.Popen[str]:
    """A process that needs the engine; it prints how many kernels it compiled, and which several times."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", PROCESS.format(change=change)]
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def one_has_it_compiled(cache: Path, change: str = "", **options: str) -> list[str]:
    """Of several processes with an empty cache one says that it compiles, once; later ones say nothing.

    Return what they found, and a later one.
    """
    processes = [start(cache, change, **options) for _ in range(3)]
    ends = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ends
    said = "".join(message for _, message in ends)
    assert said.count(COMPILING) == 1
    assert said.count(WAITING) <= 2
    text, said = start(cache, change, **options).communicate()
    assert (text.split("\n")[-3], said) == ("0", "")
    return [found for found, _ in ends] + [text]


def test_of_several_processes_one_compiles_and_says_so_once(tmp_path):
    (tmp_path / "one_kernel.py").write_text("def twice(x):\n    return 2.0 * x\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    found = one_has_it_compiled(tmp_path / "cache", change=ONE_KERNEL, PYTHONPATH=path)
    assert sorted(text.startswith("0\n") for text in found) == [False, True, True, True]
    assert len(list(tmp_path.rglob("*.nbc"))) == 1


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "ab")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path, monkeypatch):
    """Another process has the lock and nothing is compiled; how often we looked."""
    pytest.importorskip("fcntl")
    monkeypatch.setattr(compiling, "cache_folder", lambda: str(tmp_path))
    looks: list[None] = []

    def nothing_is_compiled() -> bool:
        looks.append(None)
        return False

    monkeypatch.setattr(compiling, "is_compiled", nothing_is_compiled)
    monkeypatch.setattr(compiling, "_LOOK", 0.001)
    file = compiling._lock_file()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, file.name], text=True, **pipes)
    assert holder.stdout.readline() == "held\n"
    yield holder, looks
    holder.kill()
    holder.wait()
    holder.stdout.close()


def test_waiting_ends_after_a_while(held, monkeypatch, caplog):
    _, looks = held
    monkeypatch.setattr(compiling, "_WAIT", 0.1)
    with caplog.at_level(logging.WARNING), compiling._turn():
        assert len(looks) == 2
    assert caplog.text.count(WAITING) == 1


def test_a_process_that_dies_gives_up_its_lock(held, caplog):
    holder, _ = held
    holder.kill()
    holder.wait()
    with caplog.at_level(logging.WARNING), compiling._turn():
        pass
    assert caplog.text == ""


def test_whoever_waits_goes_on_once_the_other_is_done_and_holds_up_nobody(held, monkeypatch):
    holder, looks = held
    monkeypatch.setattr(compiling, "is_compiled", lambda: bool(looks) or looks.append(None) is not None)
    monkeypatch.setattr(compiling, "sleep", lambda _: (holder.stdin.close(), holder.wait()))
    lock_file, files = compiling._lock_file, []
    monkeypatch.setattr(compiling, "_lock_file", lambda: files.append(lock_file()) or files[0])
    with compiling._turn():
        assert holder.returncode == 0
        assert files[0].closed


def test_an_error_while_compiling_is_not_lost_and_frees_the_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "cache_folder", lambda: str(tmp_path))
    monkeypatch.setattr(compiling, "is_compiled", lambda: False)
    for _ in range(2):
        with pytest.raises(OSError, match="disk"), compiling._turn():
            raise OSError("disk")


def nothing() -> None:
    """A task of a helper."""


def test_a_helper_does_its_tasks(tmp_path, monkeypatch):
    """Whatever the process that starts it has put on its path."""
    (tmp_path / "tasks_of_a_test.py").write_text(
        "from pathlib import Path\n"
        "def first():\n    Path(__file__).with_name('first').touch()\n"
        "def second():\n    Path(__file__).with_name('second').touch()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import tasks_of_a_test as tasks

    compiling._have_compiled([tasks.first, tasks.second])
    assert {path.name for path in tmp_path.iterdir()} >= {"first", "second"}


def test_without_a_cache_there_is_neither_lock_nor_helper(monkeypatch):
    monkeypatch.setattr(compiling, "cache_folder", lambda: None)
    assert compiling._lock_file() is None
    assert compiling._start_helper([nothing]) == []


@pytest.mark.parametrize("python", ["", "no-such-python"])
def test_without_a_helper_this_process_compiles_all(python, monkeypatch):
    monkeypatch.setattr(sys, "executable", python)
    assert compiling._start_helper([nothing]) == []


def test_a_helper_or_a_frozen_program_starts_no_helper(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert compiling._start_helper([nothing]) == []
    monkeypatch.delattr(sys, "frozen")
    monkeypatch.setenv(compiling._MARK, "1")
    assert compiling._start_helper([nothing]) == []


def test_garbage_is_collected_again_afterwards():
    with suppress(ZeroDivisionError), compiling._no_garbage_collection():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()
