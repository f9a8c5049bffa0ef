"""The package is light to import, and its modules import each other in one direction only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import cs3vm

SRC = Path(cs3vm.__file__).parent
HEAVY = ("numba", "pyscipopt", "gurobipy", "highspy", "sklearn", "matplotlib", "pandas", "typer", "rich")
#: The map of the house, top to bottom: a room may import from those above it.
ROOMS = re.findall(r"^    ([\w.]+)  +\S", str(cs3vm.__doc__), re.MULTILINE)
#: What stands outside the map: the front door, which names public things only.
DOOR = {"", "__main__"}


def modules() -> dict[str, Path]:
    """Every module by its name inside the package; the package itself is the empty name."""
    found = {}
    for path in SRC.rglob("*.py"):
        parts = path.relative_to(SRC).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def room_of(module: str) -> str:
    """The room that a module is in: the longest name in the map that it begins with."""
    inside = [room for room in ROOMS if module == room or module.startswith(f"{room}.")]
    return max(inside, key=len, default="")


def imports(module: str) -> set[str]:
    """The modules that one imports, at the top, inside functions and for type checking alike."""
    path, found = MODULES[module], set()
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {a.name.removeprefix("cs3vm.") for a in node.names if a.name.startswith("cs3vm.")}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            elif (node.module or "").split(".")[0] == "cs3vm":
                base = str(node.module).split(".")[1:]
            else:
                continue
            name = ".".join(filter(None, base))
            for alias in node.names:
                inner = f"{name}.{alias.name}" if name else alias.name
                found.add(inner if inner in MODULES else name)
    return found - {module}


def test_every_module_has_a_room():
    outside = [module for module in MODULES if not room_of(module) and module not in DOOR | {"engine"}]
    assert outside == []
    empty = [room for room in ROOMS if not any(room_of(module) == room for module in MODULES)]
    assert empty == []


@pytest.mark.parametrize("module", sorted(set(MODULES) - DOOR))
def test_imports_go_one_way(module):
    rank = {room: i for i, room in enumerate(ROOMS)}
    for other in imports(module):
        if other == "":  # the package's own names, such as its version
            continue
        assert rank[room_of(other)] <= rank[room_of(module)], f"{module} imports {other}, which is below it"


def test_no_cycle_anywhere():
    graph = {module: imports(module) - {""} for module in MODULES if module not in DOOR}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


def test_the_two_searches_know_nothing_of_each_other():
    for one, other in (("engine.exact", "engine.heuristic"), ("engine.heuristic", "engine.exact")):
        for module in MODULES:
            if room_of(module) == one:
                assert [m for m in imports(module) if room_of(m) == other] == [], module


def test_the_checker_shares_no_code_with_the_engine():
    rooms = {room_of(m) for module in MODULES if room_of(module) == "proofs" for m in imports(module)}
    assert rooms <= {"proofs", "model", "exceptions", "_typing"}


def test_the_model_needs_numpy_only():
    allowed = {"numpy", "__future__"} | set(sys.stdlib_module_names)
    for module, path in MODULES.items():
        if room_of(module) == "model":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    assert {a.name.split(".")[0] for a in node.names} <= allowed, module
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    assert str(node.module).split(".")[0] in allowed, module


def test_import_loads_nothing_heavy():
    code = f"import sys, cs3vm; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_import_works_without_any_solver_package():
    blocked = ("pyscipopt", "gurobipy", "highspy", "numba")
    code = (
        "import sys\n"
        f"for name in {blocked!r}: sys.modules[name] = None\n"
        "import cs3vm\n"
        "p = cs3vm.Problem([[3.0], [1.0]], [1, -1], [[0.0]], 0)\n"
        "from cs3vm.methods.svm import svm\n"
        "print(round(svm(p).objective, 6))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "0.5"
