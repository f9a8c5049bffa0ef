"""Choosing parameters with few, biased labels and a known total: a grid search by criteria that fit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray, FloatArray, LabelArray
from ..exceptions import InvalidProblemError
from .criteria import CRITERIA, HOLDING_OUT, Criterion, Evidence, evaluate, names_in, ranking
from .evidence import Examined, Failure, Folds, Task, examine, fit_candidate, last_step, make_task

#: Among the best on the paper's datasets, at one fit per candidate; docs/choosing.md has the figures.
DEFAULT_CRITERION = "separation+consensus"


def _has_probabilities(self: CS3VMSearch) -> bool:
    return hasattr(self.__dict__.get("best_estimator_"), "predict_proba")


class CS3VMSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose C, the kernel or other parameters without more labels.

    Every candidate of the grid is fitted to all labels and, if the criterion holds out labels, again without
    each fold of them; a criterion that allows for biased labels and knows the total then chooses. Ordinary
    cross-validation would judge by labels as biased as those it learns from.

    Do not expect much: on the paper's datasets no criterion was clearly better than always taking the
    Laplacian kernel with C = 1. A search protects from a bad guess; see the page "Choosing C and the kernel".

    Parameters
    ----------
    estimator
        A :class:`cs3vm.CS3VMClassifier`, or a pipeline that ends with one. There is one fit per
        candidate, and one more per candidate and fold: take ``method="direct"`` and a short ``time_limit``.
    param_grid
        Lists of values by parameter, or a list of such mappings, as in scikit-learn's ``GridSearchCV``.
    criterion
        ``"separation"``, ``"density"`` and ``"consensus"`` look at the unlabelled rows; ``"recall"``,
        ``"auc"`` and ``"stability"`` hold out labels; several are joined by ``"+"`` (their ranks are added).
        Or a function of the :class:`~cs3vm.selection.criteria.Evidence` on one candidate and on all of
        them; more is better. Formulas: :mod:`cs3vm.selection.criteria`. Candidates of equal value are told
        apart by ``"consensus"``, then by their order in the grid.
    cv
        For criteria that hold out labels: the number of folds (default: 3; no more than the largest class
        has labels), or a splitter whose test sets name the labels to hold out, such as
        :class:`cs3vm.LabeledKFold`. A class's only label in a training set is never held out.
    n_repeats
        How often the folds are drawn anew, if ``cv`` is a number.
    refit
        Whether to fit the chosen candidate once more, to all labels, as ``best_estimator_``.
    n_jobs
        Candidates fitted at the same time; -1 for all cores. Time limits are wall time: leave enough cores.
    random_state
        Seed of the folds.

    Attributes
    ----------
    best_params_
        The chosen candidate.
    best_score_
        Its value of the criterion.
    best_index_
        Its position in ``cv_results_``.
    best_estimator_
        The estimator with these parameters, fitted to all labels; with ``refit=True`` only.
    cv_results_
        A dict of arrays with one entry per candidate, for a data frame: ``params``, ``param_<name>``,
        ``score`` (NaN if the candidate failed), ``rank`` (1 is the best), ``score_<name>`` for each criterion
        of this package, ``fit_seconds`` (all its fits), ``error`` (empty, or why it failed).
    evidence_
        The :class:`cs3vm.selection.criteria.Evidence` on each candidate, None if it failed: some 24 bytes per
        unlabelled row and fit.
    n_splits_
        The number of fits without some labels, per candidate.
    classes_
        The class labels; with ``refit=True`` only.

    Examples
    --------
    >>> import numpy as np
    >>> from cs3vm import CS3VMClassifier, CS3VMSearch
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-2, 1, (30, 2)), rng.normal(2, 1, (30, 2))])
    >>> y = np.full(60, np.nan)
    >>> y[:6], y[30:36] = 0, 1
    >>> clf = CS3VMClassifier("direct", time_limit=1)
    >>> search = CS3VMSearch(clf, {"kernel": ["linear", "laplacian"]}).fit(X, y, n_positive=24)
    >>> sorted(search.best_params_)
    ['kernel']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "decision_function"])],
        "param_grid": [dict, list],
        "criterion": [str, callable],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), None],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "refit": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        criterion: str | Criterion = DEFAULT_CRITERION,
        cv: Any = None,
        n_repeats: int = 1,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.criterion = criterion
        self.cv = cv
        self.n_repeats = n_repeats
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        n_positive: float | tuple[float, float] | Mapping[Any, Any] | None = None,
        positive_rate: float | tuple[float, float] | Mapping[Any, Any] | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
    ) -> CS3VMSearch:
        """Fit all candidates and choose one.

        Parameters
        ----------
        X
            Rows, as in :class:`cs3vm.CS3VMClassifier`.
        y
            One label per row; missing where the row is unlabelled.
        n_positive
            The total of all unlabelled rows, none of which is ever left out, or one for each class.
        positive_rate
            Instead: their share, or one for each class.
        sample_weight
            Weights of the rows; held-out labels count by their weight.
        groups
            The groups of the rows, as in :meth:`cs3vm.CS3VMClassifier.fit`.
        """
        for name in ("best_estimator_", "classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise InvalidProblemError("param_grid has no candidates: give lists of values by parameter")
        totals = {"n_positive": n_positive, "positive_rate": positive_rate, "groups": groups}
        given = {**totals, "sample_weight": sample_weight}
        needs_folds = callable(self.criterion) or not HOLDING_OUT.isdisjoint(names_in(self.criterion))
        folds = Folds(self.cv, self.n_repeats, self.random_state) if needs_folds else None
        task = make_task(self.estimator, X, y, given, folds)
        pool = Parallel(n_jobs=self.n_jobs)
        examined = pool(delayed(examine)(self.estimator, params, task) for params in candidates)
        _report_failures(examined)
        self.evidence_ = [None if isinstance(one, Failure) else one.evidence for one in examined]
        self.n_splits_ = len(task.folds)
        self._choose(candidates, examined)
        if self.refit:
            self._refit(task)
        return self

    def _choose(self, candidates: list[dict[str, Any]], examined: list[Examined | Failure]) -> None:
        everyone = [evidence for evidence in self.evidence_ if evidence is not None]
        fitted = np.array([evidence is not None for evidence in self.evidence_])
        named = {name: _spread(_or_nan(name, everyone), fitted) for name in CRITERIA}
        score = _spread(evaluate(self.criterion, everyone), fitted)
        if np.isnan(score).all():
            raise InvalidProblemError(
                "the criterion is NaN for all candidates, so it cannot choose: correct it"
            )
        rank = ranking(score, named["consensus"])
        self.cv_results_ = {
            **_columns(candidates),
            "score": score,
            "rank": rank,
            **{f"score_{name}": values for name, values in named.items()},
            "fit_seconds": np.array([one.seconds for one in examined]),
            "error": np.array([one.error if isinstance(one, Failure) else "" for one in examined], object),
        }
        self.best_index_ = int(np.argmin(rank))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(score[self.best_index_])

    def _refit(self, task: Task) -> None:
        self.best_estimator_ = fit_candidate(self.estimator, self.best_params_, task)
        self.classes_ = self.best_estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    # -- the chosen estimator --------------------------------------------------------------------
    def _best(self) -> BaseEstimator:
        check_is_fitted(self, "best_index_")
        if not self.refit:
            raise NotFittedError(
                "this CS3VMSearch has refit=False, so no estimator was fitted to all labels: set refit=True, "
                "or fit one with best_params_"
            )
        return self.best_estimator_

    @property
    def transduction_(self) -> LabelArray:
        """A class label for every row, by the chosen estimator."""
        return np.asarray(last_step(self._best()).transduction_)

    def predict(self, X: Any) -> LabelArray:
        """The class of each row, by the chosen estimator."""
        return np.asarray(self._best().predict(X))

    def decision_function(self, X: Any) -> FloatArray:
        """The decision values of the chosen estimator."""
        return np.asarray(self._best().decision_function(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, by the chosen estimator, if it has any."""
        return np.asarray(self._best().predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of the chosen estimator on labelled rows."""
        return float(self._best().score(X, y, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", None)
        if inner is not None:
            tags.input_tags = inner().input_tags
        return tags


def _or_nan(name: str, everyone: list[Evidence]) -> FloatArray:
    """The values of a criterion, NaN where it does not apply because no label can be held out."""
    try:
        return evaluate(name, everyone)
    except InvalidProblemError:
        return np.full(len(everyone), np.nan)


def _spread(values: FloatArray, fitted: BoolArray) -> FloatArray:
    """The values of the candidates that could be fitted, NaN for the others."""
    spread = np.full(len(fitted), np.nan)
    spread[fitted] = values
    return spread


def _columns(candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """The parameters as GridSearchCV shows them."""
    columns: dict[str, Any] = {"params": candidates}
    for name in sorted({name for params in candidates for name in params}):
        values = np.ma.array(np.empty(len(candidates), dtype=object), mask=True)
        for i, params in enumerate(candidates):
            if name in params:
                values[i] = params[name]
        columns[f"param_{name}"] = values
    return columns


def _report_failures(examined: list[Examined | Failure]) -> None:
    failures = [one for one in examined if isinstance(one, Failure)]
    if not failures:
        return
    first = failures[0]
    if len(failures) == len(examined):
        raise InvalidProblemError(
            f"none of the {len(examined)} candidates could be fitted. The first one, {first.params}, says: "
            f"{first.error}"
        )
    warnings.warn(
        f"{len(failures)} of {len(examined)} candidates could not be fitted and are left out; the first one, "
        f"{first.params}, says: {first.error} (all errors are in cv_results_['error'])",
        FitFailedWarning,
        stacklevel=3,
    )
