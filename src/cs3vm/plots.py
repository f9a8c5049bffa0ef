"""Figures. Every function draws on the axes or the figure it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .intercept import FloatArray

#: Colours that colour-blind readers can tell apart (Okabe and Ito).
POSITIVE, NEGATIVE, WRONG = "#0072B2", "#D55E00", "#000000"


def draw_sample(
    ax: Any, X: FloatArray, y: FloatArray, transduction: NDArray[Any], truth: NDArray[Any]
) -> None:
    """Draw rows with two features: labelled ones filled and large, unlabelled ones hollow.

    Parameters
    ----------
    ax
        Matplotlib axes.
    X
        Rows with two features.
    y
        1, 0, or NaN for unlabelled.
    transduction
        The class 1 or 0 that each row was given: its colour.
    truth
        The true class: its shape. Rows given the wrong class are crossed.
    """
    unlabelled = np.isnan(y)
    for given, colour in ((1, POSITIVE), (0, NEGATIVE)):
        for true, marker in ((1, "o"), (0, "s")):
            rows = (transduction == given) & (truth == true)
            ax.scatter(*X[rows & ~unlabelled].T, **_style(marker, colour, labelled=True))
            ax.scatter(*X[rows & unlabelled].T, **_style(marker, colour, labelled=False))
    ax.scatter(*X[transduction != truth].T, marker="x", s=38, color=WRONG, linewidths=1.4, zorder=5)
    ax.set_aspect("equal")


def draw_changes(ax: Any, X: FloatArray, changed: NDArray[np.bool_]) -> None:
    """Put a ring around rows."""
    ax.scatter(*X[changed].T, s=210, facecolors="none", edgecolors="#888888", linewidths=1.3, zorder=2)


def draw_plane(ax: Any, coef: FloatArray, intercept: float, **line: Any) -> None:
    """Draw the line ``coef · x + intercept = 0``; nothing if ``coef`` is zero."""
    norm = float(coef @ coef)
    if norm == 0:
        return
    foot = -intercept * coef / norm
    ax.axline(foot, foot + np.array([-coef[1], coef[0]]), **line)


def shade_sides(ax: Any, coef: FloatArray, intercept: float) -> None:
    """Tint the positive and the negative side of the line within the present limits."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    xx, yy = np.meshgrid(np.linspace(x0, x1, 200), np.linspace(y0, y1, 200))
    value = coef[0] * xx + coef[1] * yy + intercept
    ax.contourf(xx, yy, value, levels=[-np.inf, 0, np.inf], colors=[NEGATIVE, POSITIVE], alpha=0.07, zorder=0)


def sample_legend() -> list[Any]:
    """Legend entries that explain :func:`draw_sample` and :func:`draw_changes`."""
    from matplotlib.lines import Line2D

    def entry(marker: str, face: str, edge: str, size: float, label: str) -> Any:
        return Line2D([], [], ls="", marker=marker, mfc=face, mec=edge, mew=1.5, ms=size, label=label)

    return [
        entry("o", "#666666", "black", 10, "labelled, truly positive"),
        entry("s", "#666666", "black", 10, "labelled, truly negative"),
        entry("o", "white", "#666666", 7, "unlabelled, truly positive"),
        entry("s", "white", "#666666", 7, "unlabelled, truly negative"),
        entry("D", POSITIVE, POSITIVE, 7, "classified positive (colour)"),
        entry("D", NEGATIVE, NEGATIVE, 7, "classified negative (colour)"),
        entry("x", WRONG, WRONG, 6, "classified wrongly"),
        entry("o", "none", "#888888", 13, "differs between the two"),
    ]


def _style(marker: str, colour: str, *, labelled: bool) -> dict[str, Any]:
    face, edge, size = (colour, "black", 125) if labelled else ("white", colour, 50)
    return {
        "marker": marker,
        "s": size,
        "facecolors": face,
        "edgecolors": edge,
        "linewidths": 1.5,
        "zorder": 4 if labelled else 3,
    }
