"""The paper's figures. Every function takes a data frame of measured rows and returns a figure."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.measures import ecdf
from experiments.studies import RANGES

#: Colours that colour-blind readers can tell apart (Okabe and Ito); the dash tells a second series apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777")
DASHES = ("-", "--", ":", "-.")
MUTED = "#888888"
NAMES = {
    "svm": "SVM",
    "top_tau": "top-τ",
    "cs3vm": "CS³VM",
    "rcm": "RCM",
    "ircm": "IRCM",
    "wircm": "WIRCM",
    "self_training": "self-training",
    "self_training_top_tau": "self-training + top-τ",
    "label_spreading": "label spreading",
    "label_spreading_top_tau": "label spreading + top-τ",
}
SYMBOLS = {
    "AC_hat": "$\\widehat{AC}$: accuracy / accuracy of the true hyperplane",
    "PR_hat": "$\\widehat{PR}$: precision / precision of the true hyperplane",
    "RE_hat": "$\\widehat{RE}$: recall / recall of the true hyperplane",
    "FPR_hat": "$\\widehat{FPR}$: false positive rate / that of the true hyperplane",
    "AC_bar": "$\\overline{AC}$: accuracy relative to the SVM's, minus 1",
    "PR_bar": "$\\overline{PR}$: precision relative to the SVM's, minus 1",
    "AC": "accuracy",
}


def title(name: str) -> str:
    """A series' name as a reader knows it; a dollar sign starts no formula."""
    method, _, rest = name.partition(" ")
    return f"{NAMES.get(method, method)} {rest}".strip().replace("$", r"\$")


def runtime_ecdf(rows: pd.DataFrame) -> Figure:
    """Share of the instances on which a method ended within so many seconds."""
    figure, ax = _axes()
    shortest, limit = 1e-3, rows["time_limit"].max()
    for style, (name, group) in zip(_styles(), rows.groupby("series", sort=False), strict=False):
        seconds, share = ecdf(group["seconds"].where(group["ended"]).clip(lower=shortest), len(group))
        longest = max(limit if np.isfinite(limit) else 0.0, seconds.max(initial=shortest))
        label = f"{title(name)} ({group['ended'].mean():.0%} of {len(group)})"
        _steps(ax, seconds, share, longest, label, style)
    if np.isfinite(limit):
        ax.axvline(limit, color=MUTED, linestyle="--", linewidth=1)
    ax.set(xscale="log", xlabel="seconds", ylabel="share of instances on which it ended", ylim=(0, 1.02))
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure


def bound_ecdf(rows: pd.DataFrame) -> Figure:
    """Share of the instances with a proven optimum on which a method came so close to it (eq. gap)."""
    figure, ax = _axes()
    known = rows[rows["optimum"].notna()]
    least, most = 1e-6, 1e2
    for style, (name, group) in zip(_styles(), known.groupby("series", sort=False), strict=False):
        excess, share = ecdf(group["excess"].clip(lower=least), len(group))
        close = (group["excess"] <= 0.2).mean()
        _steps(ax, excess, share, most, f"{title(name)} (within 20 %: {close:.0%} of {len(group)})", style)
    ax.axvline(0.2, color=MUTED, linestyle="--", linewidth=1)
    ax.set(xscale="log", xlim=(least, most), ylim=(0, 1.02), xlabel="(objective − optimum) / optimum")
    count = len(known[["dataset", "seed", "sampling", "fraction", "bias", "problem"]].drop_duplicates())
    ax.set_ylabel(f"share of the {count} instances with a proven optimum")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure


def boxes(rows: pd.DataFrame, measure: str, convention: str = "paper") -> Figure:
    """Box plots of a measure per method: left on all points, right on the unlabelled ones."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    names = list(dict.fromkeys(rows["series"]))
    for ax, scope in zip(figure.subplots(1, 2, sharey=True), ("all", "unlabelled"), strict=True):
        column = f"{convention}_{scope}_{measure}"
        values = [rows.loc[rows["series"] == name, column].dropna() for name in names]
        ax.boxplot(
            values,
            tick_labels=[f"{title(name)}: {len(v)}" for name, v in zip(names, values, strict=True)],
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": MUTED},
            medianprops={"color": COLOURS[1], "linewidth": 2},
        )
        if "_" in measure:  # as good as the true hyperplane, or as the SVM
            ax.axhline(0.0 if measure.endswith("_bar") else 1.0, color=MUTED, linestyle="--", linewidth=1)
        ax.set_title("all points" if scope == "all" else "unlabelled points")
        if len(names) > 5:
            ax.set_xticks(
                ax.get_xticks(), ax.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor"
            )
        if measure == "FPR_hat":
            ax.set_yscale("symlog", linthresh=2.0)
    figure.supylabel(SYMBOLS[measure], fontsize="medium")
    return figure


def sensitivity(rows: pd.DataFrame, measure: str) -> Figure:
    """A measure against each parameter of Table 2, one line per method: the median over the instances."""
    chosen = rows.join(_varied(rows))
    present = [name for name in RANGES if (chosen["parameter"] == name).any()]
    columns = 3
    lines = max(1, -(-len(present) // columns))
    figure = Figure(figsize=(10, 2.8 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    colours = dict(zip(dict.fromkeys(rows["series"]), COLOURS, strict=False))
    for ax, name in zip(grid, present, strict=False):
        for method, group in chosen[chosen["parameter"] == name].groupby("series", sort=False):
            middle = group.groupby("value")[measure].median()
            ax.plot(middle.index, middle, "o-", color=colours[method], label=title(method))
        unit = {"m": ", times m", "limit": ", share of limit"}.get(RANGES[name].of, "")
        ax.set_title(f"{RANGES[name].symbol} ({name}{unit})", fontsize="medium")
        if name == "C":
            ax.set_xscale("log")
        ax.legend(fontsize="small")
    for ax in grid[len(present) :]:
        ax.set_axis_off()
    figure.supylabel({"seconds": "median seconds"}.get(measure, "median accuracy, unlabelled points"))
    return figure


def _varied(rows: pd.DataFrame) -> pd.DataFrame:
    """The parameter that a row varies, and its value in the units of Table 2."""
    found = []
    for text, m, limit in zip(rows["settings"], rows["m"], rows["time_limit"], strict=True):
        name, value = next(iter(json.loads(text or "{}").items()), ("", np.nan))
        if name in RANGES and RANGES[name].of:
            share = value / (m if RANGES[name].of == "m" else limit)
            value = min(RANGES[name].values, key=lambda known, share=share: abs(known - share))
        found.append((name, value))
    return pd.DataFrame(found, columns=["parameter", "value"], index=rows.index)


def _axes() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 4), layout="constrained")
    return figure, figure.subplots()


def _styles() -> list[dict[str, str]]:
    return [{"color": colour, "linestyle": dash} for dash in DASHES for colour in COLOURS]


def _steps(ax: Axes, x: np.ndarray, share: np.ndarray, end: float, label: str, style: dict[str, str]) -> None:
    """An empirical distribution function, drawn on to the right end."""
    last = share[-1] if len(share) else 0.0
    left = x[0] if len(x) else end
    ax.step([left, *x, max(end, left)], [0.0, *share, last], where="post", label=label, **style)
