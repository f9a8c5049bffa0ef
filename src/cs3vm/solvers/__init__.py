"""The solvers: each is one function ``solve(problem, **options) -> Result`` in a module of its own.

To add one: write ``<name>_.py``, add a line to :data:`SOLVERS`, and an extra to ``pyproject.toml``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from ..exceptions import InvalidProblemError, SolverNotInstalledError, UnknownNameError
from ..model.norms import NORMS, Norm
from ..model.result import Result

Solver = Callable[..., Result]


@dataclass(frozen=True)
class SolverInfo:
    """Where a solver lives and what it needs."""

    name: str
    module: str
    package: str  #: the package that must be importable
    install: str  #: the command that provides it
    description: str
    norms: tuple[Norm, ...] = NORMS  #: of the problems that it can solve


SOLVERS = {
    info.name: info
    for info in (
        SolverInfo(
            "bnb", "cs3vm.solvers.bnb_", "numba", "pip install cs3vm", "our own exact engine", ("l2",)
        ),
        SolverInfo("scip", "cs3vm.solvers.scip_", "pyscipopt", "pip install cs3vm", "open MIQP reference"),
        SolverInfo(
            "gurobi", "cs3vm.solvers.gurobi_", "gurobipy", 'pip install "cs3vm[gurobi]"', "the paper's solver"
        ),
        SolverInfo(
            "highs",
            "cs3vm.solvers.highs_",
            "highspy",
            'pip install "cs3vm[highs]"',
            "open MILP solver, for the 1- and the max-norm",
            ("l1", "max"),
        ),
    )
}


def available_solvers(norm: Norm | None = None) -> list[str]:
    """Names of the solvers whose packages are installed; with a norm, of those that know it."""
    return [
        name
        for name, info in SOLVERS.items()
        if find_spec(info.package) is not None and (norm is None or norm in info.norms)
    ]


def solver_name(name: str, norm: Norm = "l2") -> str:
    """The solver that a name stands for; ``"auto"`` is our engine, or HiGHS (else SCIP) for other norms."""
    if name != "auto":
        return name
    if norm == "l2":
        return "bnb"
    return "highs" if find_spec(SOLVERS["highs"].package) is not None else "scip"


def get_solver(name: str, norm: Norm = "l2") -> Solver:
    """Import a solver by name, for problems with this norm; ``"auto"`` is the default one."""
    info = SOLVERS.get(solver_name(name, norm))
    if info is None:
        raise UnknownNameError(f"unknown solver {name!r}: choose 'auto' or one of {', '.join(SOLVERS)}")
    if find_spec(info.package) is None:
        raise SolverNotInstalledError(
            f"solver {info.name!r} needs the package {info.package!r}: {info.install}, "
            f"or use one of {', '.join(available_solvers(norm))}"
        )
    if norm not in info.norms:
        raise InvalidProblemError(
            f"solver {info.name!r} does not know norm={norm!r} (it knows {', '.join(info.norms)}): "
            f"use 'auto' or one of {', '.join(available_solvers(norm))}"
        )
    solver: Solver = import_module(info.module).solve
    return solver
