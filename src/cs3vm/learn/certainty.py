"""Which labels can be relied on: certain ones by proof, stable ones by drawing labels again.

The two say different things. *Certain* is a theorem about the optimisation: the label is the same in every
answer that is nearly as good. *Stable* is an experiment: with other labels that might have been given, the
row mostly keeps its own. Neither says that a label is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from .._typing import BoolArray, FloatArray, IntArray, LabelArray
from ..exceptions import InvalidProblemError, Note
from ..methods.certain import MOST_ROWS, SHARE, WORK, CertainSides, certain_sides
from ..model.ranks import highest
from .baselines import BASELINES
from .fit import Fit
from .replicates import Replicate, replicates

#: What is said about a row: three values for unlabelled ones, and a fourth for labels that were given.
CERTAIN, CHANGES, UNKNOWN, GIVEN = "certain", "changes", "not known", "given"
#: How often labels are drawn again by default.
RESAMPLES = 20
#: A label is called stable if it stays in this share of the draws.
STABLE = 0.95
#: Of the intervals of weights.
LEVEL = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Certainty:
    """What can be relied on; ``print`` it for a sentence of each kind."""

    rows: LabelArray  #: one of the four words for every row
    stability: FloatArray  #: the share of draws in which the row keeps its label; NaN without draws
    share: float
    n_resamples: int
    weights: tuple[FloatArray, FloatArray] | None = None  #: intervals of the planes' weights, low and high
    why_not: str = ""  #: why nothing is proven
    certified: int = 0  #: rows whose certainty the file proves that was asked for

    def count(self, word: str) -> int:
        """How many rows a word is said about."""
        return int(np.sum(self.rows == word))

    @property
    def unlabelled(self) -> BoolArray:
        """The rows without a given label."""
        return np.asarray(self.rows != GIVEN)

    @property
    def stable(self) -> int:
        """How many unlabelled rows keep their label in nearly all draws."""
        return int(np.sum(self.unlabelled & (self.stability >= STABLE)))

    def __str__(self) -> str:
        return f"{self.proven}\n{self.resampled}".strip()

    __repr__ = __str__

    @property
    def proven(self) -> str:
        """What is certain, in a sentence."""
        if self.why_not:
            return f"No label is proven to be certain: {self.why_not}."
        number = int(self.unlabelled.sum())
        share = f"{100 * self.count(CERTAIN) / max(number, 1):.0f} %"
        return (
            f"Proven: {self.count(CERTAIN)} of {number} labels ({share}) are certain, the same in every "
            f"answer whose objective is within {100 * self.share:g} % of this one’s; {self.count(CHANGES)} "
            f"change in some such answer; of {self.count(UNKNOWN)} neither is known."
        )

    @property
    def resampled(self) -> str:
        """What is stable, in a sentence; empty without draws."""
        if self.n_resamples == 0:
            return ""
        number = int(self.unlabelled.sum())
        share = f"{100 * self.stable / max(number, 1):.0f} %"
        return (
            f"Not proven, but tried: {self.stable} labels ({share}) are stable, the same in at least "
            f"{100 * STABLE:.0f} % of {self.n_resamples} fits with the labelled rows drawn again."
        )

    @property
    def notes(self) -> list[Note]:
        """There is nothing to warn of."""
        return []

    def as_dict(self) -> dict[str, Any]:
        """Plain values for files."""
        words = {word: self.count(word) for word in (CERTAIN, CHANGES, UNKNOWN)}
        stable = self.stable if self.n_resamples else None
        return {
            **words,
            "share": self.share,
            "why_not": self.why_not or None,
            "stable": stable,
            "n_resamples": self.n_resamples,
        }


def look_for_certainty(
    fit: Fit,
    share: float = SHARE,
    n_resamples: int = RESAMPLES,
    *,
    work_limit: float = WORK,
    proof: str | Path | None = None,
) -> Certainty:
    """Find out which labels of a fit are certain, and which are stable; done once unless a proof is written.

    Parameters
    ----------
    fit
        The answer.
    share
        How far above its objective other answers are looked at.
    n_resamples
        How often labels are drawn again; 0 leaves it out.
    work_limit
        Of the proof: stop after so many numbers touched.
    proof
        A file for :func:`cs3vm.verify`; see :func:`cs3vm.methods.certain.certain_sides`.
    """
    _check_number(n_resamples)
    key = (share, n_resamples, work_limit)
    if proof is not None or key not in fit.certified:
        fit.certified[key] = _look(fit, share, int(n_resamples), work_limit, proof)
    found: Certainty = fit.certified[key]
    return found


def _check_number(n_resamples: Any) -> None:
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, Integral) or n_resamples < 0:
        raise InvalidProblemError(f"n_resamples must be an integer of at least 0, got {n_resamples!r}")


def _look(fit: Fit, share: float, n_resamples: int, work_limit: float, proof: str | Path | None) -> Certainty:
    unlabelled = fit.unlabelled
    rows = np.where(fit.labels.codes < 0, UNKNOWN, GIVEN).astype(object)
    why_not, certified = _cannot_prove(fit), 0
    if not why_not:
        note = "" if fit.kernel_map is None else str(fit.kernel_map)
        sides = certain_sides(fit.results[0], share, work_limit=work_limit, proof=proof, note=note)
        rows[unlabelled] = _words(fit, sides)
        certified = sides.certified
    drawn = replicates(fit, n_resamples) if unlabelled.any() else []
    stability = np.where(fit.labels.codes < 0, np.nan, 1.0)
    if drawn:
        stability[unlabelled] = np.mean([labels_of(fit, one) == fit.answer for one in drawn], axis=0)
    weights = _intervals(fit, drawn)
    return Certainty(rows, stability, share, len(drawn), weights, why_not, certified)


def _cannot_prove(fit: Fit) -> str:
    if fit.problem.m == 0:
        return "no row is unlabelled"
    if fit.is_several:
        return "with several classes no plane decides a label by itself"
    if fit.method in BASELINES:
        return "the rule does not search for the best answer"
    if fit.problem.norm != "l2":
        return "there is a proof for the 2-norm only"
    if fit.problem.m > MOST_ROWS:
        return f"there are more than {MOST_ROWS} unlabelled rows, too many to look at each"
    return ""


def _words(fit: Fit, sides: CertainSides) -> LabelArray:
    """What is said about each unlabelled row that counts; a label that was drawn is not certain."""
    words = np.full(fit.problem.m, UNKNOWN, dtype=object)
    words[sides.certain] = CERTAIN
    words[sides.changes | fit.undecided[fit.unlabelled]] = CHANGES
    return words


# -- labels drawn again ------------------------------------------------------------------------------
def labels_of(fit: Fit, one: Replicate) -> IntArray:
    """The labels that the planes of a replicate give to the unlabelled rows; they meet the totals."""
    scores = one.scores(fit.problem.U)
    if fit.is_several:
        from .assignment import assign  # loads numba

        return assign(scores, np.round(fit.totals)).labels
    own = int(fit.labels.positive or 0)
    if fit.method == "svm":  # it knows no total
        positive = scores[:, 0] > 0
    else:
        positive = highest(scores[:, 0], fit.problem.weights, float(fit.totals[0]))
    return np.where(positive, own, 1 - own)


def _intervals(fit: Fit, drawn: list[Replicate]) -> tuple[FloatArray, FloatArray] | None:
    """Of the weights in the units of the user: how far those of the draws are from them.

    Planes are compared at the same length: how steep one is says how near labels lie, not what counts.
    """
    if fit.kernel_map is not None or len(drawn) < 2:
        return None
    own, length = fit.planes.coef, [float(np.linalg.norm(np.asarray(r.coef))) for r in fit.results]
    others = np.array([fit.in_units(_as_long(one.normals, length), one.intercepts).coef for one in drawn])
    error = np.sqrt(np.mean((others - own) ** 2, axis=0))
    wide = student_t.ppf(0.5 + 0.5 * LEVEL, len(drawn) - 1) * error
    return own - wide, own + wide


def _as_long(normals: FloatArray, length: Any) -> FloatArray:
    own = np.linalg.norm(normals, axis=1)
    return np.asarray(normals * np.where(own > 0, length / np.maximum(own, 1e-300), 0.0)[:, None])
