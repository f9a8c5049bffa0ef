"""The cache of compiled code: nobody else can write to it, nothing that goes wrong with it ends a fit."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

import cs3vm
from cs3vm.engine import jit
from tests.faults.work import fit

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no such owners and permissions here")
FOREIGN = 54321


def twice(x: float) -> float:
    return 2.0 * x


@pytest.fixture
def place(monkeypatch):
    """A new cache, and a place for temporary files; what tests compile is forgotten.

    The folders of pytest would not do: nobody else can enter those.
    """
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    base.chmod(0o755)
    folder, temporary = base / "cache", base / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(jit, "KERNELS", list(jit.KERNELS))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(temporary))
    remembering = jit._warn_once, jit._private_folder
    for function in remembering:
        function.cache_clear()
    yield folder
    for function in remembering:
        function.cache_clear()
    shutil.rmtree(base)


def compiled() -> tuple[Path, int]:
    """Use a new kernel; where it is kept, and whether it was compiled (1) or loaded (0)."""
    kernel = jit.kernel(twice)
    assert kernel(3.0) == 6.0
    folder = kernel.stats.cache_path
    return folder and Path(folder), sum(kernel.stats.cache_misses.values())


def files(folder: Path, suffix: str) -> list[Path]:
    return [path for path in folder.rglob(f"*{suffix}") if path.is_file()]


def test_a_folder_of_ones_own_is_used_without_a_word(place, caplog):
    first, count = compiled()
    assert first.parent == place
    assert count == 1
    assert compiled() == (first, 0)
    assert caplog.text == ""


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
@pytest.mark.parametrize("which", ["the folder", "the one below"])
def test_nothing_is_loaded_from_a_folder_that_others_can_write_to(place, caplog, mode, which):
    below, _ = compiled()
    (place if which == "the folder" else below).chmod(mode)
    if which == "the folder" and mode == 0o1777:  # as of /tmp: what is in it can only be moved by its owner
        assert compiled() == (below, 0)
        return
    folder, count = compiled()
    assert folder.parent == place.parent / "temporary" / f"cs3vm-compiled-{os.getuid()}"
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert count == 1
    assert compiled() == (folder, 0)
    assert caplog.text.count(f"others can write to {place}") == 1


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_no_file_is_loaded_that_others_can_write_to(place, suffix):
    compiled()
    (path,) = files(place, suffix)
    path.chmod(0o666)
    assert compiled()[1] == 1
    assert not path.stat().st_mode & 0o022  # it was replaced
    assert compiled()[1] == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("suffix", ["", ".nbi", ".nbc"])
def test_nothing_is_loaded_that_belongs_to_somebody_else(place, suffix):
    below, _ = compiled()
    path = files(place, suffix)[0] if suffix else below
    os.chown(path, FOREIGN, FOREIGN)
    folder, count = compiled()
    assert count == 1
    assert (folder == below) == bool(suffix)


def test_a_folder_that_nobody_else_can_enter_is_private_whatever_is_in_it(place):
    """Under an umask of 0 numba makes folders and files that all could write to."""
    place.chmod(0o700)
    before = os.umask(0)
    try:
        folder, _ = compiled()
        assert folder.stat().st_mode & 0o777 == 0o777
        assert compiled() == (folder, 0)
    finally:
        os.umask(before)


def test_a_link_in_place_of_the_temporary_folder_is_not_followed(place, caplog):
    place.chmod(0o777)
    theirs = place.parent / "theirs"
    theirs.mkdir(mode=0o700)
    (place.parent / "temporary" / f"cs3vm-compiled-{os.getuid()}").symlink_to(theirs)
    assert compiled() == (None, 1)
    assert "nowhere: every process compiles" in caplog.text
    assert list(theirs.iterdir()) == []


def test_a_group_of_ones_own_is_nobody_else(monkeypatch):
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
    user = pwd.getpwuid(os.getuid())
    jit._is_own_group.cache_clear()
    own = grp.getgrgid(user.pw_gid)
    alone = own.gr_name == user.pw_name and set(own.gr_mem) <= {user.pw_name}
    assert jit._is_own_group(user.pw_gid) == alone
    assert not jit._is_own_group(FOREIGN)


# -- a disk that is full, files that are damaged, processes that are killed --------------------------
def test_a_full_disk_is_said_once_and_ends_nothing(place, monkeypatch, caplog):
    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "_open_for_write", full)
    assert compiled()[1] == compiled()[1] == 1
    assert caplog.text.count("compiled code cannot be kept (No space left on device)") == 1
    assert files(place, "") == []


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("length", [0, 1, 20, -1])
def test_a_file_that_is_cut_off_is_compiled_again(place, suffix, length):
    compiled()
    (path,) = files(place, suffix)
    content = path.read_bytes()
    path.write_bytes(content[:length])
    assert compiled()[1] == 1
    assert compiled()[1] == 0
    assert len(path.read_bytes()) == pytest.approx(len(content), abs=100)  # names hold numba's counters


def test_killed_between_index_and_data_no_old_code_is_left(place, monkeypatch):
    """Of other source files there is code; the new index must not lead to it."""
    compiled()
    monkeypatch.setattr(jit, "_digest", lambda: "another")
    with monkeypatch.context() as killed:
        killed.setattr(numba.core.caching.IndexDataCacheFile, "_save_data", lambda *_: None)
        assert compiled()[1] == 1
    kernel = jit.kernel(twice)
    jit.KERNELS[:] = [kernel]
    assert jit._index(kernel)._load_index()
    assert not jit.is_compiled()
    assert compiled()[1] == 1
    assert jit.is_compiled()


def test_code_of_other_source_files_is_removed_before_compiling(place, monkeypatch):
    compiled()
    (old,) = files(place, ".nbc")
    other_python = old.with_name(old.name.replace(".py3", ".py2"))
    shutil.copy(old, other_python)
    for name in ("_digest", "_digest_of_files"):
        monkeypatch.setattr(jit, name, lambda: "another")
    compiled()
    del jit.KERNELS[:-1]  # all others have their own cache
    jit.remove_stale()
    kept = files(place, ".nbc")
    assert other_python in kept
    assert old not in kept
    assert len(kept) == 2


def test_a_process_from_before_an_update_removes_no_newer_code(place, monkeypatch):
    with monkeypatch.context() as updated:
        updated.setattr(jit, "_digest", lambda: "another")
        compiled()
        del jit.KERNELS[:-1]
    (newer,) = files(place, ".nbc")
    monkeypatch.setattr(jit, "_digest_of_files", lambda: "another")
    jit.remove_stale()
    assert files(place, ".nbc") == [newer]


# -- whole fits --------------------------------------------------------------------------------------
def start(cache: Path | None = None, **changes: str | None) -> subprocess.Popen[str]:
    """A process with one fit."""
    changes["NUMBA_CACHE_DIR"] = str(cache) if cache else None
    environment = {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "tests.faults.work", "once"]
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def test_a_cold_cache_and_eight_processes(tmp_path):
    processes = [start(tmp_path) for _ in range(8)]
    ends = [process.communicate() for process in processes]
    said = "".join(message for _, message in ends)
    assert [process.returncode for process in processes] == [0] * 8, said
    answers = [json.loads(output) for output, _ in ends]
    assert [labels for labels, _ in answers] == [fit(0)] * 8
    assert [count for _, count in answers] == [0] * 8  # helpers compiled
    assert said.count("compiling the exact engine: this") == 1


def test_a_fit_with_no_place_for_the_cache(tmp_path):
    """No home, a package that cannot be written to, and no folder for temporary files: it says so, once."""
    package = tmp_path / "src" / "cs3vm"
    shutil.copytree(Path(cs3vm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("not a folder")
    (tmp_path / f"cs3vm-compiled-{os.getuid()}").write_text("not a folder either")
    path = f"{package.parent}{os.pathsep}{Path(__file__).parents[2]}"
    nowhere = {"HOME": "/proc/nobody", "XDG_CACHE_HOME": None, "TMPDIR": str(tmp_path), "PYTHONPATH": path}
    process = start(None, **nowhere, PYTHONDONTWRITEBYTECODE="1")
    output, said = process.communicate()
    assert process.returncode == 0, said
    labels, count = json.loads(output)
    assert labels == fit(0)
    assert count > 0
    assert said.count("kept nowhere: every process compiles") == 1
    assert said.count("\n") == 2  # and that it compiles
