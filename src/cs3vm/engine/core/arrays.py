"""The arrays that the compiled kernels work on, grouped by role."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray

# positions in NodeArrays.out
BOUND, OBJ, EXCESS, D_MIN, STAY_BOUND, FLIP_BOUND, ROOM, GROUP_SIZE = range(8)
# positions in NodeArrays.info
N_HELD, N_NEW, BRANCH_ROW, SIGN, SOLVED, FRESH, GROUP_SIGN = range(7)


class Rows(NamedTuple):
    """The data. Labelled rows come first; nothing here changes during a search."""

    n: int  #: number of labelled rows
    Z: FloatArray  #: all rows, centred and rotated into the span of their differences
    ZT: FloatArray  #: the same, transposed: many rows times one vector are fastest column by column
    X: FloatArray  #: all rows as the user gave them: bounds are evaluated on these
    norm: FloatArray  #: ‖x‖ of the rows of X
    weight: FloatArray  #: eⱼ of the unlabelled rows
    size: float  #: largest ‖z‖
    margin: float  #: ε


class Box(NamedTuple):
    """Bounds of the signed multipliers c and the targets p of the scores, for the current sides."""

    lo: FloatArray
    hi: FloatArray
    p: FloatArray
    strip: FloatArray  #: targets of rows that are held positive: ε, relaxed by a tiny amount


class State(NamedTuple):
    """Multipliers, plane and margin set of a relaxation: optimal for the constraints it knows of.

    ``c`` are the signed multipliers: w = Σ cᵢzᵢ and Σ cᵢ = 0. The margin set M has the rows whose score is
    held at its target; ``R`` is the inverse of [[0, 1ᵀ], [1, K_MM]].
    """

    c: FloatArray
    inside: SignArray  #: whether a row is in M
    members: IntArray  #: the rows of M
    R: FloatArray
    w: FloatArray
    f: FloatArray  #: scores of the labelled rows
    value: FloatArray  #: [b, dual value]
    count: IntArray  # type: ignore[assignment]  #: [size of M, pivots since R was last rebuilt, 1 + row whose push is unfinished]


class Scratch(NamedTuple):
    """Room for one pivot, and the counters of the run."""

    u: FloatArray
    beta: FloatArray
    dw: FloatArray
    df: FloatArray
    wx: FloatArray
    scores: FloatArray  #: of the unlabelled rows
    skip: IntArray  #: push number in which a labelled row may not enter M
    counter: IntArray  #: [work, work limit, pushes, pivots, flips, group tests, nodes closed]


class NodeArrays(NamedTuple):
    """The node that is being processed."""

    side: SignArray  #: -1, 0, +1 per unlabelled row
    V: FloatArray  #: bounds on the SVM value with row j on the negative (0) or positive (1) side
    have: SignArray  #: the side for which ``plane[j]`` is the solution with row j forced there, or 0
    plane: FloatArray  #: (w, b) of those solutions
    witness: IntArray  #: a row whose solution has this row over, too; or -1
    order: IntArray  #: candidates, cheapest flip first
    v: FloatArray  #: their flip values
    e: FloatArray  #: their weights
    suffix: FloatArray
    todo: IntArray
    group: IntArray  #: number of the row's group, or 0
    mark: IntArray  #: the same at a lower level
    score: FloatArray
    held: IntArray  #: rows with a side
    new: IntArray  #: rows whose side was set since the planes were last checked
    out: FloatArray  #: values; see above
    info: IntArray  #: numbers; see above


class Limits(NamedTuple):
    """What the search knows from outside the node."""

    cutoff: float  #: only points below it are of interest
    level: float  #: dual bounds are valid on {value ≤ level}, where
    intercept: float  #: this bounds |b|
    penalty: float  #: C₂
    target: float  #: τ
    total: float  #: weight of all unlabelled rows
    slack: float  #: rounding error of sums of weights


def new_state(n_labelled: int, n_rows: int, rank: int) -> State:
    """Allocate a state: no multipliers, empty margin set."""
    return State(
        np.zeros(n_rows),
        np.zeros(n_rows, dtype=np.int8),
        np.zeros(rank + 4, dtype=np.int64),
        np.zeros((rank + 5, rank + 5)),
        np.zeros(rank),
        np.zeros(n_labelled),
        np.zeros(2),
        np.zeros(3, dtype=np.int64),
    )
