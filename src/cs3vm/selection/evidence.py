"""The fits behind a search: one candidate fitted to all labels, and again without each fold of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metaestimators import _safe_split

from .._typing import BoolArray, FloatArray, IntArray, LabelArray, RowArray
from ..exceptions import CS3VMWarning, InvalidProblemError
from ..learn.class_totals import KnownTotals
from ..learn.classifier import CS3VMClassifier
from ..learn.margins import take_groups
from ..learn.rows import read_weights
from ..learn.unlabelled import all_unlabelled_error, as_vector, find_unlabeled, same_type
from .criteria import Evidence, HeldOut, Scored
from .splitter import LabeledKFold

DEFAULT_FOLDS = 3


@dataclass(frozen=True)
class Folds:
    """How labels are held out: the number of folds or a splitter, repetitions, the seed."""

    cv: Any
    n_repeats: int
    random_state: Any


@dataclass(frozen=True, eq=False)
class Task:
    """The data of a search and the labels to hold out, the same for every candidate."""

    X: Any
    y: Any
    labels: LabelArray  #: class of each row; of an unlabelled one, any
    totals: dict[str, Any]  #: ``n_positive`` and ``positive_rate`` as given
    sample_weight: FloatArray | None
    weight: FloatArray
    unlabelled: RowArray  #: those that count
    folds: tuple[RowArray, ...]  #: rows whose labels are held out
    groups: Any = None


@dataclass(frozen=True, eq=False)
class Examined:
    """A candidate that could be fitted."""

    evidence: Evidence
    seconds: float


@dataclass(frozen=True)
class Failure:
    """A candidate that could not be fitted, and why."""

    params: dict[str, Any]
    error: str
    seconds: float


# -- the task ----------------------------------------------------------------------------------------
def make_task(estimator: BaseEstimator, X: Any, y: Any, given: dict[str, Any], folds: Folds | None) -> Task:
    """Read the labels, and draw the folds that all candidates share."""
    vector, mask = as_vector(y), _unlabelled(estimator, y, given)
    X, _ = indexable(X, vector)
    weight = read_weights(given["sample_weight"], len(vector))
    if mask.all():
        raise all_unlabelled_error(len(vector))
    unlabelled = np.flatnonzero(mask & (weight > 0))
    if len(unlabelled) == 0:
        raise InvalidProblemError(
            "no row is unlabelled, so no total helps to choose: mark unlabelled rows with NaN or None, "
            "and for fully labelled data use sklearn.model_selection.GridSearchCV"
        )
    known = same_type(vector, ~mask)
    labels = np.zeros(len(vector), dtype=known.dtype)
    labels[~mask] = known
    codes = np.full(len(vector), np.nan)  # NaN: unlabelled, for the splitter
    codes[~mask] = np.unique(known, return_inverse=True)[1]
    held_out = () if folds is None else tuple(_held_out(X, codes, ~mask & (weight > 0), folds))
    totals = {name: given[name] for name in ("n_positive", "positive_rate")}
    sample_weight = None if given["sample_weight"] is None else weight
    if held_out and getattr(last_step(estimator), "totals_of", "unlabelled") == "all":
        raise InvalidProblemError(
            "a search holds out labels, which totals_of='all' would still count: give the totals of the "
            "unlabelled rows, or a criterion that holds out none"
        )
    groups = given.get("groups")
    return Task(X, y, labels, totals, sample_weight, weight, unlabelled, held_out, groups)


def _unlabelled(estimator: BaseEstimator, y: Any, given: dict[str, Any]) -> BoolArray:
    """Which rows the classifier will take for unlabelled."""
    known = KnownTotals.of(given["n_positive"], given["positive_rate"], groups=given.get("groups"))
    return find_unlabeled(
        as_vector(y),
        unlabeled=getattr(last_step(estimator), "unlabeled", None),
        has_total=known.given,
        names=known.names,
    )


def _held_out(X: Any, codes: FloatArray, judged: BoolArray, folds: Folds) -> Iterator[RowArray]:
    """Rows to hold out, fold by fold; every class keeps a label, and folds without any row are skipped."""
    for train, test in _splits(X, codes, judged, folds):
        if np.isnan(codes).sum() > np.isnan(codes[train]).sum():
            raise InvalidProblemError(
                "a training set of cv lacks unlabelled rows, so its total is unknown: use a splitter that "
                "keeps all of them in training, such as LabeledKFold with keep=1, or give a number of folds"
            )
        kept = np.setdiff1d(np.flatnonzero(judged), test)
        held_out = np.asarray(test)[judged[test]]
        held_out = held_out[np.isin(codes[held_out], codes[kept])]
        if len(held_out):
            yield held_out


def _splits(
    X: Any, codes: FloatArray, judged: BoolArray, folds: Folds
) -> Iterator[tuple[RowArray, RowArray]]:
    if folds.cv is not None and not isinstance(folds.cv, Integral):
        yield from folds.cv.split(X, codes)
        return
    largest = int(np.unique(codes[judged], return_counts=True)[1].max(initial=0))
    if largest < 2:
        return
    random = check_random_state(folds.random_state)
    n_splits = min(int(folds.cv or DEFAULT_FOLDS), largest)
    y = np.where(judged, codes, np.nan)  # labels of weight 0 are in every training set
    for _ in range(folds.n_repeats):
        splitter = LabeledKFold(n_splits, shuffle=True, random_state=random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # on classes with fewer labels than folds
            yield from splitter.split(X, y)


# -- the fits ----------------------------------------------------------------------------------------
def examine(estimator: BaseEstimator, params: dict[str, Any], task: Task) -> Examined | Failure:
    """All fits of one candidate."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CS3VMWarning)  # the chosen one's are shown when it is fitted
            evidence = _evidence(estimator, params, task)
    except Exception as error:  # as in scikit-learn, one bad candidate must not end the search
        message = f"{type(error).__name__}: {error}"
        return Failure(params, message, time.perf_counter() - began)
    return Examined(evidence, time.perf_counter() - began)


def fit_candidate(
    estimator: BaseEstimator, params: dict[str, Any], task: Task, held_out: RowArray | None = None
) -> BaseEstimator:
    """The estimator with these parameters, fitted without the rows held out."""
    estimator = clone(estimator).set_params(**clone(params, safe=False))
    train = _training_rows(task, held_out)
    X, y = _safe_split(estimator, task.X, task.y, train)
    weight = None if task.sample_weight is None else task.sample_weight[train]
    rows = (("sample_weight", weight), ("groups", take_groups(task.groups, train)))
    given = {k: v for k, v in (*task.totals.items(), *rows) if v is not None}
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return estimator.fit(X, y, **{f"{prefix}{name}": value for name, value in given.items()})


def last_step(estimator: BaseEstimator) -> CS3VMClassifier:
    """The classifier itself, which in a pipeline is the last step."""
    classifier: CS3VMClassifier = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return classifier


def _training_rows(task: Task, held_out: RowArray | None) -> RowArray:
    everything = np.arange(len(task.labels))
    return everything if held_out is None else np.setdiff1d(everything, held_out)


def _evidence(estimator: BaseEstimator, params: dict[str, Any], task: Task) -> Evidence:
    """The planes are judged, not their students: what the criteria are worth was measured for planes."""
    estimator = clone(estimator)
    last_step(estimator).set_params(predictor="plane")
    fitted = fit_candidate(estimator, params, task)
    weights = task.weight[task.unlabelled]
    return Evidence(
        full=_scored(fitted, task, None),
        refits=tuple(_without(estimator, params, task, fold) for fold in task.folds),
        shares=last_step(fitted).fit_.class_totals / weights.sum(),
        weights=weights,
    )


def _scored(fitted: BaseEstimator, task: Task, held_out: RowArray | None) -> Scored:
    train = _training_rows(task, held_out)
    labels = last_step(fitted).transduction_[np.searchsorted(train, task.unlabelled)]
    return Scored(_class_codes(fitted, labels), _scores(fitted, task, task.unlabelled, train))


def _without(estimator: BaseEstimator, params: dict[str, Any], task: Task, held_out: RowArray) -> HeldOut:
    fitted = fit_candidate(estimator, params, task, held_out)
    fit, train = _scored(fitted, task, held_out), _training_rows(task, held_out)
    X, _ = _safe_split(fitted, task.X, task.y, held_out, train)
    truth = _class_codes(fitted, task.labels[held_out])
    scores = _scores(fitted, task, held_out, train)
    return HeldOut(
        fit.codes,
        fit.scores,
        truth=truth,
        predicted=_class_codes(fitted, fitted.predict(X)),
        truth_scores=scores[np.arange(len(truth)), truth],
        truth_weights=task.weight[held_out],
    )


def _class_codes(fitted: BaseEstimator, labels: LabelArray) -> IntArray:
    return np.searchsorted(fitted.classes_, labels)


def _scores(fitted: BaseEstimator, task: Task, rows: RowArray, train: RowArray) -> FloatArray:
    """One column per class, also for two classes."""
    X, _ = _safe_split(fitted, task.X, task.y, rows, train)
    has_thresholds = isinstance(fitted, CS3VMClassifier) and fitted.group_intercepts
    given = {"groups": take_groups(task.groups, rows)} if has_thresholds else {}
    values = np.asarray(fitted.decision_function(X, **given))
    return np.column_stack([-values, values]) if values.ndim == 1 else values
