"""The choice of landmarks, and maps that the time limit does not allow for."""

import warnings

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMWarning, InvalidProblemError
from cs3vm.learn import landmarks
from cs3vm.learn.kernel import Kernel
from cs3vm.learn.kernel_map import fit_kernel_map
from cs3vm.learn.landmarks import Source, choose_landmarks, exact_seconds, landmark_seconds
from tests.learn.test_kernel_map import rings


def rows(n):
    """All different."""
    return np.random.default_rng(0).normal(size=(n, 3))


# -- the choice ----------------------------------------------------------------------------------------------
def test_blocks_of_draws_have_the_distribution_of_single_ones():
    X = np.array([[0.0], [0.3], [1.0], [4.0]])
    K = np.exp(-((X - X.T) ** 2))
    left = 1.0 - K**2  # of each row, beside each landmark
    expected = np.zeros((4, 4))
    for i in range(4):
        expected[i] = 0.25 * left[i] / left[i].sum()
    source, found = Source(Kernel("rbf", 1.0), X, np.arange(4)), np.zeros((4, 4))
    for seed in range(4000):
        i, j = choose_landmarks(source, 2, np.random.default_rng(seed))
        found[i, j] += 1 / 4000
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 * 0.75 / 4000))


@pytest.mark.parametrize("number", [1, 63, 64, 65, 150])
def test_landmarks_are_different_rows(number):
    source = Source(Kernel("laplacian", 0.5), rows(n=150), np.arange(150))
    chosen = choose_landmarks(source, number, np.random.default_rng(0))
    assert len(np.unique(chosen)) == len(chosen) == number


def test_equal_rows_are_chosen_once_and_the_choice_ends():
    X = np.repeat(rows(n=5), 30, axis=0)
    chosen = choose_landmarks(Source(Kernel("rbf", 0.5), X, np.arange(150)), 100, np.random.default_rng(0))
    assert sorted(chosen // 30) == [0, 1, 2, 3, 4]
    nothing = Source(Kernel("poly", 1.0, 2, 0.0), np.zeros((9, 2)), np.arange(9))
    assert len(choose_landmarks(nothing, 4, np.random.default_rng(0))) == 0


# -- the time limit ------------------------------------------------------------------------------------------
def test_costs_grow_with_everything():
    assert exact_seconds(3000, 20) > exact_seconds(2000, 20) > exact_seconds(2000, 10) > 0
    assert (
        landmark_seconds(10**5, 20, 300) > landmark_seconds(10**5, 20, 100) > landmark_seconds(10**4, 20, 100)
    )
    assert landmark_seconds(12_100, 20, 9999) > 100.0


def test_too_many_landmarks_are_refused_before_the_work_begins():
    X, y = rows(n=12_100), np.full(12_100, np.nan)
    y[:10] = np.arange(10) % 2
    clf = CS3VMClassifier(kernel="laplacian", n_components=9999, time_limit=5)
    message = r"n_components=9999 on 12100 rows needs about \d+ s, more than the time limit of 5 s"
    with pytest.raises(InvalidProblemError, match=message) as caught:
        clf.fit(X, y, n_positive=6000)
    assert "--components 9999" in caught.value.for_command_line()


@pytest.mark.parametrize(
    ("slower", "exact_limit", "rank", "why"),
    [
        (1.0, 100, 60, ""),
        (2e4, 100, 60, ""),
        (1e6, 100, 25, "the exact map takes about"),
        (3.6e5, 0, 50, "the usual 60 landmarks take about"),
        (1e9, 0, 25, "the usual 60 landmarks take about"),
    ],
)
def test_a_map_fits_into_the_time_limit_or_says_that_it_was_cut(monkeypatch, slower, exact_limit, rank, why):
    for name in ("VALUE", "FEATURE", "FACTOR", "SOLVE", "PRODUCT"):
        monkeypatch.setattr(landmarks, name, slower * getattr(landmarks, name))
    monkeypatch.setattr(landmarks, "SAMPLE_ROWS", 60)
    X, every = rows(n=60), np.arange(60)
    made, features = fit_kernel_map(
        Kernel("laplacian", 0.5), X, every, exact_limit=exact_limit, seconds=140.0
    )
    assert made.rank == features.shape[1] == rank
    assert made.cut.startswith(why)
    assert bool(made.cut) == bool(why)


def test_a_cut_map_is_a_warning(monkeypatch):
    monkeypatch.setattr(landmarks, "FACTOR", 1.0)
    X, y, total = rings(n=20, m=40)
    with pytest.warns(
        CS3VMWarning, match=r"by 25 landmarks only: the exact map takes .* the time_limit is 3 s"
    ):
        clf = CS3VMClassifier("top_tau", kernel="rbf", gamma=5.0, time_limit=3).fit(X, y, n_positive=total)
    assert any("landmarks only" in note for note in clf.summary().notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CS3VMWarning)  # a given number is no surprise
        CS3VMClassifier("top_tau", kernel="rbf", time_limit=1e9, n_components=9).fit(X, y, n_positive=total)


def test_the_map_counts_against_the_time_limit(monkeypatch):
    given = []

    def solve_planes(problem, targets, totals, how, seconds):
        given.append(seconds)
        return tuple(how(problem, 0.0) for _ in targets)

    monkeypatch.setattr("cs3vm.learn.fitting.solve_planes", solve_planes)
    X, y, total = rings(n=20, m=40)
    CS3VMClassifier("top_tau", kernel="rbf", time_limit=7.0).fit(X, y, n_positive=total)
    assert given[0] < 7.0
