"""The package is light to import, and its modules import each other in one direction only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import cs3vm

SRC = Path(cs3vm.__file__).parent
HEAVY = ("numba", "pyscipopt", "gurobipy", "highspy", "sklearn", "matplotlib", "pandas", "typer", "rich")
#: A module may import from its own layer and from those before it.
LAYERS = [
    {"exceptions", "intercept", "norms", "problem", "scaling", "datasets"},
    {"result", "_json"},
    {"linear", "feasibility", "convex", "verify"},
    {"bnb"},
    {"solvers"},
    {"methods"},
    {"solve"},
    {"_labels", "_rows", "_totals", "_codes", "_fitting", "assignment", "multiclass", "kernels", "summary"},
    {"estimator", "model_selection", "criteria", "plots", "progress"},
    {"_refits", "search"},
    {"_files", "_dialect", "tables", "encoding", "_schema", "modelfile"},
    {"demo", "report"},
    {"commands"},
    {"cli", "__main__"},
]


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


def imported_modules(path: Path) -> set[str]:
    package = path.relative_to(SRC).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            if base == ():  # names re-exported by the package itself are no modules
                names = [
                    name
                    for name in names
                    if (SRC / f"{name.split('.')[0]}.py").exists() or (SRC / name.split(".")[0]).is_dir()
                ]
            found |= {".".join([*base, name]).split(".")[0] for name in names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cs3vm."):
            found.add(node.module.split(".")[1])
    return found


def test_imports_go_one_way():
    rank = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    for path in SRC.rglob("*.py"):
        own = path.relative_to(SRC).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        assert own in rank, f"{own} has no layer: add it to LAYERS"
        for other in imported_modules(path):
            assert rank[other] <= rank[own], f"{path.name} imports {other}, which comes after it"
