"""From rows and labels to a fit, as the parameters of a classifier say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .._typing import FloatArray, IntArray, LabelArray, RowArray
from ..exceptions import CS3VMError, InvalidProblemError, Note
from ..methods import get_method
from ..methods.clock import Clock
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.profiles import automatic_margin, fingerprints, profiles
from ..model.result import Result
from ..model.row_order import in_order
from .baselines import BASELINES
from .bound_totals import Bound, bind_margins
from .class_totals import KnownTotals, whole_totals
from .fit import Fit
from .group_columns import GroupColumns
from .kernel import make_kernel
from .kernel_map import KernelMap, fit_kernel_map
from .labels import Labels, one_class_error
from .parameters import Parameters
from .planes import solve_planes
from .rows import check_square
from .scaling import RankScaling, Scaling, make_scaling
from .sparse_rows import RowBasis, fit_basis, is_wide, row_sums, sparse_profiles


def make_fit(
    parameters: Parameters,
    X: Any,
    labels: Labels,
    weight: FloatArray,
    known: KnownTotals,
    features: LabelArray | None = None,
) -> Fit:
    """Solve the problem of each plane.

    Parameters
    ----------
    parameters
        How to do it.
    X
        All rows, in the units of the user; dense, or CSR where they have many columns.
    labels
        The classes, and the class of each row.
    weight
        One per row; rows of weight 0 are left out.
    known
        The totals or shares of the unlabelled rows.
    features
        The names of the columns of X, if they have any.
    """
    clock = Clock(parameters.time_limit)
    if labels.is_several:
        _check_proof(parameters)
    posed = pose(parameters, X, labels, weight, known)
    work = parameters.work_limit and parameters.work_limit / len(posed.targets)
    how = partial(_solve_plane, parameters, posed.mapped, work)
    results = solve_planes(posed.problem, posed.targets, posed.totals, how, max(0.0, clock.left))
    kernel_map = posed.mapped if isinstance(posed.mapped, KernelMap) else None
    basis = posed.mapped if isinstance(posed.mapped, RowBasis) else None
    scaling, alike = posed.scaling, posed.alike
    grouped = (posed.bound, posed.group_columns)
    return Fit(labels, weight, results, scaling, kernel_map, parameters, features, X, alike, basis, *grouped)


# -- before the search -------------------------------------------------------------------------------
class Posed(NamedTuple):
    """What is to be solved, before anything is: the rows as the planes see them, targets and totals."""

    problem: Problem  #: of the first plane
    targets: list[FloatArray]  #: for each plane the signs of the labelled rows
    totals: list[Any]  #: for each plane what is known of its class
    scaling: Scaling | RankScaling
    mapped: KernelMap | RowBasis | None  #: what maps the rows, if anything does
    alike: IntArray  #: a number for each unlabelled row, the same for equal rows
    bound: Bound | None = None  #: totals by group
    group_columns: GroupColumns | None = None  #: the last features, if groups have a threshold of their own

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problem of each plane."""
        planes = zip(self.targets, self.totals, strict=True)
        return tuple(replace(self.problem, y=target, n_positive=total) for target, total in planes)


def pose(
    parameters: Parameters,
    X: Any,
    labels: Labels,
    weight: FloatArray,
    known: KnownTotals,
    scaling: Scaling | RankScaling | None = None,
) -> Posed:
    """Scale and map the rows, and state the problems; for the parameters see :func:`make_fit`.

    The ``scaling`` is learnt from the rows unless it is known from more than these.
    """
    counts, is_labelled = weight > 0, labels.codes >= 0
    labelled, unlabelled = np.flatnonzero(is_labelled & counts), np.flatnonzero(~is_labelled & counts)
    _check_labelled(labels, labelled, unlabelled)
    bound = bind_margins(known.margins, labels, weight) if known.margins and known.margins.any else None
    totals: list[Any] = _totals(labels, known, weight[unlabelled]) if bound is None else list(bound.totals)
    scaling = scaling or _learn_scaling(parameters, X, weight)
    _check_norm(parameters)
    rows, others, mapped = _features(
        parameters, scaling.transform(X), labelled, unlabelled, labels.codes, weight
    )
    group_columns = GroupColumns.of(known.margins, weight) if parameters.group_intercepts else None
    if group_columns is not None:
        rows = np.hstack([rows, group_columns.columns(labelled)])
        others = np.hstack([others, group_columns.columns(unlabelled)])
    targets = labels.targets(labelled)
    alike = sparse_profiles(X[unlabelled]) if is_wide(X) else profiles(X[unlabelled])
    if known.margins and (group_columns is not None or labels.is_several):  # equal rows differ by group
        alike = profiles(np.column_stack([alike, *(m.codes[unlabelled] for m in known.margins.margins)]))
    problem = Problem(
        rows,
        targets[0],
        others,
        totals[0],
        weights=weight[unlabelled],
        C=parameters.C * weight[labelled],
        count_penalty=parameters.count_penalty,
        side_margin=_margin(parameters, labels, alike),
        norm=parameters.norm,
    )
    return Posed(problem, targets, totals, scaling, mapped, alike, bound, group_columns)


def _check_labelled(labels: Labels, labelled: RowArray, unlabelled: RowArray) -> None:
    """Refuse to learn from weights alone, or to separate one class from nothing."""
    if len(labelled) == 0:
        raise InvalidProblemError(
            "no labelled row has a positive sample weight: rows of both classes, or at least of one, "
            "are needed"
        )
    seen = np.unique(labels.codes[labelled])
    if not labels.is_several and len(unlabelled) == 0 and len(seen) == 1:
        raise one_class_error(labels.decode(seen)[0])


def _check_proof(parameters: Parameters) -> None:
    """Refuse to write the proofs of several classes over each other."""
    if (parameters.options or {}).get("proof") is not None:
        raise InvalidProblemError(
            "options has 'proof', but with several classes there is one problem per class, and each would "
            "overwrite the file: solve result_[label].problem with cs3vm.solve(..., proof=...) for each class"
        )


def _totals(labels: Labels, known: KnownTotals, weights: FloatArray) -> list[Any]:
    """What is known of each plane's class among unlabelled rows of these weights."""
    if known.bound is not None:
        return list(known.bound)
    if labels.positive is None:
        return list(whole_totals(known.by_class, labels.classes, weights))
    return [known.of_positive(labels.classes.tolist()[labels.positive], weights)]


def _margin(parameters: Parameters, labels: Labels, alike: IntArray) -> float:
    """How far unlabelled rows must stay off the plane."""
    if labels.is_several and parameters.method in BASELINES:
        return 0.0  # their planes would be steeper by different amounts, and are compared with each other
    if isinstance(parameters.side_margin, str):
        return automatic_margin(int(alike.max(initial=-1)) + 1)
    return float(parameters.side_margin)


def _learn_scaling(parameters: Parameters, X: Any, weight: FloatArray) -> Scaling | RankScaling:
    """The scaling of the rows that count; a kernel matrix has none."""
    if parameters.standardize == "rank" and parameters.kernel == "linear":
        why = "needs a kernel, because a plane of ranks is no plane in the units of"
        raise InvalidProblemError(
            Note(
                f"standardize='rank' {why} X: set kernel='laplacian' or 'rbf', or standardize='zscore'",
                f"--standardize rank {why} the table: say --kernel laplacian or rbf, or --standardize zscore",
            )
        )
    precomputed = parameters.kernel == "precomputed"
    if precomputed:
        check_square(X)
    used = weight > 0
    rows, own = (X, weight) if used.all() else (X[used], weight[used])
    return make_scaling(None if precomputed else parameters.standardize, rows, own)


def _check_norm(parameters: Parameters) -> None:
    norm, kernel = parameters.norm, parameters.kernel
    if norm != "l2" and kernel != "linear":
        raise InvalidProblemError(
            Note(
                f"norm={norm!r} is about the weights of features, which kernel={kernel!r} does not have: "
                "use norm='l2' or kernel='linear'",
                f"--norm {norm} is about the weights of features, which --kernel {kernel} does not have: "
                "use --norm l2 or --kernel linear",
            )
        )


def _features(
    parameters: Parameters,
    X: Any,
    labelled: RowArray,
    unlabelled: RowArray,
    codes: IntArray,
    weight: FloatArray,
) -> tuple[FloatArray, FloatArray, KernelMap | RowBasis | None]:
    """The scaled rows as the problem sees them: as they are, by a basis, or mapped by the kernel."""
    if parameters.kernel == "linear" and not is_wide(X):
        return X[labelled], X[unlabelled], None
    rows, n = np.append(labelled, unlabelled), len(labelled)
    order = _by_content(parameters.kernel, X, rows, n, codes, weight)
    ordered = rows[order]
    mapped: KernelMap | RowBasis
    with threadpool_limits(1, user_api="blas"):  # last digits tell how many there are
        if is_wide(X):
            mapped, found = fit_basis(X, ordered[:n], ordered[n:], parameters.n_components, parameters.seed)
        else:
            mapped, found = _map_by_kernel(parameters, X, ordered, weight)
    features = np.empty_like(found)
    features[order] = found
    features.flags.writeable = False  # so that the problem need not copy them
    return features[:n], features[n:], mapped


def _by_content(
    kernel: Any, X: Any, rows: RowArray, n_labelled: int, codes: IntArray, weight: FloatArray
) -> RowArray:
    """The labelled rows and then the others, each by what is known of them.

    So neither the choice of landmarks nor last digits depend on the order of the table.
    """
    if kernel == "precomputed":
        return np.arange(len(rows))
    content = row_sums(X)[rows] if is_wide(X) else X[rows]
    columns = [*content.T, codes[rows].astype(float), weight[rows]]
    order = np.argsort(fingerprints(columns, len(rows)), kind="stable")
    return np.append(order[order < n_labelled], order[order >= n_labelled])


def _map_by_kernel(
    parameters: Parameters, X: FloatArray, rows: RowArray, weight: FloatArray
) -> tuple[KernelMap, FloatArray]:
    kernel = make_kernel(
        parameters.kernel, parameters.gamma, parameters.degree, parameters.coef0, X[rows], weight[rows]
    )
    kernel_map, features = fit_kernel_map(
        kernel,
        X,
        rows,
        n_components=parameters.n_components,
        exact_limit=parameters.exact_kernel_limit,
        random_state=parameters.seed,
        seconds=parameters.time_limit,
    )
    if kernel_map.rank == 0:
        raise InvalidProblemError(
            f"the kernel {kernel} is 0 for all pairs of rows, so nothing tells them apart: give features "
            "that vary, or coef0 > 0 for poly"
        )
    return kernel_map, features


# -- the search --------------------------------------------------------------------------------------
def _solve_plane(
    parameters: Parameters,
    mapped: KernelMap | RowBasis | None,
    work: float | None,
    problem: Problem,
    seconds: float,
) -> Result:
    """An answer by the method and the solver of the parameters; an error if there is none."""
    method, options = parameters.method, parameters.further_options()
    if problem.m == 0:  # every method is the SVM, with nothing to set
        get_method(method)
        method, options, work = "svm", {}, None
    if mapped is not None and "proof" in options:
        options["proof_note"] = str(mapped)  # an approximated kernel is another one
    in_part = isinstance(mapped, RowBasis) and not mapped.is_complete
    if in_part and (method, parameters.solver) == ("auto", "auto") and set(options) <= {"callback"}:
        method = "direct"  # a proof would be about weights in the basis alone, and its nodes take much room
    # the answer shall not depend on the order of the rows; a proof is about the rows as they are given
    ordered = in_order(problem) if method == "auto" and options.get("proof") is None else None
    result = solve(
        problem if ordered is None else ordered.problem,
        method,
        solver=parameters.solver,
        time_limit=seconds,
        random_state=parameters.seed,
        work_limit=work,
        **options,
    )
    if ordered is not None:
        result = ordered.original(problem, result)
    if not result.found:
        raise CS3VMError(_not_found(result, parameters.time_limit))
    if mapped is None:
        return result
    said = {"basis": str(mapped)} if isinstance(mapped, RowBasis) else {"kernel": mapped.describe()}
    return replace(result, extras={**result.extras, **said})


def _not_found(result: Result, time_limit: float) -> Note:
    start = f"no hyperplane was found ({result.status.value}): raise "
    margin = result.problem.side_margin > 0
    return Note(
        f"{start}time_limit (now {time_limit} s)" + (" or lower side_margin" if margin else ""),
        f"{start}--time-limit (now {time_limit:g} s)" + (" or lower --side-margin" if margin else ""),
    )
