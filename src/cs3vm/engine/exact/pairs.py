"""The joint-flip bound: which candidates can flip together.

Let v_ij be the relaxation value with the candidates i and j both forced over. A point with miscount δ and
objective below the cutoff flips a set of candidates that weighs at least k - δ, and every pair in it has
v_ij < cutoff - C₂δ: the set is a clique in the graph of such pairs. So a level δ is impossible where the
core (rows whose closed neighbourhood is heavy enough) or a colouring (of rows that exclude each other, one
counts) is too light, and a row that survives at no level cannot flip. Values of an ancestor remain bounds,
so one matrix at the root serves the whole tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, IntArray
from ...model.problem import Problem
from ..core.arrays import D_MIN, EXCESS, OBJ, Candidates, Limits
from ..jit import inner_kernel, kernel, spliced

Bits = NDArray[np.uint64]

_NO_BITS, _BIT = np.uint64(0), np.uint64(1)
MAX_LEVELS = 24
_MAX_STEPS = 10**6  # far more levels than a cutoff leaves
_TRIAL, _USEFUL = 500, 0.05  # after so many tests the graph must have been of use in this share of them
# Positions in Graph.step: the width of a level in δ; the largest δ within a level beyond its start; and 1
# where all weights are 1, else 0.
WIDTH, REACH, UNIT = range(3)
# Positions in Graph.num: the direction of the flips, or 0 where the graph is switched off; the number of
# levels; whether neighbourhoods are coloured, too; the steps in which a node's bound is raised; and counters:
# pairs evaluated, nodes tested, closed, raised, and rows fixed.
DIRECTION, LEVELS, LOCAL, BISECTIONS, PAIRS, TESTS, HITS, RAISED, FIXED = range(9)
_COUNTERS = [PAIRS, TESTS, HITS, RAISED, FIXED]


class Graph(NamedTuple):
    """Pair values for one direction of flips, and their graphs at each level δ."""

    value: NDArray[np.float32]  #: v_ij; 0 where nothing is known
    edges: Bits  #: per level and row, the rows with which it can flip
    alive: Bits
    union: Bits  #: rows that survive at some level
    rest: Bits
    part: Bits
    weight: FloatArray
    step: FloatArray  #: see above
    num: IntArray  #: see above


def new_graph(problem: Problem, enabled: bool) -> Graph:
    """Allocate; a graph that is not enabled takes no memory."""
    m = problem.m if enabled else 0
    words = (m + 63) // 64
    unit = float(np.all(problem.weights == 1.0))
    return Graph(
        value=np.zeros((m, m), dtype=np.float32),
        edges=np.zeros((MAX_LEVELS, m, words), dtype=np.uint64),
        alive=np.zeros(words, dtype=np.uint64),
        union=np.zeros(words, dtype=np.uint64),
        rest=np.zeros(words, dtype=np.uint64),
        part=np.zeros(words, dtype=np.uint64),
        weight=np.array(problem.weights),
        step=np.array([1.0, 0.0, unit]),
        num=np.zeros(9, dtype=np.int64),
    )


def own_graph(graph: Graph) -> Graph:
    """The same pair values, for another searcher, who counts from zero: the rest is written to."""
    other = graph._replace(
        edges=graph.edges.copy(),
        alive=graph.alive.copy(),
        union=graph.union.copy(),
        rest=graph.rest.copy(),
        part=graph.part.copy(),
        step=graph.step.copy(),
        num=graph.num.copy(),
    )
    other.num[_COUNTERS] = 0
    return other


def joint_counters(graph: Graph) -> dict[str, int]:
    """What the graph was used for."""
    names = {"pairs": PAIRS, "joint_tests": TESTS, "joint_closed": HITS, "joint_fixed": FIXED}
    return {name: int(graph.num[i]) for name, i in (names | {"joint_raised": RAISED}).items()}


@kernel
def switch_off_if_useless(num: IntArray) -> None:
    """Switch the graph off where it hardly ever closes, fixes or raises anything."""
    if num[DIRECTION] != 0 and num[TESTS] >= _TRIAL:
        useful = num[HITS] + num[FIXED] + num[RAISED]
        if useful < _USEFUL * num[TESTS]:
            num[DIRECTION] = 0


def set_levels(graph: Graph, problem: Problem, lim: Limits, floor: float) -> None:
    """Choose the levels δ for this cutoff and build their graphs; ``floor`` bounds the SVM value below."""
    span = max(0.0, (lim.cutoff - floor) / lim.penalty)
    integral = lim.slack == 0.0
    step = span / (MAX_LEVELS - 1) if span > 0 else 1.0
    if integral:
        step = float(max(1, int(np.ceil(step))))
    graph.step[WIDTH] = step
    graph.step[REACH] = step - 1.0 if integral else step
    graph.num[LEVELS] = min(MAX_LEVELS, int(span / step) + 1)
    _build(graph, lim.cutoff, lim.penalty)


def _build(graph: Graph, cutoff: float, penalty: float) -> None:
    m, words = graph.edges.shape[1:]
    bits = np.zeros((m, 64 * words), dtype=bool)
    value = graph.value.astype(float)  # a comparison in single precision would round the threshold
    for level in range(graph.num[LEVELS]):
        t = cutoff - penalty * graph.step[WIDTH] * level * (1.0 - 1e-8)
        bits[:, :m] = value < t
        graph.edges[level] = np.packbits(bits, axis=1, bitorder="little").view("<u8")


@kernel
def popcount(x: np.uint64) -> int:
    """Number of set bits."""
    x = x - ((x >> _BIT) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner_kernel
def _lowest(x: np.uint64) -> int:
    """Index of the lowest set bit."""
    return popcount((x & (~x + _BIT)) - _BIT)


@inner_kernel
def _common_weight(graph: Graph, a: Bits, b: Bits) -> float:
    total = 0.0
    for word in range(a.shape[0]):
        bits = a[word] & b[word]
        if graph.step[UNIT] > 0.0:
            total += popcount(bits)
        else:
            while bits != _NO_BITS:
                total += graph.weight[64 * word + _lowest(bits)]
                bits &= bits - _BIT
    return total


@spliced
def _core(graph: Graph, level: int, need: float) -> bool:
    """Peel rows whose closed neighbourhood is too light; whether what is left is heavy enough."""
    changed = True
    while changed:
        changed = False
        if _common_weight(graph, graph.alive, graph.alive) < need:
            return False
        for word in range(graph.alive.shape[0]):
            bits = graph.alive[word]
            while bits != _NO_BITS:
                j = 64 * word + _lowest(bits)
                bits &= bits - _BIT
                if _common_weight(graph, graph.edges[level, j], graph.alive) < need:
                    graph.alive[word] &= ~(_BIT << np.uint64(j % 64))
                    changed = True
    return True


@inner_kernel
def _colourable(graph: Graph, level: int, need: float) -> bool:
    """Whether a greedy colouring of ``rest`` weighs enough: of rows that exclude each other one counts."""
    words = graph.rest.shape[0]
    total = 0.0
    start = 0
    while start < words:
        if graph.rest[start] == _NO_BITS:
            start += 1
            continue
        for word in range(start, words):
            graph.part[word] = graph.rest[word]
        heaviest = 0.0
        for word in range(start, words):
            while graph.part[word] != _NO_BITS:
                b = _lowest(graph.part[word])
                j = 64 * word + b
                graph.rest[word] &= ~(_BIT << np.uint64(b))
                heaviest = max(heaviest, graph.weight[j])
                for other in range(word, words):
                    graph.part[other] &= ~graph.edges[level, j, other]
                graph.part[word] &= ~(_BIT << np.uint64(b))
        total += heaviest
        if total >= need:
            return True
    return total >= need


@spliced
def _drop_locally(graph: Graph, level: int, need: float) -> bool:
    """Drop rows whose neighbourhood cannot be coloured heavily enough; whether one was dropped."""
    dropped = False
    for word in range(graph.alive.shape[0]):
        bits = graph.alive[word]
        while bits != _NO_BITS:
            b = _lowest(bits)
            j = 64 * word + b
            bits &= bits - _BIT
            for x in range(graph.rest.shape[0]):
                graph.rest[x] = graph.alive[x] & graph.edges[level, j, x]
            graph.rest[word] &= ~(_BIT << np.uint64(b))
            if not _colourable(graph, level, need - graph.weight[j]):
                graph.alive[word] &= ~(_BIT << np.uint64(b))
                dropped = True
    return dropped


@spliced
def _possible(graph: Graph, level: int, need: float, local: bool) -> bool:
    """Whether a set of ``alive`` rows of weight ``need`` may flip together; the others leave ``alive``."""
    while True:
        if not _core(graph, level, need):
            return False
        for word in range(graph.rest.shape[0]):
            graph.rest[word] = graph.alive[word]
        if not _colourable(graph, level, need):
            return False
        if not local or not _drop_locally(graph, level, need):
            return True


@kernel
def survivors(
    graph: Graph, listed: Candidates, n: int, out: FloatArray, lim: Limits, shift: float, local: bool
) -> int:
    """Collect in ``union`` those of the n candidates that may flip in a point below cutoff - shift.

    Return their number, or -1 if there is no such point at all.
    """
    obj, k, d_min = out[OBJ], out[EXCESS], out[D_MIN]
    for word in range(graph.union.shape[0]):
        graph.union[word] = _NO_BITS
    found = False
    first = int(d_min / graph.step[WIDTH])
    for number in range(first, first + _MAX_STEPS):
        if number == first + _MAX_STEPS - 1:
            return n  # levels are left over: nothing is known about them
        delta = graph.step[WIDTH] * number
        t = lim.cutoff - shift - lim.penalty * max(delta, d_min)
        if t <= obj:
            break
        need = k - delta - graph.step[REACH]
        if need <= 0.0:
            return n  # not flipping anything is cheap enough
        for word in range(graph.alive.shape[0]):
            graph.alive[word] = _NO_BITS
        for a in range(n):
            if listed.v[a] < t:
                j = listed.row[a]
                graph.alive[j // 64] |= _BIT << np.uint64(j % 64)
        level = int((lim.cutoff - t) / (lim.penalty * graph.step[WIDTH]) + 1e-9)  # its graph holds this one
        level = min(level, graph.num[LEVELS] - 1)
        if _possible(graph, level, need - 1e-9 * (1.0 + abs(need)) * (1.0 - graph.step[UNIT]), local):
            found = True
            for word in range(graph.alive.shape[0]):
                graph.union[word] |= graph.alive[word]
    if not found:
        return -1
    return _common_bits(graph.union)


@spliced
def _common_bits(bits: Bits) -> int:
    total = 0
    for word in range(bits.shape[0]):
        total += popcount(bits[word])
    return total
