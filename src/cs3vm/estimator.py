"""The scikit-learn classifier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ._labels import Labels, as_vector, find_unlabeled, one_class_error, read_labels, read_total, read_weights
from ._rows import check_square, read_rows
from .exceptions import CS3VMError, InvalidProblemError
from .intercept import FloatArray
from .kernels import EXACT_LIMIT, KernelFunction, KernelMap, fit_kernel_map, make_kernel
from .methods import get_method
from .problem import Problem
from .result import Result
from .scaling import make_scaling
from .solve import solve
from .summary import CS3VMWarning, Summary, summarize, warnings_about


class CS3VMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear or kernel classifier for few, biased labels and a known total of positives.

    It learns from labelled rows, unlabelled rows, and the number of positives among the unlabelled ones,
    by solving the mixed-integer problem of :class:`cs3vm.Problem`. Fully labelled data give a plain SVM.

    Parameters
    ----------
    method
        ``"auto"``, ``"svm"``, ``"top_tau"``, ``"cs3vm"``, ``"rcm"``, ``"ircm"``, ``"wircm"`` or ``"direct"``;
        see :func:`cs3vm.solve`.
    solver
        The solver of the mixed-integer problems; see :func:`cs3vm.available_solvers`.
    C
        Price of the slack of a labelled row, times its sample weight.
    count_penalty
        Price of each miscounted unlabelled row (unit of weight).
    time_limit
        Seconds; the best answer found by then is used.
    standardize
        ``"zscore"`` (mean 0, standard deviation 1, both weighted by ``sample_weight``), ``"paper"``
        (centred, and rescaled only where a feature reaches beyond ±100) or None. ``coef_`` and
        ``intercept_`` are always in the units of ``X``.
    pos_label
        The class that ``n_positive`` counts. Default: the greater of the two.
    unlabeled
        A value of ``y`` that marks an unlabelled row. Missing values (NaN, None, ``pandas.NA``) always do;
        so does -1 without being named here if ``y`` has exactly two other values and a total is given.
    random_state
        Seed of the methods that draw random numbers.
    options
        Further options of the method or the solver, such as ``{"gap": 1e-3}``, and ``side_margin``
        of :class:`cs3vm.Problem`, which forbids unlabelled rows on the hyperplane.
    kernel
        ``"linear"``, ``"rbf"``, ``"laplacian"``, ``"poly"``, ``"precomputed"`` (``X`` is the kernel matrix:
        square in ``fit``, with one column per fitted row in ``predict``) or a function ``k(A, B)`` that
        returns the matrix of all pairs of rows. Kernels see standardised rows; see :mod:`cs3vm.kernels`.
    gamma
        Of "rbf", "laplacian" and "poly": a positive number, ``"scale"`` (1 / (n_features · variance of the
        standardised rows)) or ``"auto"`` (1 / n_features).
    degree, coef0
        Of "poly": (gamma·x·y + coef0)^degree.
    n_components
        The most landmarks that represent the kernel. Default: as many as it takes to be exact, and 300 beyond
        ``exact_kernel_limit`` rows. Fewer than it takes make another kernel: the summary says so.
    exact_kernel_limit
        The most rows for which the kernel is exact, with 16·N² bytes of memory at most. Beyond it memory is
        8·N·n_components bytes and the rows themselves.

    Attributes
    ----------
    classes_
        The two class labels, sorted. A positive decision value means ``classes_[1]``.
    pos_label_
        The class that the total counts.
    n_positive_
        The total that was used, in units of ``sample_weight``.
    coef_, intercept_
        The hyperplane in the units of ``X``; shapes (1, n_features) and (1,). ``coef_`` is for the linear
        kernel only.
    kernel_map_
        The :class:`cs3vm.kernels.KernelMap`; None for the linear kernel.
    dual_coef_
        Coefficients of the kernel at the landmarks of ``kernel_map_``, (1, rank); not for the linear kernel.
    transduction_
        A class label for every row: given labels are kept, unlabelled rows are classified by the model,
        which decides the side of rows on the hyperplane so that the total is met.
    result_
        The :class:`cs3vm.Result` in scaled units, with a kernel in mapped features: objective, bound, gap,
        sides of the unlabelled rows.
    scaling_
        The map from the units of ``X`` to scaled ones.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Sparse input is accepted and converted to dense arrays. A row on the hyperplane is predicted to be
    positive; optimal hyperplanes almost always touch some unlabelled rows, so for rows seen in ``fit``
    use ``transduction_`` rather than ``predict``.

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
        "standardize": [StrOptions({"zscore", "paper"}), None],
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

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        n_positive: float | None = None,
        positive_rate: float | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CS3VMClassifier:
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X
            Rows, labelled and unlabelled; dense, CSR or a data frame.
        y
            One label per row; missing where the row is unlabelled.
        n_positive
            The known total weight of positives among the unlabelled rows (their number, without weights).
        positive_rate
            Instead of ``n_positive``: their share of the weight of the unlabelled rows. Their total is
            rounded to the nearest integer, unless some weight is not an integer.
        sample_weight
            Weights of the rows: the price C of a labelled row is multiplied by it, and an unlabelled row
            counts as that many. Rows of weight 0 are left out (and still get a label in ``transduction_``).
        """
        X = read_rows(self, X, reset=True)
        labels = read_labels(
            y,
            unlabeled=self.unlabeled,
            pos_label=self.pos_label,
            has_total=n_positive is not None or positive_rate is not None,
        )
        check_consistent_length(X, labels.signs)
        weight = read_weights(sample_weight, len(X))
        used = weight > 0
        precomputed = self.kernel == "precomputed"
        if precomputed:
            check_square(X)
        self.scaling_ = make_scaling(None if precomputed else self.standardize, X[used], weight[used])
        self.kernel_map_: KernelMap | None = None
        problem = self._problem(self.scaling_.transform(X), labels, weight, n_positive, positive_rate)
        self._keep(self._solve(problem), labels, X, weight)
        for message in warnings_about(self.result_, self.method):
            warnings.warn(message, CS3VMWarning, stacklevel=3)
        return self

    def _problem(
        self, X: FloatArray, labels: Labels, weight: FloatArray, n_positive: Any, positive_rate: Any
    ) -> Problem:
        labelled = (labels.signs != 0) & (weight > 0)
        unlabelled = (labels.signs == 0) & (weight > 0)
        if not labelled.any():
            raise InvalidProblemError(
                "no labelled row has a positive sample weight: rows of both classes, or at least of one, "
                "are needed"
            )
        signs = labels.signs[labelled]
        if not unlabelled.any() and len(set(signs.tolist())) == 1:
            raise one_class_error(labels.decode(signs[:1])[0])
        total = read_total(n_positive, positive_rate, weight[unlabelled])
        rows, others = self._features(X, np.flatnonzero(labelled), np.flatnonzero(unlabelled), weight)
        return Problem(
            rows,
            signs,
            others,
            total,
            weights=weight[unlabelled],
            C=self.C * weight[labelled],
            count_penalty=self.count_penalty,
            side_margin=(self.options or {}).get("side_margin", 0.0),
        )

    def _features(
        self, X: FloatArray, labelled: NDArray[np.intp], unlabelled: NDArray[np.intp], weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The rows as the problem sees them: as they are, or mapped by the kernel."""
        if self.kernel == "linear":
            return X[labelled], X[unlabelled]
        rows = np.append(labelled, unlabelled)
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, X[rows], weight[rows])
        self.kernel_map_, features = fit_kernel_map(
            kernel,
            X,
            rows,
            n_components=self.n_components,
            exact_limit=self.exact_kernel_limit,
            random_state=self._seed(),
        )
        features.flags.writeable = False  # so that the problem need not copy them
        return features[: len(labelled)], features[len(labelled) :]

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _solve(self, problem: Problem) -> Result:
        method, options = self.method, self._further_options()
        if problem.m == 0:  # every method is the SVM, with nothing to set
            get_method(method)
            method, options = "svm", {}
        result = solve(
            problem,
            method,
            solver=self.solver,
            time_limit=self.time_limit,
            random_state=self._seed(),
            **options,
        )
        if not result.found:
            raise CS3VMError(
                f"no hyperplane was found ({result.status.value}): raise time_limit (now {self.time_limit} s)"
                + (" or lower side_margin" if problem.side_margin > 0 else "")
            )
        if self.kernel_map_ is None:
            return result
        return replace(result, extras={**result.extras, "kernel": self.kernel_map_.describe()})

    def _further_options(self) -> dict[str, Any]:
        """Options of the method and the solver, which must not repeat the estimator's own parameters."""
        options = dict(self.options or {})
        options.pop("side_margin", None)
        repeated = sorted(set(options) & set(self.get_params(deep=False)))
        if repeated:
            raise InvalidProblemError(
                f"options has {', '.join(map(repr, repeated))}: set it as a parameter of the estimator"
            )
        return options

    def _keep(self, result: Result, labels: Labels, X: FloatArray, weight: FloatArray) -> None:
        self.result_ = result
        self.classes_ = labels.classes
        self.pos_label_ = labels.classes[labels.positive]
        self.n_positive_ = result.problem.n_positive
        self._keep_plane(np.asarray(result.coef), result.intercept, labels.positive == 1)
        signs = labels.signs.copy()
        unlabelled = signs == 0
        left_out = unlabelled & (weight == 0)
        signs[left_out] = self._signs(X[left_out])
        signs[unlabelled & (weight > 0)] = np.where(np.asarray(result.z) > 0, 1, -1)
        self.transduction_ = labels.decode(signs)

    def _keep_plane(self, w: FloatArray, b: float, towards_positive: bool) -> None:
        direction = 1.0 if towards_positive else -1.0  # scikit-learn: positive means classes_[1]
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)  # of an earlier fit with another kernel
        if self.kernel_map_ is None:
            w, b = self.scaling_.to_original(w, b)
            self.coef_ = direction * w.reshape(1, -1)
        else:
            self.dual_coef_ = direction * self.kernel_map_.to_landmarks(w).reshape(1, -1)
        self.intercept_ = np.array([direction * b])

    def _signs(self, X: FloatArray) -> NDArray[np.int8]:
        """The side of each row, +1 for positive; rows on the plane are positive."""
        values = self._values(X)
        if self.pos_label_ != self.classes_[1]:
            values = -values
        return np.where(values >= 0, 1, -1).astype(np.int8)

    def _values(self, X: FloatArray) -> FloatArray:
        if self.kernel_map_ is None:
            return np.asarray(X @ self.coef_[0] + self.intercept_[0])
        scaled = self.scaling_.transform(X)
        return np.asarray(self.kernel_map_.scores(scaled, self.dual_coef_[0]) + self.intercept_[0])

    def decision_function(self, X: Any) -> FloatArray:
        """``coef_ · x + intercept_`` of each row, or its kernel form; above 0 means ``classes_[1]``."""
        check_is_fitted(self)
        return self._values(read_rows(self, X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row; one on the hyperplane is positive (``pos_label_``)."""
        check_is_fitted(self)
        signs = self._signs(read_rows(self, X, reset=False))
        positive = int(self.pos_label_ == self.classes_[1])
        return Labels(self.classes_, positive, signs).decode(signs)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on labelled rows."""
        y = as_vector(y)
        missing = find_unlabeled(y)
        if missing.any():
            raise InvalidProblemError(
                f"y has no label in {int(missing.sum())} rows, the first in row {int(np.argmax(missing))}: "
                "a score needs the true label of every row"
            )
        y = np.array(y.tolist()) if y.dtype == object else y
        return float(super().score(X, y, sample_weight))

    def summary(self) -> Summary:
        """The plain SVM, the top-τ rule and this fit side by side, and what to beware of.

        Print it for a table. The two baselines are solved when it is called.
        """
        check_is_fitted(self)
        return summarize(self.result_, self.method)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __getattr__(self, name: str) -> Any:
        if name == "coef_" and self.__dict__.get("kernel_map_") is not None:
            raise AttributeError(
                "coef_ exists only for kernel='linear': a kernel gives no weights of features. The plane in "
                "mapped features is result_.coef, its form by landmarks dual_coef_ and kernel_map_"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
