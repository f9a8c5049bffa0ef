"""How many labels are right: from hidden labels that came back to a share with an interval, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray
from ..exceptions import Note
from .cross_fit import Seen
from .rules import RULES

#: Said wherever the estimate is.
ASSUMPTION = (
    "it is estimated by hiding labels that are known, and holds if labels are biased by class only: "
    "a labelled row of a class is like any other row of that class"
)
#: What one hidden row tells, as a part of what an independent one would: rows hidden together share a fit.
#: Chosen so that intervals cover as often as they say; see ``python -m benchmarks reliable``.
WORTH = 0.7
#: The rule that gives everybody the more frequent class: no answer, but often right.
MAJORITY = "majority"
#: Points of the grid on which the number of errors is weighed; draws, where there are several classes.
GRID, DRAWS = 2000, 4000


class Known(NamedTuple):
    """What is known about the classes: the labelled rows, and the totals of the unlabelled ones."""

    codes: IntArray  #: class of each labelled row
    weight: FloatArray  #: of each labelled row
    totals: FloatArray  #: of each class among the unlabelled rows


@dataclass(frozen=True)
class Estimate:
    """The share of unlabelled rows to which a rule gives their true label."""

    rule: str
    title: str
    share: float
    low: float
    high: float
    recalls: tuple[float, ...]  #: the same within each class
    gain: float = 0.0  #: over the answer's own share, by the rows on which the two differ
    error: float = 0.0  #: the standard error of the gain


@dataclass(frozen=True, repr=False)
class Accuracy:
    """How many labels are right, of the answer and of simpler rules; empty, with the reason, if unknown.

    ``print`` it for a table; ``bool`` of it says whether there is an estimate.
    """

    classes: tuple[str, ...]
    estimates: tuple[Estimate, ...] = ()  #: the answer's own is the first
    ranking: tuple[float, float] | None = None  #: AUC of hidden rows, of two classes, and its standard error
    level: float = 0.9
    n_folds: int = 0
    n_repeats: int = 0
    why_not: str = ""
    instead_of: str = ""  #: the rule that ``method="safe"`` would have taken, had this one not been better

    def __bool__(self) -> bool:
        return bool(self.estimates)

    @property
    def own(self) -> Estimate:
        """That of the answer itself."""
        return self.estimates[0]

    @property
    def better(self) -> Estimate | None:
        """The rule that seems better by most, if any does by more than its standard error."""
        ahead = [one for one in self.estimates[1:] if one.rule != MAJORITY and one.gain > one.error]
        return max(ahead, key=lambda other: other.gain, default=None)

    def __str__(self) -> str:
        if not self:
            return self.sentence
        lines = [self.sentence, ""]
        width = max(len(estimate.title) for estimate in self.estimates)
        for row in self.cells():
            name, *numbers = row.values()
            lines.append("  ".join([name.ljust(width), *numbers]))
        return "\n".join(lines)

    __repr__ = __str__

    def cells(self) -> list[dict[str, str]]:
        """Column names and formatted values, one row per rule."""
        return [
            {
                "rule": one.title,
                "right": per_cent(one.share),
                f"{100 * self.level:g} % interval": _interval(one),
                **{f"of {name}": per_cent(r) for name, r in zip(self.classes, one.recalls, strict=True)},
            }
            for one in self.estimates
        ]

    @property
    def sentence(self) -> str:
        """The first thing to say about an answer."""
        if not self:
            return f"How many labels are right cannot be estimated: {self.why_not}."
        return (
            f"About {per_cent(self.own.share)} of the labels are right ({100 * self.level:g} % interval: "
            f"{_interval(self.own)}); {ASSUMPTION}."
        )

    @property
    def notes(self) -> list[Note]:
        """What to say about the other rules: that one of them seems better, and how to get it."""
        other = self.better
        if self.instead_of and self:
            return [self._choice()]
        if other is None:
            return []
        start = (
            f"{other.title} seems to be right more often, by {100 * other.gain:.0f} points (± "
            f"{100 * other.error:.0f}, the standard error, from the same hidden labels): "
        )
        how = RULES[other.rule].how
        return [Note(f"{start}try {how}", f"{start}try {how.for_command_line()}")]

    def _choice(self) -> Note:
        usual = next(one for one in self.estimates if one.rule == self.instead_of)
        said = (
            f"took {self.own.title} instead of {usual.title}, which seems to be right less often, by "
            f"{-100 * usual.gain:.0f} points (± {100 * usual.error:.0f}, the standard error)"
        )
        return Note(f"method='safe' {said}", f"--method safe {said}")

    def seen_from(self, rule: str) -> Accuracy:
        """The same with another rule as the answer."""
        own = next(one for one in self.estimates if one.rule == rule)
        first = replace(own, gain=0.0, error=0.0)
        rest = [
            replace(one, gain=one.gain - own.gain, error=own.error if one is self.own else one.error)
            for one in self.estimates
            if one is not own
        ]
        return replace(self, estimates=(first, *rest), instead_of=self.own.rule)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, without NaN, for files."""
        if not self:
            return {"estimates": [], "why_not": self.why_not}
        rules = [
            {**asdict(one), "recalls": dict(zip(self.classes, one.recalls, strict=True))}
            for one in self.estimates
        ]
        kept = {name: getattr(self, name) for name in ("level", "n_folds", "n_repeats")}
        auc = None if self.ranking is None else {"auc": self.ranking[0], "error": self.ranking[1]}
        return {
            "estimates": rules,
            **kept,
            "ranking": auc,
            "instead_of": self.instead_of or None,
            "assumption": ASSUMPTION,
        }


def per_cent(share: float) -> str:
    """A share in words."""
    return f"{100 * share:.0f} %"


def _interval(one: Estimate) -> str:
    return f"{100 * one.low:.0f} to {per_cent(one.high)}"


# -- the numbers -------------------------------------------------------------------------------------
def recalls(seen: Seen, known: Known) -> FloatArray:
    """The share of the hidden rows of each class that got their label back; 1 for a class without any."""
    return _class_means(seen.right, known, empty=1.0)


def share_right(found: FloatArray, known: Known, excess: float, level: float) -> tuple[float, float, float]:
    r"""The share of unlabelled rows with the right label, and an interval.

    It is :math:`\sum_c \pi_c r_c` with the known shares π and the recalls r. Of two classes there is more to
    know: an answer that meets the total has as many false positives as false negatives, one with a count of
    ``excess`` too many has that many more. So both recalls tell about the one number of errors, and the class
    with many labels helps the one with few. The estimate is the mean of that number's posterior, from a flat
    prior over all numbers there can be; the interval its quantiles.

    Parameters
    ----------
    found
        The recall of each class.
    known
        The labelled rows and the totals.
    excess
        By how much the answer's count of the second class is above its total; of two classes.
    level
        How often the interval is to hold the truth.
    """
    whole, size = float(known.totals.sum()), WORTH * _effective_sizes(known)
    tail = 0.5 * (1.0 - level)
    if len(known.totals) > 2:
        shares = known.totals / whole
        rng = np.random.default_rng(0)
        drawn = rng.beta(size * found + 0.5, size * (1.0 - found) + 0.5, (DRAWS, len(shares))) @ shares
        share = float(shares @ found)
        low, high = np.quantile(drawn, [tail, 1.0 - tail])
        return share, min(float(low), share), max(float(high), share)
    first, second = known.totals  # rows of the second class taken for the first are the misses
    least, most = max(0.0, -excess), max(0.0, -excess, min(second, first - excess))
    missed = least + (np.arange(GRID) + 0.5) / GRID * (most - least)
    rates = np.array([(missed + excess) / max(first, 1e-300), missed / max(second, 1e-300)])
    rates = rates.clip(1e-12, 1.0 - 1e-12)
    told = np.where(known.totals > 0, size, 0.0)  # a class that no unlabelled row has says nothing
    log_weight = (told * (1.0 - found)) @ np.log(rates) + (told * found) @ np.log1p(-rates)
    weight = np.exp(log_weight - log_weight.max())
    cumulated = np.cumsum(weight) / weight.sum()
    right = 1.0 - (2.0 * missed + excess) / whole
    share = float(weight @ right / weight.sum())
    high, low = right[np.searchsorted(cumulated, [tail, 1.0 - tail]).clip(0, GRID - 1)]
    if np.all(found[told > 0] == 1.0):  # no error was seen: there may be none
        high = 1.0 - (2.0 * least + excess) / whole
    return share, min(float(low), share), max(float(high), share)


def gain(ours: Seen, other: Seen, known: Known, excess: tuple[float, float]) -> tuple[float, float]:
    """How much larger the other rule's share is, from the same hidden rows, and the standard error.

    Of two classes both tell about the same number of errors, as in :func:`share_right`. With n labelled rows
    of a class of share π, errors among the hidden rows are expected in proportion to n / π, so every row on
    which the rules differ counts the same. ``excess`` is that of ours and of the other.
    """
    difference = other.right - ours.right
    shares, size = known.totals / known.totals.sum(), _effective_sizes(known)
    mean, square = (_class_means(values, known) for values in (difference, difference**2))
    if len(shares) > 2:
        variance = (size * square + 0.5) / (size + 1.0) / np.maximum(WORTH * size, 1e-12)
        return float(shares @ mean), float(np.sqrt(shares**2 @ variance))
    told = size / np.maximum(shares, 1e-12) * (shares > 0)
    more = (excess[1] - excess[0]) / float(known.totals.sum())
    ahead = (2.0 * size @ mean + more * (told[0] - told[1])) / told.sum()
    # rows that agree say little about rows that do not: one more of either kind is always possible
    return float(ahead), float(2.0 * np.sqrt((size @ square + 1.0) / WORTH) / told.sum())


def ranking(seen: Seen, known: Known) -> tuple[float, float]:
    """How often a hidden row of one of two classes scores above one of the other (AUC), and its error.

    Rows of different folds have scores of different planes, so they are compared by the share of unlabelled
    rows below them. The standard error is that of Hanley and McNeil (1982).
    """
    up, down = seen.above[known.codes == 1], 1.0 - seen.above[known.codes == 0]
    weights = known.weight[known.codes == 1], known.weight[known.codes == 0]
    wins = (up[:, None] > down) + 0.5 * (up[:, None] == down)
    auc = float(weights[0] @ wins @ weights[1] / (weights[0].sum() * weights[1].sum()))
    second, first = _effective_sizes(known)[::-1]
    a = min(max(auc, 1.0 - auc), 1.0 - 0.5 / (first * second))  # an error of 0 is none
    q1, q2 = a / (2.0 - a), 2.0 * a * a / (1.0 + a)
    variance = (a * (1 - a) + (second - 1) * (q1 - a * a) + (first - 1) * (q2 - a * a)) / (first * second)
    return auc, float(np.sqrt(max(variance, 0.0)))


def _class_means(values: FloatArray, known: Known, empty: float = 0.0) -> FloatArray:
    sums = np.bincount(known.codes, known.weight * values, len(known.totals))
    mass = np.bincount(known.codes, known.weight, len(known.totals))
    return np.where(mass > 0, sums / np.maximum(mass, 1e-300), empty)


def _effective_sizes(known: Known) -> FloatArray:
    """The number of labelled rows of each class; of uneven weights, how many even ones tell as much."""
    mass = np.bincount(known.codes, known.weight, len(known.totals))
    squares = np.bincount(known.codes, known.weight**2, len(known.totals))
    return np.asarray(mass**2 / np.maximum(squares, 1e-300))


def too_few(known: Known, classes: Sequence[str]) -> str:
    """Why nothing can be hidden; empty if it can."""
    if known.totals.sum() == 0:
        return "no row is unlabelled"
    counts = np.bincount(known.codes, minlength=len(known.totals))
    for c in np.flatnonzero((counts < 2) & (known.totals > 0)).tolist():
        number = "one labelled row" if counts[c] else "no labelled row"
        return (
            f"the class “{classes[c]}” has {number}, and at least two are needed, one to hide and one to "
            "learn from"
        )
    return ""
