"""Sparse rows of many columns: never dense, never centred, and the same answers as dense ones."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import cs3vm
from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMWarning, InvalidProblemError
from cs3vm.learn import classifier, fitting, safe, sparse_rows
from cs3vm.learn.scaling import make_scaling
from cs3vm.learn.sparse_rows import canonical, fit_basis, sparse_profiles

COLUMNS = 2000


def words(n=90, labelled=16, seed=0):
    """Rows of two kinds that prefer different words, labels, and the number of positives among the others."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    own = np.where(truth[:, None] > 0, rng.integers(0, 150, (n, 12)), rng.integers(100, 250, (n, 12)))
    columns = np.column_stack([own, rng.integers(250, COLUMNS, (n, 12))])
    values = rng.uniform(0.5, 2.0, columns.shape)
    X = sparse.csr_matrix((values.ravel(), (np.repeat(np.arange(n), 24), columns.ravel())), (n, COLUMNS))
    y = np.where(np.arange(n) < labelled, truth, np.nan)
    y[:2] = [1.0, -1.0]
    return X, y, int((truth[labelled:] > 0).sum()), truth


def fitted(X, y, total, method="top_tau", **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        return CS3VMClassifier(method, time_limit=3, **parameters).fit(X, y, n_positive=total)


@pytest.fixture
def no_dense_tables(monkeypatch):
    """No sparse matrix with all columns becomes dense."""
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array):
        for name in ("toarray", "todense"):
            original = getattr(kind, name)

            def guarded(self, *words, original=original, **more):
                assert self.ndim == 1 or max(self.shape) < COLUMNS, f"{self.shape} became dense"
                return original(self, *words, **more)

            monkeypatch.setattr(kind, name, guarded)


# -- the fit -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["svm", "top_tau", "direct"])
@pytest.mark.parametrize("standardize", ["zscore", "paper", None])
@pytest.mark.parametrize("predictor", ["plane", "student"])
def test_rows_stay_sparse_from_fit_to_predict(no_dense_tables, method, standardize, predictor):
    X, y, total, _ = words()
    clf = fitted(X, y, total, method, standardize=standardize, predictor=predictor, n_components=40)
    assert clf.coef_.shape == (1, COLUMNS)
    assert clf.result_.problem.d == 40
    np.testing.assert_allclose(
        clf.decision_function(X), X @ clf.fit_.predictor.coef[0] + clf.fit_.predictor.intercept
    )
    if predictor == "plane":
        np.testing.assert_array_equal(clf.predict(X)[np.isnan(y)], clf.transduction_[np.isnan(y)])


@pytest.mark.parametrize("method", ["svm", "top_tau"])
@pytest.mark.parametrize("number", [None, 30])
def test_simple_rules_are_those_of_dense_rows(method, number):
    X, y, total, _ = words()
    same = {"standardize": None, "side_margin": 0.0}
    dense = fitted(X.toarray(), y, total, method, **same)
    clf = fitted(X, y, total, method, n_components=number, **same)
    np.testing.assert_allclose(clf.coef_, dense.coef_, atol=1e-6)
    assert clf.result_.objective == pytest.approx(dense.result_.objective, rel=1e-6)
    assert clf.transduction_.tolist() == dense.transduction_.tolist()


def test_a_basis_of_all_rows_loses_nothing():
    X, y, total, _ = words(n=40)
    dense = fitted(X.toarray(), y, total, "auto", standardize=None)
    clf = fitted(X, y, total, "auto", standardize=None)
    assert clf.fit_.basis.is_complete
    assert clf.result_.objective == pytest.approx(dense.result_.objective, rel=1e-4)
    assert not any("sparse rows" in note for note in clf.summary().notes)


def test_an_incomplete_basis_is_said():
    X, y, total, _ = words()
    clf = fitted(X, y, total, "direct", n_components=30)
    assert clf.result_.extras["basis"] == "weights that 30 of the 90 rows span"
    assert any("the search was for weights that 30 of the 90 rows span" in n for n in clf.summary().notes)


def test_few_columns_are_the_same_as_dense_ones():
    X, y, total, _ = words()
    X = X[:, :200]
    dense, clf = fitted(X.toarray(), y, total), fitted(X, y, total)
    np.testing.assert_array_equal(clf.coef_, dense.coef_)
    assert clf.fit_.basis is None


@pytest.mark.parametrize("parameters", [{"kernel": "rbf"}, {"norm": "l1"}])
def test_kernels_and_other_norms_take_sparse_rows_as_before(parameters):
    X, y, total, _ = words()
    X = X[:, :310]
    assert fitted(X, y, total, **parameters).fit_.basis is None


def test_several_classes():
    X, y, _, _ = words()
    y = np.where(np.isnan(y), np.nan, np.where(np.arange(len(y)) % 5 == 4, 2.0, y))
    m = int(np.isnan(y).sum())
    clf = fitted(X, y, {-1: m - 30, 1: 20, 2: 10}, n_components=40)
    assert clf.coef_.shape == (3, COLUMNS)
    assert clf.predict(X).shape == (len(y),)


def test_rows_of_weight_zero_get_a_label():
    X, y, total, _ = words()
    weight = np.where(np.arange(len(y)) == len(y) - 1, 0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CS3VMWarning)
        clf = CS3VMClassifier("top_tau").fit(X, y, n_positive=total - 1, sample_weight=weight)
    assert clf.transduction_[-1] == clf.predict(X[-1:])[0]


def test_classes_are_found():
    X, y, total, truth = words(n=200, labelled=40)
    clf = fitted(X, y, total)
    assert np.mean(clf.transduction_ == truth) > 0.9


# -- the parts -----------------------------------------------------------------------------------------------
def test_coordinates_keep_lengths_and_angles():
    X, _, _, _ = words(n=30)
    basis, features = fit_basis(canonical(X), np.arange(10), np.arange(10, 30), None, 0)
    np.testing.assert_allclose(features @ features.T, (X @ X.T).toarray(), atol=1e-9)
    w = np.random.default_rng(0).normal(size=features.shape[1])
    np.testing.assert_allclose(X @ basis.to_columns(w), features @ w, atol=1e-9)


@pytest.fixture
def few_directions(monkeypatch):
    """Bases of 60 rows at most, of which 5 directions are kept besides those of the labelled rows."""
    monkeypatch.setattr(sparse_rows, "BASIS_ROWS", 60)
    monkeypatch.setattr(sparse_rows, "DIRECTIONS", 5)


def test_the_labelled_rows_and_the_longest_directions_besides_are_kept(few_directions):
    X = canonical(words()[0])
    own, others = np.arange(16), np.arange(16, 90)
    basis, features = fit_basis(X, own, others, None, 0)
    assert basis.axes.shape == (60, 21)
    np.testing.assert_allclose(basis.axes.T @ basis.axes, np.eye(21), atol=1e-9)
    np.testing.assert_allclose(features[own] @ features.T, (X[own] @ X.T).toarray(), atol=1e-9)
    w = np.random.default_rng(0).normal(size=21)
    np.testing.assert_allclose(X @ basis.to_columns(w), features @ w, atol=1e-9)
    whole = np.vstack([values for _, values in replace(basis, axes=None).coordinates(X, np.arange(90))])
    span = np.linalg.qr(whole[own].T)[0]
    rest = np.linalg.svd(whole - whole @ span @ span.T, compute_uv=False)
    kept = features - features @ (basis.axes.T @ span) @ (span.T @ basis.axes)
    np.testing.assert_allclose(np.linalg.svd(kept, compute_uv=False)[:5], rest[:5], rtol=1e-9)
    assert str(basis) == "weights in 21 directions that 60 of the 90 rows span"


def test_simple_rules_lose_nothing_by_fewer_directions(few_directions):
    X, y, total, _ = words()
    same = {"standardize": None, "side_margin": 0.0}
    dense = fitted(X.toarray(), y, total, "top_tau", **same)
    clf = fitted(X, y, total, "top_tau", **same)
    assert clf.result_.problem.d == int((~np.isnan(y)).sum()) + 5
    np.testing.assert_allclose(clf.coef_, dense.coef_, atol=1e-6)
    assert clf.transduction_.tolist() == dense.transduction_.tolist()


def test_equal_rows_and_many_labels():
    X, _, _, _ = words(n=30)
    X = sparse.vstack([X, X]).tocsr()
    basis, features = fit_basis(canonical(X), np.arange(50), np.arange(50, 60), 40, 0)
    assert len(basis.triangle) <= 30
    assert basis.made_of == 40
    assert not basis.is_complete
    np.testing.assert_allclose(features[:30], features[30:], atol=1e-9)
    alike = sparse_profiles(canonical(X))
    np.testing.assert_array_equal(alike[:30], alike[30:])
    assert len(np.unique(alike)) == 30


def test_the_rows_of_the_user_are_left_alone():
    X = sparse.csr_matrix(([1.0, 2.0, 0.0, 3.0], ([0, 0, 0, 1], [5, 5, 2, 400])), (2, 500))
    before = X.data.copy()
    rows = canonical(X)
    assert rows.nnz == 2
    np.testing.assert_array_equal(X.data, before)


def test_scalings_have_no_shift():
    X = canonical(words()[0]) * 300.0
    for name in ("zscore", "paper", None):
        scaling = make_scaling(name, X)
        assert not scaling.shift.any()
        scaled = scaling.transform(X)
        assert sparse.issparse(scaled)
        np.testing.assert_allclose(scaled.toarray(), X.toarray() * scaling.factor)
    rows = make_scaling("zscore", X).transform(X)
    assert np.mean(rows.data**2) == pytest.approx(1.0)
    weight = 1.0 + np.arange(X.shape[0]) % 2
    repeated = canonical(sparse.vstack([X, X[weight == 2]]))
    np.testing.assert_allclose(
        make_scaling("zscore", X, weight).factor, make_scaling("zscore", repeated).factor
    )
    assert abs(make_scaling("paper", X).transform(X)).max() == pytest.approx(100.0)
    assert (make_scaling("zscore", 0.0 * X).factor == 1.0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_found(bad):
    X, y, total, _ = words()
    X[7, 1234] = bad
    with pytest.raises(InvalidProblemError, match=r"1 values, the first in row 7, column 1234"):
        fitted(X, y, total)


def test_memory_is_limited(monkeypatch):
    monkeypatch.setattr(sparse_rows, "MOST_NUMBERS", 90 * 40)
    monkeypatch.setattr(sparse_rows, "DENSE_COLUMNS", 20)
    X = canonical(words()[0])
    assert fit_basis(X, np.arange(16), np.arange(16, 90), None, 0)[1].shape == (90, 40)
    monkeypatch.setattr(sparse_rows, "MOST_NUMBERS", 90)
    assert fit_basis(X, np.arange(16), np.arange(16, 90), None, 0)[1].shape == (90, 20)


def test_the_report_shows_weights_of_columns():
    report = pytest.importorskip("cs3vm.report")
    pytest.importorskip("matplotlib")
    X, y, total, _ = words()
    clf = fitted(X, y, total, n_components=40)
    names = [f"word{j}" for j in range(COLUMNS)]
    html = report.make_report(clf, X, feature_names=names, label_name="kind", source="", command="")
    largest = int(np.argmax(np.abs(clf.coef_[0])))
    assert f"word{largest}<" in html
    assert "40 of the 90 rows span" in html
    with pytest.raises(ValueError, match=r"normal=clf.fit_.normals\[0\]"):
        report.figures.weights(clf)
    ax = report.figures.weights(clf, names, normal=clf.fit_.normals[0])
    assert ax.get_yticklabels()[0].get_text() == f"word{largest}"


def test_by_default_hidden_labels_have_a_say_where_the_basis_is_a_part_of_the_rows(monkeypatch):
    X, y, total, _ = words()
    monkeypatch.setattr(sparse_rows, "BASIS_ROWS", 60)
    asked = []
    make = safe.make_safe_fit
    monkeypatch.setattr(
        classifier, "make_safe_fit", lambda *words: asked.append(words[0].method) or make(*words)
    )
    clf = fitted(X, y, total, "auto")
    assert asked == ["auto"]
    assert clf.predict(X).tolist() == fitted(X, y, total, "safe").predict(X).tolist()
    for other in ({"solver": "bnb"}, {"options": {"proof": None}}, {"kernel": "rbf"}):
        fitted(X, y, total, "auto", **other)
    fitted(X[:60], y[:60], 5, "auto")  # a basis of all rows
    many, more, rest, _ = words(labelled=50)
    fitted(many, more, rest, "auto")  # the same: with many labelled rows the basis is larger
    fitted(X, y, total, "auto", n_components=90)
    fitted(X, y, total, "direct")
    assert asked == ["auto", "safe"]


def test_no_proof_is_begun_where_it_would_be_about_a_part_of_the_weights(few_directions, monkeypatch):
    X, y, total, _ = words()
    asked = []

    def solve(problem, method, **options):
        asked.append(method)
        return cs3vm.solve(problem, method, **options)

    monkeypatch.setattr(fitting, "solve", solve)
    fitted(X, y, total, "auto")
    fitted(X, y, total, "auto", options={"callback": lambda _: None})
    fitted(X, y, total, "auto", solver="bnb")  # who names a solver wants it
    assert asked == ["direct", "direct", "auto"]
