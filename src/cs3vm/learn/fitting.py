"""From rows and labels to a solved problem, as the parameters of a classifier say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .._typing import FloatArray
from ..exceptions import CS3VMError, InvalidProblemError
from ..methods import get_method
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.result import Result
from .kernel_map import KernelMap, fit_kernel_map, make_kernel
from .rows import check_square
from .scaling import RankScaling, Scaling, make_scaling


def learn_scaling(clf: Any, X: FloatArray, weight: FloatArray) -> Scaling | RankScaling:
    """The scaling of the rows that count; a kernel matrix has none."""
    if clf.standardize == "rank" and clf.kernel == "linear":
        raise InvalidProblemError(
            "standardize='rank' needs a kernel, because a plane of ranks is no plane in the units of X: "
            "set kernel='laplacian' or 'rbf', or standardize='zscore'"
        )
    precomputed = clf.kernel == "precomputed"
    if precomputed:
        check_square(X)
    used = weight > 0
    return make_scaling(None if precomputed else clf.standardize, X[used], weight[used])


def check_labelled(labelled: NDArray[np.bool_]) -> None:
    """Refuse to learn from weights alone."""
    if not labelled.any():
        raise InvalidProblemError(
            "no labelled row has a positive sample weight: rows of both classes, or at least of one, "
            "are needed"
        )


def check_proof(clf: Any) -> None:
    """Refuse to write the proofs of several classes over each other."""
    if (clf.options or {}).get("proof") is not None:
        raise InvalidProblemError(
            "options has 'proof', but with several classes there is one problem per class, and each would "
            "overwrite the file: solve result_[label].problem with cs3vm.solve(..., proof=...) for each class"
        )


def make_problem(
    clf: Any, X: FloatArray, signs: NDArray[np.int8], weight: FloatArray, total: Any
) -> tuple[Problem, KernelMap | None]:
    """The problem over scaled rows with these signs (0: unlabelled), and the map of its kernel."""
    _check_norm(clf)
    labelled, unlabelled = (np.flatnonzero(rows & (weight > 0)) for rows in (signs != 0, signs == 0))
    rows, others, kernel_map = _features(clf, X, labelled, unlabelled, weight)
    problem = Problem(
        rows,
        signs[labelled].astype(float),
        others,
        total,
        weights=weight[unlabelled],
        C=clf.C * weight[labelled],
        count_penalty=clf.count_penalty,
        side_margin=(clf.options or {}).get("side_margin", 0.0),
        norm=clf.norm,
    )
    return problem, kernel_map


def _check_norm(clf: Any) -> None:
    if clf.norm != "l2" and clf.kernel != "linear":
        raise InvalidProblemError(
            f"norm={clf.norm!r} is about the weights of features, which kernel={clf.kernel!r} does not have: "
            "use norm='l2' or kernel='linear'"
        )


def _features(
    clf: Any, X: FloatArray, labelled: NDArray[np.intp], unlabelled: NDArray[np.intp], weight: FloatArray
) -> tuple[FloatArray, FloatArray, KernelMap | None]:
    """The rows as the problem sees them: as they are, or mapped by the kernel."""
    if clf.kernel == "linear":
        return X[labelled], X[unlabelled], None
    rows = np.append(labelled, unlabelled)
    kernel = make_kernel(clf.kernel, clf.gamma, clf.degree, clf.coef0, X[rows], weight[rows])
    kernel_map, features = fit_kernel_map(
        kernel,
        X,
        rows,
        n_components=clf.n_components,
        exact_limit=clf.exact_kernel_limit,
        random_state=_seed(clf),
    )
    if kernel_map.rank == 0:
        raise InvalidProblemError(
            f"the kernel {kernel} is 0 for all pairs of rows, so nothing tells them apart: give features "
            "that vary, or coef0 > 0 for poly"
        )
    features.flags.writeable = False  # so that the problem need not copy them
    return features[: len(labelled)], features[len(labelled) :], kernel_map


def _seed(clf: Any) -> int:
    if isinstance(clf.random_state, int | np.integer):
        return int(clf.random_state)
    return int(check_random_state(clf.random_state).randint(2**31 - 1))


def solve_problem(clf: Any, problem: Problem, kernel_map: KernelMap | None, seconds: float) -> Result:
    """An answer by the method and the solver of the classifier; an error if there is none."""
    method, options = clf.method, _further_options(clf)
    if problem.m == 0:  # every method is the SVM, with nothing to set
        get_method(method)
        method, options = "svm", {}
    if kernel_map is not None and "proof" in options:
        options["proof_note"] = str(kernel_map)  # an approximated kernel is another one
    result = solve(problem, method, solver=clf.solver, time_limit=seconds, random_state=_seed(clf), **options)
    if not result.found:
        raise CS3VMError(
            f"no hyperplane was found ({result.status.value}): raise time_limit (now {clf.time_limit} s)"
            + (" or lower side_margin" if problem.side_margin > 0 else "")
        )
    if kernel_map is None:
        return result
    return replace(result, extras={**result.extras, "kernel": kernel_map.describe()})


def _further_options(clf: Any) -> dict[str, Any]:
    """Options of the method and the solver, which must not repeat the estimator's own parameters."""
    options = dict(clf.options or {})
    options.pop("side_margin", None)
    repeated = sorted(set(options) & set(clf.get_params(deep=False)))
    if repeated:
        raise InvalidProblemError(
            f"options has {', '.join(map(repr, repeated))}: set it as a parameter of the estimator"
        )
    return options
