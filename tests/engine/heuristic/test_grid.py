"""Columns on a grid, and planes of whole numbers there."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from cs3vm import Problem, Total, Totals, solve
from cs3vm.engine.heuristic.grid import MOST_SUMS, SAMPLE_ROWS, Grid
from cs3vm.engine.heuristic.grid_search import GridSearch
from cs3vm.engine.heuristic.incumbent import Search
from cs3vm.engine.heuristic.tilt import tilt
from cs3vm.model.budget import Budget


def thresholds(seed: int, m: int = 400, n: int = 40, d: int = 8, scale: float = 1.0) -> Problem:
    """Yes or no by a threshold on a sum of columns with few values, some of which count twice."""
    rng = np.random.default_rng([seed, 3])
    rows = rng.integers(0, 3, size=(m + n, d)).astype(float)
    sums = rows @ rng.choice([0, 1, 2], size=d) + rng.normal(size=m + n)
    y = np.where(sums > np.median(sums), 1, -1)
    y[:2] = 1, -1
    return Problem(scale * rows[:n], y[:n], scale * rows[n:], int((y[n:] > 0).sum()))


def grid_search(problem: Problem, seed: int = 0, work: float = 1e9) -> GridSearch:
    return GridSearch(Search(problem, Budget(work=work)), np.random.default_rng(seed))


def test_columns_on_a_grid_are_found_with_their_steps():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.integers(0, 3, 50) * 0.3 - 1.0,
            rng.normal(size=50),
            np.full(50, 2.0),
            rng.choice([0.0, 1.0, np.pi], 50),
            rng.choice([-4.0, 0.0, 6.0], 50),  # the least difference, four, is no step of it
            rng.choice([0.0, 5e-324, 1e308], 50),
        ]
    )
    grid = Grid.of(Problem(X[:10], [1, -1] * 5, X[10:], 20))
    assert grid.columns.tolist() == [0]
    assert grid.step == pytest.approx([0.3])
    back = grid.unlabelled_places[0] * 0.3 - 1.0
    assert np.allclose(back, X[10:, 0])


def test_of_many_rows_some_tell_the_places():
    rng = np.random.default_rng(1)
    problem = Problem(rng.integers(0, 2, (4, 2)), [1, -1, 1, -1], rng.integers(0, 2, (10_000, 2)), 3)
    grid = Grid.of(problem)
    assert len(grid.labelled) == 4
    assert SAMPLE_ROWS // 2 < len(grid.unlabelled) <= SAMPLE_ROWS
    assert np.array_equal(grid.unlabelled_places.T, problem.U[grid.unlabelled])


@pytest.mark.parametrize("d", [3, 9, 60])
def test_sums_are_different_directions_by_few_columns(d):
    rows = np.random.default_rng(2).integers(0, 3, (80, d)) * 0.5
    sums = Grid.of(Problem(rows[:10], [1, -1] * 5, rows[10:], 20)).sums(d)
    assert sums.shape[0] == d
    assert 0 < sums.shape[1] <= MOST_SUMS
    assert set(np.unique(np.abs(sums))) == {0.0, 2.0}
    assert (np.count_nonzero(sums, axis=0) >= 2).all()
    if d < 60:
        assert len(np.unique(sums, axis=1).T) == sums.shape[1]


def test_the_value_of_a_plane_is_what_the_search_expects():
    for seed in range(4):
        search = grid_search(thresholds(seed))
        planes = search.run([])
        assert [plane.value for plane in planes] == sorted(plane.value for plane in planes)
        for plane, found in zip(planes, search._kept(), strict=True):
            assert plane.value <= found.value * (1.0 + 1e-9)  # other places and lengths may be better


def test_no_plane_of_small_numbers_is_better():
    problem = thresholds(1, m=60, n=20, d=3)
    best = grid_search(problem).run([])[0]
    search = Search(problem, Budget())
    for k in product(range(-2, 3), repeat=3):
        for length in (0.2, 0.25, 1 / 3, 0.4, 0.5, 2 / 3, 1.0, 2.0):
            assert best.value <= search.plane(length * np.array(k, dtype=float)).value * (1.0 + 1e-9)


def test_the_same_seed_finds_the_same_planes_and_the_scale_of_columns_does_not_matter_much():
    one, again = (grid_search(thresholds(2)).run([]) for _ in range(2))
    assert np.array_equal(one[0].w, again[0].w)
    wide = grid_search(thresholds(2, scale=0.125)).run([])
    assert np.count_nonzero(wide[0].w) > 0


def test_there_is_nothing_to_do_without_a_grid_or_with_several_totals_or_too_little_work():
    rng = np.random.default_rng(3)
    smooth = Problem(rng.normal(size=(8, 3)), [1, -1] * 4, rng.normal(size=(40, 3)), 20)
    assert grid_search(smooth).run([]) == []
    problem = thresholds(0)
    halves = [Total(np.arange(0, 200), 90, 110), Total(np.arange(200, 400), 90, 110)]
    assert grid_search(replace(problem, n_positive=Totals(halves))).run([]) == []
    assert grid_search(problem, work=1000.0).run([]) == []


def test_sums_of_columns_tilt_a_plane_through_many_rows():
    """Two columns decide; by single columns the rows on the plane cannot be parted at the wanted total."""
    better = 0
    for seed in range(4):
        problem = replace(thresholds(seed), side_margin=1e-3)
        flat = grid_search(replace(problem, side_margin=0.0)).run([])[0]
        with_sums, without = (Search(problem, Budget()) for _ in range(2))
        one = tilt(with_sums, with_sums.plane(flat.w))
        without.sums = np.zeros((problem.d, 0))
        other = tilt(without, without.plane(flat.w))
        assert flat.value <= one.value * (1.0 + 1e-9)
        better += one.value < other.value * (1.0 - 1e-6)
    assert better >= 2


def test_direct_finds_planes_of_whole_numbers_whatever_the_order_of_the_rows():
    problem = replace(thresholds(5), side_margin=1e-3)
    found = solve(problem, "direct", work_limit=3e8, time_limit=600.0)
    order = np.random.default_rng(0).permutation(problem.m)
    other = solve(replace(problem, U=problem.U[order]), "direct", work_limit=3e8, time_limit=600.0)
    assert found.objective == pytest.approx(other.objective, rel=1e-12)
    assert np.array_equal(found.z[order], other.z)
    assert not found.on_plane
