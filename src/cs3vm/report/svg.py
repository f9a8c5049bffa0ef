"""The report's figures: SVG images in data addresses, in colours that follow the page's scheme."""

from __future__ import annotations

import base64
import io
import re
import warnings as python_warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._typing import FloatArray, SignArray
from ..model.result import Result
from . import figures as plots

#: Unlabelled rows shown in the projection; every one is a shape in the file.
MAX_POINTS = 1000

#: Inches; small, so that the text is readable where the figure is shrunk to a phone's width.
WIDTH = 5.0

#: Colours of the figures and what they become in light and in dark.
THEME = {
    plots.INK: ("#1f2328", "#e6e9ee"),
    plots.MUTED: ("#7a828c", "#8b949e"),
    plots.POSITIVE: (plots.POSITIVE, "#56B4E9"),
    plots.NEGATIVE: (plots.NEGATIVE, "#F0894A"),
}

STYLE = {
    "svg.fonttype": "none",  # real text: every script is readable, and the file stays small
    "svg.hashsalt": "cs3vm",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": plots.INK,
    "axes.edgecolor": plots.MUTED,
    "axes.labelcolor": plots.INK,
    "axes.titlecolor": plots.INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": plots.INK,
    "ytick.color": plots.INK,
    "hatch.linewidth": 0.5,
}


def draw_figures(
    result: Result,
    naive: Result,
    feature_names: Sequence[str],
    names: tuple[str, str],
    sides: SignArray,
    max_points: int = MAX_POINTS,
    normal: FloatArray | None = None,
) -> dict[str, str]:
    """Data addresses of the figures of one plane, by name; a kernel has no weights to draw."""

    def histogram(ax: Any) -> Any:
        return plots.score_histogram(result, ax, names=names, sides=sides)

    def projection(ax: Any) -> Any:
        return plots.projection(result, ax, naive=naive, names=names, sides=sides, max_points=max_points)

    n_bars = min(20, result.problem.d)
    figures: dict[str, tuple[Callable[[Any], Any], float]] = {
        "convergence": (lambda ax: plots.convergence(result, ax), 3.6)
    }
    if "kernel" not in result.extras:
        figures["weights"] = (
            lambda ax: plots.weights(result, feature_names, ax, normal=normal),
            1.0 + 0.22 * n_bars,
        )
    if result.problem.m:
        figures["histogram"] = histogram, 4.5
        figures["projection"] = projection, 4.8
    return {name: data_address(draw, height) for name, (draw, height) in figures.items()}


def data_address(draw: Callable[[Any], Any], height: float) -> str:
    """What ``draw`` draws on the axes that it gets, as the address of an image."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with mpl.rc_context(STYLE), python_warnings.catch_warnings():
        python_warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has other fonts
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.subplots())
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    svg = _follow_scheme(buffer.getvalue())
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8")).decode("ascii")


def _follow_scheme(svg: str) -> str:
    """Replace the colours in style attributes by variables that are set for light and for dark."""
    svg = svg[svg.index("<svg") :]
    variables = {colour.lower(): f"var(--c{i})" for i, colour in enumerate(THEME)}
    colours = re.compile("|".join(variables))

    def themed(style: re.Match[str]) -> str:
        return colours.sub(lambda colour: variables[colour[0]], style[0])

    svg = re.sub(r'style="[^"<>]*"', themed, svg)
    light, dark = (";".join(f"--c{i}:{pair[k]}" for i, pair in enumerate(THEME.values())) for k in (0, 1))
    scheme = f"<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    return svg.replace(">", f">{scheme}", 1)
