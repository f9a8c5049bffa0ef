"""What the kernels of the box search work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IntArray
from ...model.problem import Problem
from .scope import counts_whole

#: Classes of miscounts that are told apart in one box.
CLASSES = 256
#: Classes that are bounded together until it matters.
BLOCK = 8
#: Cuts that a box keeps, and that its children inherit.
CUTS = 6
#: Rows that a box may hold on their sides.
HELD = 40

# numbers of a box, both in and out
POSITIVE, NEGATIVE = 0, 1  # weight of the rows whose side is settled
LOW, HIGH = 2, 3  # limits of the intercept: ε + LOW·t ≤ b + w·pivot ≤ HIGH·t - ε
BASE = 4  # a lower bound on the SVM value in the box
BOUND = 5  # a lower bound on the objective in the box
VALUE = 6  # objective of the plane at which the bound is taken, for its own intercept
INTERCEPT = 7
NUMBERS = 8
# integers of a box
AXIS, N_HELD, N_CUTS, N_OPEN, SPLIT, BRANCH_ROW, FEW_OPEN, WORK = range(8)
INTEGERS = 8
# what holds for all boxes
CUTOFF, LEVEL, REACH, MOST_INTERCEPT, PRICE, TARGET_LOW, TARGET_HIGH, WEIGHT, SLACK, MARGIN = range(10)
LIMITS = 10


class Data(NamedTuple):
    """The rows as given, without the features that are constant."""

    X: FloatArray
    y: FloatArray
    C: FloatArray
    U: FloatArray
    weight: FloatArray
    norm_x: FloatArray  #: ‖x‖ of all features that are left
    norm_u: FloatArray
    whole: bool  #: weights and totals are integers
    equal: bool  #: all weights are 1


class Cone(NamedTuple):
    """A box: w = t·v with t ≥ 0 and low ≤ v ≤ high, one component of v being ±1."""

    low: FloatArray
    high: FloatArray
    pivot: FloatArray
    number: FloatArray
    integer: IntArray
    held: IntArray  #: rows on a side; the sign in ``sign``
    sign: FloatArray
    cuts: FloatArray  #: per cut: constant, gradient of w, of b


class Scratch(NamedTuple):
    """Memory of one search."""

    upper: FloatArray  #: largest score of each open row in the box, and smallest
    lower: FloatArray
    key: FloatArray
    place: IntArray
    start: FloatArray  #: per class of misses: the least and the greatest miss
    most: FloatArray
    lo: FloatArray  #: per class: limits of the intercept, bounds on the SVM value and on the objective
    hi: FloatArray
    svm: FloatArray
    bound: FloatArray
    solved: IntArray
    fine: IntArray  #: blocks of classes that are bounded one by one
    w: FloatArray  #: the plane of the last solve; w then b
    labelled: FloatArray  #: arrays of the interior-point method, per labelled row
    extra: FloatArray  #: per other constraint
    rows: FloatArray  #: the other constraints
    matrix: FloatArray
    vector: FloatArray
    trial: FloatArray  #: a cut


def new_data(problem: Problem, columns: IntArray) -> Data:
    """The rows of a problem with these features only."""
    X, U = np.ascontiguousarray(problem.X[:, columns]), np.ascontiguousarray(problem.U[:, columns])
    norm_x, norm_u = np.linalg.norm(X, axis=1), np.linalg.norm(U, axis=1)
    return Data(
        X=X,
        y=problem.y.copy(),
        C=problem.C.copy(),
        U=U,
        weight=problem.weights.copy(),
        norm_x=norm_x,
        norm_u=norm_u,
        whole=counts_whole(problem),
        equal=bool(np.all(problem.weights == 1.0)),
    )


def new_cone(d: int) -> Cone:
    """A box with nothing in it."""
    return Cone(
        low=np.zeros(d),
        high=np.zeros(d),
        pivot=np.zeros(d),
        number=np.zeros(NUMBERS),
        integer=np.zeros(INTEGERS, dtype=np.int64),
        held=np.zeros(HELD, dtype=np.int64),
        sign=np.zeros(HELD),
        cuts=np.zeros((CUTS, d + 2)),
    )


def copied(cone: Cone) -> Cone:
    """Another box like this one."""
    return Cone(
        low=cone.low.copy(),
        high=cone.high.copy(),
        pivot=cone.pivot.copy(),
        number=cone.number.copy(),
        integer=cone.integer.copy(),
        held=cone.held.copy(),
        sign=cone.sign.copy(),
        cuts=cone.cuts.copy(),
    )


def new_scratch(n: int, m: int, d: int) -> Scratch:
    """Memory for a problem of this size."""
    others = 2 * d + 2 + HELD
    return Scratch(
        upper=np.zeros(m),
        lower=np.zeros(m),
        key=np.zeros(m),
        place=np.zeros(m, dtype=np.int64),
        start=np.zeros(CLASSES),
        most=np.zeros(CLASSES),
        lo=np.zeros(CLASSES),
        hi=np.zeros(CLASSES),
        svm=np.zeros(CLASSES),
        bound=np.zeros(CLASSES),
        solved=np.zeros(CLASSES, dtype=np.int64),
        fine=np.zeros(CLASSES, dtype=np.int64),
        w=np.zeros(d + 1),
        labelled=np.zeros((6, n)),
        extra=np.zeros((6, others)),
        rows=np.zeros((others, d + 1)),
        matrix=np.zeros((d + 1, d + 1)),
        vector=np.zeros((2, d + 1)),
        trial=np.zeros(d + 2),
    )
