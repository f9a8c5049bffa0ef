"""Several totals in the model: counts, prices along a ranking, ties, the best intercept, JSON, bad input."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs3vm import Problem, Result, Status
from cs3vm.exceptions import InvalidProblemError
from cs3vm.model.intercept_of_several import prices_along
from cs3vm.model.splitting import split
from cs3vm.model.totals import KnownTotals, Total, Totals, bind
from tests.oracle import prices, random_several

STEADY = settings(derandomize=True, deadline=None, max_examples=150)
#: Values that repeat and are exact in floating point, so that ties are ties.
grid = st.integers(-3, 3).map(lambda i: i / 2)


@st.composite
def totals(draw: st.DrawFn, weights: list[float]) -> Totals:
    """Up to three totals over any rows, exact or intervals, half of them with a price of their own."""
    made = []
    for _ in range(draw(st.integers(0, 3))):
        mask = np.array(draw(st.lists(st.booleans(), min_size=len(weights), max_size=len(weights))), bool)
        weight = int(np.sum(np.array(weights)[mask]))
        low = draw(st.integers(0, weight))
        high = draw(st.one_of(st.just(low), st.integers(low, weight + 2), st.just(np.inf)))
        price = draw(st.one_of(st.none(), st.sampled_from([0.25, 0.5, 4.0])))
        made.append(Total(mask, low, float(high), price))
    return Totals(made)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Tiny problems with ties, weights, fixed sides and a margin."""
    n, m, d = draw(st.integers(1, 4)), draw(st.integers(0, 6)), draw(st.integers(1, 2))
    rows = st.lists(grid, min_size=d, max_size=d)
    weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 4), st.sampled_from([0.25, 0.5, 1.75])]))
    weights = draw(st.lists(weight, min_size=m, max_size=m))
    return Problem(
        draw(st.lists(rows, min_size=n, max_size=n)),
        draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)),
        np.reshape(draw(st.lists(rows, min_size=m, max_size=m)), (m, d)),
        draw(totals(weights)),
        weights=weights,
        side=draw(st.lists(st.sampled_from([0, 0, 0, 1, -1]), min_size=m, max_size=m)),
        C=draw(st.sampled_from([0.5, 1.0, 8.0])),
        count_penalty=draw(st.sampled_from([0.25, 1.0, 3.0])),
        side_margin=draw(st.sampled_from([0.0, 0.0, 0.25])),
    )


def labelings(m: int) -> np.ndarray:
    return np.array(list(product((0, 1), repeat=m)), dtype=np.int8).reshape(2**m, m)


def cheapest(problem: Problem, w: np.ndarray) -> float:
    """Over all sides: the hinge sum is least at one of its kinks or at an end of the interval for b."""
    labelled, unlabelled = problem.X @ w, problem.U @ w
    kinks = np.append(1 - labelled, -1 - labelled)
    best = np.inf
    for z in labelings(problem.m):
        if np.any((problem.side > 0) & (z == 0)) or np.any((problem.side < 0) & (z == 1)):
            continue
        low = np.max(problem.side_margin - unlabelled[z == 1], initial=-np.inf)
        high = np.min(-problem.side_margin - unlabelled[z == 0], initial=np.inf)
        if low <= high:
            ends = [end for end in (low, high) if np.isfinite(end)]
            svm = min(problem.svm_value(w, b) for b in np.clip([*kinks, *ends], low, high))
            best = min(best, svm + float(prices(problem, z[None])[0]))
    return float(best)


@STEADY
@given(problems(), st.lists(grid, min_size=2, max_size=2))
def test_the_best_intercept_is_the_best_of_all_sides(problem, normal):
    w = np.array(normal[: problem.d])
    found, expected = problem.best_intercept(w), cheapest(problem, w)
    if found is None:
        assert expected == np.inf
        return
    assert found.exact
    assert found.cost + 0.5 * w @ w == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert problem.objective(w, found.b, found.z) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert problem.violation(w, found.b, found.z) <= 1e-9


@STEADY
@given(problems(), st.data())
def test_objective_eta_and_least_price_are_those_of_the_definition(problem, data):
    z = np.array(data.draw(st.lists(st.integers(0, 1), min_size=problem.m, max_size=problem.m)), np.int8)
    known, short, over, cost = problem.totals, 0.0, 0.0, 0.0
    for g, rows in enumerate(known.rows):
        count = sum(problem.weights[j] for j in rows if z[j])
        missing, beyond = max(0.0, known.low[g] - count), max(0.0, count - known.high[g])
        short, over, cost = short + missing, over + beyond, cost + known.penalty[g] * (missing + beyond)
    assert problem.eta(z) == pytest.approx((short, over))
    w = np.zeros(problem.d)
    assert problem.objective(w, 0.5, z) == pytest.approx(problem.svm_value(w, 0.5) + cost)
    fixed = np.where(problem.side == 0, z, problem.side > 0)
    assert problem.least_price <= prices(problem, fixed[None])[0] + 1e-12
    assert problem.min_miscount <= sum(problem.eta(fixed)) + 1e-12


@STEADY
@given(problems(), st.randoms(use_true_random=False))
def test_prices_along_a_ranking(problem, random):
    order = [j for j in range(problem.m) if problem.side[j] == 0]
    random.shuffle(order)
    short, over = prices_along(
        problem.totals, problem.totals.counts(problem.side > 0), np.array(order, dtype=np.intp)
    )
    z = (problem.side > 0).astype(np.int8)
    for c in range(len(order) + 1):
        if c:
            z[order[c - 1]] = 1
        missing, beyond = problem.totals.eta(problem.totals.counts(z))
        assert short[c] == pytest.approx(problem.totals.penalty @ missing, abs=1e-9)
        assert over[c] == pytest.approx(problem.totals.penalty @ beyond, abs=1e-9)


@STEADY
@given(problems(), st.data())
def test_a_tie_is_split_in_the_cheapest_way(problem, data):
    m = problem.m
    if m == 0:
        return
    tied = np.array(data.draw(st.lists(st.booleans(), min_size=m, max_size=m)), dtype=bool)
    before = np.where(tied, 0, data.draw(st.integers(0, 1))).astype(np.int8)
    rows = np.flatnonzero(tied)
    if len(rows) == 0:
        return
    found = split(problem.totals, before, rows)
    assert found.exact
    assert set(found.rows) <= set(rows)
    choices = np.repeat(before[None], 2 ** len(rows), axis=0)
    choices[:, rows] = labelings(len(rows))
    chosen = before.copy()
    chosen[found.rows] = 1
    assert prices(problem, chosen[None])[0] == pytest.approx(prices(problem, choices).min(), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_large_ties_that_overlap_are_split_better_than_by_order_or_flagged(seed):
    rng = np.random.default_rng(seed)
    m = 60
    weights = np.ones(m) if seed % 2 else rng.uniform(0.5, 2.0, m)
    z = (rng.random(m) < 0.4).astype(np.int8)
    masks = rng.random((3, m)) < 0.5
    given = Totals(Total(mask, *(float(weights[mask] @ z[mask]),) * 2) for mask in masks)  # can be met
    problem = Problem([[1.0], [-1.0]], [1, -1], np.zeros((m, 1)), given, weights=weights)
    found = problem.best_intercept(np.ones(1))
    in_order = np.tril(np.ones((m + 1, m), dtype=np.int8), -1)
    assert sum(problem.eta(found.z)) < 0.8 * prices(problem, in_order).min()
    assert sum(problem.eta(found.z)) == 0.0 or not found.exact


def test_a_total_of_rows_in_no_other_total_does_not_matter_to_them():
    known = bind(Totals([Total([0, 2], 1), Total([2, 3], 0, 1)]), np.ones(5), 1.0)
    assert known.overlap
    np.testing.assert_array_equal(known.of(2), [0, 1])
    np.testing.assert_array_equal(known.of(1), [])
    assert known.cells[1] == known.cells[4]
    assert len(np.unique(known.cells)) == 4
    np.testing.assert_array_equal(known.prices_of_rows, [1.0, 0.0, 2.0, 1.0, 0.0])


# -- the same in other words -------------------------------------------------------------------------------
def small(n_positive, **options) -> Problem:
    rng = np.random.default_rng(5)
    return Problem(rng.normal(size=(4, 2)), [1, -1, 1, -1], rng.normal(size=(6, 2)), n_positive, **options)


@pytest.mark.parametrize("words", [(2, 2), Totals([Total(None, 2)]), Total(np.ones(6, bool), 2.0, 2.0)])
def test_one_exact_total_is_a_number(words):
    problem = small(words)
    assert problem.one_total
    assert problem.n_positive == 2.0
    w = np.array([0.3, -0.2])
    assert problem.best_intercept(w)[2:] == small(2).best_intercept(w)[2:]


def test_another_price_or_an_interval_or_some_rows_are_totals():
    for words in [(2, 3), Totals([Total(None, 2, penalty=7.0)]), Totals([Total([0, 1], 2)]), Totals([])]:
        problem = small(words)
        assert not problem.one_total
        assert isinstance(problem.n_positive, Totals)


def test_open_prices_follow_the_count_penalty():
    problem = replace(small((2, 3)), count_penalty=5.0)
    np.testing.assert_array_equal(problem.totals.penalty, [5.0])
    mixed = replace(small(Totals([Total(None, 2), Total([0], 1, penalty=3.0)])), count_penalty=5.0)
    np.testing.assert_array_equal(mixed.totals.penalty, [5.0, 3.0])


def test_by_group_leaves_other_groups_free():
    made = Totals.by_group(["a", "b", "c", "a", "b", "c"], {"a": 1, "b": (0, 1)}) + Totals(
        [Total(None, 2, 4)]
    )
    assert repr(made) == "Totals(a: 1, b: 0 to 1, total 2: 2 to 4)"
    known = small(made).totals
    assert [rows.tolist() for rows in known.rows] == [[0, 3], [1, 4], list(range(6))]
    assert known.names == ("a", "b", "")


def test_rows_in_another_order_and_clusters_keep_their_totals():
    problem = random_several(np.random.default_rng(3), m=7)
    order = np.array([6, 2, 0, 1, 5, 4, 3])
    moved = problem.with_rows(np.arange(problem.n), order)
    z = np.array([1, 0, 1, 1, 0, 0, 1], dtype=np.int8)
    np.testing.assert_array_equal(problem.totals.counts(z), moved.totals.counts(z[order]))
    assert problem.totals.price(problem.totals.counts(z)) == moved.totals.price(moved.totals.counts(z[order]))


# -- files -------------------------------------------------------------------------------------------------
@STEADY
@given(problems())
def test_json_keeps_the_totals(problem):
    result = Result(problem, Status.TIME_LIMIT, np.zeros(problem.d), 0.0, (problem.side > 0).astype(np.int8))
    again = Result.from_json(result.to_json())
    assert again.objective == result.objective
    assert again.problem.one_total == problem.one_total
    assert_same_totals(again.problem.totals, problem.totals)


def assert_same_totals(a: KnownTotals, b: KnownTotals) -> None:
    assert a.names == b.names
    for name in ("weights", "low", "high", "penalty"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert [rows.tolist() for rows in a.rows] == [rows.tolist() for rows in b.rows]


# -- bad input ---------------------------------------------------------------------------------------------
def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(InvalidProblemError) as caught:
        small(
            Totals(
                [
                    Total([0, 1], 3, name="north"),
                    Total([2, 3], 2, 1, name="south"),
                    Total([4, 9], 1),
                    Total(None, -1.0, name="all"),
                    Total([5], 1, penalty=-2.0, name="east"),
                    Total([0, 1], 0.5, name="half"),
                    Total([0], "many", name="words"),
                ]
            )
        )
    text = str(caught.value)
    for part in (
        "north is 3, but the 2 unlabelled rows that it counts weigh only 2",
        "south is an interval from 2 to 1: give the lower end first",
        "total 2: rows must be a mask of the 6 unlabelled rows or numbers from 0 to 5, each once",
        "all must be zero or positive",
        "the penalty of east must be positive and finite",
        "half is 0.5, but rows without weights can only add up to an integer",
        "words must be a number, got 'many'",
    ):
        assert part in text


@pytest.mark.parametrize(
    "words",
    ["2", None, True, [1, 2, 3], (1, None), (True, 2), {"north": 2}, np.nan, (np.nan, 1), (0, np.nan)],
)
def test_what_is_no_total_is_refused(words):
    with pytest.raises(InvalidProblemError, match="n_positive"):
        small(words)


@pytest.mark.parametrize("rows", [[0, 0], [-1], [0.5], [[0, 1]], np.zeros(5, bool), ["a"]])
def test_rows_that_are_none_are_refused(rows):
    with pytest.raises(InvalidProblemError, match="total 0: rows must be"):
        small(Totals([Total(rows, 0)]))


def test_totals_takes_totals_only():
    with pytest.raises(InvalidProblemError, match="type Total"):
        Totals([3])
    with pytest.raises(InvalidProblemError, match="'north' must be a number or a pair"):
        Totals.by_group(["north"], {"north": "many"})


def test_a_total_that_is_no_integer_is_fine_among_rows_with_weights():
    assert not small(Totals([Total([0], 0.5)]), weights=[1, 1, 2, 2, 3, 3]).one_total
