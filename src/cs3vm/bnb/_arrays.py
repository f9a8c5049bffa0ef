"""The arrays that the compiled kernels work on, grouped by role."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from ..intercept import FloatArray

IntArray = NDArray[np.int64]
SignArray = NDArray[np.int8]
Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be reordered and fused: no bound here depends on it. Infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": _FAST,
    "no_cfunc_wrapper": True,
}
_INNER: dict[str, Any] = {"no_cpython_wrapper": True}


def _digest() -> str:
    """Of all source files here: kernels contain what they call, so a change anywhere makes them stale."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _digest()


def _jit(function: Function, **options: Any) -> Function:
    """Compile on the first call, cached on disk until a source file changes.

    Numba itself looks only at the function's own file: a kernel with old callees could corrupt memory.
    """
    dispatcher = numba.njit(**options)(function)
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = _SOURCES
    return cast(Function, dispatcher)


def is_compiled() -> bool:
    """Whether the main kernel is in the cache on disk, as far as numba lets us see."""
    from .node import process

    index: Any = getattr(getattr(process, "_cache", None), "_cache_file", None)
    if not hasattr(index, "_load_index"):
        return True  # an unknown version of numba: say nothing
    return bool(index._load_index())


# The kernels below allocate nothing. Without reference counting and, for those that only other kernels call,
# without a Python wrapper they are faster and compile in half the time.


def kernel(function: Function) -> Function:
    """Compile a function that does not allocate."""
    return _jit(function, _nrt=False, **_OPTIONS)


def inner(function: Function) -> Function:
    """Compile a function that only kernels call."""
    return _jit(function, _nrt=False, **_INNER, **_OPTIONS)


def inlined(function: Function) -> Function:
    """Compile into the caller: a call that passes all these arrays costs more than a short function does."""
    return _jit(function, _nrt=False, forceinline=True, **_INNER, **_OPTIONS)


def spliced(function: Function) -> Function:
    """Copy into the one kernel that calls it: on its own, all that it calls would be compiled once more."""
    return _jit(function, inline="always", **_OPTIONS)


def strict_kernel(function: Function) -> Function:
    """Compile a function that does not allocate, with plain IEEE arithmetic."""
    return _jit(function, _nrt=False, **{**_OPTIONS, "fastmath": False})


def compiled_strictly(function: Function) -> Function:
    """Compile an inner function with plain IEEE arithmetic: for everything that a proof rests on."""
    return _jit(function, _nrt=False, **_INNER, **{**_OPTIONS, "fastmath": False})


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
