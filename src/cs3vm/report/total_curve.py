"""The objective against the total: where the labels alone would draw the line."""

from __future__ import annotations

from typing import Any

from ..learn.sensitivity import Sensitivity
from .figures import INK, MUTED, NEGATIVE, POSITIVE, axes_or_new
from .svg import data_address
from .words import plain

CHANGE = "labels that change"


def total_curve(found: Sensitivity, ax: Any = None) -> Any:
    """Draw the objective for each total, and how many labels change.

    Parameters
    ----------
    found
        What :func:`cs3vm.learn.sensitivity.sensitivity` returns.
    ax
        Matplotlib axes. Default: new ones.
    """
    ax = axes_or_new(ax)
    own, best = float(found.totals[found.given]), found.best
    ax.plot(found.totals, found.objectives, color=POSITIVE, marker="o", ms=5, lw=1.8, label="objective")
    ax.axvline(own, color=INK, lw=1.2, ls="--", label=f"given total: {own:g}")
    ax.axvline(best, color=MUTED, lw=1.2, ls=":", label=f"least objective: {best:g}")
    ax.set(xlabel="total", ylabel="objective")
    beside = ax.twinx()
    beside.plot(
        found.totals, found.n_changed, color=NEGATIVE, marker="s", ms=4, lw=1.2, label="labels that change"
    )
    beside.set_ylabel(CHANGE)
    beside.set_ylim(bottom=0)
    lines = [*ax.get_legend_handles_labels()[0], *beside.get_legend_handles_labels()[0]]
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18), "ncols": 2}
    ax.legend(handles=lines, frameon=False, fontsize="small", **below)
    return ax


def shown_sensitivity(found: Sensitivity) -> dict[str, Any]:
    """What the template needs."""
    return {
        "sentence": plain(found.sentence),
        "minimum": plain(found.about_minimum),
        "rows": [{name: plain(value) for name, value in row.items()} for row in found.cells()],
        "figure": data_address(lambda ax: total_curve(found, ax), 4.0),
    }
