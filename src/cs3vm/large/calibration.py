"""Probabilities of rows in pieces: as steep as hidden labels say, shifted until they add up to the totals.

How steep they are is learnt in memory, from the labelled rows and the sample. The shifts begin with those
that the sample asks for; passes over all rows add up the probabilities exactly, and Newton's method corrects
the shifts until every total is met. See :mod:`cs3vm.learn.shifting`. The rule for new rows, which knows no
groups, adds up to the same number of positives over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from .._typing import FloatArray
from ..learn.calibrating import estimate_probabilities
from ..learn.fit import Fit
from ..learn.row_probabilities import members_of
from ..learn.shifting import NEVER, shift_to_totals
from .exact_sums import ExactSums
from .labeller import Labeller
from .pieces import Piece
from .rounds import Passes
from .selection import Counts

#: Passes at most; two are usual.
MOST_PASSES = 5
#: A total is met if it is missed by no more than this part of the weight that it counts.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The probability of each class of the rows of a piece; picklable."""

    labeller: Labeller
    slope: float  #: of the scores of the plane
    shifts: FloatArray  #: of each cell
    elsewhere: float  #: the shift of rows that do not count, and of new ones
    total: float = np.nan  #: what they add up to over all unlabelled rows

    def __call__(self, piece: Piece) -> FloatArray:
        """A column per class; a label that was given is certain."""
        cell, _ = self.labeller.reader(piece)
        p = self.of_positive(self.labeller.plane.distances(piece)[0], cell)
        own = self.labeller.positive
        both = np.column_stack([p, 1.0 - p] if own == 0 else [1.0 - p, p])
        given, codes = self.labeller.given(piece)
        both[given] = np.eye(2)[codes]
        return both

    def of_positive(self, scores: FloatArray, cell: np.ndarray) -> FloatArray:
        """The probability of the positive class, by score and cell."""
        shift = np.where(cell >= 0, np.append(self.shifts, self.elsewhere)[cell], self.elsewhere)
        return np.asarray(expit(self.slope * scores + shift))


@dataclass(frozen=True, eq=False)
class Adder:
    """Adds up the probabilities of one piece, and their variances, by cell."""

    calibrated: Calibrated

    def __call__(self, piece: Piece) -> ExactSums:
        """What the piece has."""
        labeller = self.calibrated.labeller
        cell, weight = labeller.reader(piece)
        p = self.calibrated.of_positive(labeller.plane.distances(piece)[0], cell)
        sums = ExactSums(len(labeller.reader.cells), 2)
        sums.add(np.column_stack([weight * p, weight * p * (1.0 - p)]), cell)
        return sums

    @staticmethod
    def combine(one: ExactSums, other: ExactSums) -> ExactSums:
        """Both."""
        one += other
        return one


def calibrate(
    passes: Passes, labeller: Labeller, local: Fit, known: Counts, whole: FloatArray, *, hide: bool = True
) -> Calibrated:
    """The probabilities that add up to every total over all rows.

    Parameters
    ----------
    passes
        Over the rows of the fit.
    local
        The fit in memory.
    known
        The totals, by cell.
    whole
        The weight of each cell.
    hide
        Whether labels may be hidden to learn how steep probabilities are.
    """
    found = estimate_probabilities(local, hide=hide)
    sign = -1.0 if labeller.positive == 0 else 1.0
    slope = 2.0 * found.own.slope  # the scores of the two classes differ by twice that of the plane
    elsewhere = sign * float(found.own.shifts[1] - found.own.shifts[0])
    problem, totals = local.problem, local.problem.totals
    scores = problem.scores(np.asarray(local.results[0].coef), local.results[0].intercept)
    members = members_of(totals.rows, problem.m)
    shifts = shift_to_totals(slope * scores, problem.weights, members, totals.low, totals.high).shifts
    membership = known.members
    fixed = _settled(membership, whole, known)
    for _ in range(MOST_PASSES):
        by_cell = np.where(fixed != 0.0, fixed, membership.T @ shifts)
        by_cell[membership.sum(axis=0) == 0] = elsewhere
        calibrated = Calibrated(labeller, slope, by_cell, elsewhere)
        adder = Adder(calibrated)
        sums = passes.run("probabilities", adder, adder.combine).values()
        counts = membership @ sums[:, 0]
        low, high = known.low, known.high
        wanted = np.where(shifts > 0.0, low, np.where(shifts < 0.0, high, np.clip(counts, low, high)))
        wanted = np.where(low < high, wanted, low)
        missed = wanted - counts
        weight = membership @ whole
        moving = np.flatnonzero(np.abs(missed) > TOLERANCE * weight)
        if len(moving) == 0:
            break
        curvature = (membership * np.where(fixed != 0.0, 0.0, sums[:, 1])) @ membership.T
        block = curvature[np.ix_(moving, moving)] + np.diag(1e-12 * weight[moving] + 1e-300)
        shifts[moving] += np.linalg.solve(block, missed[moving])
    return replace(calibrated, total=float(sums[:, 0].sum()))


def for_new_rows(passes: Passes, calibrated: Calibrated, local: Fit, *, hide: bool = True) -> Calibrated:
    """The same with a shift for new rows that adds up over all rows, too; the local fit gets it as well.

    Where a student predicts new rows, whose scores are others, the local fit keeps what adds up over its own.
    """
    labeller, slope = calibrated.labeller, calibrated.slope
    shift = float(calibrated.shifts[0])
    if len(calibrated.shifts) > 1:
        shift = calibrated.elsewhere
        for _ in range(MOST_PASSES):
            adder = Adder(Calibrated(labeller, slope, np.full(len(calibrated.shifts), shift), shift))
            count, variance = passes.run("probabilities", adder, adder.combine).values().sum(axis=0)
            missed = calibrated.total - float(count)
            if abs(missed) <= TOLERANCE * max(calibrated.total, 1.0) or variance <= 0.0:
                break
            shift += missed / float(variance)
    found = estimate_probabilities(local, hide=hide)
    sign = -1.0 if labeller.positive == 0 else 1.0
    own = found.own._replace(shifts=np.array([0.0, sign * shift]))
    local.probable[hide] = replace(found, own=own, rule=found.rule if local.has_student else own)
    return replace(calibrated, elsewhere=shift)


def _settled(membership: FloatArray, whole: FloatArray, known: Counts) -> FloatArray:
    """A shift that leaves no doubt for cells whose total leaves no choice; 0 for the others."""
    weight = membership @ whole
    none, every = known.high <= 1e-9 * weight, known.low >= weight * (1.0 - 1e-9)
    nobody = membership[none].sum(axis=0) > 0
    everybody = (membership[every & ~none].sum(axis=0) > 0) & ~nobody
    return np.where(nobody, NEVER, np.where(everybody, -NEVER, 0.0))
