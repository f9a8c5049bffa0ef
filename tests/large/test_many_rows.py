"""More rows in memory than a ranking in a moment: shortcuts change no answer."""

import numpy as np
import pytest

from cs3vm import Problem, solve
from cs3vm.engine.heuristic import incumbent
from cs3vm.model import intercept


def table(m, n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    U, X = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.4, 1, -1)
    return X, y, U, int((U[:, 0] > 0.9).sum())


@pytest.mark.parametrize("n_positive", [0, 1, 700, 2999, 3000])
@pytest.mark.parametrize("fixed", [0, 5])
@pytest.mark.parametrize("more", [-1, 1])
def test_equal_scores_need_no_ranking(monkeypatch, n_positive, fixed, more):
    X, y, U, _ = table(3000)
    y = np.where(np.arange(len(y)) % 5 == 0, -more, more)  # so that one of the far intercepts may be best
    side = np.zeros(3000, dtype=np.int8)
    side[:fixed], side[-fixed or 3000 :] = 1, -1
    problem = Problem(X, y, U, n_positive, side=side, count_penalty=0.01)
    quick = problem.best_intercept(np.zeros(4))
    monkeypatch.setattr(intercept, "WINDOW_ROWS", 10**9)
    ranked = problem.best_intercept(np.zeros(4))
    assert quick.b == ranked.b
    assert quick.cost == ranked.cost
    assert np.array_equal(quick.z, ranked.z)


def test_the_answer_is_judged_exactly_and_threads_do_not_matter(monkeypatch):
    X, y, U, total = table(incumbent.MANY_ROWS + 5000)
    problem = Problem(X, y, U, total)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(incumbent, "THREADS", threads)
        found.append(solve(problem, "direct"))
    first, second = found
    assert first.count == total
    assert first.objective == problem.objective(first.coef, first.intercept, first.z)
    assert first.trace[-1].incumbent == pytest.approx(first.objective, rel=1e-12)
    assert np.array_equal(first.z, second.z)
    assert np.array_equal(first.coef, second.coef)
