"""What is in the repository and in the packages made of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import cs3vm
from tests.conftest import FAULTS, MANY, SLOW

ROOT = Path(__file__).parents[1]
COMPILED = {".a", ".dll", ".dylib", ".gz", ".nbc", ".nbi", ".o", ".pyc", ".pyd", ".so", ".whl", ".zip"}
LARGEST = 1_000_000  # bytes
#: Folders of the machines that we work on. In two pieces, so that this file has none itself.
MACHINES = [f"/{name}" for name in ("work/", "root/", "tmp/wt", "home/")]


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files that git knows."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or "pyproject.toml" not in listed.stdout.split("\0"):
        pytest.skip("this is no checkout of the repository")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_no_compiled_file_is_tracked(tracked):
    assert names([path for path in tracked if path.suffix in COMPILED]) == []
    assert names([path for path in tracked if any(part.startswith(".numba") for part in path.parts)]) == []


def test_no_large_file_is_tracked(tracked):
    assert names([path for path in tracked if path.stat().st_size > LARGEST]) == []


def test_no_path_of_a_machine_is_tracked(tracked):
    found = []
    for path in tracked:
        content = path.read_bytes()
        if b"\0" not in content:
            text = content.decode("utf-8")
            found += [f"{path.relative_to(ROOT)}: {machine}" for machine in MACHINES if machine in text]
    assert found == []


# -- packages ----------------------------------------------------------------------------------------
def members(target: str) -> set[str]:
    """What a wheel or a source archive would hold, without building it."""
    if target == "sdist":
        builder = pytest.importorskip("hatchling.builders.sdist").SdistBuilder(str(ROOT))
    else:
        builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    return {file.distribution_path for file in builder.recurse_included_files()}


@pytest.mark.parametrize("target", ["sdist", "wheel"])
def test_packages_hold_what_is_no_code_too(target):
    start = "src/" if target == "sdist" else ""
    files = [path.relative_to(ROOT / "src") for path in (ROOT / "src" / "cs3vm").rglob("*") if path.is_file()]
    wanted = {f"{start}{path.as_posix()}" for path in files if "__pycache__" not in path.parts}
    assert f"{start}cs3vm/py.typed" in wanted
    found = members(target)
    assert wanted - found == set()
    assert [name for name in found if Path(name).suffix in COMPILED] == []


def test_the_wheel_holds_the_package_only():
    assert {name.split("/")[0] for name in members("wheel")} == {"cs3vm"}


def test_the_source_archive_holds_all_that_tests_need():
    needed = {
        *("Makefile", "pyproject.toml", "mkdocs.yml", "README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff"),
        *("RELEASING.md", "CONTRIBUTING.md", "docs/hooks/execute.py", "experiments/paper_instances.tsv"),
        *("experiments/report.html.jinja", "experiments/results/rows.csv", "benchmarks/results/exact.csv"),
    }
    for folder in ("tests", "experiments", "benchmarks"):
        needed |= {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")}
    found = members("sdist") | {"pyproject.toml"}  # hatchling adds it itself
    assert needed - found == set()


def test_the_version_is_the_same_everywhere():
    """Its source is ``cs3vm.__version__``; the citation file cannot read it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/cs3vm/__init__.py"
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == cs3vm.__version__
    assert f"\n## {cs3vm.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_version_of_highs_that_is_wrong_is_excluded():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ["!=1.14.0" in need for need in project["optional-dependencies"]["highs"]] == [True]


# -- which tests are slow ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*SLOW, *FAULTS, *MANY])
def test_the_slow_tests_exist(name):
    path, _, thing = name.partition("::")
    assert (ROOT / path).exists()
    assert not thing or re.search(
        rf"^(def|class) {thing}", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
    )
