"""The love plot: how far labelled rows are from the others in each feature, as they are and weighted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..learn.bias import Bias
from .figures import INK, MUTED, NEGATIVE, POSITIVE, axes_or_new, show
from .svg import data_address

#: Differences below this many standard deviations are usually called small.
SMALL = 0.1
#: So many features are shown.
TOP = 20


def love_plot(bias: Bias, ax: Any = None, top: int = TOP) -> Any:
    """Draw the standardised differences between labelled and unlabelled rows, the largest first.

    Parameters
    ----------
    bias
        What :meth:`cs3vm.CS3VMClassifier.bias` returns.
    ax
        Matplotlib axes. Default: new ones.
    top
        At most this many features are shown; the title says so.
    """
    if not bias.features:
        raise ValueError(f"there are no differences to draw: {bias.why_not}")
    ax = axes_or_new(ax)
    shown = bias.largest[:top]
    place = np.arange(len(shown))
    raw, weighted = (np.array([getattr(one, name) for one in shown]) for name in ("raw", "weighted"))
    ax.axvspan(-SMALL, SMALL, color=MUTED, alpha=0.15, lw=0)
    ax.axvline(0.0, color=INK, lw=0.8)
    ax.hlines(place, np.minimum(raw, weighted), np.maximum(raw, weighted), color=MUTED, lw=0.8)
    dots = {"ls": "", "mew": 1.3, "ms": 6}
    ax.plot(raw, place, marker="o", mfc="none", mec=NEGATIVE, label="labelled − unlabelled", **dots)
    if bias.effective:
        label = "with classes weighted to the totals"
        ax.plot(weighted, place, marker="D", mfc=POSITIVE, mec=POSITIVE, label=label, **dots)
    surely = {one.name for one in bias.differing}
    names = [f"{show(one.name)}{' *' if one.name in surely else ''}" for one in shown]
    ax.set_yticks(place, names)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    widest = 1.1 * max(0.5, float(np.abs([raw, weighted]).max()))
    ax.set_xlim(-widest, widest)
    ax.set_xlabel("difference in standard deviations")
    if len(shown) < len(bias.features):
        title = f"the {len(shown)} largest of {len(bias.features)} differences"
        ax.set_title(title, fontsize="medium")
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.6 / (1.0 + 0.22 * len(shown))),
        frameon=False,
        fontsize="small",
    )
    return ax


def drawn(bias: Bias) -> str:
    """The plot as a data address."""
    return data_address(lambda ax: love_plot(bias, ax), 1.5 + 0.22 * min(TOP, len(bias.features)))
