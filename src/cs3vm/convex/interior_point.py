"""A primal-dual interior-point method whose linear system has one unknown per column."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._typing import FloatArray


class InteriorPoint:
    """Mehrotra's predictor-corrector for ``min ½‖w‖² + Σ Cᵢξᵢ``, ``A·(w, b) + ξ - s = p``, ``ξ, s ≥ 0``.

    The first rows have a slack ξ at price C, the others are hard. Multipliers: α of the rows, ν = C - α
    of the slacks.
    """

    def __init__(self, A: FloatArray, p: FloatArray, C: FloatArray) -> None:
        self.A, self.p, self.C, self.n = A, p, C, len(C)
        self.ridge = np.ones(A.shape[1])
        self.ridge[-1] = 0.0  # the intercept is not penalised
        self.v = np.zeros(A.shape[1])
        self.s, self.xi = np.ones(len(A)), np.ones(self.n)
        self.alpha = np.append(0.5 * C, np.full(len(A) - self.n, 0.5 * C.mean()))
        self.nu = 0.5 * C  # carried along: C - alpha would cancel near the bound

    def solve(self, tolerance: float = 1e-11) -> tuple[FloatArray, FloatArray]:
        """Iterate to the tolerance, or to the best point that rounding allows."""
        best = (np.inf, self.v, self.alpha)
        with np.errstate(all="ignore"):
            for _ in range(120):
                error = self._residuals()
                if error < best[0]:
                    best = (error, self.v, self.alpha)
                if not error > tolerance * (1.0 + float(self.C.sum())) or not self._advance():
                    break
        return best[1], best[2]

    def _residuals(self) -> float:
        self.dual = self.ridge * self.v - self.alpha @ self.A
        self.primal = self.A @ self.v - self.s - self.p
        self.primal[: self.n] += self.xi
        gap = float(self.alpha @ self.s + self.nu @ self.xi)
        self.mu = gap / (len(self.s) + self.n)
        return gap + float(np.abs(self.dual).max()) + float(np.abs(self.primal).max())

    def _advance(self) -> bool:
        """One predictor and one corrector step on the same factorisation; False when stuck."""
        self.ratio = self.s / self.alpha
        self.ratio[: self.n] += self.xi / self.nu
        theta = 1.0 / self.ratio
        system = _factor((self.A * theta[:, None]).T @ self.A + np.diag(self.ridge))
        if system is None:
            return False
        _, da, ds, dx = self._direction(system, -self.alpha * self.s, -self.nu * self.xi)
        t = self._longest(da, ds, dx)
        ahead = (self.alpha + t * da) @ (self.s + t * ds)
        ahead += (self.nu - t * da[: self.n]) @ (self.xi + t * dx)
        centre = self.mu * min(1.0, float(ahead) / (self.mu * (len(self.s) + self.n))) ** 3
        rs = centre - self.alpha * self.s - da * ds
        rx = centre - self.nu * self.xi + da[: self.n] * dx
        dv, da, ds, dx = self._direction(system, rs, rx)
        t = 0.995 * self._longest(da, ds, dx)
        if not (np.isfinite(dv).all() and np.isfinite(t) and t > 1e-12):
            return False
        self.v, self.alpha, self.nu = self.v + t * dv, self.alpha + t * da, self.nu - t * da[: self.n]
        self.s, self.xi = self.s + t * ds, self.xi + t * dx
        return True

    def _direction(
        self, system: tuple[FloatArray, bool], rs: FloatArray, rx: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        q = rs / self.alpha - self.primal
        q[: self.n] -= rx / self.nu
        dv = cho_solve(system, (q / self.ratio) @ self.A - self.dual, check_finite=False)
        da = (q - self.A @ dv) / self.ratio
        return dv, da, (rs - self.s * da) / self.alpha, (rx + self.xi * da[: self.n]) / self.nu

    def _longest(self, da: FloatArray, ds: FloatArray, dx: FloatArray) -> float:
        """The longest step, up to 1, that keeps α, ν, s and ξ non-negative."""
        value = np.concatenate([self.alpha, self.nu, self.s, self.xi])
        change = np.concatenate([da, -da[: self.n], ds, dx])
        falling = change < 0
        return float(np.min(-value[falling] / change[falling], initial=1.0))


def _factor(matrix: FloatArray) -> tuple[FloatArray, bool] | None:
    scale = float(np.trace(matrix)) / len(matrix)
    for jitter in (0.0, 1e-14, 1e-11, 1e-8):
        try:
            return cho_factor(matrix + jitter * scale * np.eye(len(matrix)), check_finite=False)  # type: ignore[no-any-return]
        except LinAlgError:
            continue
    return None
