"""``DaskCS3VMClassifier``: Dask arrays and data frames in, lazy answers out; needs ``cs3vm[dask]``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from .._typing import LabelArray
from ..exceptions import InvalidProblemError
from ..learn.calibrating import estimate_probabilities
from ..learn.classifier import CS3VMClassifier
from .calibration import Calibrated
from .dask_client import need_dask
from .dask_source import DaskSource, is_frame, rows_of
from .fitting import fit_pieces
from .labeller import Labeller
from .large_fit import LargeFit
from .pieces import Piece


class DaskCS3VMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A :class:`~cs3vm.CS3VMClassifier` for Dask collections.

    ``fit`` reads the collections a few times, so keep them in the memory of the cluster if they fit
    (``client.persist``). Answers do not depend on the partitions.

    Parameters
    ----------
    client
        A ``distributed.Client``. Default: the current one; without any, the threads of this process.
    **parameters
        Those of :class:`~cs3vm.CS3VMClassifier`.

    Attributes
    ----------
    transduction_
        Lazy: the label of every row of ``fit``, as given or by the plane.
    probabilities_
        Lazy: the probability of each class for every row of ``fit``; they add up to every total.
    large_fit_
        The :class:`~cs3vm.large.large_fit.LargeFit`: objective, counts, passes.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> X = da.from_array(np.array([[3.0], [1.0], [2.9], [1.1], [2.0], [0.5]]), chunks=(2, 1))
    >>> y = da.from_array(np.array([1.0, 0.0] + [np.nan] * 4), chunks=2)
    >>> clf = DaskCS3VMClassifier(method="direct").fit(X, y, n_positive=2)
    >>> clf.transduction_.compute()
    array([1., 0., 1., 0., 1., 0.])
    >>> clf.predict(X).compute().sum()
    np.float64(3.0)
    """

    def __init__(self, client: Any = None, **parameters: Any) -> None:
        need_dask()
        self.client = client
        self.local = CS3VMClassifier(**parameters)

    # -- scikit-learn's conventions ----------------------------------------------------------------------
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The client and the parameters of the classifier."""
        return {"client": self.client, **self.local.get_params(deep)}

    def set_params(self, **parameters: Any) -> DaskCS3VMClassifier:
        """Change some of them."""
        if "client" in parameters:
            self.client = parameters.pop("client")
        self.local.set_params(**parameters)
        return self

    def __sklearn_clone__(self) -> DaskCS3VMClassifier:
        return type(self)(self.client, **clone(self.local).get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "_source"}
        return {**kept, "client": None}  # a connection cannot be kept, nor tasks that belong to it

    # -- fit -----------------------------------------------------------------------------------------------
    def fit(
        self,
        X: Any,
        y: Any,
        n_positive: Any = None,
        positive_rate: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> DaskCS3VMClassifier:
        """Fit; see :meth:`cs3vm.CS3VMClassifier.fit`.

        Parameters
        ----------
        X
            A Dask array or data frame of numbers.
        y
            Labels, a Dask array or series, missing where a row has none.
        n_positive, positive_rate
            What is known about the rows without label.
        sample_weight
            Weights, a Dask array or series.
        groups
            The group of each row, or several such columns as a mapping or Dask data frame.
        """
        source = DaskSource(X, y, sample_weight, groups, self._client())
        found = fit_pieces(source, self.local, n_positive=n_positive, positive_rate=positive_rate)
        self.large_fit_: LargeFit = found
        fitted = found.classifier
        self.classes_, self.n_features_in_ = fitted.classes_, fitted.n_features_in_
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        self._source = source
        self._calibrated: Calibrated | None = None
        self.transduction_ = _lazy_rows(source, LabelPiece(found.labeller), found.labeller.classes.dtype)
        return self

    def _client(self) -> Any:
        if self.client is not None:
            return self.client
        from distributed import default_client

        try:
            return default_client()
        except ValueError:
            return None

    def to_local(self) -> CS3VMClassifier:
        """A plain classifier with the same plane, whose rows are a weighted sample."""
        return self._fitted.classifier

    @property
    def _fitted(self) -> LargeFit:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "large_fit_")
        return self.large_fit_

    # -- new rows ------------------------------------------------------------------------------------------
    def predict(self, X: Any) -> Any:
        """Lazy: the class of each row; a series for a data frame."""
        return self._lazy(X, "predict", self.classes_.dtype)

    def decision_function(self, X: Any) -> Any:
        """Lazy: the score of each row; above 0 speaks for the second class."""
        return self._lazy(X, "decision_function", np.dtype(float))

    def predict_proba(self, X: Any) -> Any:
        """Lazy: the probability of each class; a data frame for a data frame.

        The first call hides labels to learn how steep probabilities are, which takes about as long as a fit
        in memory, and reads the rows of ``fit`` a few times, so that probabilities add up to the total over
        all of them. A classifier that was pickled before that has only its sample to add up over.
        """
        self._calibrate()
        return self._lazy(X, "predict_proba", np.dtype(float))

    @property
    def probabilities_(self) -> Any:
        """Lazy: the probability of each class for every row of ``fit``; that of a given label is 1.

        Over the unlabelled rows they add up to every total, also to those of groups.
        """
        calibrated = self._calibrate()
        if calibrated is None:
            raise AttributeError("probabilities_ needs the rows of fit, which are not pickled: fit again")
        return _lazy_rows(
            self._source, ProbablePiece(calibrated, self.classes_), np.dtype(float), self.classes_
        )

    def _calibrate(self) -> Calibrated | None:
        """What gives rows of ``fit`` their probabilities, computed once; None after pickling."""
        if self._fitted and self._calibrated is None and hasattr(self, "_source"):
            self._calibrated = self.large_fit_.calibrated(self._source)
        estimate_probabilities(self.to_local().fit_)  # here, and not in every task
        return self._calibrated if hasattr(self, "_source") else None

    def _lazy(self, X: Any, method: str, kind: Any) -> Any:
        from dask import delayed

        fitted = self.to_local()
        if not hasattr(X, "to_delayed"):  # rows in memory
            return getattr(fitted, method)(X)
        several = method == "predict_proba"
        names = None if not hasattr(self, "feature_names_in_") else tuple(self.feature_names_in_.tolist())
        answer = delayed(Answer(fitted, method, names, tuple(self.classes_.tolist())))
        if is_frame(X):
            return X.map_partitions(_call, answer, meta=_meta(kind, self.classes_ if several else None))
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        blocks = [delayed(_call)(block, answer) for block in X.to_delayed().ravel()]
        return _joined(blocks, X.chunks[0], kind, len(self.classes_) if several else None)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a fitted classifier says about new rows of a partition."""

    classifier: CS3VMClassifier
    method: str
    names: tuple[str, ...] | None
    classes: tuple[Any, ...]

    def __call__(self, X: Any) -> Any:
        """An array for an array; a series or data frame for a data frame."""
        frame = hasattr(X, "columns")
        if frame and self.names is not None and tuple(map(str, X.columns)) != self.names:
            raise InvalidProblemError(
                f"X has the columns {', '.join(map(str, X.columns[:5]))}, ..., but "
                f"{', '.join(self.names[:5])}, ... were fitted: give the same columns in the same order"
            )
        rows = rows_of(X, "a partition").astype(float)
        found = self._ask(rows)
        if not frame:
            return found
        import pandas as pd

        if found.ndim == 2:
            return pd.DataFrame(found, index=X.index, columns=list(self.classes))
        return pd.Series(found, index=X.index)

    def _ask(self, rows: Any) -> Any:
        """The answer without scikit-learn's complaint about missing names, which were checked."""
        clf = self.classifier
        if len(rows) == 0:
            shape = (0, len(self.classes)) if self.method == "predict_proba" else (0,)
            return np.zeros(shape, dtype=clf.classes_.dtype if self.method == "predict" else float)
        if self.names is not None:
            import pandas as pd

            rows = pd.DataFrame(rows, columns=list(self.names))
        return np.asarray(getattr(clf, self.method)(rows))


def _call(X: Any, answer: Callable[[Any], Any]) -> Any:
    return answer(X)


@dataclass(frozen=True, eq=False)
class LabelPiece:
    """Labels of a partition of the table that was fitted."""

    labeller: Labeller

    def __call__(self, X: Any, piece: Piece) -> Any:
        """A series with the index of a data frame, or an array."""
        labels: LabelArray = self.labeller.decode(self.labeller(piece).codes)
        if not hasattr(X, "columns"):
            return labels
        import pandas as pd

        return pd.Series(labels, index=X.index)


@dataclass(frozen=True, eq=False)
class ProbablePiece:
    """Probabilities of a partition of the table that was fitted."""

    calibrated: Calibrated
    classes: LabelArray

    def __call__(self, X: Any, piece: Piece) -> Any:
        """A data frame with the index of one, or an array."""
        found = self.calibrated(piece)
        if not hasattr(X, "columns"):
            return found
        import pandas as pd

        return pd.DataFrame(found, index=X.index, columns=self.classes.tolist())


def _lazy_rows(
    source: DaskSource, function: Callable[[Any, Piece], Any], kind: Any, classes: Any = None
) -> Any:
    """What a function says about the rows of ``fit``, lazily; with classes, a column for each."""
    parts = source.delayed_pieces(function)
    if not source.is_frame:
        return _joined(parts, tuple(source.lengths), kind, None if classes is None else len(classes))
    import dask.dataframe as dd

    return dd.from_delayed(parts, meta=_meta(kind, classes), divisions=source.divisions, verify_meta=False)


def _meta(kind: Any, classes: Any) -> Any:
    """An empty answer for a data frame."""
    import pandas as pd

    if classes is None:
        return pd.Series(np.zeros(0, dtype=kind))
    return pd.DataFrame(np.zeros((0, len(classes)), dtype=kind), columns=list(classes))


def _joined(blocks: list[Any], lengths: Any, kind: Any, n_columns: int | None) -> Any:
    """One array of all blocks."""
    import dask.array as da

    wide = () if n_columns is None else (n_columns,)
    parts = [
        da.from_delayed(block, shape=(length, *wide), dtype=kind)
        for block, length in zip(blocks, lengths, strict=True)
    ]
    return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
