"""The dual bound of a proof's multipliers, exactly: a float is an integer times a power of two."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

import numpy as np

from ..model.problem import Problem


class Refuted(Exception):  # noqa: N818
    """The proof does not show what it claims."""


class ExactDual:
    """``D = Σα + εΣ|β| - ½‖Σ c x‖² - B·|Σ c|`` in exact arithmetic: a float is an integer times 2**k."""

    def __init__(self, problem: Problem, level: float) -> None:
        self.problem = problem
        self.X, self.X_shift = _as_integers(problem.X)
        self.U, self.U_shift = _as_integers(problem.U)
        self.B = Fraction(self._intercept_bound(level))

    def _intercept_bound(self, level: float) -> float:
        """``B ≥ |b|`` for some optimum with an SVM value of at most ``level``, generously rounded up."""
        problem, reach = self.problem, np.sqrt(2.0 * level)
        norms = np.linalg.norm(problem.X, axis=1)
        per_row = level / problem.C + reach * norms
        of_class = [per_row[problem.y == s].min(initial=inf) for s in (-1, 1)]
        bound = max(of_class)
        if bound == inf:
            radius = max(norms.max(), np.linalg.norm(problem.U, axis=1).max(initial=0.0))
            bound = max(min(of_class), radius * reach + max(1.0, problem.side_margin))
        return float(bound) * (1.0 + 1e-9)

    def bound(self, alpha: list[list[float]], beta: list[list[float]], side: np.ndarray) -> float:
        """The value of these multipliers, rounded down; held rows may push to their side only."""
        problem = self.problem
        linear = total = Fraction(0)
        w = np.zeros(problem.d, dtype=object)
        w_shift = 0
        for pairs, rows, shift, labelled in (
            (alpha, self.X, self.X_shift, True),
            (beta, self.U, self.U_shift, False),
        ):
            if not pairs:
                continue
            index = [int(i) for i, _ in pairs]
            values = np.array([float(v) for _, v in pairs])
            if len(set(index)) != len(index) or min(index) < 0 or not np.all(np.isfinite(values)):
                raise Refuted("multipliers are repeated or not finite")
            if labelled and (np.any(values < 0) or np.any(values > problem.C[index])):
                raise Refuted("a multiplier of a labelled row is outside [0, C]")
            if not labelled and (np.any(values * side[index] < 0) or 0 in side[index]):
                raise Refuted("a multiplier pushes a row that is not held on that side")
            signed = values * problem.y[index] if labelled else values
            integers, value_shift = _as_integers(signed)
            size = Fraction(int(np.abs(integers).sum()), 2**value_shift)
            linear += size if labelled else Fraction(problem.side_margin) * size
            total += Fraction(int(integers.sum()), 2**value_shift)
            part, part_shift = integers @ rows[index], shift + value_shift
            common = max(w_shift, part_shift)
            w = w * 2 ** (common - w_shift) + part * 2 ** (common - part_shift)
            w_shift = common
        square = Fraction(int((w * w).sum()), 2 ** (2 * w_shift))
        value = linear - square / 2 - self.B * abs(total)
        return max(0.0, nextafter(float(value), -inf))


def _as_integers(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Integers and a shift with ``array == integers / 2**shift``, exactly."""
    mantissa, exponent = np.frexp(array)
    shift = 53 - int(exponent[array != 0].min(initial=0))  # every exponent below is then non-negative
    integers = np.array([int(v * 2.0**53) for v in mantissa.ravel()], dtype=object).reshape(array.shape)
    return integers * 2 ** (shift + exponent.astype(object) - 53), shift
