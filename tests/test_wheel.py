"""Installing compiles: a wheel brings compiled code along, else it lies beside the sources."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIRST_CALL = """
import cs3vm, numpy as np
from cs3vm.engine.jit import KERNELS
rng = np.random.default_rng(0)
X, U, y = rng.normal(size=(12, 4)), rng.normal(size=(40, 4)), np.array([1.0, -1.0] * 6)
print(cs3vm.solve(cs3vm.Problem(X, y, U, 18)).status.value)
print(cs3vm.__file__, sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """One that is built as pip builds it, but with what is installed here."""
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = builder.build(directory=str(folder), versions=["standard"])
    return Path(built)


def test_the_first_call_compiles_nothing(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    assert not wheel.name.endswith("-any.whl")  # it is for this kind of machine
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-P", "-c", FIRST_CALL]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    status, where = done.stdout.splitlines()
    assert status == "optimal"
    assert where == f"{tmp_path / 'cs3vm' / '__init__.py'} 0"
    assert done.stderr == ""  # nothing is said about compiling


def test_what_is_compiled_is_all_that_comes_along(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources <= set(names)
    others = {Path(name).suffix for name in set(names) - sources if "__pycache__" in name}
    assert others == {".nbi", ".nbc"}


def test_an_editable_installation_is_compiled_where_the_sources_are(monkeypatch):
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    places = []
    monkeypatch.setattr(module, "compiled", lambda package: places.append(package) or [])
    hook = module.CompilingHook(str(ROOT), {}, None, None, "", "wheel")
    data = {"force_include": {}}
    hook.initialize("editable", data)
    hook.finalize("editable", data, "")
    assert places == [ROOT / "src" / "cs3vm"]
    assert data == {"force_include": {}}  # the wheel of an editable installation only points there
