"""A warning about features that separate the labelled rows by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import FloatArray, SignArray

MAX_SEPARATING = 5  # features named in the warning


def separating(X: Any, signs: SignArray, features: Sequence[str], names: tuple[str, str]) -> list[str]:
    """The warning, if there are such features.

    Parameters
    ----------
    X
        All rows, in the units of the user.
    signs
        +1 and -1 for labelled rows of the two classes, 0 for the others.
    features
        The names of the columns of X.
    names
        Those of the positive and of the negative class.
    """
    positive, negative = _rows(X, signs > 0), _rows(X, signs < 0)
    if not (len(positive) and len(negative)):
        return []
    above = positive.min(axis=0) > negative.max(axis=0)
    below = positive.max(axis=0) < negative.min(axis=0)
    found = np.flatnonzero(above | below)
    if not len(found):
        return []
    said = [
        f"“{features[j]}” ({names[0]}: {_range(positive[:, j])}; {names[1]}: {_range(negative[:, j])})"
        for j in found[:MAX_SEPARATING]
    ]
    more = f" and {len(found) - len(said)} more" if len(found) > len(said) else ""
    start = "one feature alone separates" if len(found) == 1 else f"{len(found)} features each separate"
    return [
        f"{start} the labelled rows: {', '.join(said)}{more}. With few labels this can be chance; it can "
        "also be a feature that was recorded with the answer itself, or the way the sample was chosen. "
        "Check before you trust its weight"
    ]


def _rows(X: Any, wanted: Any) -> FloatArray:
    rows = (X.to_numpy() if hasattr(X, "to_numpy") else X)[wanted]
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=float)


def _range(values: FloatArray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
