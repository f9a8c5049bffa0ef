"""Numbers by group from the probabilities of a fit, and how far off they may be.

The estimate is the sum of the probabilities in the group. Its error has two parts: with other labels the
planes and the slope of the probabilities would be others, and rows are of a class or are not, whatever their
probability. What no feature tells about a group is in neither part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student_t

from .._typing import FloatArray, IntArray, RowArray
from ..exceptions import InvalidProblemError, Note
from .calibrating import class_scores, estimate_probabilities, shifted_probabilities
from .fit import Fit
from .group_totals import LEVEL, GroupRow, GroupTotals
from .probabilities import Slope
from .replicates import replicate_scores
from .row_probabilities import members_of
from .unlabelled import is_missing

#: The default number of replicates behind an interval: enough for a standard error.
REPLICATES = 50
#: Of more groups than the first a table shows so many of the largest, and of those with the widest intervals.
MOST_GROUPS, LARGEST, WIDEST = 200, 20, 10
#: What rows without a group are called.
MISSING = "(missing)"


class Grouped(NamedTuple):
    """The unlabelled rows by group, and estimates for groups (rows) and classes (columns)."""

    codes: IntArray  #: group of each unlabelled row that counts
    weight: FloatArray  #: of each group
    number: FloatArray
    drawn: FloatArray  #: the same in each replicate, along the first axis
    chance: FloatArray  #: the variance of the true number around its mean, if probabilities are right
    by_labels: FloatArray


def totals_by(
    fit: Fit, groups: Any, *, level: float = LEVEL, n_replicates: int = REPLICATES, hide: bool = True
) -> GroupTotals:
    """Estimate the number of each class, of two that of the positive one, in each group.

    Parameters
    ----------
    fit
        The answer.
    groups
        One value per row of the fit, labelled or not. Missing values are a group of their own.
    level
        How often the interval is to hold the truth.
    n_replicates
        How often labels are drawn again; 0 leaves intervals out.
    hide
        As for :func:`cs3vm.learn.calibrating.estimate_probabilities`.
    """
    _check(level, n_replicates)
    names, codes = read_groups(groups, len(fit.labels.codes))
    probable = estimate_probabilities(fit, hide=hide)
    found = _estimate(
        fit, codes[fit.unlabelled], len(names), probable.unlabelled, probable.slope, n_replicates
    )
    labelled = _labelled(fit, codes, len(names))
    everywhere = np.arange(len(names))
    rows = [_rows(fit, names[g], found, labelled, np.array([g]), level) for g in everywhere]
    shown, rest = _shown(found)
    table = [row for g in shown for row in rows[g]]
    if len(rest):
        table += _rows(fit, f"the other {len(rest)} groups", found, labelled, rest, level)
    flat = tuple(row for part in rows for row in part)
    return GroupTotals(
        flat,
        tuple(table),
        level,
        n_replicates,
        fit.is_several,
        tuple(_notes(fit, codes, names, found, probable.notes)),
    )


def _check(level: float, n_replicates: int) -> None:
    if not 0.0 < level < 1.0:
        raise InvalidProblemError(f"level must be between 0 and 1, got {level!r}")
    if n_replicates < 0 or n_replicates == 1:
        raise InvalidProblemError(f"n_replicates must be 0 or at least 2, got {n_replicates!r}")


def read_groups(groups: Any, n_rows: int) -> tuple[list[Any], IntArray]:
    """The groups, sorted, and the number of each row's; a missing value is a group, the last."""
    values = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if len(values) != n_rows:
        raise InvalidProblemError(
            f"groups has {len(values)} values, but the fit has {n_rows} rows: give one per row of fit, "
            "labelled or not"
        )
    if values and isinstance(values[0], list):
        raise InvalidProblemError("groups has several columns: give one value per row, such as one column")
    lacking = [is_missing(value) for value in values]
    known = {value for value, lacks in zip(values, lacking, strict=True) if not lacks}
    try:
        names = sorted(known)
    except TypeError:  # numbers and text
        names = sorted(known, key=lambda value: (str(type(value)), str(value)))
    number = {name: g for g, name in enumerate(names)}
    codes = [len(names) if lacks else number[value] for value, lacks in zip(values, lacking, strict=True)]
    return [*names, MISSING] if any(lacking) else names, np.array(codes, dtype=np.int64)


def _classes(fit: Fit) -> list[int]:
    """Those that are counted: of two classes the positive one says all."""
    return list(fit.labels.plane_classes)


def _sums(fit: Fit, codes: IntArray, n_groups: int, values: FloatArray) -> FloatArray:
    """The weighted sums by group of values of the unlabelled rows, a column per class."""
    weights = fit.problem.weights
    columns = [np.bincount(codes, weights * values[:, c], n_groups) for c in _classes(fit)]
    return np.column_stack(columns)


def _estimate(
    fit: Fit, codes: IntArray, n_groups: int, p: FloatArray, slope: Slope, n_replicates: int
) -> Grouped:
    weights = fit.problem.weights
    drawn = [_sums(fit, codes, n_groups, again) for again in _replicates(fit, slope, n_replicates)]
    number = _sums(fit, codes, n_groups, p)
    hard = np.eye(len(fit.classes))[fit.answer]
    by_labels = _sums(fit, codes, n_groups, hard)
    weight = np.bincount(codes, weights, n_groups).astype(float)
    chance = np.column_stack([_chance(fit, codes, n_groups, p[:, c]) for c in _classes(fit)])
    return Grouped(codes, weight, number, np.array(drawn).reshape(-1, *number.shape), chance, by_labels)


def _chance(fit: Fit, codes: IntArray, n_groups: int, p: FloatArray) -> FloatArray:
    """The variance of each group's number if every row is drawn with its probability, given the totals.

    The totals are known, so groups cannot all be above their mean: what they explain is taken off, as in a
    regression. A group whose total is known has none left.
    """
    varied = fit.problem.weights**2 * p * (1.0 - p)
    own = np.bincount(codes, varied, n_groups)
    totals = fit.problem.totals
    exact = np.flatnonzero(totals.low == totals.high)
    known = [np.arange(len(p))] if fit.is_several else [totals.rows[g] for g in exact]
    if not known:
        return np.asarray(own)
    members = members_of(known, len(p))
    shared = np.array([np.bincount(codes[rows], varied[rows], n_groups) for rows in known])
    common = (members.multiply(varied[None, :]) @ members.T).toarray()
    explained = np.einsum("tg,tg->g", shared, np.linalg.pinv(common) @ shared)
    return np.asarray(np.maximum(own - explained, 0.0))


def _replicates(fit: Fit, slope: Slope, n_replicates: int) -> Any:
    """Probabilities of the unlabelled rows with other labels, and with slopes that are as likely."""
    rng = np.random.default_rng(fit.parameters.seed)
    for scores in replicate_scores(fit, n_replicates):
        steep = slope.value * float(np.exp(slope.error * rng.standard_normal()))
        yield shifted_probabilities(fit, class_scores(fit, scores), steep)


def _labelled(fit: Fit, codes: IntArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
    """The weight of labelled rows by group, and that of each class among them."""
    given = fit.labels.codes
    rows = np.flatnonzero(given >= 0)
    whole = np.bincount(codes[rows], fit.weight[rows], n_groups).astype(float)
    own = [np.bincount(codes[rows], fit.weight[rows] * (given[rows] == c), n_groups) for c in _classes(fit)]
    return whole, np.column_stack(own)


def _errors(found: Grouped, which: RowArray) -> FloatArray:
    """The standard error of the number of each class in these groups together."""
    if not len(found.drawn):
        return np.zeros(found.number.shape[1])
    off = found.drawn[:, which].sum(axis=1) - found.number[which].sum(axis=0)
    return np.asarray(np.sqrt(np.mean(off**2, axis=0) + found.chance[which].sum(axis=0)))


def _rows(
    fit: Fit,
    name: Any,
    found: Grouped,
    labelled: tuple[FloatArray, FloatArray],
    which: RowArray,
    level: float,
) -> list[GroupRow]:
    """The rows of a group, or of several together: one for each class that is counted."""
    weight = float(found.weight[which].sum())
    number, by_labels = (values[which].sum(axis=0) for values in (found.number, found.by_labels))
    wide = student_t.ppf(0.5 + 0.5 * level, max(len(found.drawn) - 1, 1)) * _errors(found, which)
    own = labelled[1][which].sum(axis=0)
    return [
        GroupRow(
            group=name,
            label=label,
            weight=weight,
            number=float(number[i]),
            low=max(0.0, float(number[i] - wide[i])),
            high=min(weight, float(number[i] + wide[i])),
            by_labels=float(by_labels[i]),
            labelled=float(labelled[0][which].sum()),
            labelled_number=float(own[i]),
        )
        for i, label in enumerate(fit.plane_labels)
    ]


def _shown(found: Grouped) -> tuple[RowArray, RowArray]:
    """The groups that a table shows, in their order, and those that it sums up."""
    everything = np.arange(len(found.weight))
    if len(everything) <= MOST_GROUPS:
        return everything, everything[:0]
    errors = np.array([_errors(found, np.array([g])).max() for g in everything])
    largest = np.argsort(-found.weight, kind="stable")[:LARGEST]
    others = np.setdiff1d(everything, largest)
    widest = others[np.argsort(-errors[others], kind="stable")[:WIDEST]]
    shown = np.sort(np.append(largest, widest))
    return shown, np.setdiff1d(everything, shown)


def _notes(fit: Fit, codes: IntArray, names: list[Any], found: Grouped, about: list[Note]) -> list[Note]:
    notes = list(about)
    if names and names[-1] is MISSING:
        number = int(np.sum(codes == len(names) - 1))
        notes.append(Note(f"{number} rows have no group: they are counted as {MISSING}"))
    empty = int(np.sum(found.weight == 0))
    if empty:
        notes.append(Note(f"{empty} groups have no unlabelled row: nothing is estimated there"))
    if len(names) > MOST_GROUPS:
        notes.append(
            Note(
                f"of {len(names)} groups the table shows the {LARGEST} largest, the {WIDEST} others with the "
                "widest intervals, and the rest summed up"
            )
        )
    return notes
