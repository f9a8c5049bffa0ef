"""The solvers: each is one function ``solve(problem, **options) -> Result`` in a module of its own.

To add one: write ``<name>_.py``, add a line to :data:`SOLVERS`, and an extra to ``pyproject.toml``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from ..exceptions import SolverNotInstalledError, UnknownNameError
from ..result import Result

Solver = Callable[..., Result]


@dataclass(frozen=True)
class SolverInfo:
    """Where a solver lives and what it needs."""

    name: str
    module: str
    package: str  #: the package that must be importable
    install: str  #: the command that provides it
    description: str


SOLVERS = {
    info.name: info
    for info in (
        SolverInfo("bnb", "cs3vm.solvers.bnb_", "numba", "pip install cs3vm", "our own exact engine"),
        SolverInfo("scip", "cs3vm.solvers.scip_", "pyscipopt", "pip install cs3vm", "open MIQP reference"),
        SolverInfo(
            "gurobi", "cs3vm.solvers.gurobi_", "gurobipy", 'pip install "cs3vm[gurobi]"', "the paper's solver"
        ),
    )
}


def available_solvers() -> list[str]:
    """Names of the solvers whose packages are installed."""
    return [name for name, info in SOLVERS.items() if find_spec(info.package) is not None]


def get_solver(name: str) -> Solver:
    """Import a solver by name; ``"auto"`` is the default one."""
    info = SOLVERS.get("bnb" if name == "auto" else name)
    if info is None:
        raise UnknownNameError(f"unknown solver {name!r}: choose 'auto' or one of {', '.join(SOLVERS)}")
    if find_spec(info.package) is None:
        raise SolverNotInstalledError(
            f"solver {info.name!r} needs the package {info.package!r}: {info.install}, "
            f"or use one of {', '.join(available_solvers())}"
        )
    solver: Solver = import_module(info.module).solve
    return solver
