"""The solvers: each is one function ``solve(problem, **options) -> Result`` in a module of its own.

A solver takes a start and proves; it never runs another method. To add one: write ``<name>_.py``, add a line
to :data:`SOLVERS` that says what it can do, and an extra to ``pyproject.toml``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from ..exceptions import InvalidProblemError, SolverNotInstalledError, UnknownNameError
from ..model.norms import NORMS, Norm
from ..model.problem import Problem
from ..model.result import Result

Solve = Callable[..., Result]


@dataclass(frozen=True)
class Solver:
    """Where a solver lives, what it needs, and what it can do. Methods ask for abilities, never for names."""

    name: str
    package: str  #: the package that must be importable
    install: str  #: the command that provides it
    description: str
    norms: tuple[Norm, ...] = NORMS  #: of the problems that it can solve
    several_totals: bool = False  #: it takes intervals and several totals, not only one number for all rows
    big_m: bool = False  #: its model links sides to the plane by a big-M, which the option ``big_m`` sets
    wants_start: bool = False  #: a good start decides how fast it is: methods run the heuristic first
    counts_work: bool = False  #: it obeys a work limit
    quick: bool = False  #: its first nodes take milliseconds, and a search cut short still finds points
    setup_limit: float = float("inf")  #: with more rows · features², its set-up alone takes minutes
    setup_rate: float = float("inf")  #: rows · features² that it sets up in a second

    @property
    def installed(self) -> bool:
        """Whether its package can be imported."""
        return find_spec(self.package) is not None

    def is_practical(self, problem: Problem, seconds: float = float("inf")) -> bool:
        """Whether its set-up leaves time for a search: at most half of the seconds that there are."""
        limit = min(self.setup_limit, 0.5 * seconds * self.setup_rate)
        return (problem.n + problem.m) * problem.d**2 <= limit

    def check(self, problem: Problem) -> None:
        """Refuse totals that it cannot take."""
        if not problem.one_total and not self.several_totals:
            others = [name for name in available_solvers(problem.norm) if SOLVERS[name].several_totals]
            raise InvalidProblemError(
                f"solver {self.name!r} takes one exact total of all unlabelled rows only, but the problem "
                f"has an interval or several totals: use {' or '.join(map(repr, ['auto', *others]))}"
            )

    def load(self) -> Solve:
        """Its function, after whatever must be done once (compiling), so that no clock counts that."""
        module = import_module(f"{__name__}.{self.name}_")
        if hasattr(module, "prepare"):
            module.prepare()
        solve: Solve = module.solve
        return solve

    def options(self) -> set[str]:
        """The names of its options."""
        solve = import_module(f"{__name__}.{self.name}_").solve
        return set(inspect.signature(solve).parameters) - {"problem"}


SOLVERS = {
    solver.name: solver
    for solver in (
        Solver(
            "bnb",
            "numba",
            "pip install cs3vm",
            "our own exact engine",
            ("l2",),
            several_totals=True,
            wants_start=True,
            counts_work=True,
            quick=True,
            # It first rotates all rows, with several copies of them: a million rows with the 300 landmarks
            # of a kernel have 9e10, and that alone takes minutes.
            setup_limit=1e10,
            setup_rate=1e9,
        ),
        Solver(
            "scip",
            "pyscipopt",
            "pip install cs3vm",
            "open MIQP reference",
            several_totals=True,
            big_m=True,
        ),
        Solver(
            "gurobi",
            "gurobipy",
            'pip install "cs3vm[gurobi]"',
            "the paper's solver",
            several_totals=True,
            big_m=True,
        ),
        Solver(
            "highs",
            "highspy",
            'pip install "cs3vm[highs]"',
            "open MILP solver, for the 1- and the max-norm",
            ("l1", "max"),
            several_totals=True,
            big_m=True,
        ),
    )
}
#: What ``"auto"`` stands for: the first of these that is installed and knows the norm.
PREFERRED = ("bnb", "highs", "scip")


def available_solvers(norm: Norm | None = None) -> list[str]:
    """Names of the solvers whose packages are installed; with a norm, of those that know it."""
    return [
        name
        for name, solver in SOLVERS.items()
        if solver.installed and (norm is None or norm in solver.norms)
    ]


def find_solver(name: str, norm: Norm = "l2") -> Solver:
    """The solver of that name, for problems with this norm; ``"auto"`` is the best one that is installed."""
    if name == "auto":
        known = [SOLVERS[preferred] for preferred in PREFERRED if norm in SOLVERS[preferred].norms]
        solver = next((one for one in known if one.installed), known[0])
    elif name in SOLVERS:
        solver = SOLVERS[name]
    else:
        raise UnknownNameError(f"unknown solver {name!r}: choose 'auto' or one of {', '.join(SOLVERS)}")
    if not solver.installed:
        raise SolverNotInstalledError(
            f"solver {solver.name!r} needs the package {solver.package!r}: {solver.install}, "
            f"or use one of {', '.join(available_solvers(norm))}"
        )
    if norm not in solver.norms:
        raise InvalidProblemError(
            f"solver {solver.name!r} does not know norm={norm!r} (it knows {', '.join(solver.norms)}): "
            f"use 'auto' or one of {', '.join(available_solvers(norm))}"
        )
    return solver


def get_solver(name: str, norm: Norm = "l2") -> Solve:
    """The function of a solver, ready to be called."""
    return find_solver(name, norm).load()
