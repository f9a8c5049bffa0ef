"""Labels that meet all totals: always exactly, and with the highest summed score there is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment, linprog

from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn import assignment
from cs3vm.learn.assignment import assign
from cs3vm.learn.class_totals import largest_remainder


def best_value(S, totals):
    """The optimum by the Hungarian method, with a column for each place of a class."""
    columns = np.repeat(np.arange(S.shape[1]), totals)
    rows, chosen = linear_sum_assignment(S[:, columns], maximize=True)
    return S[rows, columns[chosen]].sum()


def best_value_lp(S, totals):
    """The optimum of the linear program, by HiGHS."""
    n, k = S.shape
    by_row, by_class = np.kron(np.eye(n), np.ones(k)), np.kron(np.ones(n), np.eye(k))
    answer = linprog(
        -S.ravel(), A_eq=np.vstack([by_row, by_class]), b_eq=np.r_[np.ones(n), totals], method="highs"
    )
    return -answer.fun


def check(S, totals, expected, relative=1e-12):
    answer = assign(S, totals)
    rounding = relative * (1.0 + np.abs(S).max(initial=0.0) * len(S))
    assert np.bincount(answer.labels, minlength=S.shape[1]).tolist() == list(totals)
    assert S[np.arange(len(S)), answer.labels].sum() == pytest.approx(expected, abs=rounding)
    assert answer.value == pytest.approx(expected, abs=rounding)
    assert 0 <= answer.gap <= rounding
    dual = (S - answer.prices).max(axis=1, initial=-np.inf).sum() + answer.prices @ totals
    assert dual == pytest.approx(expected, abs=rounding)


def random_scores(rng, n, k):
    kind = rng.integers(5)
    if kind == 0:
        return rng.normal(size=(n, k))
    if kind == 1:  # many ties
        return rng.integers(0, 3, size=(n, k)).astype(float)
    if kind == 2:  # one class that all rows like best
        return rng.normal(size=(n, k)) + 10.0 * (np.arange(k) == rng.integers(k))
    if kind == 3:  # equal rows
        return np.tile(rng.normal(size=k), (n, 1))
    return rng.normal(size=(n, k)) * rng.exponential(size=k) * 1e3


def random_totals(rng, n, k):
    """Totals of all kinds: even ones, zeros, one class that takes all."""
    return rng.multinomial(n, rng.dirichlet(np.full(k, rng.choice([0.05, 1.0, 20.0]))))


@pytest.mark.parametrize("seed", range(4))
def test_labels_are_optimal_by_the_hungarian_method(seed):
    rng = np.random.default_rng(seed)
    for _ in range(600):
        n, k = int(rng.integers(1, 40)), int(rng.integers(1, 7))
        S, totals = random_scores(rng, n, k), random_totals(rng, n, k)
        check(S, totals, best_value(S, totals))


def test_labels_are_optimal_by_linear_programming():
    rng = np.random.default_rng(9)
    for _ in range(60):
        n, k = int(rng.integers(2, 25)), int(rng.integers(2, 6))
        S, totals = random_scores(rng, n, k), random_totals(rng, n, k)
        check(S, totals, best_value_lp(S, totals), relative=1e-8)


def test_samples_and_refilled_candidates_do_not_change_the_answer(monkeypatch):
    """Tiny limits make every instance go through both, several times."""
    monkeypatch.setattr(assignment, "SAMPLE_FROM", 10)
    monkeypatch.setattr(assignment, "MIN_CANDIDATES", 1)
    rng = np.random.default_rng(5)
    for _ in range(200):
        n, k = int(rng.integers(5, 120)), int(rng.integers(2, 6))
        S, totals = random_scores(rng, n, k), random_totals(rng, n, k)
        check(S, totals, best_value(S, totals))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_totals_are_met_whatever_the_scores(data):
    n, k = data.draw(st.integers(0, 25)), data.draw(st.integers(1, 5))
    S = data.draw(arrays(float, (n, k), elements=st.floats(-1e9, 1e9)))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=k - 1, max_size=k - 1)))
    totals = np.diff([0, *cuts, n])
    check(S, totals, best_value(S, totals) if n else 0.0)


def test_prices_are_central_and_repeat_the_labels():
    """With distinct scores no row is undecided, so that new rows are judged by the same rule."""
    rng = np.random.default_rng(2)
    S = rng.normal(size=(500, 4))
    answer = assign(S, [250, 125, 100, 25])
    assert (S - answer.prices).argmax(axis=1).tolist() == answer.labels.tolist()
    two = assign(np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 7.0]]), [2, 1])
    assert two.prices[1] - two.prices[0] == pytest.approx(5.0)  # halfway between 3 and 7


def test_no_row_takes_a_class_with_total_zero():
    rng = np.random.default_rng(3)
    for scale in (1e-3, 1.0, 1e6):
        S = scale * rng.normal(size=(300, 4))
        answer = assign(S, [200, 0, 100, 0])
        assert (S - answer.prices).argmax(axis=1).tolist() == answer.labels.tolist()


def test_a_constant_per_class_or_per_row_changes_nothing():
    rng = np.random.default_rng(3)
    S, totals = rng.normal(size=(300, 5)), [100, 90, 60, 50, 0]
    moved = assign(S + rng.normal(size=5) * 10 + rng.normal(size=(300, 1)), totals)
    assert moved.labels.tolist() == assign(S, totals).labels.tolist()


@pytest.mark.parametrize("kind", ["normal", "ties", "one favourite"])
def test_many_rows_have_a_certificate(kind):
    rng = np.random.default_rng(4)
    S = rng.normal(size=(100_000, 10))
    S = np.round(S) if kind == "ties" else S + 5.0 * (np.arange(10) == 3) * (kind == "one favourite")
    totals = largest_remainder(rng.dirichlet(np.ones(10)) * len(S), len(S))
    answer = assign(S, totals)
    assert np.bincount(answer.labels, minlength=10).tolist() == totals.tolist()
    regret = (S - answer.prices).max(axis=1) - (S - answer.prices)[np.arange(len(S)), answer.labels]
    assert regret.max() <= 1e-10  # complementary slackness: every row has a class it likes best


@pytest.mark.parametrize(
    ("scores", "totals", "message"),
    [
        ([[1.0, 2.0]], [1, 1], r"add up to 2, but there are 1 rows: 1 too many"),
        ([[1.0, 2.0]], [0, 0], r"add up to 0, but there are 1 rows: 1 too few"),
        ([[1.0, 2.0]], [2, -1], "integers of at least 0"),
        ([[1.0, 2.0]], [0.5, 0.5], "integers of at least 0"),
        ([[1.0, 2.0]], [1], r"one value per class \(2\)"),
        ([[1.0, np.nan]], [1, 0], "row 0, class 1 has nan"),
        ([1.0, 2.0], [1, 0], "rows by classes"),
    ],
)
def test_bad_input(scores, totals, message):
    with pytest.raises(InvalidProblemError, match=message):
        assign(scores, totals)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(lambda s: sum(s) > 0.1), st.integers(0, 1000))
def test_largest_remainders_add_up(shares, total):
    quotas = np.array(shares) / sum(shares) * total
    rounded = largest_remainder(quotas, total)
    assert rounded.sum() == total
    assert np.all(np.abs(rounded - quotas) < 1.0)
