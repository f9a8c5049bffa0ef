"""What is compiled is kept where that is safe, and nowhere else."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching, dispatcher

import cs3vm
from cs3vm.engine import jit
from cs3vm.engine import warm_up as _every_kernel  # noqa: F401


@pytest.fixture(autouse=True)
def _as_new(monkeypatch):
    """Nothing that a test compiles is remembered, and warnings come again."""
    monkeypatch.setattr(jit, "KERNELS", list(jit.KERNELS))
    remembering = jit._warn_once, jit._digest, jit._private_folder
    for function in remembering:
        function.cache_clear()
    yield
    for function in remembering:
        function.cache_clear()


def twice(x: float) -> float:
    return 2.0 * x


def is_cached(kernel) -> bool:
    return not isinstance(kernel._cache, caching.NullCache)


def test_a_change_of_any_source_file_makes_every_kernel_stale(monkeypatch):
    assert {jit._index(kernel)._source_stamp for kernel in jit.KERNELS} == {jit._digest()}
    jit._digest.cache_clear()
    read = Path.read_bytes
    change = {"bounds.py": b"# another line\n"}
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + change.get(path.name, b""))
    assert jit._digest() != jit._index(jit.KERNELS[0])._source_stamp


@pytest.mark.parametrize("missing", ["_cache_file", "_source_stamp", "_load_index"])
def test_an_unknown_numba_means_no_cache_and_one_warning(missing, monkeypatch, caplog):
    class Index(caching.IndexDataCacheFile):
        _load_index = None if missing == "_load_index" else caching.IndexDataCacheFile._load_index

    class Cache(caching.FunctionCache):
        def __init__(self, function):
            super().__init__(function)
            self._cache_file.__class__ = Index
            if missing != "_load_index":
                owner = self if missing == "_cache_file" else self._cache_file
                delattr(owner, missing)

    monkeypatch.setattr(dispatcher, "FunctionCache", Cache)
    kernels = [jit.kernel(twice), jit.strict_kernel(twice)]
    assert not any(map(is_cached, kernels))
    assert [kernel(3.0) for kernel in kernels] == [6.0, 6.0]
    assert caplog.text.count("this version of numba is unknown") == 1
    assert not jit.is_compiled()


def test_without_source_files_nothing_is_cached(monkeypatch, caplog):
    monkeypatch.setattr(jit, "_digest", lambda: "")
    assert not any(is_cached(jit.kernel(twice)) for _ in range(2))
    assert caplog.text.count("source files are missing") == 1


def test_a_known_numba_caches_without_a_word(caplog):
    assert is_cached(jit.kernel(twice))
    assert caplog.text == ""


READ_ONLY = """
import logging
logging.basicConfig(format="%(message)s")
from cs3vm.engine import jit
from cs3vm.engine.core.active_set import reset
from cs3vm.engine.core.arrays import new_state
import cs3vm.engine.warm_up
reset(new_state(3, 5, 2))
print(reset.stats.cache_path, sum(reset.stats.cache_misses.values()))
"""


@pytest.fixture
def read_only(tmp_path):
    """Run the code above where neither the package nor the home can be written to, as root does not mind."""
    package = tmp_path / "src" / "cs3vm"
    shutil.copytree(Path(cs3vm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("not a folder")
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def run() -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY],
            env={
                **keep,
                "PYTHONPATH": str(package.parent),
                "HOME": "/proc/nobody",
                "TMPDIR": str(temporary),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr.strip()

    return run, temporary


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder where nobody can write")
class TestNoPlace:
    def test_a_private_temporary_folder_is_used_and_named_once(self, read_only):
        run, temporary = read_only
        first, message = run()
        (folder,) = temporary.glob("cs3vm-compiled*")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert first.startswith(str(folder))
        assert first.endswith(" 1")
        assert message.count("\n") == 0
        assert f"kept in {folder}" in message
        assert run()[0].endswith(" 0")  # the next process finds it

    def test_a_folder_that_others_can_write_to_is_refused(self, read_only):
        run, temporary = read_only
        run()
        (folder,) = temporary.glob("cs3vm-compiled*")
        folder.chmod(0o777)
        output, message = run()
        assert output == "None 1"
        assert message.count("\n") == 0
        assert "nowhere: every process compiles" in message


def test_constants_have_the_types_of_numbers():
    """A literal argument would compile the callee once more."""
    one, other = jit.kernel(twice), jit.strict_kernel(twice)

    def call(x):
        return one(x) + one(jit.ZERO) + other(jit.NO_ROW) + other(x)

    count = jit.kernel(call)
    assert count(np.int64(4)) == 14
    assert len(one.signatures) == len(other.signatures) == 1


def test_an_inner_kernel_serves_kernels_and_refuses_python():
    @jit.inner_kernel
    def twice(x):
        return 2.0 * x

    @jit.strict_inner_kernel
    def more(x):
        return x + 1.0

    @jit.kernel
    def both(x):
        return more(twice(x))

    assert both(3.0) == 7.0
    for inner in (twice, more):
        with pytest.raises(TypeError, match=f"{inner.__name__} is an inner kernel: only kernels can call it"):
            inner(3.0)
