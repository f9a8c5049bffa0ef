"""Any classifier, and its highest scores: the simple way to meet a known total, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._typing import BoolArray, FloatArray, LabelArray
from ..exceptions import InvalidProblemError
from .bound_totals import Bound, bind_margins
from .class_totals import KnownTotals
from .cross_fit import draw_folds
from .labels import Labels, read_labels
from .margins import TOTALS_OF, Margins
from .probabilities import HeldOut, Slope, calibrate, learn_slope, spread
from .rows import read_weights
from .top_by_totals import Counted, GroupShifts

#: Classifiers that ``cs3vm compare`` knows by name.
RIVALS = ("logistic", "forest", "extra_trees")
#: Where a classifier has no probabilities, labels are hidden in so many parts to learn how steep they are.
FOLDS = 5


def make_rival(name: str, seed: int = 0) -> TopTau:
    """One of the classifiers with a name, that meets the total by its highest scores."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "logistic":
        return TopTau(make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), random_state=seed)
    trees = {"forest": RandomForestClassifier, "extra_trees": ExtraTreesClassifier}[name]
    return TopTau(trees(n_estimators=200, random_state=seed), random_state=seed)


def _has_probabilities(self: TopTau) -> bool:
    """Whether there are any: from the classifier, or from a total that its scores meet."""
    model = self.__dict__.get("estimator_", self.estimator)
    return model is None or hasattr(model, "predict_proba") or "probabilities_" in self.__dict__


class TopTau(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns from the labelled rows alone, and meets the total by its highest scores.

    What one would do without the model of this package, and what its answers should be compared with. The
    unlabelled rows have no say but in how many of them are positive: of two classes the rows with the highest
    scores are. Of several, every row gets a class so that all totals are met with the highest summed scores.
    Without unlabelled rows it is the classifier itself.

    Parameters
    ----------
    estimator
        Any classifier of scikit-learn's kind with ``predict_proba`` or ``decision_function``. Default:
        logistic regression.
    pos_label
        The class that ``n_positive`` counts. Default: the greater of the two.
    unlabeled
        A value of ``y`` that marks an unlabelled row, as in :class:`cs3vm.CS3VMClassifier`.
    random_state
        Seed that decides between rows with the same score.
    totals_of
        Whether totals count the ``"unlabelled"`` rows, or ``"all"``: labelled ones are subtracted then.

    Attributes
    ----------
    estimator_
        The fitted classifier.
    classes_
        The class labels, sorted.
    transduction_
        A class label for every row of ``fit``: given labels are kept.
    probabilities_
        The probability of each class for every row of ``fit``, a column per class; that of a given label is
        1. Over the unlabelled rows each adds up to the total of its class, and to that in every group. Only
        where there are such rows.
    n_positive_
        The total that was used; with several classes, a dict of them. Of an interval or of totals by group
        :class:`cs3vm.Totals`, over the unlabelled rows.
    n_features_in_
        As everywhere in scikit-learn.
    feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from cs3vm import TopTau
    >>> X = np.array([[-2.0], [-1.0], [0.2], [0.4], [1.0], [2.0]])
    >>> clf = TopTau().fit(X, [0, None, None, None, None, 1], n_positive=1)
    >>> clf.transduction_.tolist()
    [0, 0, 0, 0, 1, 1]
    >>> round(float(clf.probabilities_[1:5, 1].sum()), 6)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "pos_label": "no_validation",
        "unlabeled": "no_validation",
        "random_state": ["random_state"],
        "totals_of": [StrOptions(set(TOTALS_OF))],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        pos_label: Any = None,
        unlabeled: Any = None,
        random_state: int | np.random.RandomState | None = 0,
        totals_of: str = "unlabelled",
    ) -> None:
        self.estimator = estimator
        self.pos_label = pos_label
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.totals_of = totals_of

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        n_positive: float | tuple[float, float] | Mapping[Any, Any] | None = None,
        positive_rate: float | tuple[float, float] | Mapping[Any, Any] | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
    ) -> TopTau:
        """Learn from the labelled rows, and meet the total of the others.

        Parameters
        ----------
        X
            Rows, labelled and unlabelled, of any kind that the classifier accepts.
        y
            One label per row; missing where the row is unlabelled.
        n_positive
            What is known about the unlabelled rows, as in :meth:`cs3vm.CS3VMClassifier.fit`: a number, a
            pair, one for each class, by group, or by several columns of groups. Every group is met by its own
            highest scores.
        positive_rate
            Instead: their share.
        sample_weight
            Weights of the rows; the classifier must know them, too.
        groups
            The group of every row, or several columns of them, if totals are by group.
        """
        known = KnownTotals.of(n_positive, positive_rate, self.unlabeled, groups, self.totals_of)
        labels = read_labels(
            y,
            unlabeled=self.unlabeled,
            pos_label=self.pos_label,
            has_total=known.given,
            totals=known.by_class,
        )
        (X,) = indexable(X)
        check_consistent_length(X, labels.codes)
        weight = None if sample_weight is None else read_weights(sample_weight, len(labels.codes))
        rows, others = np.flatnonzero(labels.codes >= 0), np.flatnonzero(labels.codes < 0)
        everywhere = np.ones(len(labels.codes)) if weight is None else weight
        bound, totals = None, np.zeros(len(labels.classes))
        if known.margins is not None and known.margins.any:
            bound = bind_margins(known.margins, labels, everywhere)
        else:
            totals = known.of_all(labels.classes, labels.positive, everywhere[others])
        self.estimator_ = self._learn(X, labels, rows, weight)
        self.classes_, self.transduction_ = labels.classes, labels.decode(labels.codes)
        self._n_labels, self._prices = len(rows), np.zeros(len(labels.classes))
        given = totals.tolist() if bound is None else _simplest(bound, int(np.sum(everywhere[others] > 0)))
        by_class = dict(zip(labels.classes.tolist(), given, strict=False))
        own = given[labels.positive or 0] if bound is None else given[0]
        self.n_positive_: Any = by_class if labels.positive is None else own
        self._of_groups: GroupShifts | None = None
        for name in ("n_features_in_", "feature_names_in_", "probabilities_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if len(others) and bound is not None and known.margins is not None:
            self._meet_all(X, labels, everywhere, bound, known.margins)
        elif len(others):
            self._meet(X, labels, weight, totals)
        return self

    def _learn(self, X: Any, labels: Labels, rows: Any, weight: FloatArray | None) -> Any:
        """The classifier, fitted to these labelled rows."""
        model = LogisticRegression(max_iter=1000) if self.estimator is None else clone(self.estimator)
        unseen = np.setdiff1d(np.arange(len(labels.classes)), labels.codes[rows])
        if len(unseen):
            raise InvalidProblemError(
                f"the class {labels.classes.tolist()[unseen[0]]!r} has no label, and a total alone teaches a "
                "classifier nothing: label some rows of it, or use CS3VMClassifier"
            )
        target = labels.decode(labels.codes[rows])
        if weight is None:
            return model.fit(_safe_indexing(X, rows), target)
        return model.fit(_safe_indexing(X, rows), target, **{_weights_name(model): weight[rows]})

    def _meet(self, X: Any, labels: Labels, weight: FloatArray | None, totals: FloatArray) -> None:
        """Give the unlabelled rows labels and probabilities that meet the totals."""
        rows = np.flatnonzero(labels.codes < 0)
        weights = np.ones(len(rows)) if weight is None else weight[rows]
        scores, counts = self._scores(_safe_indexing(X, rows)), weights > 0
        codes = labels.codes.copy()
        if labels.positive is None:
            from .assignment import assign  # loads numba

            found = assign(scores[counts], np.round(totals))
            self._prices = found.prices
            codes[rows] = (scores - self._prices).argmax(axis=1)
            codes[rows[counts]] = found.labels
        else:
            own = labels.positive
            ahead = scores[:, own] - scores[:, 1 - own]
            above, threshold = highest(ahead, weights, float(totals[own]), self.random_state)
            self._prices = np.where(np.arange(2) == own, threshold, 0.0)
            codes[rows] = np.where(above, own, 1 - own)
        self.transduction_ = labels.decode(codes)
        slope = 1.0
        if not hasattr(self.estimator_, "predict_proba"):
            slope = self._slope(X, labels, weight, totals).value / spread(scores[counts], weights[counts])
        self._calibration = calibrate(scores[counts], weights[counts], totals, slope)
        self.probabilities_ = np.eye(len(self.classes_))[codes]
        self.probabilities_[rows] = self._calibration.probabilities(scores)

    def _meet_all(self, X: Any, labels: Labels, weight: FloatArray, bound: Bound, margins: Margins) -> None:
        """The same for intervals and totals by group, each by its own ranking."""
        rows = np.flatnonzero(labels.codes < 0)
        every, counts = self._scores(_safe_indexing(X, rows)), weight[rows] > 0
        scores, weights = every[counts], weight[rows[counts]]
        known = Counted(scores, weights, bound.totals, labels.positive)
        found = known.labels(self.random_state)
        totals = np.asarray(np.bincount(found, weights, len(self.classes_)), dtype=float)
        # new rows belong to no group, but there are as many of each class among them
        if labels.positive is None:
            from .assignment import assign  # loads numba

            self._prices = assign(scores, totals).prices
        else:
            own = labels.positive
            _, threshold = highest(known.ahead, weights, float(totals[own]), self.random_state)
            self._prices = np.where(np.arange(2) == own, threshold, 0.0)
        codes = labels.codes.copy()
        codes[rows] = (every - self._prices).argmax(axis=1)
        codes[rows[counts]] = found
        self.transduction_ = labels.decode(codes)
        slope = 1.0
        if not hasattr(self.estimator_, "predict_proba"):
            given = None if np.all(weight == 1.0) else weight
            slope = self._slope(X, labels, given, totals).value / spread(scores, weights)
        everybody = calibrate(scores, weights, totals, slope)
        p, shifts = known.probabilities(slope, everybody.probabilities(scores))
        self._calibration = calibrate(scores, weights, weights @ p, slope)
        self._of_groups = GroupShifts.of(margins, shifts)
        self.probabilities_ = np.eye(len(self.classes_))[codes]
        self.probabilities_[rows] = self._calibration.probabilities(every)
        self.probabilities_[rows[counts]] = p

    def _slope(self, X: Any, labels: Labels, weight: FloatArray | None, totals: FloatArray) -> Slope:
        """How steep probabilities are in the scores of a classifier that has none of its own."""
        given, others = np.flatnonzero(labels.codes >= 0), np.flatnonzero(labels.codes < 0)
        known = labels.codes[given]
        everywhere = np.ones(len(labels.codes)) if weight is None else weight
        if np.bincount(known, minlength=len(totals)).min() < 2:
            return learn_slope([])
        folds = []
        for hidden in draw_folds(known, FOLDS, 1, 0):
            model = self._learn(X, labels, given[~hidden], weight)
            scores = [self._scores(_safe_indexing(X, rows), model) for rows in (others, given[hidden])]
            kept = everywhere[others], everywhere[given[hidden]]
            folds.append(HeldOut(scores[0], kept[0], totals, scores[1], known[hidden], kept[1]))
        return learn_slope(folds)

    # -- scores --------------------------------------------------------------------------------------
    def _scores(self, X: Any, model: Any = None) -> FloatArray:
        """Logarithms of probabilities, or what the classifier has instead, a column per class."""
        model = self.estimator_ if model is None else model
        if hasattr(model, "predict_proba"):
            # no rule that is learnt from n labels knows that something never happens
            return np.asarray(np.log(np.clip(model.predict_proba(X), 0.5 / (self._n_labels + 1.0), 1.0)))
        if not hasattr(model, "decision_function"):
            raise InvalidProblemError(
                f"{type(model).__name__} has neither predict_proba nor decision_function, so nothing ranks "
                "the rows: give a classifier that has one of them"
            )
        values = np.asarray(model.decision_function(X), dtype=float)
        values = np.column_stack([0.0 * values, values]) if values.ndim == 1 else values
        if values.shape[1] != len(self.classes_):
            raise InvalidProblemError(
                f"decision_function of {type(model).__name__} has {values.shape[1]} columns for "
                f"{len(self.classes_)} classes: let it compare each class with the rest"
            )
        return values

    def predict(self, X: Any) -> LabelArray:
        """The class of each row: of two by the threshold that met the total, of several by the prices."""
        check_is_fitted(self)
        if not hasattr(self, "probabilities_"):
            return np.asarray(self.estimator_.predict(X))
        scores = self._scores(X) - self._prices
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[scores.argmax(axis=1)])
        return np.asarray(self.classes_[(scores[:, 1] >= scores[:, 0]).astype(np.intp)])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, groups: Any = None) -> FloatArray:
        """The probability of each class, a column each; over the unlabelled rows they meet the totals.

        Those by group are met where the ``groups`` of the rows are given, too.
        """
        check_is_fitted(self)
        if not hasattr(self, "probabilities_"):
            return np.asarray(self.estimator_.predict_proba(X))
        scores = self._scores(X)
        everybody = self._calibration.probabilities(scores)
        if groups is None:
            return everybody
        if self._of_groups is None:
            raise InvalidProblemError("groups is given, but the fit had no totals by group: leave it out")
        return self._of_groups.probabilities(self._calibration.slope * scores, groups, everybody)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        else:
            tags.input_tags.sparse = True
        return tags


def _weights_name(model: Any) -> str:
    """Under which name a classifier takes weights; of a pipeline it is that of its last step."""
    (step, last) = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
    if not has_fit_parameter(last, "sample_weight"):
        raise InvalidProblemError(
            f"{type(last).__name__} knows no sample_weight: leave it out, or give another classifier"
        )
    return f"{step}__sample_weight" if step else "sample_weight"


def _simplest(bound: Bound, n_rows: int) -> list[Any]:
    """What is known of each plane's class: a number where it is one exact total of all rows."""
    found: list[Any] = []
    for totals in bound.totals:
        (first, *others) = totals
        whole = first.rows is None or len(first.rows) == n_rows
        low, high = first.interval
        found.append(float(low) if whole and not others and low == high else totals)
    return found


def highest(
    scores: FloatArray, weights: FloatArray, total: float, random_state: Any = 0
) -> tuple[BoolArray, float]:
    """The rows to be called positive, whose weight is as near to the total as it can be, and the threshold.

    Equal scores there are divided at random.
    """
    chance = check_random_state(random_state).permutation(len(scores))
    order = np.lexsort((chance, -scores))
    number = int(np.argmin(np.abs(np.append(0.0, np.cumsum(weights[order])) - total)))
    above = np.zeros(len(scores), dtype=bool)
    above[order[:number]] = True
    if number == 0:
        return above, float(np.nextafter(scores.max(), np.inf))
    if number == len(scores):
        return above, float(scores.min())
    return above, 0.5 * float(scores[order[number - 1]] + scores[order[number]])
