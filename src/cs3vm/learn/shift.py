r"""A test of "biased by class only": weighted to the known totals, are labelled rows like unlabelled ones?

If a labelled row of a class is like any other row of it, the mean of any function of the features over the
unlabelled rows is expected to be :math:`\sum_c \pi_c \bar x_c`, with the known shares π of the classes and
the means of the labelled rows of each. For a simple random sample within each class the difference
:math:`D = \sum_c \pi_c \bar x_c - \bar u` has the variance
:math:`V = \sum_c \pi_c^2 S_c (1/n_c + 1/m_c)`: of n labelled and m unlabelled rows of a class, whichever the
latter are. Nobody's class has to be guessed.

The functions are the rank of each feature, which no outlier moves, and how far the rank is from the middle,
so that spread is compared, too. Two statistics share the level: each difference by its own t test, with
Bonferroni's correction (one feature differs much), and the sum of all squares by the F approximation of
Brunner, Dette and Munk (1997), which needs no inverse, so that there may be more features than labels (many
differ a little). The t tests take no feature to vary less within a class than it does everywhere: of a value
that few rows have, the labelled rows of a class often have none, and would seem not to vary at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import norm, rankdata
from scipy.stats import t as t_distribution

from .._typing import FloatArray, IntArray, RowArray

#: So many imagined rows with the covariance of all rows stand beside those of each class: a value
#: that no labelled row of a class has may still occur in it.
PRIOR_ROWS = 3.0
#: How often a difference is found that is called detectable.
POWER = 0.8


class Sample(NamedTuple):
    """Rows with weights."""

    rows: FloatArray
    weight: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The weighted mean."""
        return np.asarray(self.weight @ self.rows / self.weight.sum())

    @property
    def covariance(self) -> FloatArray:
        """The weighted covariance, without bias for even weights; 0 for a single row."""
        centred = self.rows - self.mean
        share = self.weight / self.weight.sum()
        spare = max(1.0 - float(share @ share), 1e-12)
        return np.asarray((centred * share[:, None]).T @ centred / spare)

    @property
    def size(self) -> float:
        """Kish's effective number of rows."""
        return kish(self.weight)


class Shift(NamedTuple):
    """What the test says."""

    p_value: float  #: of both statistics together
    p_features: FloatArray  #: of each feature by itself, corrected for their number
    detectable: float  #: a difference of so many standard deviations in one feature is found 4 times of 5


def kish(weight: FloatArray) -> float:
    """How many even weights tell as much as these."""
    squares = float(weight @ weight)
    return float(weight.sum()) ** 2 / squares if squares else 0.0


def find_shift(
    labelled: Sample, codes: IntArray, unlabelled: Sample, shares: FloatArray, level: float
) -> Shift:
    """Compare labelled rows, each class at its known share, with unlabelled ones.

    Parameters
    ----------
    labelled
        Rows of every class whose share is above 0.
    codes
        Their classes.
    unlabelled
        The other rows.
    shares
        That of each class among the unlabelled rows; they add up to 1.
    level
        How often the test may find a difference where there is none; for what is detectable.
    """
    d = labelled.rows.shape[1]
    both, column = _functions(np.vstack([labelled.rows, unlabelled.rows]), len(labelled.rows), unlabelled)
    rows, others = both[: len(labelled.rows)], Sample(both[len(labelled.rows) :], unlabelled.weight)
    if both.shape[1] == 0:
        return Shift(1.0, np.ones(d), 0.0)
    everywhere = Sample(both, np.append(labelled.weight, unlabelled.weight)).covariance
    mean, parts, least, spare = np.zeros(both.shape[1]), [], [], []
    for c in np.flatnonzero(shares > 0).tolist():
        own = Sample(rows[codes == c], labelled.weight[codes == c])
        mean += shares[c] * own.mean
        known, size = own.size - 1.0, own.size
        spread = (known * own.covariance + PRIOR_ROWS * everywhere) / (known + PRIOR_ROWS)
        scale = shares[c] ** 2 * (1.0 / size + 1.0 / max(shares[c] * others.size, 1e-12))
        parts.append(scale * spread)
        least.append(scale * np.diag(everywhere))
        spare.append(known + PRIOR_ROWS)
    difference = mean - others.mean
    p_joint = _joint(difference, parts, spare)
    p_each, factor = _each(difference, parts, least, spare, level / 2.0)
    p_each = np.minimum(1.0, 2.0 * p_each)
    p_features = np.ones(d)
    np.minimum.at(p_features, column, p_each)
    ranks = np.arange(len(column)) == np.searchsorted(column, column)  # the first function of each feature
    detectable = float(np.median(factor[ranks]))
    return Shift(min(1.0, 2.0 * p_joint, float(p_each.min())), p_features, detectable)


def _functions(rows: FloatArray, n: int, unlabelled: Sample) -> tuple[FloatArray, RowArray]:
    """Ranks and their distances from the middle, at variance 1 among the unlabelled rows, and whose they are.

    A feature with two values has no spread of its own.
    """
    ranks = rankdata(rows, axis=0) / len(rows) - 0.5
    number = np.array([len(np.unique(column)) for column in rows.T], dtype=int)
    middle = ranks**2
    found = np.concatenate([ranks[:, number > 1], middle[:, number > 2]], axis=1)
    column = np.append(np.flatnonzero(number > 1), np.flatnonzero(number > 2))
    order = np.argsort(column, kind="stable")
    found, column = found[:, order], column[order]
    below = Sample(found[n:], unlabelled.weight)
    deviation = np.sqrt(np.maximum(below.weight @ (below.rows - below.mean) ** 2 / below.weight.sum(), 0.0))
    whole = found.std(axis=0)
    unit = np.where(deviation > 1e-9, deviation, whole)  # constant among the unlabelled rows
    used = unit > 1e-9
    return found[:, used] / unit[used], column[used]


def _joint(difference: FloatArray, parts: list[FloatArray], spare: list[float]) -> float:
    """The sum of squares: F with the degrees of freedom of Brunner, Dette and Munk."""
    V = np.sum(parts, axis=0)
    trace = float(np.trace(V))
    if trace <= 0:
        return 1.0
    first = trace**2 / float(np.sum(V * V))
    second = trace**2 / sum(
        float(np.trace(part)) ** 2 / free for part, free in zip(parts, spare, strict=True)
    )
    return float(f_distribution.sf(float(difference @ difference) / trace, first, second))


def _each(
    difference: FloatArray,
    parts: list[FloatArray],
    least: list[FloatArray],
    spare: list[float],
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """For each function the p-value of its t test times their number, and the difference that is found."""
    variances = np.maximum(np.array([np.diag(part) for part in parts]), least)
    variance = np.maximum(variances.sum(axis=0), 1e-300)
    free = variance**2 / np.maximum(np.sum(variances**2 / np.array(spare)[:, None], axis=0), 1e-300)
    error, number = np.sqrt(variance), len(difference)
    p = np.minimum(1.0, 2.0 * number * t_distribution.sf(np.abs(difference) / error, free))
    found = (t_distribution.isf(level / (2.0 * number), free) + norm.ppf(POWER)) * error
    return p, found
