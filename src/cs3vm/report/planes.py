"""What the report shows of each plane: its pictures and its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray, SignArray
from ..learn.certainty import Certainty
from ..learn.fit import Fit
from ..learn.scaling import Scaling
from .svg import MAX_POINTS, draw_figures
from .words import signed

MAX_WEIGHTS = 200  # rows of the table of weights of one plane
MAX_PICTURED = 6  # planes with pictures, so that the page stays a few megabytes


class Weight(NamedTuple):
    """One row of the table of weights."""

    name: str
    scaled: str
    original: str
    interval: str  #: of the weight in the units of the table; empty if nobody drew labels again
    side: str  #: the class that it speaks for
    kind: str


@dataclass(frozen=True)
class Shown:
    """One plane in the report."""

    name: str  #: its class
    rest: str  #: what it is against
    figures: dict[str, str]
    weights: list[Weight]
    on_plane: int
    is_open: bool


def shown_planes(
    fit: Fit, classes: Sequence[str], features: Sequence[str], certainty: Certainty | None = None
) -> list[Shown]:
    """Pictures and weights of each plane; of many classes those have pictures that the totals change most."""
    pictured = _most_changed(fit)
    shown = []
    for plane, c in enumerate(fit.labels.plane_classes):
        rest = "the others" if fit.is_several else classes[1 - c]
        figures = _figures(fit, plane, (classes[c], rest), features, len(pictured)) if c in pictured else {}
        bounds = None if certainty is None or certainty.weights is None else certainty.weights
        own = None if bounds is None else (bounds[0][plane], bounds[1][plane])
        named = (classes[c], rest)
        weights = [] if fit.kernel_map is not None else _weights(fit, plane, named, features, own)
        is_open = not fit.is_several or plane == 0
        shown.append(Shown(classes[c], rest, figures, weights, fit.results[plane].on_plane, is_open))
    return shown


def _most_changed(fit: Fit) -> list[int]:
    """The classes to draw: by the rows that join or leave them if the totals are known."""
    classes = fit.labels.plane_classes
    if len(classes) <= MAX_PICTURED:
        return list(classes)
    changes = fit.moves.sum(axis=0) + fit.moves.sum(axis=1) - 2 * np.diag(fit.moves)
    return [int(c) for c in np.argsort(-changes, kind="stable")[:MAX_PICTURED]]


def _figures(
    fit: Fit, plane: int, names: tuple[str, str], features: Sequence[str], drawn: int
) -> dict[str, str]:
    own = fit.labels.plane_classes[plane]
    naive = replace(fit.baselines["svm"][plane], z=_sides(fit.svm_codes, own))
    sides = _sides(fit.answer, own)
    points, normal = MAX_POINTS // drawn, fit.normals[plane]
    return draw_figures(fit.results[plane], naive, features, names, sides, points, normal)


def _sides(codes: IntArray, own: int) -> SignArray:
    return np.asarray(codes == own).astype(np.int8)


def _weights(
    fit: Fit,
    plane: int,
    names: tuple[str, str],
    features: Sequence[str],
    bounds: tuple[FloatArray, FloatArray] | None,
) -> list[Weight]:
    """The features by the size of their weight."""
    w = fit.normals[plane]
    assert isinstance(fit.scaling, Scaling)  # ranks are for kernels
    original, _ = fit.scaling.to_original(w, 0.0)
    return [
        Weight(
            name=features[j],
            scaled=signed(w[j]),
            original=signed(original[j]),
            interval="" if bounds is None else f"{signed(bounds[0][j])} to {signed(bounds[1][j])}",
            side="" if w[j] == 0 else names[0] if w[j] > 0 else names[1],
            kind="pos" if w[j] > 0 else "neg",
        )
        for j in np.argsort(-np.abs(w), kind="stable")[:MAX_WEIGHTS]
    ]
