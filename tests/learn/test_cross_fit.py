"""Hidden rows really are hidden: nothing but the total knows their labels."""

from dataclasses import replace

import numpy as np
import pytest

from cs3vm import Problem, solve
from cs3vm.learn.cross_fit import Question, draw_folds, draw_labelled, draw_unlabelled, look

CODES = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0, 0])


def question(codes=CODES, m=20, weight=None, positive=1, seed=0):
    rng = np.random.default_rng(seed)
    n = len(codes)
    y = np.where(codes == positive, 1.0, -1.0)
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    problem = Problem(
        rng.normal(size=(n, 2)) + y[:, None], y, rng.normal(size=(m, 2)), m // 2, C=2.0 * weight
    )
    return Question((problem,), codes, weight, positive)


@pytest.mark.parametrize("n_folds", [2, 3, 5, 20])
def test_every_row_is_hidden_once_per_repeat_and_every_class_keeps_a_label(n_folds):
    folds = draw_folds(CODES, n_folds, 3, seed=1)
    assert np.sum(folds, axis=0).tolist() == [3] * len(CODES)
    for hidden in folds:
        assert hidden.any()
        assert set(CODES[~hidden]) == {0, 1}
        for c in (0, 1):
            assert np.sum(hidden & (c == CODES)) <= -(-np.sum(c == CODES) // n_folds)


def test_small_classes_are_spread_over_different_folds():
    codes = np.repeat(np.arange(4), 2)
    sizes = [int(hidden.sum()) for hidden in draw_folds(codes, 4, 1, seed=0)]
    assert sizes == [2, 2, 2, 2]


def test_hidden_rows_count_among_the_unlabelled_and_the_total_counts_them():
    asked, hidden = question(), np.isin(np.arange(10), [0, 1, 9])
    problem, before = asked.hide(hidden).first, asked.first
    assert (problem.n, problem.m) == (7, 23)
    np.testing.assert_array_equal(problem.X, before.X[~hidden])
    np.testing.assert_array_equal(problem.U, np.vstack([before.U, before.X[hidden]]))
    assert problem.n_positive == before.n_positive + 2  # rows 0 and 1 are positive, row 9 is not


def test_weights_of_hidden_rows_are_respected():
    weight = np.array([2.5, 1, 1, 1, 1, 1, 1, 1, 1, 4.0])
    asked, hidden = question(weight=weight), np.isin(np.arange(10), [0, 9])
    problem = asked.hide(hidden).first
    assert problem.weights[-2:].tolist() == [2.5, 4.0]
    assert problem.n_positive == asked.first.n_positive + 2.5
    np.testing.assert_array_equal(problem.C, asked.first.C[~hidden])


def test_labels_of_hidden_rows_do_not_reach_the_search():
    """Two hidden rows of different class are exchanged: the search must not notice."""
    asked, hidden = question(), np.isin(np.arange(10), [6, 7])
    swapped = np.array(asked.first.y)
    swapped[[6, 7]] = swapped[[7, 6]]
    other = replace(asked, problems=(replace(asked.first, y=swapped),))
    first, second = asked.hide(hidden).first, other.hide(hidden).first
    for name in ("X", "y", "U", "weights", "C"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.n_positive == second.n_positive


def test_what_comes_back_is_counted_by_row():
    """A search that calls everybody positive finds the positive rows and no other."""
    asked = question()

    def everybody(problem):
        result = solve(problem, "svm")
        return replace(result, coef=np.zeros(problem.d), intercept=1.0, z=np.ones(problem.m, dtype=np.int8))

    seen = look(asked, draw_folds(CODES, 5, 2, seed=0), everybody)
    assert seen.right.tolist() == CODES.tolist()
    assert seen.above.tolist() == [0.5] * 10  # all scores are equal


def test_scores_are_ranked_among_the_unlabelled_rows():
    problem = Problem([[9.0], [-9.0], [0.5], [0.5]], [1, -1, 1, -1], [[-1.0], [0.0], [1.0], [2.0]], 2)
    asked = Question((problem,), np.array([1, 0, 1, 0]), np.ones(4), 1)

    def along(problem):
        best = problem.best_intercept(np.ones(1))
        return replace(solve(problem, "svm"), coef=np.ones(1), intercept=best.b, z=best.z)

    seen = look(asked, [np.array([True, True, False, False]), np.array([False, False, True, True])], along)
    assert seen.above.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert seen.right[:2].tolist() == [1.0, 1.0]


def test_a_sample_has_totals_and_prices_to_scale():
    asked = question(m=200)
    small = asked.sample(50, seed=0).first
    assert (small.m, small.n_positive) == (50, 25)
    assert small.count_penalty == 4 * asked.first.count_penalty
    assert asked.sample(200, seed=0) is asked
    kept = asked.keep(np.array([0, 1, 2, 7, 8]))
    assert kept.codes.tolist() == [1, 1, 1, 0, 0]
    assert kept.first.C.sum() == pytest.approx(asked.first.C.sum())


def test_rows_are_drawn_by_class_and_few_are_all_kept():
    codes = np.repeat([0, 1], [30, 5000])
    rows = draw_labelled(codes, 1000, seed=0)
    assert np.sum(codes[rows] == 0) == 30
    assert 900 < len(rows) < 1100
    assert len(draw_unlabelled(10, 20, 0)) == 10
    assert len(set(draw_unlabelled(100, 20, 0).tolist())) == 20
