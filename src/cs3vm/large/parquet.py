"""Parquet files and folders as a source: one row group after the other, and only the columns needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import LabelArray
from ..exceptions import MissingPackageError, TableError
from .pieces import PIECE_ROWS, THREADS, Piece, PieceSource

#: So many names are listed in a message.
MOST_NAMES = 5


class Part(NamedTuple):
    """Row groups of a file that are read together."""

    file: Path
    groups: tuple[int, ...]
    first_row: int  #: in the whole table
    n_rows: int
    before: int = 0  #: rows of the file that come before

    @property
    def where(self) -> str:
        """What messages call it."""
        first, last = self.groups[0], self.groups[-1]
        number = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self.file}, {number}"


class ParquetSource(PieceSource):
    """The rows of one or several Parquet files, in the order of their names.

    Parameters
    ----------
    path
        A file, a folder (all files below it whose names end in .parquet), a pattern such as
        ``"big/part-*.parquet"``, or a list of files.
    columns
        The columns of X. Default: all but those named below.
    label, weight
        Names of the columns of labels and of weights.
    groups
        Names of the columns of groups that totals are by.
    piece_rows
        Rows of a piece at most: memory is bounded by some of these and by the largest row group as it is on
        disk.
    threads
        Pieces that are worked on at the same time.
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        columns: Sequence[str] | None = None,
        *,
        label: str | None = None,
        weight: str | None = None,
        groups: Sequence[str] = (),
        piece_rows: int = PIECE_ROWS,
        threads: int = THREADS,
    ) -> None:
        self.files = find_files(path)
        self.label, self.weight, self.group_names = label, weight, tuple(groups)
        self.piece_rows, self.threads = piece_rows, threads
        schema = open_parquet(self.files[0]).schema_arrow
        others = {label, weight, *groups}
        every = [name for name in schema.names if name not in others]
        self.columns = tuple(every if columns is None else columns)
        self.names, self.n_columns = self.columns, len(self.columns)
        self.read = list(dict.fromkeys([*self.columns, *(name for name in (label, weight, *groups) if name)]))
        self.parts = list(find_parts(self.files, self.read, piece_rows))
        self.n_rows = sum(part.n_rows for part in self.parts)
        self.kind: Any = np.float32 if all(map(self._is_short, self.files)) else np.float64

    def _is_short(self, file: Path) -> bool:
        """Whether the columns of a file lose nothing in single precision; text is refused."""
        from pyarrow import types

        schema, short = open_parquet(file).schema_arrow, True
        for name in self.columns:
            kind = schema.field(name).type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise TableError(
                    f"the column {name!r} of {file} has the type {kind}: columns of X must be numbers. Leave "
                    "it out (columns=), or encode it as numbers"
                )
            short = short and (kind.bit_width <= 16 or str(kind) == "float")
        return short

    def pieces(self) -> Iterator[Piece]:
        """Row groups, cut where they are long; only what is needed of them is read."""
        for part in self.parts:
            first = part.first_row
            for batch in read_batches(part, self.read, self.piece_rows):
                yield self._piece(batch, first, part.where)
                first += batch.num_rows

    def _piece(self, batch: Any, first_row: int, where: str) -> Piece:
        X = np.empty((batch.num_rows, self.n_columns), dtype=self.kind)
        for j, name in enumerate(self.columns):
            X[:, j] = as_numbers(batch.column(batch.schema.get_field_index(name)))
        return Piece(
            first_row,
            X,
            self._values(batch, self.label),
            None if self.weight is None else as_numbers(_column(batch, self.weight)).astype(float),
            {name: as_values(_column(batch, name)) for name in self.group_names},
            where,
        )

    def _values(self, batch: Any, name: str | None) -> LabelArray | None:
        return None if name is None else as_values(_column(batch, name))


def find_parts(files: Iterable[Path], columns: Sequence[str], piece_rows: int) -> Iterator[Part]:
    """Row groups, small ones together, with the number of their first row."""
    first_row = 0
    for file in files:
        opened = open_parquet(file)
        missing = [name for name in columns if name not in opened.schema_arrow.names]
        if missing:
            raise TableError(
                f"{file} has no column {', '.join(map(repr, missing[:MOST_NAMES]))}: all files of a "
                "table need the same columns"
            )
        waiting: list[int] = []
        n_rows, start = 0, first_row
        sizes = [opened.metadata.row_group(g).num_rows for g in range(opened.metadata.num_row_groups)]
        for g, size in enumerate(sizes):
            if waiting and n_rows + size > piece_rows:
                yield Part(file, tuple(waiting), first_row, n_rows, first_row - start)
                first_row, waiting, n_rows = first_row + n_rows, [], 0
            waiting.append(g)
            n_rows += size
        if waiting:
            yield Part(file, tuple(waiting), first_row, n_rows, first_row - start)
        first_row += n_rows


def read_batches(part: Part, columns: Sequence[str], piece_rows: int) -> Iterator[Any]:
    """Some columns of row groups, cut where they are long."""
    import pyarrow as pa

    opened = open_parquet(part.file)
    try:
        yield from opened.iter_batches(
            batch_size=piece_rows, row_groups=list(part.groups), columns=list(columns)
        )
    except (pa.ArrowException, OSError) as error:
        raise _damaged(part.file, error, part.where) from error


def _column(batch: Any, name: str) -> Any:
    return batch.column(batch.schema.get_field_index(name))


def as_numbers(column: Any) -> NDArray[Any]:
    """A column of an Arrow table as numbers; missing ones are NaN."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def as_values(column: Any) -> LabelArray:
    """A column as values of any kind; missing ones are None, or NaN among numbers with a fraction."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count == 0 or pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = np.empty(len(column), dtype=object)  # integers stay integers
    values[:] = column.to_pylist()
    return values


def find_files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that a path, a folder, a pattern or a list stands for, sorted; hidden ones are left out."""
    if not isinstance(path, str | Path):
        found = [file for one in path for file in find_files(one)]
    elif Path(path).is_dir():
        below = sorted(Path(path).rglob("*.parquet"))
        hidden = (any(part.startswith((".", "_")) for part in f.relative_to(path).parts) for f in below)
        found = [file for file, skip in zip(below, hidden, strict=True) if not skip]
    else:
        found = [Path(path)]
        if not found[0].exists() and has_magic(str(path)):
            found = sorted(map(Path, glob(str(path), recursive=True)))
    if not found:
        raise TableError(
            f"{path} has no Parquet files: give a folder, a pattern or files that end in .parquet"
        )
    return found


def open_parquet(file: Path) -> Any:
    """A file of which only the end was read; damaged ones are refused."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingPackageError(
            'Parquet files need the package pyarrow, which is not installed: pip install "cs3vm[report]"'
        ) from error
    try:
        return pq.ParquetFile(file)
    except FileNotFoundError as error:
        raise TableError(f"there is no file {file}") from error
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception, where: str = "") -> TableError:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    place = f" ({where.removeprefix(str(file)).strip(', ')})" if where else ""
    return TableError(
        f"{file} cannot be read as Parquet{place}: {first} It may be damaged or cut off: write it again"
    )
