"""The intercept that passes over pieces find is the one that the whole ranking in memory gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cs3vm import Problem, Total, Totals
from cs3vm.engine.passes import BINS, HALF
from cs3vm.large.cells import Cells
from cs3vm.large.order_statistic import EDGES, Counter, Reader, Threshold, Weighing
from cs3vm.large.pieces import ArraySource
from cs3vm.large.plane_scores import PlaneScores
from cs3vm.large.selection import Counts, choose
from cs3vm.learn.scaling import Scaling
from cs3vm.model.line import HingeSum

MARGIN = 1e-7


def select(scores, cell, weights, totals_of_cell, problem, *, cuts, at, radius, most, max_passes=12):
    """The best intercept by passes over pieces of one column of scores; and how many they were."""
    one = Scaling(np.zeros(1), np.ones(1))
    weighing = Weighing.of(weights is None, 1.0 if weights is None else float(weights.max()))
    columns = ("g",)
    cells = Cells(columns, [(c,) for c in range(len(totals_of_cell))])
    start = np.append(0, np.cumsum([len(own) for own in totals_of_cell])).astype(np.int64)
    total = np.concatenate([np.asarray(own, dtype=np.int64) for own in totals_of_cell])
    totals = problem.totals
    counts = Counts(totals.low, totals.high, totals.penalty, start, total, weighing)
    source = ArraySource(scores[:, None], None, weights, {"g": cell}, piece_rows=cuts, threads=1)
    threshold = Threshold(at, radius)
    for number in range(1, max_passes + 1):
        reader = Reader(cells, None, weighing)
        plane = PlaneScores(np.ones((1, 1)), one)
        counter = Counter(reader, plane, (threshold,), start, total, len(totals), most)
        (counted,) = source.reduce(counter, counter.combine)
        hinge = HingeSum(problem.X[:, 0] - threshold.at, problem.y, problem.C)
        chosen = choose(counted, threshold, hinge, counts, (MARGIN,), most)
        if chosen.proven:
            return chosen, number
        threshold = chosen.next
    return chosen, number


@st.composite
def tables(draw):
    """Scores with ties, cells, weights, and several totals over the cells."""
    n = draw(st.integers(3, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.standard_normal(draw(st.integers(1, n)))
    scores = rng.choice(values, n) * 10.0 ** draw(st.integers(-3, 3))
    n_cells = draw(st.integers(1, 4))
    cell = rng.integers(0, n_cells, n)
    cell[: min(n, n_cells)] = np.arange(min(n, n_cells))
    n_totals = draw(st.integers(1, 3))
    totals_of_cell = [np.flatnonzero(rng.random(n_totals) < 0.7) for _ in range(n_cells)]
    kind = draw(st.sampled_from(["unit", "integer", "real"]))
    weights = {"unit": None, "integer": rng.integers(1, 9, n) * 1.0, "real": rng.random(n) + 0.01}[kind]
    own = np.ones(n) if weights is None else weights
    totals = []
    for g in range(n_totals):
        rows = np.flatnonzero([g in totals_of_cell[c] for c in cell])
        low = np.floor(own[rows].sum() * rng.random())
        totals.append(
            Total(rows, low, low + draw(st.sampled_from([0.0, 1.0])), draw(st.sampled_from([0.5, 2])))
        )
    labelled = rng.standard_normal((6, 1)) * np.abs(scores).max()
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    problem = Problem(labelled, y, scores[:, None], Totals(totals), weights=weights, side_margin=MARGIN)
    return scores, cell, weights, totals_of_cell, problem


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    tables(),
    st.integers(1, 9),
    st.sampled_from([3, 8, 1000]),
    st.floats(-2, 2),
    st.sampled_from([0.1, np.inf]),
)
def test_it_is_the_best_intercept_of_all_rows(table, n_pieces, most, at, radius):
    scores, problem = table[0], table[-1]
    cuts = sorted({0, *np.random.default_rng(n_pieces).integers(0, len(scores), n_pieces).tolist()})
    chosen, _ = select(*table, cuts=cuts, at=at, radius=radius, most=most)
    best = problem.best_intercept(np.ones(1))
    if not chosen.proven:  # only where more rows tie than are kept, or matter than are kept
        assert most < 1000
        return
    assert np.isclose(chosen.cost, best.cost, rtol=1e-9, atol=1e-9)
    positive = scores + chosen.b >= 0.0
    assert np.allclose(problem.totals.counts(positive), chosen.counts, rtol=1e-12, atol=0)
    assert np.abs(scores + chosen.b).min() >= MARGIN * (1 - 1e-5)


def test_two_passes_are_enough_for_a_long_table():
    rng = np.random.default_rng(3)
    scores = rng.standard_normal(200_000)
    labelled, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    problem = Problem(labelled, y, scores[:, None], 60_000, side_margin=MARGIN)
    cell = np.zeros(len(scores), dtype=int)
    chosen, number = select(scores, cell, None, [[0]], problem, cuts=7001, at=0.4, radius=0.01, most=2000)
    assert chosen.proven
    assert number <= 3
    assert np.count_nonzero(scores + chosen.b >= 0) == 60_000
    assert chosen.counts[0] == 60_000


def test_the_edges_of_the_bins_ascend_and_enclose_zero():
    assert len(EDGES) == BINS + 1
    assert np.all(np.diff(EDGES) > 0)
    assert EDGES[int(HALF)] == 0.0


def test_weights_are_split_exactly():
    rng = np.random.default_rng(0)
    weights = np.concatenate([rng.random(1000) * 10.0 ** rng.integers(-3, 6, 1000), [1.0, 3.0, 7e5]])
    weighing = Weighing.of(False, float(weights.max()))
    assert np.allclose(
        weighing.values(weighing.parts(weights)), weights, rtol=0, atol=weights.max() * 2.0**-60
    )
    whole = np.array([1.0, 5.0, 123456.0])
    weighing = Weighing.of(False, 123456.0)
    assert np.array_equal(weighing.values(weighing.parts(whole)), whole)
