"""The scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..exceptions import CS3VMWarning
from ..model.norms import NORMS, Norm
from .accuracy import Accuracy
from .certainty_mixin import CertaintyMixin
from .class_totals import KnownTotals
from .comparing import FOLDS, REPEATS, estimate_accuracy
from .fit import Fit
from .fitting import make_fit
from .kernel import KernelFunction
from .kernel_map import EXACT_LIMIT
from .known_counts import as_given
from .labels import read_labels
from .margins import TOTALS_OF
from .parameters import Parameters
from .prediction_mixin import PredictionMixin
from .probability_mixin import NO_PROBABILITIES, ProbabilityMixin
from .rows import read_rows, read_weights
from .safe import is_safe, make_safe_fit
from .student import PREDICTORS
from .summary import Summary, summarize

#: Attributes that not every kind of fit has.
OF_ONE_KIND = ("coef_", "dual_coef_", "dropped_features_", "pos_label_", "prices_", "group_intercepts_")


class _Answers(PredictionMixin, ProbabilityMixin, CertaintyMixin):
    """What a fitted classifier can be asked."""


class CS3VMClassifier(_Answers, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear or kernel classifier for few, biased labels and a known total of positives.

    It learns from labelled rows, unlabelled rows, and the number of positives among the unlabelled ones,
    by solving the mixed-integer problem of :class:`cs3vm.Problem`. Fully labelled data give a plain SVM.
    With a total for each of more than two classes it solves one problem per class, against the rest.

    Parameters
    ----------
    method
        ``"auto"``, ``"svm"``, ``"top_tau"``, ``"cs3vm"``, ``"rcm"``, ``"ircm"``, ``"wircm"`` or ``"direct"``;
        see :func:`cs3vm.solve`. ``"safe"`` is ``"auto"`` unless hidden labels say that the top-τ rule, a
        linear model or the recommended kernel is right more often by more than half a standard error; it then
        takes that one, and the top-τ rule where no label can be hidden. It takes up to four times as long;
        see :meth:`accuracy`. With more than 600 sparse rows of many columns ``"auto"`` is ``"safe"``.
    solver
        The solver of the mixed-integer problems; see :func:`cs3vm.available_solvers`.
    C
        Price of the slack of a labelled row, times its sample weight.
    count_penalty
        Price of each miscounted unlabelled row (unit of weight).
    time_limit
        Seconds; the best answer found by then is used.
    work_limit
        How many numbers the search for each plane may touch; see :func:`cs3vm.solve`. The same limit gives
        the same answer on every machine, as long as the time limit does not strike first.
    standardize
        ``"zscore"`` (mean 0, standard deviation 1, both weighted by ``sample_weight``), ``"paper"``
        (centred, and rescaled only where a feature reaches beyond ±100), ``"rank"`` (each value by its rank,
        for kernels only) or None. ``coef_`` and ``intercept_`` are always in the units of ``X``. Sparse rows
        of many columns are not centred: see :func:`cs3vm.learn.scaling.sparse_scaling`.
    pos_label
        The class that ``n_positive`` counts. Default: the greater of the two.
    unlabeled
        A value of ``y`` that marks an unlabelled row. Missing values (NaN, None, ``pandas.NA``) always do;
        so does -1 without being named here if ``y`` has exactly two other values and a total is given.
    random_state
        Seed of the methods that draw random numbers.
    options
        Further options of the method or the solver, such as ``{"gap": 1e-3}``.
    kernel
        ``"linear"``, ``"rbf"``, ``"laplacian"``, ``"poly"``, ``"precomputed"`` (``X`` is the kernel matrix:
        square in ``fit``, with one column per fitted row in ``predict``) or a function ``k(A, B)`` that
        returns the matrix of all pairs of rows. Kernels see standardised rows; see
        :mod:`cs3vm.learn.kernel_map`.
    gamma
        Of "rbf", "laplacian" and "poly": a positive number, ``"scale"`` (1 / (n_features · variance of the
        standardised rows)) or ``"auto"`` (1 / n_features).
    degree
        Of "poly": (gamma·x·y + coef0)^degree.
    coef0
        Of "poly", as above.
    n_components
        The most landmarks that represent the kernel. Default: as many as it takes to be exact, and 300 beyond
        ``exact_kernel_limit`` rows. Fewer than it takes make another kernel: the summary says so. For sparse
        rows of many columns: the number of rows that span the weights. Default: 600 rows, and of the
        directions that they span those of the labelled rows and 150 others.
    exact_kernel_limit
        The most rows for which the kernel is exact, with about 50·N² bytes of memory. Beyond it memory is
        8·N·n_components bytes besides the rows themselves.
    norm
        What is paid for the weights w: ``"l2"`` is ½‖w‖², ``"l1"`` is ‖w‖₁, which leaves features out, and
        ``"max"`` is ‖w‖_∞; the latter two for the linear kernel only.
    side_margin
        How far unlabelled rows must stay off the hyperplane, in units of the labelled margin. ``"auto"`` is
        min(10⁻³, 1/number of distinct unlabelled rows), which costs next to nothing. 0 is the paper's
        convention: rows on the hyperplane may be counted on either side, so their labels are arbitrary.
    predictor
        What classifies new rows: ``"plane"``, the one that was found, or ``"student"``, an SVM with the same
        kernel that learns from the given labels, from ``transduction_`` and from a few further answers; see
        :mod:`cs3vm.learn.student`. ``"auto"`` is the student with a kernel (except for the method "svm") and
        the plane without one.
    totals_of
        Whether totals count the ``"unlabelled"`` rows, or ``"all"``: labelled ones are subtracted then.
    group_intercepts
        Whether each of the ``groups`` in ``fit`` has a threshold of its own, which costs next to nothing: see
        :mod:`cs3vm.learn.group_columns`. ``predict`` then takes the groups of new rows, too.

    Attributes
    ----------
    classes_
        The class labels, sorted. Of two, a positive decision value means ``classes_[1]``.
    pos_label_
        The class that the total counts; of two only.
    n_positive_
        The total that was used, in units of ``sample_weight``; with several classes, a dict of them. Of an
        interval or of totals by group :class:`cs3vm.Totals`, over the unlabelled rows.
    group_intercepts_
        By how much the scores of each group are shifted; with ``group_intercepts`` only.
    coef_
        The normal of the hyperplane in the units of ``X``, (1, n_features), with several classes a row for
        each; linear kernel only.
    intercept_
        The intercept of the hyperplane in the units of ``X``, (1,), with several classes one for each.
    dropped_features_
        Names, or numbers without names, of features with no weight (in any class); linear kernel only.
    kernel_map_
        The :class:`cs3vm.learn.kernel_map.KernelMap`; None for the linear kernel.
    dual_coef_
        Coefficients of the kernel at the landmarks of ``kernel_map_``, (1, rank); not for the linear kernel.
    transduction_
        A class label for every row: given labels are kept, unlabelled rows are classified by the model.
        Where equal rows make the total unattainable, some of them are drawn: see ``undecided_``.
    undecided_
        For every row whether equal rows, or rows with the same score, have another label: which of them is
        drawn by the seed, so that the totals are met. At most one such group per total, unless
        ``side_margin`` is 0.
    certain_
        For every row whether its label is certain, by proof; see :meth:`certainty`. Found when it is asked
        for, like ``stability_``, how often the row keeps its label when labels are drawn again.
    result_
        The :class:`cs3vm.Result` in scaled units, with a kernel in mapped features: objective, bound, gap,
        sides of the unlabelled rows. With several classes, a dict from class to the result of its problem,
        whose sides need not agree: ``transduction_`` does.
    prices_
        With several classes: what is taken from each class's score, included in ``intercept_``, so that the
        highest score meets the totals; see :mod:`cs3vm.learn.assignment`.
    scaling_
        The map from the units of ``X`` to scaled ones.
    fit_
        The :class:`cs3vm.learn.fit.Fit` that all of this is read from: planes, labels, simple rules beside
        it, and what is to be said about it in words.
    n_features_in_
        As everywhere in scikit-learn.
    feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Sparse rows of more than 300 columns stay sparse for linear models with ``norm="l2"``; see
    :mod:`cs3vm.learn.sparse_rows`. Others become dense. For rows seen in ``fit``, the plane predicts
    ``transduction_``, but for given labels that it contradicts and for ``undecided_`` rows. With
    ``side_margin=0`` a row on the hyperplane is predicted to be positive, and optimal hyperplanes almost
    always touch some unlabelled rows: use ``transduction_`` there. A student, which predicts by default with
    a kernel, may give rows of ``fit`` another class than ``transduction_`` does; the summary counts them.

    If all labels are of one class, the other must have a name: True and False, 1 and 0, -1 and 1 name
    each other, a pandas categorical names both, and ``pos_label`` names a positive class that was not seen.

    Examples
    --------
    >>> import numpy as np
    >>> from cs3vm import CS3VMClassifier
    >>> X = np.array([[-2.0], [-1.0], [0.2], [0.4], [1.0], [2.0]])
    >>> y = [0, None, None, None, None, 1]
    >>> clf = CS3VMClassifier(time_limit=5).fit(X, y, n_positive=1)
    >>> clf.transduction_.tolist()
    [0, 0, 0, 0, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [str],
        "solver": [str],
        "C": [Interval(Real, 0, None, closed="neither")],
        "count_penalty": [Interval(Real, 0, None, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="right")],
        "standardize": [StrOptions({"zscore", "paper", "rank"}), None],
        "pos_label": [str, Real, "boolean", None],
        "unlabeled": [str, Real, "boolean", None],
        "random_state": ["random_state"],
        "options": [dict, None],
        "kernel": [StrOptions({"linear", "rbf", "laplacian", "poly", "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "exact_kernel_limit": [Interval(Integral, 0, None, closed="left")],
        "norm": [StrOptions(set(NORMS))],
        "side_margin": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "predictor": [StrOptions(set(PREDICTORS))],
        "work_limit": [Interval(Real, 0, None, closed="neither"), None],
        "totals_of": [StrOptions(set(TOTALS_OF))],
        "group_intercepts": ["boolean"],
    }

    def __init__(
        self,
        method: str = "auto",
        *,
        solver: str = "auto",
        C: float = 1.0,
        count_penalty: float = 1.0,
        time_limit: float = 60.0,
        standardize: str | None = "zscore",
        pos_label: Any = None,
        unlabeled: Any = None,
        random_state: int | np.random.RandomState | None = 0,
        options: dict[str, Any] | None = None,
        kernel: str | KernelFunction = "linear",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | None = None,
        exact_kernel_limit: int = EXACT_LIMIT,
        norm: Norm = "l2",
        side_margin: float | str = "auto",
        predictor: str = "auto",
        work_limit: float | None = None,
        totals_of: str = "unlabelled",
        group_intercepts: bool = False,
    ) -> None:
        self.method = method
        self.solver = solver
        self.C = C
        self.count_penalty = count_penalty
        self.time_limit = time_limit
        self.standardize = standardize
        self.pos_label = pos_label
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.options = options
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.exact_kernel_limit = exact_kernel_limit
        self.norm = norm
        self.side_margin = side_margin
        self.predictor = predictor
        self.work_limit = work_limit
        self.totals_of = totals_of
        self.group_intercepts = group_intercepts

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        n_positive: float | tuple[float, float] | Mapping[Any, Any] | None = None,
        positive_rate: float | tuple[float, float] | Mapping[Any, Any] | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
    ) -> CS3VMClassifier:
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X
            Rows, labelled and unlabelled; dense, CSR or a data frame.
        y
            One label per row; missing where the row is unlabelled.
        n_positive
            The known total weight of positives among the unlabelled rows (their number, without weights), or
            a pair (low, high). With ``groups``, a mapping from group to total, pair, or (of several classes)
            mapping from class to total; with several columns of groups, a mapping from their names to such.
            A group without total is free; the key None is for all rows together.
            With several classes and no groups, a mapping or pandas Series from each class to its total, which
            add up to the number of unlabelled rows. A class may have a total and no label.
        positive_rate
            Instead of ``n_positive``: their share of the weight of the unlabelled rows. Their total is
            rounded to the nearest integer, unless some weight is not an integer. With several classes, one
            share each, rounded so that the totals add up (by largest remainder).
        sample_weight
            Weights of the rows: the price C of a labelled row is multiplied by it, and an unlabelled row
            counts as that many (with more than two classes only as one, or as none). Rows of weight 0 are
            left out (and still get a label in ``transduction_``).
        groups
            The group of every row that ``n_positive`` names, labelled rows included; or a mapping or data
            frame with several such columns.
        """
        X = read_rows(self, X, reset=True)
        known = KnownTotals.of(n_positive, positive_rate, self.unlabeled, groups, self.totals_of)
        labels = read_labels(
            y,
            unlabeled=self.unlabeled,
            pos_label=self.pos_label,
            has_total=known.given,
            totals=known.by_class,
        )
        check_consistent_length(X, labels.codes)
        weight = read_weights(sample_weight, X.shape[0])
        features = getattr(self, "feature_names_in_", None)
        parameters = Parameters.of(self)
        make = make_safe_fit if is_safe(parameters, X, labels, weight) else make_fit
        self._keep(make(parameters, X, labels, weight, known, features))
        for note in self.fit_.warnings:
            warnings.warn(CS3VMWarning(note), stacklevel=3)
        return self

    def _keep(self, fit: Fit) -> None:
        """Keep a fit, and what scikit-learn and others look for under the usual names."""
        for name in OF_ONE_KIND:
            self.__dict__.pop(name, None)  # of an earlier fit of another kind
        self.fit_, self.classes_ = fit, fit.classes
        self.scaling_, self.kernel_map_ = fit.scaling, fit.kernel_map
        self.transduction_, self.undecided_ = fit.labels.decode(fit.codes), fit.undecided
        self.result_: Any = fit.results[0]
        self.n_positive_: Any = as_given(fit.results)[0]
        coef, self.intercept_ = (self._sign * part for part in fit.planes)
        if fit.assignment is not None:
            self.result_ = dict(zip(fit.plane_labels, fit.results, strict=True))
            self.n_positive_ = dict(zip(fit.plane_labels, as_given(fit.results), strict=True))
            self.prices_ = fit.assignment.prices
        else:
            self.pos_label_ = fit.classes[fit.labels.positive]
        if fit.group_columns is not None:
            normals = self._sign * np.array([result.coef for result in fit.results])
            self.group_intercepts_ = fit.group_columns.by_group(normals)
        if fit.kernel_map is None:
            self.coef_, self.dropped_features_ = coef, fit.dropped_names()
        else:
            self.dual_coef_ = coef

    def accuracy(
        self, n_folds: int = FOLDS, n_repeats: int = REPEATS, level: float = 0.9, *, others: bool = True
    ) -> Accuracy:
        """How many labels of unlabelled rows are right, of this fit and of simpler rules; print it.

        Labels that are known are hidden, a part at a time, the fit is made without them, and those that come
        back are counted in each class. With the known totals that gives the share of right labels, and an
        interval. It holds if labels are biased by class only: a labelled row of a class is like any other row
        of that class. It takes up to twice as long as the fit, once; the result is kept.

        Parameters
        ----------
        n_folds
            The labelled rows are hidden in so many parts, one after the other.
        n_repeats
            So often, each time in other parts.
        level
            How often the interval is to hold the truth.
        others
            Whether a linear model or the recommended kernel is looked at, besides the top-τ rule.
        """
        check_is_fitted(self)
        return estimate_accuracy(self.fit_, n_folds=n_folds, n_repeats=n_repeats, level=level, others=others)

    def summary(self, *, accuracy: bool = True) -> Summary:
        """How many labels are right, the plain SVM and the top-τ rule beside this fit, what to beware of.

        With several classes, one row per class. Print it for a table. The baselines are solved when they are
        first asked for, and so is the :meth:`accuracy`, which takes longer; ``accuracy=False`` leaves it out.
        How the labelled rows differ is said, too; :meth:`bias` has the details.
        """
        check_is_fitted(self)
        if not self.fit_.problem.m:
            return summarize(self.fit_)
        return summarize(self.fit_, self.accuracy() if accuracy else None, self.bias())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba":
            raise AttributeError(NO_PROBABILITIES)
        if name == "coef_" and self.__dict__.get("kernel_map_") is not None:
            raise AttributeError(
                "coef_ exists only for kernel='linear': a kernel gives no weights of features. The plane in "
                "mapped features is result_.coef, its form by landmarks dual_coef_ and kernel_map_"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
