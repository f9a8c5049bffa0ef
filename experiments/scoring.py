"""From an answer to confusion counts, by the paper's convention for rows on the plane and the honest one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cs3vm.model.problem import PLANE_TOLERANCE
from experiments.instances import Instance

COUNTS = ("tp", "tn", "fp", "fn")
SCOPES = ("all", "unlabelled")
CONVENTIONS = ("paper", "honest")
#: paper_all_tp, paper_all_tn, …, honest_unlabelled_fn
COUNT_COLUMNS = tuple(f"{c}_{s}_{k}" for c in CONVENTIONS for s in SCOPES for k in COUNTS)


class Plane(NamedTuple):
    """A hyperplane, and the sides of the unlabelled rows if the method decides them (else the sign does)."""

    coef: np.ndarray
    intercept: float
    z: np.ndarray | None


class Sides(NamedTuple):
    """Which rows are called positive under each convention, and which lie on the plane."""

    paper: np.ndarray
    honest: np.ndarray
    on_plane: np.ndarray


def classify(plane: Plane, X: np.ndarray, truth: np.ndarray, instance: Instance) -> Sides:
    """The side of every row of the dataset.

    Honest: an unlabelled row is where the method's z puts it; every other row is positive if
    ``w·x + b ≥ 0``, up to rounding. The paper: a labelled row on the plane counts as correct, and so does
    any row on the plane where the method has no z (the SVM, the true hyperplane).
    """
    scores = X @ plane.coef + plane.intercept
    tolerance = PLANE_TOLERANCE * (1.0 + np.abs(scores).max(initial=0.0))
    on_plane = np.abs(scores) <= tolerance
    honest = scores >= -tolerance
    forgiven = on_plane.copy()
    if plane.z is not None:
        honest[instance.unlabelled] = np.asarray(plane.z) > 0
        forgiven[instance.unlabelled] = False
    return Sides(np.where(forgiven, truth > 0, honest), honest, on_plane)


def counts(sides: Sides, truth: np.ndarray, instance: Instance) -> dict[str, int]:
    """TP, TN, FP and FN of both conventions, on all rows and on the unlabelled ones."""
    row: dict[str, int] = {}
    for convention in CONVENTIONS:
        positive = getattr(sides, convention)
        row |= confusion(positive, truth, f"{convention}_all")
        rows = instance.unlabelled
        row |= confusion(positive[rows], truth[rows], f"{convention}_unlabelled")
    return row


def confusion(positive: np.ndarray, truth: np.ndarray, prefix: str) -> dict[str, int]:
    """TP, TN, FP and FN of the rows called positive."""
    right = positive == (truth > 0)
    found = (right & positive, right & ~positive, ~right & positive, ~right & ~positive)
    return {f"{prefix}_{name}": int(rows.sum()) for name, rows in zip(COUNTS, found, strict=True)}
