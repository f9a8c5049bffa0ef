"""Kernels: the map reproduces the kernel, the fit is the model in its features."""

import pickle
from dataclasses import replace
from itertools import product

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from cs3vm import CS3VMClassifier, Problem, solve, verify
from cs3vm.learn.kernel import Kernel, make_kernel
from cs3vm.learn.kernel_map import fit_kernel_map
from cs3vm.learn.landmarks import TOLERANCE
from cs3vm.solvers import SOLVERS
from tests.oracle import brute_force

KERNELS = {
    "rbf": (Kernel("rbf", 0.3), lambda A, B: rbf_kernel(A, B, gamma=0.3)),
    "laplacian": (Kernel("laplacian", 0.3), lambda A, B: laplacian_kernel(A, B, gamma=0.3)),
    "poly": (Kernel("poly", 0.5, 3, 1.0), lambda A, B: polynomial_kernel(A, B, gamma=0.5, degree=3, coef0=1)),
    "callable": (Kernel("callable", function=lambda A, B: 1.0 + A @ B.T), lambda A, B: 1.0 + A @ B.T),
}


@parametrize_with_checks(
    [CS3VMClassifier(kernel="rbf"), CS3VMClassifier("top_tau", kernel="poly", coef0=1.0)]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def rows(seed=0, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2] = X[0]  # a duplicate
    return X


def rings(seed=0, n=8, m=10):
    """A class inside the other: no plane separates them. Returns X, y with NaN, the total."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 2))
    truth = (np.linalg.norm(X, axis=1) < 1.1).astype(float)
    truth[:2] = 0.0, 1.0
    y = truth.copy()
    y[n:] = np.nan
    return X, y, int(truth[n:].sum())


def fit(kernel, method="auto", seed=0, **parameters):
    X, y, total = rings(seed)
    return CS3VMClassifier(method, kernel=kernel, time_limit=20, **parameters).fit(X, y, n_positive=total)


# -- the map -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_are_those_of_scikit_learn(name):
    ours, theirs = KERNELS[name]
    A, B = rows(1), rows(2, n=17)
    np.testing.assert_allclose(ours(A, B), theirs(A, B), rtol=1e-12)
    np.testing.assert_allclose(ours.diagonal(A), np.diag(theirs(A, A)), rtol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_the_exact_map_reproduces_the_kernel_on_all_rows(name):
    kernel, function = KERNELS[name]
    X = rows()
    made, features = fit_kernel_map(kernel, X, np.arange(len(X)))
    assert made.exact
    assert made.rank == features.shape[1] == np.linalg.matrix_rank(function(X, X), tol=1e-9) < len(X)
    np.testing.assert_allclose(features @ features.T, function(X, X), atol=1e-9)
    np.testing.assert_allclose(made.transform(X), features, atol=1e-7)
    new = rows(5)
    np.testing.assert_allclose(made.transform(new) @ features.T, function(new, X), atol=1e-7)


def test_the_tolerance_is_relative_to_each_row():
    X = np.r_[rows(), [[1e4, 0.0, 0.0]]]  # one row has a kernel value 1e24 times that of the others
    _, features = fit_kernel_map(Kernel("poly", 1.0, 3, 1.0), X, np.arange(len(X)))
    K = polynomial_kernel(X, gamma=1.0, degree=3, coef0=1.0)
    missing = np.diag(K) - np.einsum("ij,ij->i", features, features)
    assert np.all(np.abs(missing) <= 2 * TOLERANCE * np.diag(K))


def test_nystroem_with_all_rows_as_landmarks_is_exact():
    X, every = rows(), np.arange(40)
    exact, features = fit_kernel_map(Kernel("rbf", 0.3), X, every)
    nystroem, others = fit_kernel_map(Kernel("rbf", 0.3), X, every, n_components=40, exact_limit=0)
    assert nystroem.exact
    assert nystroem.rank == exact.rank
    np.testing.assert_allclose(others @ others.T, features @ features.T, atol=1e-8)


def test_fewer_landmarks_are_another_kernel_and_it_says_so():
    X, every = rows(n=200), np.arange(200)
    residuals = []
    for number in (5, 20, 80):
        made, features = fit_kernel_map(Kernel("rbf", 0.3), X, every, n_components=number)
        assert not made.exact
        assert made.rank == number
        lost = 1 - np.einsum("ij,ij->i", features, features)
        assert made.residual == pytest.approx(lost.mean())
        assert lost.min() > -1e-10
        assert f"approximated by {number} landmarks" in str(made)
        np.testing.assert_allclose(  # the landmarks themselves are kept as they are
            features[made.indices] @ features.T, rbf_kernel(X[made.indices], X, gamma=0.3), atol=1e-9
        )
        residuals.append(made.residual)
    assert residuals == sorted(residuals, reverse=True)
    assert residuals[-1] < 0.01


def test_blocks_do_not_change_the_features(monkeypatch):
    X, every = rows(n=100), np.arange(100)
    expected = fit_kernel_map(Kernel("laplacian", 0.3), X, every, exact_limit=0, n_components=20)
    monkeypatch.setattr("cs3vm.learn.kernel.BLOCK", 150)
    made, features = fit_kernel_map(Kernel("laplacian", 0.3), X, every, exact_limit=0, n_components=20)
    np.testing.assert_allclose(features, expected[1], atol=1e-12)
    np.testing.assert_allclose(made.transform(X), features, atol=1e-9)
    assert made.residual == pytest.approx(expected[0].residual)


def test_landmarks_depend_on_the_seed_alone():
    X, every = rows(n=100), np.arange(100)
    draws = [
        fit_kernel_map(Kernel("rbf", 0.3), X, every, n_components=10, random_state=seed)[0].indices.tolist()
        for seed in (3, 3, 4)
    ]
    assert draws[0] == draws[1] != draws[2]


def test_gamma_as_in_scikit_learn():
    X = rows() * [1.0, 2.0, 5.0]
    ones = np.ones(len(X))
    assert make_kernel("rbf", "scale", 3, 0.0, X, ones).gamma == pytest.approx(1 / (3 * X.var()))
    assert make_kernel("rbf", "auto", 3, 0.0, X, ones).gamma == pytest.approx(1 / 3)
    assert make_kernel("rbf", 0.7, 3, 0.0, X, ones).gamma == 0.7
    assert make_kernel("rbf", "scale", 3, 0.0, np.ones((5, 2)), np.ones(5)).gamma == 1.0
    weight = np.arange(len(X)) % 3
    repeated = np.repeat(X, weight, axis=0)
    by_weight = make_kernel("rbf", "scale", 3, 0.0, X, weight).gamma
    assert by_weight == pytest.approx(1 / (3 * repeated.var()))


# -- the fit -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", ["callable", "precomputed"])
@pytest.mark.parametrize("predictor", ["plane", "student"])
@pytest.mark.parametrize("seed", range(3))
def test_a_linear_kernel_equals_no_kernel(kernel, predictor, seed):
    X, y, total = rings(seed)
    same = {"time_limit": 20, "predictor": predictor}
    plain = CS3VMClassifier(standardize=None, **same).fit(X, y, n_positive=total)
    if kernel == "callable":
        clf, seen, new = (
            CS3VMClassifier(kernel=lambda A, B: A @ B.T, standardize=None, **same),
            X,
            rows(7, d=2),
        )
        clf.fit(X, y, n_positive=total)
    else:
        clf = CS3VMClassifier(kernel="precomputed", **same).fit(X @ X.T, y, n_positive=total)
        seen, new = X @ X.T, rows(7, d=2) @ X.T
    assert clf.kernel_map_.rank == 2
    assert clf.result_.objective == pytest.approx(plain.result_.objective, rel=1e-6)
    assert clf.result_.count == plain.result_.count
    np.testing.assert_allclose(clf.decision_function(seen), plain.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(clf.decision_function(new), plain.decision_function(rows(7, d=2)), atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_a_polynomial_of_degree_two_equals_monomials(seed):
    X, y, total = rings(seed)
    r2 = np.sqrt(2.0)
    a, b = X.T
    monomials = np.column_stack([np.ones(len(X)), r2 * a, r2 * b, a * a, b * b, r2 * a * b])
    plain = CS3VMClassifier(standardize=None, time_limit=20).fit(monomials, y, n_positive=total)
    clf = fit("poly", seed=seed, gamma=1.0, degree=2, coef0=1.0, standardize=None)
    assert clf.kernel_map_.rank == 6
    assert clf.result_.objective == pytest.approx(plain.result_.objective, rel=1e-6)
    assert clf.result_.count == plain.result_.count


def dual_qp(K, y, sides, C):
    """The SVM value with all unlabelled rows held, by its dual: only the kernel matrix is needed."""
    n, total = len(y), len(K)
    sigma = np.append(y, sides)
    quadratic = sparse.csc_matrix(np.triu(np.outer(sigma, sigma) * K + 1e-12 * np.eye(total)))
    linear = np.append(-np.ones(n), np.zeros(total - n))
    A = sparse.csc_matrix(np.vstack([sigma, -np.eye(total), np.eye(total)[:n]]))
    rhs = np.concatenate([[0.0], np.zeros(total), np.full(n, C)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(total + n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    solution = clarabel.DefaultSolver(quadratic, linear, A, rhs, cones, settings).solve()
    assert "Solved" in str(solution.status)
    return -solution.obj_val


@pytest.mark.parametrize("seed", range(6))
def test_a_precomputed_kernel_is_optimal_over_all_labelings(seed):
    rng = np.random.default_rng(seed)
    n, m = 5, 6
    X = rng.normal(size=(n + m, 2))
    if seed % 2:
        X[-1] = X[0]
    K = [rbf_kernel, laplacian_kernel][seed % 3 % 2](X, gamma=0.5)
    y = np.array([1, -1, *rng.choice([-1, 1], n - 2)])
    tau = int(rng.integers(0, m + 1))
    best = min(
        dual_qp(K, y, 2 * np.array(z) - 1, C=2.0) + 1.5 * abs(sum(z) - tau) for z in product((0, 1), repeat=m)
    )
    clf = CS3VMClassifier(kernel="precomputed", C=2.0, count_penalty=1.5, time_limit=20, side_margin=0)
    clf.fit(K, [*y.tolist(), *[None] * m], n_positive=tau)
    assert clf.result_.is_optimal
    assert clf.result_.objective == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert brute_force(clf.result_.problem) == pytest.approx(best, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_order_and_units_do_not_matter(kernel):
    X, y, total = rings(4)
    order = np.random.default_rng(0).permutation(len(X))
    here, there = (CS3VMClassifier(kernel=kernel, time_limit=20) for _ in range(2))
    here.fit(X, y, n_positive=total)
    there.fit((X * [1e3, 1e-2] - [7.0, 4.0])[order], y[order], n_positive=total)
    assert there.result_.objective == pytest.approx(here.result_.objective, rel=1e-5)
    moved = there.decision_function(X * [1e3, 1e-2] - [7.0, 4.0])
    np.testing.assert_allclose(moved, here.decision_function(X), atol=1e-4)


def test_weights_equal_copies_and_zero_leaves_a_row_out():
    X, y, _ = rings(1)
    weight = np.array([1, 2, 0, 1, 1, 3, 1, 1, 2, 1, 1, 0, 1, 1, 1, 1, 2, 1])
    parameters = {"kernel": "rbf", "time_limit": 20, "method": "top_tau", "predictor": "plane"}
    weighted = CS3VMClassifier(**parameters).fit(X, y, n_positive=4, sample_weight=weight)
    copies = CS3VMClassifier(**parameters).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight), n_positive=4
    )
    np.testing.assert_allclose(weighted.decision_function(X), copies.decision_function(X), atol=1e-5)
    assert set(weighted.kernel_map_.indices) <= set(np.flatnonzero(weight))
    assert weighted.transduction_[11] == weighted.predict(X[11:12])[0]


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_fully_labelled_is_the_kernel_svm(kernel):
    X = rows(3)
    y = (np.linalg.norm(X, axis=1) < 1.5).astype(int)
    ours = CS3VMClassifier(kernel=kernel, standardize=None, coef0=0.5).fit(X, y)
    theirs = SVC(kernel=kernel, coef0=0.5, tol=1e-9).fit(X, y)
    new = rows(4)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-4)


@pytest.mark.parametrize("positive", [0, 1])
def test_new_rows_are_scored_as_the_fitted_ones(positive):
    X, y, _ = rings(2)
    clf = CS3VMClassifier("top_tau", kernel="rbf", pos_label=positive, predictor="plane")
    clf.fit(X, y, n_positive=4)
    problem, sign = clf.result_.problem, 1 if positive else -1
    scores = sign * problem.scores(clf.result_.coef, clf.result_.intercept)
    np.testing.assert_allclose(clf.decision_function(X[np.isnan(y)]), scores, atol=1e-8)
    features = clf.kernel_map_.transform(clf.scaling_.transform(X[~np.isnan(y)]))
    np.testing.assert_allclose(features, problem.X, atol=1e-8)
    off = ~problem.on_plane(clf.result_.coef, clf.result_.intercept)
    same = clf.predict(X[np.isnan(y)]) == clf.transduction_[np.isnan(y)]
    assert same[off].all()


@pytest.mark.parametrize("method", ["svm", "top_tau", "direct", "cs3vm", "rcm", "ircm", "wircm"])
def test_every_method_works_with_a_kernel(method):
    clf = fit("rbf", method)
    assert clf.result_.objective >= fit("rbf").result_.lower_bound - 1e-6
    assert "SVM" in str(clf.summary())


def test_a_proof_with_a_kernel_is_confirmed(tmp_path):
    clf = fit("laplacian", options={"proof": tmp_path / "p.gz"})
    assert clf.result_.is_optimal
    verdict = verify(clf.result_.problem, tmp_path / "p.gz")
    assert verdict
    assert verdict.objective == pytest.approx(clf.result_.objective)
    assert "laplacian" in verdict.message
    assert "exact" in verdict.message


def test_the_proof_for_a_truncated_kernel_says_so(tmp_path):
    clf = fit("laplacian", n_components=3, options={"proof": tmp_path / "p.gz"})
    verdict = verify(clf.result_.problem, tmp_path / "p.gz")
    assert verdict
    assert "approximated by 3 landmarks" in verdict.message


def test_beyond_the_limit_the_kernel_is_approximated():
    clf = fit("rbf", "direct", exact_kernel_limit=10, n_components=6)
    assert clf.kernel_map_.rank == clf.result_.problem.d == 6
    assert not clf.kernel_map_.exact
    assert clf.result_.extras["kernel"]["exact"] is False


def test_where_the_engine_could_not_even_start_the_heuristic_answers(monkeypatch):
    small = replace(SOLVERS["bnb"], setup_limit=1.0)
    monkeypatch.setitem(SOLVERS, "bnb", small)
    result = fit("rbf").result_
    assert result.n_nodes == 0
    assert result.objective >= result.lower_bound > 0


# -- the estimator's contract --------------------------------------------------------------------------------
def test_only_the_linear_kernel_has_coef():
    X, y, total = rings()
    clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=total)
    assert clf.coef_.shape == (1, 2)
    assert clf.kernel_map_ is None
    assert not hasattr(clf, "dual_coef_")
    clf.set_params(kernel="rbf").fit(X, y, n_positive=total)
    assert not hasattr(clf, "coef_")
    assert clf.dual_coef_.shape == (1, clf.kernel_map_.rank)
    with pytest.raises(AttributeError, match="coef_ exists only for kernel='linear'"):
        clf.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        clf.nothing  # noqa: B018


def test_a_kernel_fit_survives_pickle_and_clone():
    X, _, _ = rings()
    clf = fit("rbf", "top_tau")
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    assert clone(clf).kernel == "rbf"


def test_a_precomputed_kernel_is_cut_like_one_in_cross_validation():
    X = rows(3, n=60)
    y = (np.linalg.norm(X, axis=1) < 1.5).astype(int)
    assert CS3VMClassifier(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    by_matrix = cross_val_score(CS3VMClassifier(kernel="precomputed"), rbf_kernel(X, gamma=0.3), y, cv=3)
    by_rows = cross_val_score(CS3VMClassifier(kernel="rbf", gamma=0.3, standardize=None), X, y, cv=3)
    np.testing.assert_allclose(by_matrix, by_rows)


def test_a_problem_takes_frozen_features_without_a_copy():
    X, y, total = rings()
    clf = CS3VMClassifier("svm", kernel="rbf").fit(X, y, n_positive=total)
    assert clf.result_.problem.U.base is clf.result_.problem.X.base
    own = np.ones((3, 2))
    view = own[:2]
    view.flags.writeable = False  # its base can still be changed
    assert not np.shares_memory(Problem(view, [1, -1], own, 1).X, own)


def test_a_kernel_problem_can_be_solved_without_the_estimator():
    X, y, total = rings()
    made, features = fit_kernel_map(Kernel("rbf", 0.5), X, np.arange(len(X)))
    known = ~np.isnan(y)
    problem = Problem(features[known], 2 * y[known] - 1, features[~known], total)
    expected = fit("rbf", gamma=0.5, standardize=None, side_margin=0).result_.objective
    assert solve(problem, time_limit=20).objective == pytest.approx(expected, rel=1e-6)
    assert made.describe()["landmarks"] == problem.d
