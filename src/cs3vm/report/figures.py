"""Figures. Every function draws on the axes that it is given and returns them, or on new ones.

Names of features and classes are shown as they are: a dollar sign starts no formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.linalg import eigh

from .._typing import BoolArray, FloatArray, LabelArray, RowArray, SignArray
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.result import Result

#: Colours that colour-blind readers can tell apart (Okabe and Ito).
POSITIVE, NEGATIVE, WRONG = "#0072B2", "#D55E00", "#000000"
#: Lines and text, and what stays in the background.
INK, MUTED = "#222222", "#888888"

MAX_BINS = 60
MAX_LABELLED = 150  # labelled rows shown in a figure, per class
MAX_NAME = 32  # characters of a feature's name
MAX_CLASS = 14  # characters of a class's name, which a legend has several times


class FittedClassifier(Protocol):
    """A classifier of two classes that was fitted; it may also have ``feature_names_in_``."""

    result_: Result


# -- what a result says ------------------------------------------------------------------------------
def score_histogram(
    result: Result,
    ax: Any = None,
    *,
    names: tuple[str, str] = ("positive", "negative"),
    sides: SignArray | None = None,
) -> Any:
    """How far the unlabelled rows lie from the hyperplane, by side, and where the labelled rows lie.

    Parameters
    ----------
    result
        A result with an answer.
    ax
        Matplotlib axes. Default: new ones.
    names
        What the positive and the negative class are called.
    sides
        1 for the unlabelled rows that are classified positive. Default: the sides of the result.
    """
    problem, w = result.problem, _plane(result)
    ax = axes_or_new(ax)
    scores = problem.scores(w, result.intercept)
    labelled = problem.X @ w + result.intercept
    edges = _bin_edges(np.concatenate([scores, labelled]))
    centres, base = 0.5 * (edges[1:] + edges[:-1]), np.zeros(len(edges) - 1)
    side = np.asarray(result.z if sides is None else sides) > 0
    for rows, name, colour, hatch in ((side, names[0], POSITIVE, ""), (~side, names[1], NEGATIVE, "///")):
        heights, _ = np.histogram(scores[rows], edges, weights=problem.weights[rows])
        label = f"classified {show(name, MAX_CLASS)}: {format_number(problem.weights[rows].sum())}"
        style = {"color": colour, "alpha": 0.75, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
        ax.bar(centres, heights, np.diff(edges), bottom=base, label=label, **style)
        base += heights
    top = max(float(base.max(initial=0.0)), 1.0)
    ax.set_ylim(-0.17 * top, 1.05 * top)
    _rug(ax, labelled, problem.y, names, top)
    ax.axvline(0.0, color=INK, lw=1.6, label="hyperplane")
    ax.set_yticks([t for t in ax.get_yticks() if 0 <= t <= 1.05 * top])
    unit = "rows" if np.all(problem.weights == 1.0) else "weight of rows"
    ax.set(xlabel="score  w·x + b", ylabel=f"unlabelled {unit}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize="small")
    return ax


def projection(
    result: Result,
    ax: Any = None,
    *,
    naive: Result | None = None,
    names: tuple[str, str] = ("positive", "negative"),
    sides: SignArray | None = None,
    max_points: int = 4000,
    random_state: int = 0,
) -> Any:
    """The rows on their two main principal components; rows that left the SVM's side are ringed.

    Parameters
    ----------
    result
        A result with an answer.
    ax
        Matplotlib axes. Default: new ones.
    naive
        The result to compare with. Default: the SVM, solved here.
    names
        What the positive and the negative class are called.
    sides
        1 for the unlabelled rows that are classified positive. Default: the sides of the result.
    max_points
        Of more unlabelled rows a random sample is shown, and the title says so.
    random_state
        Seed of that sample.
    """
    problem = result.problem
    axes, share, centre = _principal_axes(problem, _plane(result))
    naive = solve(problem, "svm") if naive is None else naive
    ax = axes_or_new(ax)
    rng = np.random.default_rng(random_state)
    shown = _sample(rng, problem.m, max_points)
    points = (problem.U[shown] - centre) @ axes
    side = np.asarray(result.z if sides is None else sides)[shown] > 0
    before = np.asarray(naive.z)[shown] > 0
    for rows, name, colour, marker in ((side, names[0], POSITIVE, "o"), (~side, names[1], NEGATIVE, "s")):
        label = f"unlabelled, classified {show(name, MAX_CLASS)}"
        ax.scatter(*points[rows].T, s=9, c=colour, marker=marker, alpha=0.6, linewidths=0, label=label)
    changed = points[side != before]
    ring = {"s": 24, "facecolors": "none", "edgecolors": INK, "linewidths": 0.5, "alpha": 0.75}
    ax.scatter(*changed.T, **ring, label="the SVM says otherwise")
    _labelled_points(ax, problem, centre, axes, names, rng)
    if len(shown) < problem.m:
        ax.set_title(
            f"a random {format_number(len(shown))} of {format_number(problem.m)} unlabelled rows",
            fontsize="medium",
        )
    x_label, y_label = (
        f"{rank} principal component ({100 * part:.0f} % of the variance)"
        for rank, part in zip(("first", "second"), share, strict=True)
    )
    ax.set(xlabel=x_label, ylabel=y_label)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False, fontsize="small")
    return ax


def weights(
    result_or_clf: Result | FittedClassifier,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
    top: int = 20,
    *,
    normal: FloatArray | None = None,
) -> Any:
    """The weights of the features, the largest first, in scaled units, so that they can be compared.

    Parameters
    ----------
    result_or_clf
        A result, or a fitted :class:`cs3vm.CS3VMClassifier`.
    feature_names
        One name per feature. Default: those the classifier saw, else x0, x1, ...
    ax
        Matplotlib axes. Default: new ones.
    top
        At most this many are shown; the title says so.
    normal
        The weights. Default: those of the result.
    """
    result = result_or_clf if isinstance(result_or_clf, Result) else result_or_clf.result_
    w = _plane(result)
    if "kernel" in result.extras:
        raise ValueError(
            f"there are no weights of features to draw: the {result.extras['kernel']['text']}, and a kernel "
            "compares whole rows. Draw score_histogram or projection instead, or fit with kernel='linear'"
        )
    if "basis" in result.extras and normal is None:
        raise ValueError(
            "the result of sparse rows has coordinates in a basis, which are no features: give the weights, "
            "weights(clf, normal=clf.fit_.normals[0])"
        )
    w = w if normal is None else normal
    ax = axes_or_new(ax)
    if feature_names is None:
        feature_names = getattr(result_or_clf, "feature_names_in_", [f"x{i}" for i in range(len(w))])
    order = np.argsort(-np.abs(w), kind="stable")[:top]
    place = np.arange(len(order))
    colours = [POSITIVE if w[i] >= 0 else NEGATIVE for i in order]
    ax.barh(place, w[order], color=colours, alpha=0.85, height=0.7)
    ax.set_yticks(place, [show(feature_names[i]) for i in order])
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.axvline(0.0, color=INK, lw=0.8)
    ax.set_xlabel("weight of the scaled feature")
    if len(order) < len(w):
        ax.set_title(f"the {len(order)} largest of {len(w)} weights", fontsize="medium")
    return ax


def convergence(result: Result, ax: Any = None) -> Any:
    """The best objective found and the proven bound over time; of a result without a record, its end.

    Parameters
    ----------
    result
        A result with an answer.
    ax
        Matplotlib axes. Default: new ones.
    """
    _plane(result)
    ax = axes_or_new(ax)
    points = [p for p in result.trace if np.isfinite(p.incumbent) and p.seconds <= result.seconds]
    seconds = np.array([*(p.seconds for p in points), result.seconds])
    incumbent = np.array([*(p.incumbent for p in points), result.objective])
    bound = np.array([*(min(p.bound, p.incumbent) for p in points), result.lower_bound])
    marker = {"marker": "o", "markevery": [-1], "ms": 6}
    ax.fill_between(seconds, bound, incumbent, step="post", color=MUTED, alpha=0.2, lw=0)
    best, proven = f"best found: {result.objective:.4g}", f"lower bound: {result.lower_bound:.4g}"
    ax.step(seconds, incumbent, where="post", color=POSITIVE, lw=1.8, label=best, **marker)
    ax.step(seconds, bound, where="post", color=NEGATIVE, lw=1.8, ls="--", label=proven, **marker)
    if not points:
        ax.set_title("no record over time: only the end is shown", fontsize="medium")
    top = result.objective + 2 * max(result.objective - result.lower_bound, 0.05 * abs(result.objective))
    if incumbent[0] > top > bound.min():  # the first answers are often far off
        ax.set_ylim(bound.min() - 0.05 * (top - bound.min()), top)
        ax.set_title(f"starts above the picture, at {incumbent[0]:.4g}", fontsize="medium")
    ax.set(xlabel="seconds", ylabel="objective", xlim=(0.0, 1.03 * result.seconds or 1.0))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False, fontsize="small")
    return ax


def show(name: Any, most: int = MAX_NAME) -> str:
    """A name as matplotlib text: on one line, not too long, and with no formula in it."""
    text = "".join(c if c.isprintable() else " " for c in str(name))
    if len(text) > most:
        text = text[: most - 1] + "…"
    return text.replace("$", r"\$")


def axes_or_new(ax: Any) -> Any:
    """The axes that were given, or new ones."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _plane(result: Result) -> FloatArray:
    if result.coef is None:
        raise ValueError(f"the result has no answer to draw (status: {result.status.value})")
    return result.coef


def format_number(value: float) -> str:
    """With narrow spaces between thousands, and a decimal only where there is one."""
    text = f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}")


def _sample(rng: np.random.Generator, n: int, most: int) -> RowArray:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _bin_edges(values: FloatArray) -> FloatArray:
    """Equal bins over all values, one of whose edges is 0, so that no bin straddles the plane."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    bins = int(np.clip(2 * np.sqrt(len(values)), 10, MAX_BINS))
    step = (high - low) / bins or 1.0
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    edges = step * np.arange(min(first, -1), max(last, 1) + 1)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # rounding must leave no row outside
    return np.asarray(edges)


def _labelled(rng: np.random.Generator, y: FloatArray, sign: int, name: str) -> tuple[RowArray, str]:
    """Which labelled rows of a class are shown, and the legend's words for them."""
    own = np.flatnonzero(y == sign)
    shown = own[_sample(rng, len(own), MAX_LABELLED)]
    part = f", {len(shown)} shown" if len(shown) < len(own) else ""
    return shown, f"labelled {show(name, MAX_CLASS)}: {format_number(len(own))}{part}"


def _rug(ax: Any, scores: FloatArray, y: FloatArray, names: tuple[str, str], top: float) -> None:
    """The labelled rows below the histogram, one line per class."""
    rng = np.random.default_rng(0)
    lines = ((1, names[0], POSITIVE, "^", -0.05), (-1, names[1], NEGATIVE, "v", -0.115))
    for sign, name, colour, marker, height in lines:
        rows, label = _labelled(rng, y, sign, name)
        style = {"ls": "", "marker": marker, "ms": 5, "mfc": colour, "mec": INK, "mew": 0.4, "alpha": 0.8}
        ax.plot(scores[rows], np.full(len(rows), height * top), **style, label=label)
    ax.axhline(0.0, color=MUTED, lw=0.6)


def _labelled_points(
    ax: Any,
    problem: Problem,
    centre: FloatArray,
    axes: FloatArray,
    names: tuple[str, str],
    rng: np.random.Generator,
) -> None:
    size = 48 if problem.n <= MAX_LABELLED else 26
    for sign, name, colour, marker in ((1, names[0], POSITIVE, "^"), (-1, names[1], NEGATIVE, "v")):
        rows, label = _labelled(rng, problem.y, sign, name)
        points = (problem.X[rows] - centre) @ axes
        style = {"s": size, "c": colour, "marker": marker, "edgecolors": INK, "linewidths": 0.8}
        ax.scatter(*points.T, **style, label=label)


def _principal_axes(problem: Problem, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Two directions of largest variance, their shares of it, and the mean; positives to the right."""
    n, k = problem.n + problem.m, min(2, problem.d)
    centre = (problem.X.sum(axis=0) + problem.U.sum(axis=0)) / n
    second_moment = (problem.X.T @ problem.X + problem.U.T @ problem.U) / n
    covariance = second_moment - np.outer(centre, centre)
    last = [
        problem.d - k,
        problem.d - 1,
    ]  # a kernel has thousands of features: all vectors would take minutes
    values, vectors = eigh(covariance, subset_by_index=last)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    axes, share = np.zeros((problem.d, 2)), np.zeros(2)
    axes[:, :k] = vectors * np.where(w @ vectors < 0, -1.0, 1.0)
    share[:k] = values / (float(np.trace(covariance)) or 1.0)
    return axes, share, centre


# -- the demo's sample in the plane ------------------------------------------------------------------
def draw_sample(ax: Any, X: FloatArray, y: FloatArray, transduction: LabelArray, truth: LabelArray) -> None:
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


def draw_changes(ax: Any, X: FloatArray, changed: BoolArray) -> None:
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
