"""Reading rows and their weights for the classifier, with errors that name the place."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._typing import BoolArray, FloatArray, RowArray
from ..exceptions import InvalidProblemError
from .sparse_rows import canonical, is_wide


def read_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as finite numbers; ``reset`` when it is fitted to, so that its features are remembered.

    Sparse rows of many columns stay so for linear models with ½‖w‖², which need no dense ones.
    """
    try:
        rows = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InvalidProblemError(
            f"X must be numeric, but {error}{_text_columns(X)}: encode text as numbers, "
            "for example with sklearn.preprocessing.OneHotEncoder"
        ) from error
    stays = is_wide(rows) and estimator.kernel == "linear" and estimator.norm == "l2"
    X = canonical(rows) if stays else rows.toarray() if issparse(rows) else rows
    bad = ~np.isfinite(X.data if stays else X)
    if bad.any():
        row, column = (int(i[0]) for i in (_places(X, bad) if stays else np.nonzero(bad)))
        names = getattr(estimator, "feature_names_in_", None)
        name = "" if names is None else f" ({names[column]!r})"
        raise InvalidProblemError(
            f"Input X contains NaN or infinity: {int(bad.sum())} values, the first in row {row}, "
            f"column {column}{name}. Impute them or drop the rows; only y may have missing values"
        )
    return X if stays else np.asarray(X)


def _places(X: Any, bad: BoolArray) -> tuple[RowArray, RowArray]:
    """Rows and columns of stored values."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[bad], X.indices[bad]


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """One non-negative weight per row, not all zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.shape != (n_rows,):
        raise InvalidProblemError(
            f"sample_weight must have one value per row: got shape {weight.shape} for {n_rows} rows"
        )
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise InvalidProblemError(
            f"sample_weight must not be negative; row {row} has {weight[row]}. Use 0 to leave a row out"
        )
    if not weight.any():
        raise InvalidProblemError("all sample weights are zero: no row is left to learn from")
    return np.array(weight)


def check_square(X: FloatArray) -> None:
    """Refuse a precomputed kernel that is not the matrix of all pairs of rows."""
    if X.shape[0] != X.shape[1]:
        raise InvalidProblemError(
            "with kernel='precomputed', X must be the square matrix of the kernel of all pairs of rows, "
            f"got {X.shape[0]} x {X.shape[1]}"
        )


def _text_columns(X: Any) -> str:
    """Which columns of a data frame are not numeric."""
    if not hasattr(X, "select_dtypes"):
        return ""
    names = X.select_dtypes(exclude=["number", "bool"]).columns.tolist()
    return f" (columns {', '.join(map(repr, names))})"
