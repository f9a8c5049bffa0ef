"""A piece of rows, and what a source of pieces is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._typing import LabelArray
from ..exceptions import InvalidProblemError
from ..learn.unlabelled import as_vector

P = TypeVar("P")
T = TypeVar("T")
#: Rows of a piece, if nobody says otherwise: of 20 numbers of 8 bytes they take 40 MB.
PIECE_ROWS = 250_000
#: Threads that work on pieces: their arrays are in memory at the same time.
THREADS = 2


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a table, one after the other."""

    first_row: int  #: its number in the whole table
    X: NDArray[Any]  #: float32 or float64, row by row
    labels: LabelArray | None = None  #: as they were given, missing where a row has none
    weights: NDArray[Any] | None = None
    groups: Mapping[str, LabelArray] = field(default_factory=dict)  #: columns of groups, as they were given
    where: str = ""  #: what messages call it: a file and a part of it

    def __len__(self) -> int:
        return len(self.X)


class Source(Protocol):
    """A table in pieces. Every pass over it is one call of :meth:`reduce`.

    The functions handed to it are picklable objects, and the combination is associative and commutative bit
    by bit: a source may work on its pieces anywhere, in any order, and combine what comes back in any tree.
    """

    @property
    def n_columns(self) -> int:
        """The number of columns of X."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Their names, if they have any."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known without a pass; it only saves time."""

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the columns of groups; the only one may be nameless."""

    def reduce(self, function: Callable[[Piece], T], combine: Callable[[T, T], T]) -> T:
        """``function`` of every piece, combined; of an empty piece where there is none.

        ``combine`` may change and return its first argument.
        """


def empty_piece(source: Source) -> Piece:
    """What is to be handed to the function of a pass where there are no rows at all."""
    return Piece(0, np.zeros((0, source.n_columns)))


def in_turn(pieces: Iterable[P], function: Callable[[P], T], threads: int = THREADS) -> Iterator[T]:
    """``function`` of each piece in their order, by several threads; no piece is read much ahead.

    An error in a piece ends all and reaches the caller.
    """
    if threads <= 1:
        yield from map(function, pieces)
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(function, piece))
                if len(waiting) >= threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for rest in waiting:
                rest.cancel()


class PieceSource:
    """A source on this machine: whoever inherits has ``n_columns``, ``names``, ``n_rows`` and ``pieces``."""

    n_columns: int
    names: tuple[str, ...] | None = None
    n_rows: int | None = None
    group_names: tuple[str, ...] = ()
    threads: int = THREADS

    def pieces(self) -> Iterator[Piece]:
        """All pieces in the order of their rows."""
        raise NotImplementedError

    def map(self, function: Callable[[Piece], T]) -> Iterator[T]:
        """``function`` of each piece, in the order of their rows."""
        return in_turn(self.pieces(), function, self.threads)

    def reduce(self, function: Callable[[Piece], T], combine: Callable[[T, T], T]) -> T:
        """``function`` of every piece, combined."""
        found: T | None = None
        for part in self.map(function):
            found = part if found is None else combine(found, part)
        return function(empty_piece(self)) if found is None else found


class ArraySource(PieceSource):
    """Arrays in memory, or on disk as ``numpy.memmap``.

    Parameters
    ----------
    X
        Rows, float32 or float64; other numbers are converted piece by piece.
    y
        A label for each row, missing where it has none.
    sample_weight
        A weight for each row.
    groups
        The group of each row, or a mapping or data frame of several such columns.
    piece_rows
        Rows of a piece; or the numbers of the rows at which new pieces begin.
    threads
        Pieces that are worked on at the same time.
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        piece_rows: int | Iterable[int] = PIECE_ROWS,
        threads: int = THREADS,
    ) -> None:
        columns = getattr(X, "columns", None)
        self.names = None if columns is None else tuple(map(str, columns))
        self.X = X if isinstance(X, np.ndarray) else np.asarray(X)
        if self.X.ndim != 2:
            raise InvalidProblemError(f"X must have rows and columns, got the shape {self.X.shape}")
        self.length, self.n_columns = self.X.shape
        self.n_rows = self.length
        self.threads = threads
        self.y = None if y is None else as_vector(y)
        self.weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.groups = group_columns(groups)
        self.group_names = tuple(self.groups)
        self._check_lengths()
        begin = range(0, self.length, piece_rows) if isinstance(piece_rows, int) else piece_rows
        self.begins = sorted({0, *begin})

    def _check_lengths(self) -> None:
        columns = {"y": self.y, "sample_weight": self.weights, **self.groups}
        for name, column in columns.items():
            if column is not None and len(column) != self.length:
                raise InvalidProblemError(
                    f"{name} has {len(column)} values, but X has {self.length} rows: give one for each row"
                )

    def pieces(self) -> Iterator[Piece]:
        """Slices of the arrays; nothing is copied."""
        for first, stop in zip(self.begins, [*self.begins[1:], self.length], strict=True):
            part = slice(first, stop)
            yield Piece(
                first,
                as_rows(self.X[part]),
                None if self.y is None else self.y[part],
                None if self.weights is None else self.weights[part],
                {name: column[part] for name, column in self.groups.items()},
                f"rows {first} to {max(first, stop - 1)}",
            )


class TransformedSource:
    """Another source whose pieces go through a row-wise function first, such as an encoding of categories."""

    def __init__(
        self,
        source: Source,
        function: Callable[[Piece], Piece],
        n_columns: int,
        names: tuple[str, ...] | None = None,
    ) -> None:
        """``function`` is picklable and changes nothing but the columns of X, as many as ``n_columns``."""
        self.source, self.function, self.n_columns, self.names = source, function, n_columns, names

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known."""
        return self.source.n_rows

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the columns of groups."""
        return self.source.group_names

    def reduce(self, function: Callable[[Piece], T], combine: Callable[[T, T], T]) -> T:
        """A pass over the transformed pieces."""
        found: T = self.source.reduce(Composed(self.function, function), combine)
        return found

    def map(self, function: Callable[[Piece], T]) -> Iterator[T]:
        """``function`` of each transformed piece, in the order of their rows, where a source can."""
        found: Iterator[T] = self.source.map(Composed(self.function, function))  # type: ignore[attr-defined]
        return found


@dataclass(frozen=True, eq=False)
class Composed:
    """One function after the other; picklable if they are."""

    first: Callable[[Piece], Piece]
    then: Callable[[Piece], Any]

    def __call__(self, piece: Piece) -> Any:
        """The second of what the first gives."""
        return self.then(self.first(piece))


def as_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Rows as contiguous numbers of one of the two kinds that kernels know."""
    kind = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(X, dtype=kind)


def group_columns(groups: Any) -> dict[str, LabelArray]:
    """Columns of groups by their names; the only one has none."""
    if groups is None:
        return {}
    if isinstance(groups, Mapping):
        return {str(name): as_vector(column) for name, column in groups.items()}
    if hasattr(groups, "columns") and hasattr(groups, "__getitem__"):
        return {str(name): as_vector(groups[name]) for name in groups.columns}
    return {"": as_vector(groups)}
