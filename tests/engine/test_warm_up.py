"""The first process compiles, says so, and leaves the code to the others, who wait for it."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numba
import pytest

from cs3vm.engine import jit
from cs3vm.engine import warm_up as warm

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
from cs3vm.engine import jit, warm_up as warm
from time import sleep
from one_kernel import twice
KERNELS.clear()
kernel = jit.kernel(twice)
warm._search = lambda: (sleep(0.5), kernel(3.0))
warm.warm_up_heuristic = warm._start_helper = lambda: None
"""


def start(cache: Path, change: str = "", **environment: str) -> subprocess.Popen[str]:
    """A process that needs the engine; it prints how many kernels it compiled, and which several times."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", PROCESS.format(change=change)]
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def one_compiles(cache: Path, **options: str) -> None:
    """Of several processes with an empty cache one compiles and says so once; later ones say nothing."""
    processes = [start(cache, **options) for _ in range(3)]
    ends = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ends
    said = "".join(message for _, message in ends)
    assert said.count(COMPILING) == 1
    assert said.count(WAITING) <= 2
    assert sorted(text.startswith("0\n") for text, _ in ends) == [False, True, True]
    text, said = start(cache, **options).communicate()
    assert (text.split("\n")[0], said) == ("0", "")


def test_of_several_processes_one_compiles_and_says_so_once(tmp_path):
    (tmp_path / "one_kernel.py").write_text("def twice(x):\n    return 2.0 * x\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    one_compiles(tmp_path / "cache", change=ONE_KERNEL, PYTHONPATH=path)
    assert len(list(tmp_path.rglob("*.nbc"))) == 1


def test_a_later_process_finds_every_kernel_and_no_second_kind_of_arguments():
    warm.warm_up()
    folder = numba.config.CACHE_DIR
    done = start(folder) if folder else start("", NUMBA_CACHE_DIR="")
    compiled, several, _ = done.communicate()[0].split("\n")
    assert compiled == "0"
    assert several == "['add_scores']"  # rows in pieces are single or double precision


def test_each_kernel_is_compiled_once(tmp_path):
    """The whole engine, cold: it takes a minute, so ``make faults`` runs it."""
    one_compiles(tmp_path)
    # an argument with a literal type, or one of another layout, would make a second file; rows in pieces are
    # single or double precision
    files = Counter(path.name.split("-")[0] for path in tmp_path.rglob("*.nbc"))
    assert {name for name, number in files.items() if number > 1} == {"groups._fill", "passes.add_scores"}
    assert len(files) == len(jit.KERNELS)


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
    monkeypatch.setattr(warm, "_cache_folder", lambda: str(tmp_path))
    looks: list[None] = []

    def nothing_is_compiled() -> bool:
        looks.append(None)
        return False

    monkeypatch.setattr(warm, "is_compiled", nothing_is_compiled)
    monkeypatch.setattr(warm, "_LOOK", 0.001)
    file = warm._lock_file()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, file.name], text=True, **pipes)
    assert holder.stdout.readline() == "held\n"
    yield holder, looks
    holder.kill()
    holder.wait()
    holder.stdout.close()


def test_waiting_ends_after_a_while(held, monkeypatch, caplog):
    _, looks = held
    monkeypatch.setattr(warm, "_WAIT", 0.1)
    with caplog.at_level(logging.WARNING), warm._turn():
        assert len(looks) == 2
    assert caplog.text.count(WAITING) == 1


def test_a_process_that_dies_gives_up_its_lock(held, caplog):
    holder, _ = held
    holder.kill()
    holder.wait()
    with caplog.at_level(logging.WARNING), warm._turn():
        pass
    assert caplog.text == ""


def test_whoever_waits_goes_on_once_the_other_is_done_and_holds_up_nobody(held, monkeypatch):
    holder, looks = held
    monkeypatch.setattr(warm, "is_compiled", lambda: bool(looks) or looks.append(None) is not None)
    monkeypatch.setattr(warm, "sleep", lambda _: (holder.stdin.close(), holder.wait()))
    lock_file, files = warm._lock_file, []
    monkeypatch.setattr(warm, "_lock_file", lambda: files.append(lock_file()) or files[0])
    with warm._turn():
        assert holder.returncode == 0
        assert files[0].closed


def test_an_error_while_compiling_is_not_lost_and_frees_the_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(warm, "_cache_folder", lambda: str(tmp_path))
    monkeypatch.setattr(warm, "is_compiled", lambda: False)
    for _ in range(2):
        with pytest.raises(OSError, match="disk"), warm._turn():
            raise OSError("disk")


def test_without_a_cache_there_is_neither_lock_nor_helper(monkeypatch):
    monkeypatch.setattr(warm, "_cache_folder", lambda: None)
    assert warm._lock_file() is None
    assert warm._start_helper() is None


@pytest.mark.parametrize("python", ["", "no-such-python"])
def test_without_a_helper_this_process_compiles_all(python, monkeypatch):
    monkeypatch.setattr(sys, "executable", python)
    assert warm._start_helper() is None


def test_a_helper_or_a_frozen_program_starts_no_helper(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert warm._start_helper() is None
    monkeypatch.delattr(sys, "frozen")
    monkeypatch.setenv(warm._MARK, "1")
    assert warm._start_helper() is None


def test_an_interrupt_while_compiling_is_not_lost(monkeypatch):
    monkeypatch.setattr(warm, "_done", False)
    monkeypatch.setattr(warm.Tree, "run", lambda self: "interrupted")
    with pytest.raises(KeyboardInterrupt):
        warm.warm_up()
    assert not warm._done


def test_garbage_is_collected_again_afterwards():
    with suppress(ZeroDivisionError), warm._no_garbage_collection():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_helper_compiles_for_the_arguments_of_the_search():
    warm.warm_up()
    warm._search()
    before = set(warm.pair_values.signatures)
    inner_kernels = (warm.to_evaluate, warm.tighten)
    missed = [sum(inner.stats.cache_misses.values()) for inner in inner_kernels]
    warm.help_to_compile()
    assert len(before) == 1
    assert set(warm.pair_values.signatures) == before
    for inner, number in zip(inner_kernels, missed, strict=True):  # found on disk, and there once
        assert len(inner.signatures) == 1
        assert sum(inner.stats.cache_misses.values()) == number
        assert len(jit._index(inner)._load_index()) == 1
