"""The arrays that the compiled kernels work on, grouped by role.

Kernels cannot change a field of a named tuple, only what is in its arrays. So numbers that change lie in
small arrays; the names of their positions stand above the structure that has them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IntArray, SignArray


class Rows(NamedTuple):
    """The data. Labelled rows come first; nothing here changes during a search."""

    n: int  #: number of labelled rows
    Z: FloatArray  #: all rows, centred and rotated into the span of their differences
    ZT: FloatArray  #: the same, transposed: many rows times one vector are fastest column by column
    K: FloatArray  #: the products zᵢ·zⱼ where they pay, else empty: see :mod:`.products`
    X: FloatArray  #: all rows as the user gave them: bounds are evaluated on these
    norm: FloatArray  #: ‖x‖ of the rows of X
    size: float  #: largest ‖z‖
    margin: float  #: ε


class Box(NamedTuple):
    """Bounds of the signed multipliers c and the targets p of the scores, for the current sides."""

    lo: FloatArray
    hi: FloatArray
    p: FloatArray
    strip: FloatArray  #: targets of rows that are held positive: ε, relaxed by a tiny amount


# Positions in State.value: b; the value of the dual; and what b was when the scores ``g`` were right.
INTERCEPT, DUAL, INTERCEPT_THEN = range(3)
# Positions in State.number: the size of the margin set M; pivots since it was rebuilt; 1 + the row
# whose push is unfinished, or 0: its multiplier counts although the row is not in M; and how many rows have
# moved since the scores ``g`` were right, or UNKNOWN.
SIZE, AGE, PUSHED, MOVED = range(4)
UNKNOWN = -1
#: An age that has it rebuilt before all else.
STALE = 10**6


class State(NamedTuple):
    """Multipliers, plane and margin set of a relaxation: optimal for the constraints it knows of.

    ``c`` are the signed multipliers: w = Σ cᵢzᵢ and Σ cᵢ = 0. The margin set M has the rows whose score is
    held at its target; ``Q`` and ``B`` are a basis of its span, see :mod:`.margin_set`.
    """

    c: FloatArray
    inside: SignArray  #: whether a row is in M
    members: IntArray  #: the rows of M
    Q: FloatArray
    B: FloatArray
    w: FloatArray
    f: FloatArray  #: scores of the labelled rows
    g: FloatArray  #: scores of the unlabelled rows as they were before
    moved: IntArray  #: these rows moved: their multipliers changed
    by: FloatArray  #: by so much; 0 for all others
    value: FloatArray  #: see above
    number: IntArray  #: see above


# Positions in Scratch.counter.
WORK, WORK_LIMIT, FLIP_LIMIT, PUSHES, PIVOTS, FLIPS, GROUP_TESTS, GROUP_CLOSED, GROUP_RAISED = range(9)
# Nodes that were closed by the value of the relaxation, and by flips: the order statistic or the graph.
SVM_CLOSED, FLIPS_CLOSED = 9, 10
# Blocks that were looked into, the solves for that, the rows of which they showed that they stay, and the
# nodes that were closed right there; later ones, by blocks of their ancestors, count as closed by groups.
BLOCK_TESTS, BLOCK_SOLVES, BLOCK_STAYS, BLOCK_CLOSED = range(11, 15)


class Scratch(NamedTuple):
    """Room for one pivot, and the counters of the run."""

    u: FloatArray  #: coordinates of the row that is pushed in the span of M,
    dw: FloatArray  #: and what it has beyond that
    other_u: FloatArray  #: the same of a row that is about to enter M
    other_dw: FloatArray
    beta: FloatArray
    df: FloatArray  #: by how much a push moves the scores of the labelled rows
    ahead: FloatArray  #: and how far it goes until they are on target
    wx: FloatArray
    scores: FloatArray  #: of the unlabelled rows
    skip: IntArray  #: push number in which a labelled row may not enter M
    counter: IntArray  #: see above


class Flips(NamedTuple):
    """What is known about forcing one more unlabelled row over."""

    V: FloatArray  #: bounds on the SVM value with row j on the negative (0) or positive (1) side
    have: SignArray  #: the side for which ``plane[j]`` is the solution with row j forced there, or 0
    plane: FloatArray  #: (w, b) of those solutions
    witness: IntArray  #: a row whose solution has this row over, too; or -1
    todo: IntArray  #: rows to be evaluated


class Candidates(NamedTuple):
    """The rows that may flip to mend the count, cheapest first."""

    row: IntArray
    v: FloatArray  #: their flip values
    copies: FloatArray  #: of the first of equal rows: how many of them may flip and are in no group
    suffix: FloatArray  #: bounds on every point in which this or a more expensive candidate flips


class Sums(NamedTuple):
    """The known totals, and by how much each is missed in the node that is being processed.

    The totals of the unlabelled row j are ``total[start[j] : start[j + 1]]``.
    """

    low: FloatArray
    high: FloatArray
    penalty: FloatArray
    weight: FloatArray  #: of the rows that they count
    slack: FloatArray  #: rounding error of sums of weights
    start: IntArray
    total: IntArray
    row: FloatArray  #: eⱼ of the unlabelled rows
    up: FloatArray  #: weight of the rows held positive
    down: FloatArray  #: and negative
    k: FloatArray  #: what the relaxed solution misses
    sign: SignArray  #: +1 where it has too many positives, -1 too few, 0 neither
    least: FloatArray  #: what every point of the node misses at least
    gone: FloatArray  #: weight of rows that flip to mend it, while a bound is computed


# Positions in NodeArrays.out: the node's bound; the bound on its SVM value; by how much the relaxed solution
# misses the leading total, and (of one total) every point of the node at least; the same as prices, of all
# totals; the bounds of the two children; how much more weight may stay before the leading total is missed;
# the usual size of a group; and the bound that groups give the root. (It is not the node's bound: its
# children would all have it, and which of them is the most promising would be lost.) Last, the share of the
# nodes that groups have closed of late.
BOUND, OBJ, EXCESS, D_MIN, MISS_PRICE, LEAST_PRICE, STAY_BOUND, FLIP_BOUND, ROOM, GROUP_SIZE = range(10)
RAISED_BOUND, CLOSING = 10, 11
# Positions in NodeArrays.info: the lengths of ``held`` and ``new``; the row to branch on, or -1; the total
# whose miss costs most, and the side of it that has too many rows; whether no groups were formed since the
# node was loaded; and the side of the rows in groups, times 1 + the number of their total.
N_HELD, N_NEW, BRANCH_ROW, LEAD, SIGN, FRESH, GROUP_SIGN = range(7)


#: Places in NodeArrays.block.
BLOCK_NUMBERS = 256


class NodeArrays(NamedTuple):
    """The node that is being processed."""

    side: SignArray  #: -1, 0, +1 per unlabelled row
    score: FloatArray  #: of the unlabelled rows at the relaxed solution
    useful: SignArray  #: whether a flip of the row would mend a total
    sums: Sums
    held: IntArray  #: rows with a side, numbered among all rows
    new: IntArray  #: rows whose side was set since the planes were last checked
    flips: Flips
    listed: Candidates
    group: IntArray  #: number of the row's group, or 0; where more than one of it stay, see ``STAYS``
    mark: IntArray  #: the same at a lower level
    block: IntArray  #: room for one block
    out: FloatArray  #: see above
    info: IntArray  #: see above
    first: IntArray  #: the first of the rows that are equal to it,
    twin: IntArray  #: and the next of them, in a circle: each is its own where no other is equal


class Limits(NamedTuple):
    """What the search knows from outside the node."""

    cutoff: float  #: only points below it are of interest
    level: float  #: dual bounds are valid on {value ≤ level}, where
    intercept: float  #: this bounds |b|
    penalty: float  #: C₂, where there is one total
    slack: float  #: rounding error of its sums of weights


def new_state(n_labelled: int, n_rows: int, rank: int) -> State:
    """Allocate a state: no multipliers, empty margin set."""
    return State(
        c=np.zeros(n_rows),
        inside=np.zeros(n_rows, dtype=np.int8),
        members=np.zeros(rank + 4, dtype=np.int64),
        Q=np.zeros((rank + 2, rank)),
        B=np.zeros((rank + 2, rank + 2)),
        w=np.zeros(rank),
        f=np.zeros(n_labelled),
        g=np.zeros(n_rows - n_labelled),
        moved=np.zeros(n_rows, dtype=np.int64),
        by=np.zeros(n_rows),
        value=np.zeros(3),
        number=np.array([0, 0, 0, UNKNOWN]),
    )


def new_scratch(n_labelled: int, m: int, d: int, rank: int) -> Scratch:
    """Allocate the room for pivots; there is no work limit."""
    counter = np.zeros(15, dtype=np.int64)
    counter[[WORK_LIMIT, FLIP_LIMIT]] = np.iinfo(np.int64).max
    return Scratch(
        u=np.zeros(rank + 5),
        dw=np.zeros(rank),
        other_u=np.zeros(rank + 5),
        other_dw=np.zeros(rank),
        beta=np.zeros(rank + 5),
        df=np.zeros(n_labelled),
        ahead=np.zeros(n_labelled),
        wx=np.zeros(d),
        scores=np.zeros(m),
        skip=np.zeros(n_labelled, dtype=np.int64),
        counter=counter,
    )


def new_node(m: int, rank: int, sums: Sums, first: IntArray, twin: IntArray) -> NodeArrays:
    """Allocate the arrays of a node, apart from the totals and from which rows are equal."""

    def numbers() -> IntArray:
        return np.zeros(m, dtype=np.int64)

    out = np.zeros(12)
    out[CLOSING] = 0.5  # blocks are tried first
    flips = Flips(
        V=np.zeros((2, m)),
        have=np.zeros(m, dtype=np.int8),
        plane=np.zeros((m, rank + 1)),
        witness=np.full(m, -1, dtype=np.int64),
        todo=numbers(),
    )
    return NodeArrays(
        side=np.zeros(m, dtype=np.int8),
        score=np.zeros(m),
        useful=np.zeros(m, dtype=np.int8),
        sums=sums,
        held=numbers(),
        new=numbers(),
        flips=flips,
        listed=Candidates(row=numbers(), v=np.zeros(m), copies=np.zeros(m), suffix=np.zeros(m)),
        group=numbers(),
        mark=numbers(),
        block=np.zeros(BLOCK_NUMBERS, dtype=np.int64),
        out=out,
        info=np.zeros(7, dtype=np.int64),
        first=first,
        twin=twin,
    )
