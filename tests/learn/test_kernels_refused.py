"""Kernels that are none, or too large: refused with a reason."""

import numpy as np
import pytest

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import InvalidProblemError
from cs3vm.learn.kernel import Kernel
from cs3vm.learn.kernel_map import fit_kernel_map, pivoted_cholesky
from tests.learn.test_kernel_map import fit, rows


def fit_matrix(K, **parameters):
    y = [0, 1] + [None] * (len(K) - 2)
    return CS3VMClassifier("top_tau", kernel="precomputed", **parameters).fit(K, y, n_positive=1)


@pytest.mark.parametrize(
    "K",
    [
        np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
        np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]),
        -np.eye(3),
    ],
)
def test_an_indefinite_kernel_is_refused(K):
    assert np.linalg.eigvalsh(K).min() < -1e-6
    with pytest.raises(InvalidProblemError, match="not positive semidefinite"):
        fit_matrix(K)


def test_indefinite_is_told_from_singular_by_the_eigenvalues():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 9))
        vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
        values = rng.choice([0.0, 1e-3, 1.0, 10.0], n)
        K = (vectors * values) @ vectors.T
        _, factor = pivoted_cholesky(0.5 * (K + K.T), np.arange(n))
        np.testing.assert_allclose(factor @ factor.T, K, atol=1e-8)
        values[rng.integers(n)] = -1e-4
        K = (vectors * values) @ vectors.T
        with pytest.raises(InvalidProblemError, match="not positive semidefinite"):
            pivoted_cholesky(0.5 * (K + K.T), np.arange(n))


def test_an_indefinite_kernel_is_noticed_in_the_approximation_too():
    X = rows(n=60)
    with pytest.raises(InvalidProblemError, match="not positive semidefinite"):
        fit_kernel_map(Kernel("poly", 1.0, 2, -1.0), X, np.arange(60), exact_limit=0, n_components=20)


def test_errors_of_matrices():
    with pytest.raises(InvalidProblemError, match=r"rows 0 and 2 have the values 0.5 and 0"):
        fit_matrix(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    with pytest.raises(InvalidProblemError, match=r"square matrix of the kernel.*got 3 x 2"):
        fit_matrix(np.ones((3, 2)))
    with pytest.raises(
        InvalidProblemError, match=r"has 20 rows, more than exact_kernel_limit=10.*n_components"
    ):
        fit_matrix(np.eye(20), exact_kernel_limit=10)
    assert not fit_matrix(np.eye(20), exact_kernel_limit=10, n_components=5).kernel_map_.exact
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 20"):
        fit_matrix(np.eye(20)).predict(np.ones((1, 2)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: (A @ B.T)[:, :-1], "returned the shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN or infinity"),
        (lambda x, y: float(x @ y), "the kernel function failed"),
        (lambda A, B: A @ B.T - 5.0, "not positive semidefinite"),
        (lambda A, B: A[:, :1] - B[:, :1].T, "not symmetric"),
    ],
)
def test_errors_of_functions(function, message):
    with pytest.raises(InvalidProblemError, match=message):
        fit(function, "top_tau")


@pytest.mark.parametrize(
    "parameters", [{"kernel": "sigmoid"}, {"gamma": 0.0}, {"degree": 1.5}, {"n_components": 0}]
)
def test_errors_of_parameters(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        fit(parameters.pop("kernel", "rbf"), "top_tau", **parameters)


@pytest.mark.parametrize("limit", [3000, 0])
def test_a_polynomial_that_overflows_is_refused(limit):
    with pytest.raises(InvalidProblemError, match="values beyond 1e308: lower degree or gamma"):
        fit("poly", "top_tau", degree=500, gamma=10.0, coef0=1.0, exact_kernel_limit=limit)


@pytest.mark.parametrize("limit", [3000, 0])
def test_a_kernel_that_is_zero_is_refused(limit):
    with pytest.raises(InvalidProblemError, match="precomputed is 0 for all pairs of rows"):
        fit_matrix(np.zeros((6, 6)), exact_kernel_limit=limit, n_components=3)
    with pytest.raises(InvalidProblemError, match=r"poly, .* is 0 for all pairs of rows.*coef0 > 0"):
        CS3VMClassifier("svm", kernel="poly").fit(np.ones((4, 2)), [0, 1, 0, 1])


def test_ranks_need_a_kernel():
    with pytest.raises(InvalidProblemError, match="standardize='rank' needs a kernel"):
        fit("linear", standardize="rank")
