"""Dask arrays and data frames as a source: a task for each partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidProblemError
from ..learn.unlabelled import as_vector
from .dask_reduce import gather, reduce_tasks
from .pieces import Piece, as_rows, empty_piece

T = TypeVar("T")


class Partition(NamedTuple):
    """A part of the table: tasks that give its columns, or the columns themselves."""

    number: int
    X: Any
    y: Any = None
    weight: Any = None
    groups: Any = None  #: a list of columns


class Seen(NamedTuple):
    """What was looked up about a partition."""

    lengths: dict[str, int]  #: of X, y, ...
    names: tuple[str, ...] | None


class DaskSource:
    """The rows of Dask collections with the same partitions.

    Parameters
    ----------
    X
        A Dask array (rows, columns) or data frame of numbers.
    y
        Labels: a Dask array or series, missing where a row has none.
    sample_weight
        Weights, in the same way.
    groups
        Groups that totals are by, in the same way; or a mapping of names to such columns, or a data frame.
    client
        A client of a cluster; None leaves it to Dask which scheduler is used.
    """

    def __init__(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, client: Any = None
    ) -> None:
        self.client = client
        self.is_frame = is_frame(X)
        _check_collection(X, "X")
        if not self.is_frame and X.ndim != 2:
            raise InvalidProblemError(f"X must have rows and columns, but has {X.ndim} dimensions")
        self.divisions = X.divisions if self.is_frame and X.known_divisions else None
        columns = _group_columns(groups)
        self.group_names = tuple(columns)
        X, y, sample_weight, columns = _divided_alike(X, y, sample_weight, columns)
        self.partitions = _partitions(X, y, sample_weight, columns)
        names = tuple(map(str, X.columns)) if self.is_frame else None
        self.names, self.n_columns = names, int(X.shape[1]) if names is None else len(names)
        known = _known_lengths([X, y, sample_weight, *columns.values()])
        self.lengths = self._find_lengths() if known is None else known
        self.first_rows = np.append(0, np.cumsum(self.lengths)[:-1]).astype(int).tolist()
        self.n_rows: int | None = int(sum(self.lengths))

    def _find_lengths(self) -> list[int]:
        """Rows of each partition; all columns must agree, which one pass looks up."""
        from dask import delayed

        tasks = [delayed(_look)(list(part), list(self.group_names)) for part in self.partitions]
        lengths = []
        for number, seen in enumerate(gather(self.client, tasks)):
            n_rows = seen.lengths["X"]
            for what, length in seen.lengths.items():
                if length != n_rows:
                    raise InvalidProblemError(
                        f"partition {number} of {what} has {length} rows, that of X has {n_rows}: give "
                        "collections that are divided alike, such as columns of one data frame, or rechunk "
                        "them"
                    )
            if seen.names is not None and seen.names != self.names:
                raise InvalidProblemError(
                    f"partition {number} of X has the columns {', '.join(seen.names[:5])}, ..., not those of "
                    "the others: give all partitions the same columns in the same order"
                )
            lengths.append(n_rows)
        return lengths

    def reduce(self, function: Callable[[Piece], T], combine: Callable[[T, T], T]) -> T:
        """One pass; an error in a task is raised here."""
        parts = [self._described(part) for part in self.partitions if self.lengths[part.number] > 0]
        if not parts:
            return function(empty_piece(self))
        read = ReadPartition(self.group_names)
        found: T = reduce_tasks(self.client, read, parts, function, combine)
        return found

    def delayed_pieces(self, function: Callable[[Any, Piece], Any]) -> list[Any]:
        """A task for each partition: a function of X as it was given and of the piece."""
        from dask import delayed

        work, read = delayed(function), ReadPartition(self.group_names)
        return [delayed(_apply)(work, read, self._described(part)) for part in self.partitions]

    def _described(self, part: Partition) -> list[Any]:
        """What a task has to know to make a piece of a partition."""
        return [self.first_rows[part.number], self.lengths[part.number], list(part)]


class ReadPartition:
    """Makes a piece of a partition where the task runs."""

    def __init__(self, group_names: tuple[str, ...]) -> None:
        self.group_names = group_names

    def __call__(self, part: list[Any], function: Callable[[Piece], T], combine: Callable[[T, T], T]) -> T:
        """What a function gives for it."""
        return function(self.piece(part))

    def piece(self, part: list[Any]) -> Piece:
        """The piece."""
        first_row, n_rows, (number, X, y, weight, groups) = part
        columns = [] if groups is None else groups
        for column in (X, y, weight, *columns):
            if column is not None and len(column) != n_rows:
                raise InvalidProblemError(
                    f"partition {number} has {len(column)} rows, but its collection says {n_rows}: give the "
                    "true lengths of chunks, or NaN where they are not known"
                )
        return Piece(
            int(first_row),
            rows_of(X, f"partition {number}"),
            None if y is None else as_vector(y),
            None if weight is None else np.asarray(weight, dtype=float),
            {name: as_vector(column) for name, column in zip(self.group_names, columns, strict=True)},
            f"partition {number}",
        )


def _apply(function: Callable[[Any, Piece], Any], read: ReadPartition, part: list[Any]) -> Any:
    return function(part[2][1], read.piece(part))


def _look(part: list[Any], group_names: list[str]) -> Seen:
    number, X, y, weight, groups = part
    columns = {"y": y, "sample_weight": weight, **dict(zip(group_names, groups or [], strict=True))}
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    rows_of(X[:0], f"partition {number}")
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    return Seen({"X": len(X), **lengths}, names)


def rows_of(X: Any, where: str) -> NDArray[Any]:
    """Rows of a partition as numbers: arrays, and frames with NumPy's, pandas' or Arrow's types."""
    if not hasattr(X, "columns"):
        if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
            raise InvalidProblemError(
                f"{where} of X holds {type(X).__name__} {getattr(X, 'dtype', '')}: give dense arrays of "
                "numbers"
            )
        return as_rows(X)
    short = all(str(kind) in ("float32", "int8", "int16", "uint8", "uint16", "bool") for kind in X.dtypes)
    rows = np.empty(X.shape, dtype=np.float32 if short else np.float64)
    for j, name in enumerate(X.columns):
        rows[:, j] = _numbers(X[name], str(name), where)
    return rows


def _numbers(column: Any, name: str, where: str) -> NDArray[Any]:
    """A column of a data frame; a categorical one by its values, which need not be the same everywhere."""
    kind = column.dtype
    values = kind.categories.dtype if hasattr(kind, "categories") else kind
    try:
        if getattr(values, "kind", "O") not in "biuf":
            raise TypeError
        plain = column.astype(values) if values is not kind and not column.isna().any() else column
        return np.asarray(plain.to_numpy(dtype=float, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise InvalidProblemError(
            f"the column {name!r} of X has the type {kind} in {where}: rows are learnt from as numbers. "
            "Leave it out, or make 0/1 columns of it, for instance by categorize() and "
            "dask.dataframe.get_dummies"
        ) from error


# -- partitions of several collections ------------------------------------------------------------------
def is_frame(X: Any) -> bool:
    """Whether a collection is a Dask data frame."""
    return hasattr(X, "map_partitions") and hasattr(X, "columns")


def _check_collection(data: Any, what: str) -> None:
    from dask import is_dask_collection

    if not is_dask_collection(data) or not hasattr(data, "to_delayed"):
        raise InvalidProblemError(
            f"{what} is {type(data).__name__}, not a Dask array or data frame: make one with "
            "dask.array.from_array or dask.dataframe.from_pandas, or use CS3VMClassifier"
        )


def _group_columns(groups: Any) -> dict[str, Any]:
    if groups is None:
        return {}
    if isinstance(groups, Mapping):
        return {str(name): column for name, column in groups.items()}
    if is_frame(groups):
        return {str(name): groups[name] for name in groups.columns}
    return {"": groups}


def _divided_alike(X: Any, y: Any, weight: Any, groups: dict[str, Any]) -> list[Any]:
    """X, y, weights and groups with the rows of a partition in one chunk; arrays of known lengths as X is."""
    if not is_frame(X) and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    for what, column in {"y": y, "sample_weight": weight, **groups}.items():
        if column is not None:
            _check_collection(column, what or "groups")
    own = {name: _aligned(column, X) for name, column in groups.items()}
    return [X, *(None if column is None else _aligned(column, X) for column in (y, weight)), own]


def _known_lengths(collections: list[Any]) -> list[int] | None:
    """Rows of each partition, where arrays say so."""
    chunks = [None if not hasattr(one, "chunks") else one.chunks[0] for one in collections if one is not None]
    first = chunks[0]
    if first is None or np.isnan(first).any() or any(own != first for own in chunks):
        return None
    return [int(length) for length in first]


def _share_tasks(collections: list[Any]) -> bool:
    """Whether arrays are made from the same tasks: optimised one by one, each would make them for itself."""
    seen: set[Any] = set()
    for one in collections:
        if one is None or is_frame(one) or not hasattr(one, "chunks"):
            continue
        own = set(one.__dask_graph__())
        if own & seen:
            return True
        seen |= own
    return False


def _partitions(X: Any, y: Any, weight: Any, groups: dict[str, Any]) -> list[Partition]:
    plain = _share_tasks([X, y, weight, *groups.values()])
    blocks = _blocks(X, plain)
    columns = {"y": y, "sample_weight": weight, **groups}
    tasks = {}
    for what, column in columns.items():
        if column is None:
            tasks[what] = [None] * len(blocks)
            continue
        tasks[what] = _blocks(column, plain)
        if len(tasks[what]) != len(blocks):
            raise InvalidProblemError(
                f"{what or 'groups'} has {len(tasks[what])} partitions, X has {len(blocks)}: give "
                "collections that are divided alike, such as columns of one data frame, or rechunk or "
                "repartition them"
            )
    own = [tasks[name] for name in groups]
    return [
        Partition(i, block, tasks["y"][i], tasks["sample_weight"][i], [column[i] for column in own])
        for i, block in enumerate(blocks)
    ]


def _aligned(column: Any, X: Any) -> Any:
    """The column divided as X is, where both are arrays of known lengths."""
    if hasattr(column, "chunks") and hasattr(X, "chunks"):
        if column.ndim != 1:
            raise InvalidProblemError(f"labels, weights and groups have one dimension, not {column.ndim}")
        known = not np.isnan([*column.chunks[0], *X.chunks[0]]).any()
        if known and column.chunks[0] != X.chunks[0] and column.shape[0] == X.shape[0]:
            return column.rechunk((X.chunks[0],))
    return column


def _blocks(collection: Any, plain: bool) -> list[Any]:
    """A task for each partition; ``plain`` leaves arrays as they are."""
    blocks = collection.to_delayed(optimize_graph=is_frame(collection) or not plain)
    return list(blocks.ravel()) if isinstance(blocks, np.ndarray) else list(blocks)
