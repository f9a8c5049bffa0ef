"""The student: SVMs that learn from the given labels and from those that the planes gave to the others.

A plane that is bent to meet the count of its own rows is no good rule for other rows, least of all with a
kernel. SVMs with the same kernel, taught by the labels of all rows, keep what the count told and forget how
the plane went between the rows to meet it. There are two, one with the hinge loss and one with squares, and
their mean predicts: each corrects some of the other's errors. They learn in the features of the fit, and
from several teachers, see :mod:`cs3vm.learn.teachers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve

from .._typing import FloatArray, IntArray, RowArray
from ..model.problem import Problem

#: Which rule ``predict`` follows.
PREDICTORS = ("auto", "plane", "student")
#: The most rows that teach, half of them labelled if there are so many: others add nothing to a rule in so
#: many mapped features, and the time grows with the square.
MAX_ROWS = 5000
#: Of the fit's prices: many rows teach, and not all that they say is true. Chosen among the full price, a
#: third, a sixth and a tenth (recommended kernel, C = 3, sets with up to 1500 rows, seeds 100 and 101): new
#: rows right .739, .745, .751, .751. A third is the middle way: sets with 500 rows or more prefer the full
#: price (.757, .756, .754, .751), and of four larger ones two prefer the full price and two a tenth. With the
#: second SVM below (seeds 300 and 301): .747, .752 at a half, .752, .748 and .740.
PRICE = 1 / 3
#: Rows next to the plane have a label because the total wanted one, so they teach less: the price rises from
#: zero to the full one within this share of the rows on each side. Chosen among .05, .1 and .2 (same kernel,
#: 129 samples of seeds 300 and 301): new rows right .750, .753, .752, and .748 at the full price for all.
NEAR = 0.1
#: The SVM with squares learns from all rows at the full price, but its targets rise from zero to one within
#: this share of the rows. Chosen among .1, .15 and .2 on seeds 300 to 303, and the mean of both SVMs among it
#: and each alone: new rows right .19 ± .13 points more often than by the hinge loss alone; on seeds 304 and
#: 305, which chose nothing, .18 ± .14.
SOFT = 0.2
#: Scores nearer to each other than this, of the largest, are of one rank: a search finds no more digits.
SAME = 1e-4
#: Of the SVM's optimality conditions: small, so that the order of the rows does not matter.
TOLERANCE = 1e-6


def student_predicts(predictor: str, method: str, *, has_kernel: bool, has_unlabelled: bool) -> bool:
    """Whether the student predicts: where it is asked for, and by default with a kernel.

    Without unlabelled rows it is the plane itself; the plane of the method "svm" meets no count.
    """
    if not has_unlabelled or predictor == "plane":
        return False
    return predictor == "student" or (has_kernel and method != "svm")


class Lesson(NamedTuple):
    """What one teacher says."""

    targets: list[FloatArray]  #: for each plane a sign per row, labelled rows first
    scores: FloatArray  #: of the unlabelled rows, a column per plane

    @classmethod
    def of(cls, codes: IntArray, plane_classes: Sequence[int], scores: FloatArray) -> Lesson:
        """The classes of all rows, labelled ones first, as signs for the planes of these classes."""
        return cls([np.where(codes == c, 1.0, -1.0) for c in plane_classes], scores)


def learn_student(
    problem: Problem, lessons: Sequence[Lesson], price: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The normals, a row for each plane, and the intercepts, in the features of the problem.

    They are the mean of what is learnt from each teacher alone. The SVM with squares is linear in its
    targets, so it learns once, from their mean.

    Parameters
    ----------
    problem
        Has the rows, the prices of the labelled ones and the weights of the others.
    lessons
        What each teacher says about the same rows.
    price
        Of the slack of an unlabelled row of weight 1.
    seed
        Draws the rows that teach where there are more than :data:`MAX_ROWS`.
    """
    labelled, unlabelled = _teachers(problem.n, problem.m, np.random.default_rng(seed))
    rows = np.vstack([problem.X[labelled], problem.U[unlabelled]])
    chosen = np.append(labelled, problem.n + unlabelled)
    prices = PRICE * np.append(problem.C[labelled], price * problem.weights[unlabelled])
    products, planes = rows @ rows.T, []
    for c in range(len(lessons[0].targets)):
        hinges, targets = [], []
        for target, column in ((lesson.targets[c], lesson.scores[:, c]) for lesson in lessons):
            near, soft = (
                np.append(
                    np.ones(len(labelled)),
                    trusted(column, target[problem.n :], problem.weights, share)[unlabelled],
                )
                for share in (NEAR, SOFT)
            )
            hinges.append(_svm(rows, products, target[chosen], prices * near))
            targets.append(target[chosen] * soft)
        least = _least_squares(rows, products, np.mean(targets, axis=0), prices)
        planes.append(0.5 * (np.mean(hinges, axis=0) + least))
    return np.array([plane[:-1] for plane in planes]), np.array([plane[-1] for plane in planes])


def trusted(scores: FloatArray, target: FloatArray, weights: FloatArray, near: float = NEAR) -> FloatArray:
    """How much the label of each row is worth, from 0 to 1, by the share of rows between it and the plane."""
    trust = np.zeros(len(scores))
    same = SAME * float(np.max(np.abs(scores), initial=0.0))
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero(target == sign)
        rows = rows[np.argsort(sign * scores[rows], kind="stable")]
        rank = np.cumsum(np.diff(sign * scores[rows], prepend=np.inf) > same)
        mass = np.bincount(rank, weights[rows])
        trust[rows] = (np.cumsum(mass) - 0.5 * mass)[rank]
    return np.asarray(np.minimum(1.0, trust / (near * weights.sum())))


def _teachers(n: int, m: int, rng: np.random.Generator) -> tuple[RowArray, RowArray]:
    """Numbers of labelled and of unlabelled rows, drawn where there are too many."""
    n_taken = min(n, max(MAX_ROWS // 2, MAX_ROWS - m))
    m_taken = min(m, MAX_ROWS - n_taken)
    return _draw(n, n_taken, rng), _draw(m, m_taken, rng)


def _draw(number: int, taken: int, rng: np.random.Generator) -> RowArray:
    if taken == number:
        return np.arange(number)
    return np.sort(rng.choice(number, taken, replace=False))


def _svm(rows: FloatArray, products: FloatArray, target: FloatArray, prices: FloatArray) -> FloatArray:
    """Normal and intercept of an SVM; rows of one class leave only its side."""
    if np.all(target == target[0]):
        return np.append(np.zeros(rows.shape[1]), target[0])
    from sklearn.svm import SVC

    svm = SVC(C=1.0, kernel="precomputed", tol=TOLERANCE, cache_size=400).fit(
        products, target, sample_weight=prices
    )
    return np.append(svm.dual_coef_[0] @ rows[svm.support_], svm.intercept_[0])


def _least_squares(
    rows: FloatArray, products: FloatArray, target: FloatArray, prices: FloatArray
) -> FloatArray:
    """Normal and intercept with the least ½‖w‖² + ½ Σ price · (target − score)²."""
    taught = prices > 0.0
    system = products[np.ix_(taught, taught)]
    system.flat[:: len(system) + 1] += 1.0 / prices[taught]
    one = np.ones(len(system))
    to_target, to_one = solve(system, np.column_stack([target[taught], one]), assume_a="pos").T
    intercept = to_target.sum() / to_one.sum()
    return np.append((to_target - intercept * to_one) @ rows[taught], intercept)
