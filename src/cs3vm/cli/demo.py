"""A small sample in the plane, like the paper's Figure 1: few biased labels and a known total."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, LabelArray
from ..learn.classifier import CS3VMClassifier
from ..report.figures import draw_changes, draw_plane, draw_sample, sample_legend, shade_sides

# Six of eight labels are positive, though only 18 of 44 points are: the paper's kind of bias.
_LABELLED_POSITIVE = ((7.4, 4.1), (6.8, 4.2), (4.7, 2.3), (5.6, 3.6), (9.5, 5.1), (5.0, 4.3))
_LABELLED_NEGATIVE = ((2.8, 4.6), (1.6, 3.8))
# fmt: off
_POSITIVE = (
    (5.6, 4.1), (7.2, 5.7), (5.5, 4.5), (4.4, 2.9), (6.5, 3.3), (6.7, 2.8), (8.3, 5.2), (4.1, 3.2),
    (6.2, 4.6), (6.5, 2.0), (7.6, 4.7), (6.2, 2.3),
)
_NEGATIVE = (
    (2.2, 3.6), (2.7, 7.1), (5.4, 8.6), (2.5, 3.7), (3.3, 4.9), (3.0, 5.0), (4.6, 6.6), (4.0, 8.1),
    (2.3, 6.2), (1.7, 5.8), (4.8, 7.6), (4.0, 6.3), (4.8, 5.2), (6.8, 6.4), (2.6, 4.9), (4.8, 7.2),
    (5.4, 6.5), (4.2, 6.9), (5.7, 6.5), (2.3, 7.8), (3.4, 7.2), (3.2, 4.3), (6.5, 7.9), (3.1, 6.6),
)
# fmt: on

#: The methods that the demo compares, and their titles.
DEMO_METHODS = {"svm": "SVM", "top_tau": "SVM + top-τ", "auto": "CS³VM"}


class Sample(NamedTuple):
    """Points, labels (NaN: unlabelled), the true classes, and the known total of the unlabelled."""

    X: FloatArray
    y: FloatArray
    truth: IntArray
    n_positive: int

    @property
    def unlabelled(self) -> BoolArray:
        """Which rows have no label."""
        return np.asarray(np.isnan(self.y))

    def accuracy(self, transduction: LabelArray) -> float:
        """Share of the unlabelled rows that are classified correctly."""
        return float(np.mean(transduction[self.unlabelled] == self.truth[self.unlabelled]))


def load_sample() -> Sample:
    """The embedded sample: 36 unlabelled points, 12 of them positive, and 8 labels."""
    groups = (
        (_LABELLED_POSITIVE, 1, 1),
        (_LABELLED_NEGATIVE, 0, 0),
        (_POSITIVE, 1, None),
        (_NEGATIVE, 0, None),
    )
    X = np.array([point for points, _, _ in groups for point in points])
    truth = np.array([side for points, side, _ in groups for _ in points])
    y = np.array([label for points, _, label in groups for _ in points], dtype=float)
    return Sample(X, y, truth, len(_POSITIVE))


def fit_sample(sample: Sample, time_limit: float = 30.0) -> dict[str, CS3VMClassifier]:
    """Fit the demo's methods to the sample; keys are their titles."""
    return {
        title: CS3VMClassifier(method, time_limit=time_limit).fit(
            sample.X, sample.y, n_positive=sample.n_positive
        )
        for method, title in DEMO_METHODS.items()
    }


def draw_demo(sample: Sample, fits: dict[str, CS3VMClassifier]) -> Any:
    """A matplotlib figure: the SVM on the left, CS³VM on the right, both hyperplanes in both."""
    from matplotlib.figure import Figure

    titles = ("SVM", "CS³VM")
    figure = Figure(figsize=(12, 6.8), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    changed = fits["SVM"].transduction_ != fits["CS³VM"].transduction_
    for ax, title in zip(axes, titles, strict=True):
        fit = fits[title]
        draw_sample(ax, sample.X, sample.y, fit.transduction_, sample.truth)
        draw_changes(ax, sample.X, changed)
        ax.set(xlim=(0.8, 10.2), ylim=(1.2, 9.4), xlabel="feature 1", ylabel="feature 2")
        shade_sides(ax, fit.coef_[0], fit.intercept_[0])
        for name, dashes in zip(titles, ("--", "-"), strict=True):
            own = name == title
            width, alpha = (2.2, 1.0) if own else (1.2, 0.45)
            plane = fits[name].coef_[0], fits[name].intercept_[0]
            draw_plane(ax, *plane, label=f"hyperplane of {name}", c="black", ls=dashes, lw=width, alpha=alpha)
        count, right = fit.result_.count, 100 * sample.accuracy(fit.transduction_)
        heading = f"{title}: {count:g} unlabelled points positive (known total: {sample.n_positive})"
        ax.set_title(f"{heading}\n{right:.0f} % of the unlabelled points classified correctly")
        ax.label_outer()
    planes = [ax.get_legend_handles_labels()[0][i] for i, ax in enumerate(axes)]
    figure.legend(handles=[*sample_legend(), *planes], loc="outside lower center", ncols=5, fontsize=10)
    return figure
