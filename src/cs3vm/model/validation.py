"""What a problem is made of, read and checked: one short function per kind of argument.

Every message names the place and says what to do.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..exceptions import InvalidProblemError


def read_matrix(value: Any, name: str) -> FloatArray:
    """A table of finite numbers; the message names the first that is not."""
    try:
        array = value if _is_frozen(value) else np.array(value, dtype=float, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblemError(f"{name} must be a table of numbers: {error}") from error
    if array.ndim != 2:
        raise InvalidProblemError(f"{name} must have two dimensions (rows, columns), got {array.ndim}")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(array.sum()))  # needs no memory, unlike a look at each value
    bad = np.zeros(0, dtype=bool) if finite else ~np.isfinite(array)
    if bad.any():
        row, column = (int(i[0]) for i in np.nonzero(bad))
        raise InvalidProblemError(
            f"{name} has {int(bad.sum())} values that are NaN or infinite, "
            f"the first in row {row}, column {column}: impute or drop them"
        )
    return array


def _is_frozen(value: Any) -> bool:
    """Whether it is a matrix that nobody can change any more, so that it need not be copied."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or not value.flags.c_contiguous:
        return False
    while isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.base
    return value is None


def read_signs(value: Any, length: int, name: str, allowed: tuple[int, ...]) -> NDArray[np.int8]:
    """One of the allowed signs per row."""
    array = np.broadcast_to(value, (length,)) if np.ndim(value) == 0 else np.asarray(value)
    if array.shape != (length,):
        raise InvalidProblemError(f"{name} must have one value per row ({length}), got shape {array.shape}")
    wrong = ~np.isin(array, allowed)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidProblemError(f"{name} must be one of {allowed}; row {row} has {array[row]!r}")
    return array.astype(np.int8)


def read_positive_vector(value: Any, length: int, name: str) -> FloatArray:
    """One positive number per row, or the same for all."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblemError(f"{name} must be numeric: {error}") from error
    if array.ndim == 0:
        array = np.full(length, float(array))
        if length == 0 and not float(np.asarray(value)) > 0:
            raise InvalidProblemError(f"{name} must be positive, got {value}")
    if array.shape != (length,):
        raise InvalidProblemError(
            f"{name} must be a scalar or one value per row ({length}), got shape {array.shape}"
        )
    wrong = ~(np.isfinite(array) & (array > 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidProblemError(f"{name} must be positive and finite; row {row} has {array[row]}")
    return np.array(array)


def read_scalar(value: Any, name: str, *, positive: bool) -> float:
    """A positive number, or one that may be zero."""
    wanted = "positive" if positive else "zero or positive"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidProblemError(f"{name} must be a {wanted} number, got {value!r}")
    number = float(value)
    if not np.isfinite(number) or number < 0 or (positive and number == 0):
        raise InvalidProblemError(f"{name} must be {wanted} and finite, got {value!r}")
    return number
