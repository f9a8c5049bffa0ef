"""How the labelled rows differ from the others: by class, by feature, and whether by class only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowArray
from ..exceptions import InvalidProblemError, Note
from .cross_fit import draw_unlabelled
from .fit import Fit
from .shift import Sample, find_shift, kish
from .sparse_rows import is_wide
from .text_table import format_table

#: Of more unlabelled rows a sample is tested, and of more features those with the largest variance.
MOST_ROWS, MOST_TESTED = 20_000, 300
#: Features shown in a table, and named in a sentence.
MOST_SHOWN, MOST_NAMED = 10, 3
#: How often the test may find a difference where there is none.
LEVEL = 0.05


class FeatureBias(NamedTuple):
    """How labelled rows differ from unlabelled ones in a feature, in standard deviations of the latter."""

    name: str
    raw: float  #: as they are
    weighted: float  #: with each class at its known share
    p_value: float = 1.0  #: of the weighted difference in place or spread, corrected for all features


class ClassBias(NamedTuple):
    """A class among the labelled rows, and what is known about the others."""

    name: str
    labelled: int
    share: float  #: of the weight of the labelled rows
    known: float  #: of the weight of the unlabelled ones


@dataclass(frozen=True, repr=False)
class Bias:
    """How the labelled rows differ; ``print`` it for a table.

    Weighted means: every class has its known share. What is then left of a difference is not explained by
    the classes, up to chance.
    """

    classes: tuple[ClassBias, ...]
    features: tuple[FeatureBias, ...] = ()
    effective: float = 0.0  #: Kish's number: so many labels without bias by class tell as much
    p_value: float | None = None  #: of "biased by class only"; None if it cannot be tested
    level: float = LEVEL
    detectable: float = 0.0  #: a difference of so many standard deviations in one feature is found mostly
    why_not: str = ""  #: why it cannot be tested

    @property
    def labelled(self) -> int:
        """How many rows have a label."""
        return sum(one.labelled for one in self.classes)

    @property
    def is_found(self) -> bool:
        """Whether labels are biased by more than class, at the level of the test."""
        return self.p_value is not None and self.p_value < self.level

    @property
    def differing(self) -> tuple[FeatureBias, ...]:
        """The features that differ by themselves, most surely first; there may be none, only all together."""
        found = [one for one in self.features if one.p_value < self.level]
        return tuple(sorted(found, key=lambda one: one.p_value)) if self.is_found else ()

    @property
    def largest(self) -> tuple[FeatureBias, ...]:
        """The features by the larger of their two differences."""
        return tuple(sorted(self.features, key=lambda one: -max(abs(one.raw), abs(one.weighted))))

    def __str__(self) -> str:
        parts = [self.sentence, format_table(self.class_cells())]
        if self.features:
            parts.append(format_table(self.cells()))
            more = len(self.features) - MOST_SHOWN
            parts += [f"and {more} features that differ less"] if more > 0 else []
        return "\n\n".join(parts)

    __repr__ = __str__

    def class_cells(self) -> list[dict[str, str]]:
        """Column names and formatted values, one row per class."""
        return [
            {
                "class": one.name,
                "labelled": str(one.labelled),
                "share of labelled": _per_cent(one.share),
                "known share": _per_cent(one.known),
            }
            for one in self.classes
        ]

    def cells(self, most: int = MOST_SHOWN) -> list[dict[str, str]]:
        """The same for the features that differ most, in standard deviations."""
        return [
            {
                "feature": one.name,
                "labelled − unlabelled": _signed(one.raw),
                "weighted to the totals": _signed(one.weighted),
                "test": "differs" if one in self.differing else "",
            }
            for one in self.largest[:most]
        ]

    # -- in words ------------------------------------------------------------------------------------
    @property
    def sentence(self) -> str:
        """The first thing to say."""
        return f"{self.about_classes} {self.about_features}".strip()

    @property
    def about_classes(self) -> str:
        """How far the labelled rows are from the known shares."""
        if not any(one.known for one in self.classes):
            return ""
        most = max(self.classes, key=lambda one: abs(one.share - one.known))
        shares = (
            f"“{most.name}” is {_per_cent(most.share)} of the labelled rows and {_per_cent(most.known)} of"
        )
        if not self.effective:
            return f"{shares} the others."
        told = f"weighted to the known totals the {self.labelled} labels tell as much as {self.effective:.0f}"
        return f"{shares} the others; {told} would without this bias."

    @property
    def about_features(self) -> str:
        """Whether anything is left once the classes have their known shares."""
        if self.p_value is None:
            return f"Whether labels are biased by class only cannot be tested: {self.why_not}."
        if not self.is_found:
            return (
                "In their features labelled and unlabelled rows then differ no more than by chance (p "
                f"{_p(self.p_value)}), as if labels were biased by class only; a difference of less than "
                f"{self.detectable:.1f} standard deviations in one feature would often go unnoticed."
            )
        return (
            "In their features labelled and unlabelled rows still differ then, by more than chance (p "
            f"{_p(self.p_value)}){self._named()}."
        )

    def _named(self) -> str:
        named = self.differing[:MOST_NAMED]
        if not named:
            return ", a little in many features"
        said = [f"{one.name} ({_signed(one.weighted)} standard deviations)" for one in named]
        more = len(self.differing) - len(named)
        return f", most surely in {', '.join(said)}" + (f" and {more} more" if more else "")

    @property
    def notes(self) -> list[Note]:
        """What it means where labels are biased by more than class."""
        if not self.is_found:
            return []
        means = (
            "labels are biased by more than class, or a total is wrong: the estimate of how many labels are "
            "right is then one for rows like the labelled ones, and numbers by group are the less sure the "
            "fewer labels a group has. What helps is labels of the kinds of rows that are missing"
        )
        return [Note(f"{means}, or a sample_weight that makes up for them", means)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, without NaN, for files."""
        return {
            "classes": [one._asdict() for one in self.classes],
            "features": [one._asdict() for one in self.features],
            "effective": self.effective,
            "p_value": self.p_value,
            "level": self.level,
            "detectable": self.detectable if self.p_value is not None else None,
            "by_class_only": None if self.p_value is None else not self.is_found,
            "why_not": self.why_not or None,
        }


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def _p(value: float) -> str:
    return f"= {value:.2g}" if value >= 0.001 else "below 0.001"


# -- the numbers -------------------------------------------------------------------------------------
def look_at_bias(fit: Fit, names: Sequence[str] | None = None, level: float = LEVEL) -> Bias:
    """How the labelled rows of a fit differ from the unlabelled ones.

    Parameters
    ----------
    fit
        The answer; only its question is looked at.
    names
        Those of the features. Default: those that the rows had, or x0, x1, ...
    level
        How often the test may find a difference where there is none.
    """
    _check_level(level)
    is_labelled = (fit.labels.codes >= 0) & (fit.weight > 0)
    codes, weight = fit.labels.codes[is_labelled], fit.weight[is_labelled]
    totals = fit.class_totals
    known = totals / max(float(totals.sum()), 1e-300)
    classes = _classes(fit, codes, weight, known)
    why_not = _cannot_compare(fit)
    if why_not:
        return Bias(classes, level=float(level), why_not=why_not)
    missing = np.flatnonzero((known > 0) & (np.bincount(codes, minlength=len(known)) == 0))
    balanced = None if len(missing) else _balance(codes, weight, known)
    raw, weighted = _differences(fit, is_labelled, weight, balanced)
    effective = 0.0 if balanced is None else kish(balanced)
    shown = _names(fit, names)
    if balanced is None:
        name = classes[int(missing[0])].name
        why_not = f"the class “{name}” has no labelled row, so nothing can stand for it"
        found = tuple(FeatureBias(*one) for one in zip(shown, raw, raw, strict=True))
        return Bias(classes, found, level=float(level), why_not=why_not)
    p_value, p_features, detectable = _test(fit, is_labelled, codes, known, float(level))
    features = tuple(
        FeatureBias(name, float(a), float(b), float(p))
        for name, a, b, p in zip(shown, raw, weighted, p_features, strict=True)
    )
    return Bias(classes, features, effective, p_value, float(level), detectable)


def _check_level(level: Any) -> None:
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < float(level) < 1:
        raise InvalidProblemError(f"level must be between 0 and 1, got {level!r}")


def _cannot_compare(fit: Fit) -> str:
    if fit.problem.m == 0:
        return "no row is unlabelled"
    if fit.parameters.kernel == "precomputed":
        return "the columns of a kernel matrix are no features"
    return ""


def _names(fit: Fit, names: Sequence[str] | None) -> list[str]:
    known = fit.features if names is None else names
    return [f"x{j}" for j in range(fit.n_features)] if known is None else [str(name) for name in known]


def _classes(fit: Fit, codes: IntArray, weight: FloatArray, known: FloatArray) -> tuple[ClassBias, ...]:
    counts = np.bincount(codes, minlength=len(known))
    mass = np.bincount(codes, weight, len(known)) / weight.sum()
    rows = zip(fit.classes.tolist(), counts.tolist(), mass.tolist(), known.tolist(), strict=True)
    return tuple(ClassBias(str(name), *values) for name, *values in rows)


def _balance(codes: IntArray, weight: FloatArray, known: FloatArray) -> FloatArray:
    """Weights of the labelled rows with which every class has its known share."""
    mass = np.bincount(codes, weight, len(known))
    return np.asarray(weight * (known / np.maximum(mass, 1e-300))[codes])


def _differences(
    fit: Fit, is_labelled: BoolArray, weight: FloatArray, balanced: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Of each feature the difference of the means in standard deviations, as it is and weighted."""
    rows, others = fit.rows[is_labelled], fit.rows[fit.unlabelled]
    centre, deviation = _moments(others, fit.problem.weights)
    constant, unit = deviation <= 1e-12 * (1.0 + np.abs(centre)), deviation.copy()
    if constant.any():  # among the unlabelled rows
        unit[constant] = _moments(fit.rows[is_labelled | fit.unlabelled][:, constant], None)[1]
    unit = np.where(unit > 0, unit, 1.0)
    found = []
    for one in (weight, weight if balanced is None else balanced):
        mean, _ = _moments(rows, one)
        found.append((mean - centre) / unit)
    return found[0], found[1]


def _moments(rows: Any, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Weighted means and standard deviations of columns, dense or sparse."""
    share = np.full(rows.shape[0], 1.0 / rows.shape[0]) if weight is None else weight / weight.sum()
    mean = np.asarray(share @ rows).ravel()
    if is_wide(rows):
        return mean, np.sqrt(np.maximum(np.asarray(share @ rows.power(2)).ravel() - mean**2, 0.0))
    squares = rows - mean
    squares *= squares
    return mean, np.sqrt(share @ squares)


def _test(
    fit: Fit, is_labelled: BoolArray, codes: IntArray, known: FloatArray, level: float
) -> tuple[float, FloatArray, float]:
    """The p-value, that of each feature, and what is detectable, from a sample of large data."""
    unlabelled = np.flatnonzero(fit.unlabelled)
    unlabelled = unlabelled[draw_unlabelled(len(unlabelled), MOST_ROWS, fit.parameters.seed)]
    columns = _tested_columns(fit, unlabelled)
    labelled = np.flatnonzero(is_labelled)
    first = Sample(_dense(fit.rows[labelled][:, columns]), fit.weight[labelled])
    second = Sample(_dense(fit.rows[unlabelled][:, columns]), fit.weight[unlabelled])
    found = find_shift(first, codes, second, known, level)
    p_features = np.ones(fit.n_features)
    p_features[columns] = found.p_features
    return found.p_value, p_features, found.detectable


def _tested_columns(fit: Fit, unlabelled: RowArray) -> RowArray:
    """All, or of many those that vary most among the unlabelled rows, so that no label decides which."""
    if fit.n_features <= MOST_TESTED:
        return np.arange(fit.n_features)
    _, deviation = _moments(fit.rows[unlabelled], fit.weight[unlabelled])
    return np.sort(np.argsort(-deviation, kind="stable")[:MOST_TESTED])


def _dense(rows: Any) -> FloatArray:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=float)
