"""CS3VMSearch: it chooses what the criterion says, and behaves as scikit-learn's searches do."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cs3vm import CS3VMClassifier, CS3VMSearch, LabeledKFold
from cs3vm.exceptions import InvalidProblemError, UnknownNameError
from cs3vm.selection.criteria import CRITERIA
from cs3vm.selection.evidence import Folds, make_task

GRID = {"kernel": ["linear", "rbf"], "C": [0.1, 10.0]}


def classifier(**parameters):
    """A convex method: quick, and the same answer every time."""
    return CS3VMClassifier(**{"method": "top_tau", **parameters})


def circles(names=("inner", "outer"), labels=(12, 4)):
    """Two rings, which no line divides; most labels are of the inner one."""
    X, ring = make_circles(120, noise=0.05, factor=0.4, random_state=0)
    truth = np.where(ring == 1, *names).astype(object)
    y = np.full(len(X), None, dtype=object)
    for name, number in zip(names, labels, strict=True):
        y[np.flatnonzero(truth == name)[:number]] = name
    hidden = np.array([label is None for label in y])
    return X, y, truth, hidden, int(np.sum(truth[hidden] == max(names)))


def fitted(criterion="separation+consensus", **options):
    X, y, _, _, n_positive = circles()
    return CS3VMSearch(classifier(), GRID, criterion=criterion, **options).fit(X, y, n_positive=n_positive)


@pytest.mark.parametrize("criterion", ["recall", "auc", "stability", "separation", "recall+stability"])
def test_it_chooses_the_kernel_that_divides_the_rings(criterion):
    X, y, truth, hidden, n_positive = circles()
    search = CS3VMSearch(classifier(), GRID, criterion=criterion).fit(X, y, n_positive=n_positive)
    assert search.best_params_["kernel"] == "rbf"
    assert np.mean(search.transduction_[hidden] == truth[hidden]) > 0.95
    assert np.sum(search.transduction_[hidden] == "outer") == n_positive


def test_results_have_one_entry_per_candidate():
    search = fitted("recall")
    results = search.cv_results_
    assert [tuple(params.items()) for params in results["params"]] == [
        (("C", C), ("kernel", kernel)) for C in GRID["C"] for kernel in GRID["kernel"]
    ]
    assert results["param_kernel"].tolist() == ["linear", "rbf"] * 2
    assert sorted(results["rank"]) == [1, 2, 3, 4]
    assert search.best_index_ == np.argmin(results["rank"])
    assert search.best_score_ == results["score"][search.best_index_] == max(results["score"])
    assert np.array_equal(results["score"], results["score_recall"])
    assert all(np.isfinite(results[f"score_{name}"]).all() for name in CRITERIA)
    assert (results["fit_seconds"] > 0).all()
    assert results["error"].tolist() == [""] * 4
    assert len(search.evidence_) == 4


def test_best_estimator_is_the_candidate_fitted_to_all_labels():
    X, y, _, _, n_positive = circles()
    search = fitted()
    alone = classifier(**search.best_params_).fit(X, y, n_positive=n_positive)
    assert search.best_estimator_.get_params() == alone.get_params()
    np.testing.assert_array_equal(search.transduction_, alone.transduction_)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))
    np.testing.assert_allclose(search.decision_function(X), alone.decision_function(X))
    np.testing.assert_allclose(search.predict_proba(X), alone.predict_proba(X))
    assert not hasattr(CS3VMSearch(classifier(), {"C": [1.0]}), "predict_proba")  # nothing is fitted
    known = [label is not None for label in y]
    assert search.score(X[known], y[known]) == alone.score(X[known], y[known])
    assert search.classes_.tolist() == ["inner", "outer"]
    assert search.n_features_in_ == 2


def test_the_same_choice_every_time_and_with_several_processes():
    first, again, parallel = fitted("auc"), fitted("auc"), fitted("auc", n_jobs=2)
    for other in (again, parallel):
        np.testing.assert_array_equal(other.cv_results_["score"], first.cv_results_["score"])
        assert other.best_params_ == first.best_params_
    assert not np.array_equal(fitted("auc", random_state=1).cv_results_["score"], first.cv_results_["score"])


def test_the_estimator_is_left_alone_and_parameters_are_scikit_learns():
    search = CS3VMSearch(classifier(C=3.0), {"C": [1.0]}, criterion="auc", cv=2)
    copy = clone(search).set_params(estimator__C=4.0)
    assert (search.get_params()["estimator__C"], copy.estimator.C, copy.cv) == (3.0, 4.0, 2)
    X, y, _, _, n_positive = circles()
    search.fit(X, y, n_positive=n_positive)
    assert search.estimator.C == 3.0
    assert not hasattr(search.estimator, "result_")
    assert search.n_splits_ == 2


def test_labels_are_held_out_only_where_the_criterion_asks():
    assert fitted("separation+consensus").n_splits_ == 0
    assert np.isnan(fitted("density").cv_results_["score_recall"]).all()
    assert fitted("separation+auc").n_splits_ == 3
    assert fitted("stability", n_repeats=2).n_splits_ == 6
    assert fitted(lambda one, everyone: len(one.refits), cv=4).best_score_ == 4


def test_a_list_of_grids_masks_parameters_that_are_not_there():
    X, y, _, _, n_positive = circles()
    grid = [{"kernel": ["linear"]}, {"kernel": ["poly"], "degree": [2, 3]}]
    results = CS3VMSearch(classifier(), grid, refit=False).fit(X, y, n_positive=n_positive).cv_results_
    assert results["param_degree"].mask.tolist() == [True, False, False]
    assert results["param_degree"][1:].tolist() == [2, 3]


# -- folds ------------------------------------------------------------------------------------------
def task(y, folds=None, **given):
    given = {"n_positive": 1, "positive_rate": None, "sample_weight": None} | given
    return make_task(classifier(), np.zeros((len(y), 1)), y, given, folds or Folds(None, 1, 0))


@pytest.mark.parametrize("labels", [[1] * 7 + [0], [1] * 7 + [0] * 2, [1, 1, 0], [1, 1], [1] * 4 + [0] * 4])
def test_every_label_is_held_out_once_and_no_class_loses_its_last(labels):
    y = np.array([*labels, np.nan, np.nan], dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = task(y).folds
    held_out = np.concatenate(folds)
    several = [i for i, label in enumerate(labels) if labels.count(label) > 1]
    assert sorted(held_out) == several
    for fold in folds:
        assert set(np.delete(y[: len(labels)], fold)) == set(labels)


def test_labels_of_weight_zero_are_not_held_out():
    y = [1, 1, 1, 0, 0, 0, None, None]
    folds = task(y, sample_weight=[1, 1, 0, 1, 1, 1, 1, 0]).folds
    assert sorted(np.concatenate(folds)) == [0, 1, 3, 4, 5]
    assert task(y, sample_weight=[1, 1, 0, 1, 1, 1, 1, 0]).unlabelled.tolist() == [6]


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_weight_zero_take_no_place_in_a_fold(seed):
    y, weight = [1] * 9 + [0] * 3 + [None], [1] * 3 + [0] * 6 + [1] * 4
    assert [len(fold) for fold in task(y, Folds(3, 1, seed), sample_weight=weight).folds] == [2, 2, 2]


def test_a_splitter_says_which_labels_are_held_out():
    y = [1, 1, 1, 0, 0, 0, None, None]
    folds = task(y, Folds(LabeledKFold(3), 1, 0)).folds
    assert [fold.tolist() for fold in folds] == [[0, 3], [1, 4], [2, 5]]
    for splitter in (KFold(4), LabeledKFold(3, keep=0.5)):
        with pytest.raises(InvalidProblemError, match=r"lacks unlabelled rows.*keep=1"):
            task(y, Folds(splitter, 1, 0))


# -- other kinds of data ------------------------------------------------------------------------------
def test_pipelines():
    X, y, _, hidden, n_positive = circles()
    pipeline = make_pipeline(StandardScaler(), classifier(standardize=None))
    grid = {"cs3vmclassifier__kernel": ["linear", "rbf"]}
    search = CS3VMSearch(pipeline, grid, criterion="recall").fit(X, y, n_positive=n_positive)
    assert search.best_params_ == {"cs3vmclassifier__kernel": "rbf"}
    assert np.sum(search.transduction_[hidden] == "outer") == n_positive
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_a_kernel_matrix_gives_what_the_kernel_gives():
    X, y, _, _, n_positive = circles()
    options = {"criterion": "auc", "param_grid": {"C": [0.1, 1.0, 10.0]}}
    plain = CS3VMSearch(classifier(kernel="rbf", gamma=0.5, standardize=None), **options)
    matrix = CS3VMSearch(classifier(kernel="precomputed"), **options)
    plain.fit(X, y, n_positive=n_positive)
    matrix.fit(rbf_kernel(X, gamma=0.5), y, n_positive=n_positive)
    np.testing.assert_allclose(matrix.cv_results_["score"], plain.cv_results_["score"], atol=1e-6)


def test_several_classes():
    X, truth = load_iris(return_X_y=True)
    y = np.full(len(truth), np.nan)
    for c, number in enumerate((9, 3, 5)):
        y[np.flatnonzero(truth == c)[:number]] = c
    hidden = np.isnan(y)
    totals = {c: int(np.sum(truth[hidden] == c)) for c in range(3)}
    search = CS3VMSearch(classifier(), {"C": [0.1, 1.0]}, criterion="auc+stability+recall")
    search.fit(X, y, n_positive=totals)
    assert np.mean(search.transduction_[hidden] == truth[hidden]) > 0.85
    assert search.evidence_[0].shares == pytest.approx(np.array(list(totals.values())) / hidden.sum())
    assert all(np.isfinite(search.cv_results_[f"score_{name}"]).all() for name in CRITERIA)
    assert search.decision_function(X).shape == (150, 3)


def test_shares_are_those_of_the_classes_also_if_the_lesser_is_positive():
    X, y, _, hidden, n_positive = circles()
    rate = 1 - n_positive / hidden.sum()
    search = CS3VMSearch(classifier(pos_label="inner"), {"C": [1.0]}, criterion="recall")
    shares = search.fit(X, y, positive_rate=rate).evidence_[0].shares
    assert shares == pytest.approx([rate, 1 - rate])


def test_weights_reach_the_fits():
    X, y, _, hidden, _ = circles()
    weight = np.where(hidden, 2.0, 0.5)
    search = CS3VMSearch(classifier(), {"C": [1.0]}, criterion="recall")
    search.fit(X, y, positive_rate=0.5, sample_weight=weight)
    alone = classifier().fit(X, y, positive_rate=0.5, sample_weight=weight)
    assert search.best_estimator_.n_positive_ == alone.n_positive_
    np.testing.assert_array_equal(search.transduction_, alone.transduction_)
    assert set(search.evidence_[0].weights) == {2.0}


# -- errors -----------------------------------------------------------------------------------------
def test_a_candidate_that_fails_is_left_out():
    X, y, _, _, n_positive = circles()
    search = CS3VMSearch(classifier(), {"C": [-1.0, 1.0]}, criterion="recall")
    with pytest.warns(FitFailedWarning, match=r"1 of 2 candidates.*'C': -1.0.*must be a float"):
        search.fit(X, y, n_positive=n_positive)
    assert search.best_params_ == {"C": 1.0}
    assert np.isnan(search.cv_results_["score"][0])
    assert search.cv_results_["rank"].tolist() == [2, 1]
    assert "InvalidParameterError" in search.cv_results_["error"][0]
    assert search.evidence_[0] is None


def test_errors_that_all_candidates_meet_are_raised():
    X, y, _, _, n_positive = circles()
    with pytest.raises(InvalidProblemError, match=r"none of the 4 candidates.*their total is missing"):
        CS3VMSearch(classifier(), GRID).fit(X, y)
    with pytest.raises(InvalidProblemError, match=r"none of the 1 candidates.*Invalid parameter 'kernels'"):
        CS3VMSearch(classifier(), {"kernels": ["rbf"]}).fit(X, y, n_positive=n_positive)


def test_what_cannot_be_searched_is_refused_before_any_fit():
    X, y, truth, _, n_positive = circles()
    with pytest.raises(UnknownNameError, match="unknown criterion 'accuracy'"):
        CS3VMSearch(classifier(), GRID, criterion="accuracy").fit(X, y, n_positive=n_positive)
    with pytest.raises(InvalidProblemError, match=r"no row is unlabelled.*GridSearchCV"):
        CS3VMSearch(classifier(), GRID).fit(X, truth)
    with pytest.raises(InvalidProblemError, match="all 120 rows are unlabelled"):
        CS3VMSearch(classifier(), GRID).fit(X, np.full(120, np.nan), n_positive=3)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CS3VMSearch(classifier(), GRID).fit(X[:-1], y, n_positive=n_positive)
    with pytest.raises(ValueError, match="'cv' parameter of CS3VMSearch"):
        CS3VMSearch(classifier(), GRID, cv=1).fit(X, y, n_positive=n_positive)


def test_no_candidates_and_no_number_to_choose_by_are_errors():
    X, y, _, _, n_positive = circles()
    with pytest.raises(InvalidProblemError, match="param_grid has no candidates"):
        CS3VMSearch(classifier(), []).fit(X, y, n_positive=n_positive)
    with pytest.raises(InvalidProblemError, match="NaN for all candidates"):
        fitted(lambda one, everyone: np.nan)


def test_sparse_rows_of_any_format():
    X, y, _, _, n_positive = circles()
    dense, coordinates = (
        CS3VMSearch(classifier(), {"C": [0.1, 10.0]}, criterion="recall").fit(rows, y, n_positive=n_positive)
        for rows in (X, sparse.coo_matrix(X))
    )
    np.testing.assert_allclose(dense.cv_results_["score"], coordinates.cv_results_["score"])


def test_nothing_of_an_earlier_fit_is_left():
    X, y, _, _, n_positive = circles()
    search = CS3VMSearch(classifier(), {"C": [1.0]})
    search.fit(pd.DataFrame(X, columns=["a", "b"]), y, n_positive=n_positive)
    assert list(search.feature_names_in_) == ["a", "b"]
    search.fit(X, y, n_positive=n_positive)
    assert not hasattr(search, "feature_names_in_")
    search.set_params(refit=False).fit(X, y, n_positive=n_positive)
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "classes_")


def test_one_label_per_class_leaves_nothing_to_hold_out():
    X, y, _, _, n_positive = circles(labels=(1, 1))
    with pytest.raises(InvalidProblemError, match="no class has two labels"):
        CS3VMSearch(classifier(), GRID, criterion="recall").fit(X, y, n_positive=n_positive)
    assert CS3VMSearch(classifier(), GRID).fit(X, y, n_positive=n_positive).n_splits_ == 0


def test_without_refit_there_is_nothing_to_predict_with():
    search = fitted(refit=False)
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(NotFittedError, match=r"refit=False.*best_params_"):
        search.predict(np.zeros((1, 2)))
    with pytest.raises(NotFittedError):
        CS3VMSearch(classifier(), GRID).predict(np.zeros((1, 2)))
