"""The fuzz's own brute force: one set-up per problem, all labelings that could lie below a claim.

A claim is refuted by a point below it. So there is no need for the optimum: only labelings whose miscount
and SVM leave room below the claimed bound are solved, and the solver's answer is made exact before it counts.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from cs3vm import Problem
from tests.oracle import prices


class Found(NamedTuple):
    """The convex optimum with some sides held."""

    value: float  #: infinite if impossible
    w: np.ndarray
    b: Fraction


class SidePrograms:
    """SVMs with the sides of all unlabelled rows held (or none), in centred and scaled features."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        rows = np.vstack([problem.X, problem.U])
        self.centre = np.median(rows, axis=0)
        spread = float(np.abs(rows - self.centre).max(initial=0.0))
        self.factor = 2.0 ** -np.round(np.log2(spread)) if spread > 0.0 else 1.0
        self.X = (problem.X - self.centre) * self.factor
        self.U = (problem.U - self.centre) * self.factor
        self.unit = float(problem.C.sum())  # of the objective: what (w, b) = 0 costs
        self._prepare_l2() if problem.norm == "l2" else self._prepare_linear()

    def solve(self, side: np.ndarray | None) -> Found:
        """Raises ArithmeticError where the solver gives up."""
        value, w, b = (self._solve_l2 if self.problem.norm == "l2" else self._solve_linear)(side)
        if not np.isfinite(value):
            return Found(np.inf, np.zeros(self.problem.d), Fraction(0))
        w = w * self.factor
        shift = sum(
            (Fraction(float(p)) * Fraction(float(c)) for p, c in zip(w, self.centre, strict=True)),
            Fraction(0),
        )
        return Found(value, w, Fraction(float(b)) - shift)

    # -- ½‖w‖² ---------------------------------------------------------------------------------------
    def _prepare_l2(self) -> None:
        p, n, d = self.problem, self.problem.n, self.problem.d
        y = p.y[:, None]
        self.upper = np.vstack(
            [
                np.hstack([-y * self.X, -y, -np.eye(n)]),
                np.hstack([np.zeros((n, d + 1)), -np.eye(n)]),
            ]
        )
        self.lower = np.hstack([self.U, np.ones((p.m, 1)), np.zeros((p.m, n))])
        # ½‖w‖² = ½‖w'‖²·factor², all divided by the unit
        square = np.full(d, self.factor**2 / self.unit)
        self.quadratic = sparse.diags(np.r_[square, np.zeros(1 + n)]).tocsc()
        self.linear = np.r_[np.zeros(d + 1), p.C / self.unit]
        self.right = np.r_[-np.ones(n), np.zeros(n), np.full(p.m, -p.side_margin)]
        self.settings = clarabel.DefaultSettings()
        self.settings.verbose = False
        self.settings.max_iter = 100
        self.settings.tol_gap_abs = self.settings.tol_gap_rel = self.settings.tol_feas = 1e-9

    def _solve_l2(self, side: np.ndarray | None) -> tuple[float, np.ndarray, float]:
        d = self.problem.d
        if side is None:
            matrix, right = self.upper, self.right[: len(self.upper)]
        else:
            matrix, right = np.vstack([self.upper, -side[:, None] * self.lower]), self.right
        solver = clarabel.DefaultSolver(
            self.quadratic,
            self.linear,
            sparse.csc_matrix(matrix),
            right,
            [clarabel.NonnegativeConeT(len(right))],
            self.settings,
        )
        solution = solver.solve()
        status = str(solution.status)
        if "Infeasible" in status:
            return np.inf, np.zeros(d), 0.0
        if "Solved" not in status:
            raise ArithmeticError(f"the oracle's QP ended with {status}")
        x = np.array(solution.x)
        return float(solution.obj_val) * self.unit, x[:d], float(x[d])

    # -- ‖w‖₁ and ‖w‖_∞ --------------------------------------------------------------------------------
    def _prepare_linear(self) -> None:
        p, n, d = self.problem, self.problem.n, self.problem.d
        y = p.y[:, None]
        self.upper = np.vstack(
            [
                np.hstack([-y * self.X, y * self.X, -y, -np.eye(n), np.zeros((n, 1))]),
                np.hstack([np.eye(d), np.eye(d), np.zeros((d, n + 1)), -np.ones((d, 1))]),
            ]
        )
        self.lower = np.hstack([self.U, -self.U, np.ones((p.m, 1)), np.zeros((p.m, n + 1))])
        l1 = p.norm == "l1"
        price = self.factor / self.unit
        self.linear = np.r_[np.full(2 * d, price * l1), 0.0, p.C / self.unit, price * (not l1)]
        self.right = np.r_[-np.ones(n), np.zeros(d), np.full(p.m, -p.side_margin)]
        self.limits = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * (n + 1)

    def _solve_linear(self, side: np.ndarray | None) -> tuple[float, np.ndarray, float]:
        d = self.problem.d
        if side is None:
            matrix, right = self.upper, self.right[: len(self.upper)]
        else:
            matrix, right = np.vstack([self.upper, -side[:, None] * self.lower]), self.right
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found = linprog(self.linear, matrix, right, bounds=self.limits, method="highs-ds", options=tight)
        if found.status == 2:
            return np.inf, np.zeros(d), 0.0
        if found.status != 0:
            raise ArithmeticError(f"the oracle's LP ended with {found.message}")
        return float(found.fun) * self.unit, found.x[:d] - found.x[d : 2 * d], float(found.x[2 * d])


class Oracle:
    """All labelings of a tiny problem, by increasing miscount."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.programs = problem, SidePrograms(problem)
        choices = [(0, 1) if s == 0 else ((1,) if s > 0 else (0,)) for s in problem.side]
        labelings = np.array(list(product(*choices)), dtype=np.int8).reshape(-1, problem.m)
        penalty = prices(problem, labelings)
        order = np.argsort(penalty, kind="stable")
        self.labelings, self.penalty = labelings[order], penalty[order]
        self.solved: dict[int, Found] = {}
        self.svm = max(0.0, (1.0 - 1e-6) * self.programs.solve(None).value)

    def error(self, value: float) -> float:
        """What the oracle's own solver may be wrong by."""
        return 1e-6 * abs(value) + 3e-8 * self.programs.unit

    def below(self, level: float) -> tuple[float, Found, np.ndarray] | None:
        """The best labeling with a value below the level, if there is one."""
        best = None
        for i, penalty in enumerate(self.penalty):
            if self.svm + penalty >= level:
                break
            if i not in self.solved:
                self.solved[i] = self.programs.solve(2.0 * self.labelings[i] - 1.0)
            value = self.solved[i].value + float(penalty)
            if value < level:
                level, best = value, (value, self.solved[i], self.labelings[i])
        return best

    def optimum(self) -> float:
        """The optimum, to the accuracy of the convex solver; infinite if there is no point."""
        best = self.below(np.inf)
        return np.inf if best is None else best[0]
