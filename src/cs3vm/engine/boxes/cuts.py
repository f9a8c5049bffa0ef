"""Cuts: lower bounds on the SVM value that hold for every plane, and what they say about a box.

For multipliers 0 ≤ a ≤ C every plane has ½‖w‖² + Σ C·hinge ≥ ½‖w‖² + A - g·w - g_b·b with A = Σ a,
g = Σ a·y·x, g_b = Σ a·y; a row held at ε adds any λ ≥ 0 in the same way, with ε instead of 1 and without a
largest value. In a box, w = t·v and ε + lo·t ≤ b + w·pivot ≤ hi·t - ε, so b takes the end that g_b wants,
each component of w is clipped to [low·t, high·t], and a convex function φ of t ≥ 2ε / (hi - lo) alone is
left. It grows at least like ½t², so that φ(s) - ½φ'(s)² bounds it from below for *any* s: no step of its
minimisation is trusted.

Rounding. With u = 2⁻⁵³ and γ_p = p·u / (1 - p·u), a sum of products with p roundings per term misses its
value by at most γ_p times the sum of the absolute values of its terms. Each bound is lowered by that.
"""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray
from ..jit import strict_kernel
from .arrays import (
    LEVEL,
    MARGIN,
    MOST_INTERCEPT,
    N_HELD,
    REACH,
    Cone,
    Data,
)

UNIT_ROUNDOFF = 2.0**-53
_STEPS = 30


@strict_kernel
def write_cut(
    data: Data, cone: Cone, a: FloatArray, extra: FloatArray, first: int, lim: FloatArray, cut: FloatArray
) -> None:
    """Make a cut from multipliers of the labelled rows and of the held ones, which begin at ``first``.

    Its constant is lowered by the rounding of all its sums, at any plane within the limits.
    """
    d = data.X.shape[1]
    for r in range(d + 2):
        cut[r] = 0.0
    terms, size = d + 8, 0.0
    for i in range(data.X.shape[0]):
        c = min(max(a[i], 0.0), data.C[i])
        if not c > 0.0:  # also where it is NaN
            continue
        terms += 1
        cut[0] += c
        cut[d + 1] += c * data.y[i]
        size += c * (1.0 + data.norm_x[i] * lim[REACH] + lim[MOST_INTERCEPT])
        for r in range(d):
            cut[1 + r] += c * data.y[i] * data.X[i, r]
    for h in range(cone.integer[N_HELD]):
        c, j = extra[first + h], cone.held[h]
        if not c > 0.0 or not c < np.inf:
            continue
        terms += 1
        cut[0] += c * lim[MARGIN]
        cut[d + 1] += c * cone.sign[h]
        size += c * (lim[MARGIN] + data.norm_u[j] * lim[REACH] + lim[MOST_INTERCEPT])
        for r in range(d):
            cut[1 + r] += c * cone.sign[h] * data.U[j, r]
    error = terms * UNIT_ROUNDOFF
    cut[0] -= error / (1.0 - error) * size * 1.01  # sums and norms in here are rounded, too


@strict_kernel
def cut_value(cone: Cone, cut: FloatArray, lo: float, hi: float, lim: FloatArray) -> float:
    """A lower bound on the SVM value in a box with these limits of the intercept; valid in floating point."""
    d = cone.low.shape[0]
    g_b = cut[d + 1]
    constant, slope, size = cut[0] + lim[MARGIN] * abs(g_b), 0.0, abs(cut[0]) + lim[MARGIN] * abs(g_b)
    end = hi if g_b > 0.0 else lo
    if g_b != 0.0 and abs(end) < np.inf:
        slope = g_b * end
    elif g_b != 0.0:  # only the intercept of the level set is known
        length = 0.0
        for r in range(d):
            length += abs(cone.pivot[r])
        far = abs(g_b) * (lim[MOST_INTERCEPT] + lim[REACH] * length)
        constant, size = cut[0] - far, abs(cut[0]) + far
    first = 0.0
    if hi - lo < np.inf:  # below it there is no intercept
        first = 2.0 * lim[MARGIN] / (hi - lo) * (1.0 - 8.0 * UNIT_ROUNDOFF) if hi > lo else 0.0
    if not first < lim[REACH]:
        return float(lim[LEVEL])
    t, least, most = first, first, np.inf
    value = derivative = noise = mass = 0.0
    for _ in range(_STEPS):
        value, derivative, noise, curvature, mass = -slope * t, -slope, abs(slope), 0.0, abs(slope * t)
        for r in range(d):
            G = cut[1 + r] - g_b * cone.pivot[r]
            w, G_size = G, abs(cut[1 + r]) + abs(g_b * cone.pivot[r])
            edge = cone.high[r] if cone.high[r] * t <= G else cone.low[r]
            if cone.high[r] * t <= G or cone.low[r] * t >= G:
                w = edge * t
                derivative += (w - G) * edge
                curvature += edge * edge
            value += 0.5 * w * w - G * w
            mass += 0.5 * w * w + G_size * abs(w)
            noise += abs(w) + G_size  # |v| ≤ 1
        noise *= (4 * d + 16) * UNIT_ROUNDOFF
        if abs(derivative) <= 4.0 * noise or (t == first and derivative >= 0.0):
            break
        if derivative < 0.0:
            least = t
        else:
            most = t
        nearer = t - derivative / curvature
        if not least <= nearer <= most:
            nearer = 0.5 * (least + most)
        at, t = t, nearer
        if nearer == at:
            break
    error = (4 * d + 32) * UNIT_ROUNDOFF * (size + mass)
    missed = abs(derivative) + noise
    if t == first and derivative - noise >= 0.0:
        missed = 0.0
    bound = constant + value - 0.5 * missed * missed - error
    return min(bound, lim[LEVEL]) if bound > 0.0 else 0.0  # also where it is NaN
