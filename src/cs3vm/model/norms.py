"""What the model pays for ``w``: ½‖w‖² (``"l2"``, the paper's), ‖w‖₁ (``"l1"``) or ‖w‖_∞ (``"max"``).

Every bound of the model rests on two facts about a norm: a price of at most f means ``‖w‖ ≤ reach(f)``, and
``|w·x| ≤ ‖w‖·‖x‖*`` with the dual norm ‖·‖*. The Euclidean norm is its own dual, l1 and max are each other's.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray

Norm = Literal["l2", "l1", "max"]
NORMS: tuple[Norm, ...] = ("l2", "l1", "max")
#: The order of the dual norm for numpy.
_DUAL_ORDER = {"l2": 2, "l1": np.inf, "max": 1}
#: The dual norm as a distance, by scipy's name.
DUAL_METRIC = {"l2": "euclidean", "l1": "chebyshev", "max": "cityblock"}
#: A weight of at most this, relative to the largest, is zero: the feature is not used.
ZERO_WEIGHT = 1e-9


def parts(norm: Norm, w: FloatArray) -> FloatArray:
    """The terms of :func:`price`, each a variable of the linear models: every ``|w_k|`` (l1), or one."""
    if norm == "l2":
        return np.array([0.5 * (w @ w)])
    size = np.abs(w)
    return size if norm == "l1" else size.max(initial=0.0, keepdims=True)


def price(norm: Norm, w: FloatArray) -> float:
    """What the model pays for ``w``."""
    return float(parts(norm, w).sum())


def reach(norm: Norm, value: float) -> float:
    """The largest ‖w‖ that costs at most ``value``."""
    return float(np.sqrt(2.0 * value)) if norm == "l2" else float(value)


def dual_norms(norm: Norm, rows: FloatArray) -> FloatArray:
    """‖x‖* of each row."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows))
    return np.asarray(np.linalg.norm(rows, ord=_DUAL_ORDER[norm], axis=1), dtype=float)


def steepest(norm: Norm, value: float, C: FloatArray, apart: FloatArray) -> FloatArray:
    """``max (value - price)/C + ‖w‖·apart`` over all w that cost at most ``value``."""
    if norm != "l2":  # linear in ‖w‖: largest at one of the ends
        return np.asarray(value * np.maximum(apart, 1.0 / C))
    r = np.minimum(reach(norm, value), C * apart)
    return np.asarray((value - 0.5 * r**2) / C + r * apart)


def unused(w: FloatArray) -> NDArray[np.bool_]:
    """Which features have no weight."""
    size = np.abs(w)
    return np.asarray(size <= ZERO_WEIGHT * size.max(initial=0.0))
