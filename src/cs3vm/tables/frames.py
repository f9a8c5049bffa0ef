"""Tables in pieces: a data frame of some rows at a time, from a text file or from Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..exceptions import TableError
from ..large.parquet import Part, find_files, find_parts, open_parquet, read_batches
from ..large.pieces import PIECE_ROWS, THREADS, in_turn
from .dialect import Dialect, sniff
from .reading import FORMATS, Table, as_texts, check_file, check_header, text_errors, text_options

T = TypeVar("T")


class FramePiece(NamedTuple):
    """Some rows of a table, one after the other."""

    first_row: int  #: its number in the whole table
    table: Table  #: the rows, numbered as in their file
    where: str  #: what messages call it
    left_out: int = 0  #: rows without any value


@dataclass(frozen=True)
class Wanted:
    """What is to be read of each row, and how."""

    columns: tuple[str, ...] = ()
    as_text: frozenset[str] = frozenset()  #: columns read as text even where they look like numbers
    verbatim: frozenset[str] = frozenset()  #: columns of text in which nothing counts as missing
    piece_rows: int = PIECE_ROWS


@dataclass(frozen=True, eq=False)
class Frames:
    """A table in pieces: whoever inherits has ``pieces``."""

    path: Path  #: what messages call the table
    columns: list[str]
    size: int  #: bytes of the table in memory, about
    files: list[Path]
    n_rows: int | None = None
    notes: tuple[str, ...] = ()
    wanted: Wanted = field(default_factory=Wanted)
    threads: int = THREADS
    progress: Callable[[int], None] | None = None  #: told how many rows were read

    def reading(self, **wanted: Any) -> Frames:
        """The same table with other wishes."""
        return replace(self, wanted=replace(self.wanted, **wanted))

    @property
    def naming(self) -> Table:
        """A table without rows that knows the names of the columns."""
        import pandas as pd

        return Table(pd.DataFrame(columns=self.columns), self.path, self.notes)

    def pieces(self) -> Iterator[FramePiece]:
        """All pieces in the order of their rows."""
        raise NotImplementedError

    def map(self, function: Callable[[FramePiece], T]) -> Iterator[T]:
        """``function`` of each piece, in the order of their rows."""
        return in_turn(self._counted(self.pieces()), function, self.threads)

    def reduce(self, function: Callable[[FramePiece], T], combine: Callable[[T, T], T]) -> T:
        """``function`` of every piece, combined."""
        found: T | None = None
        for part in self.map(function):
            found = part if found is None else combine(found, part)
        if found is None:
            raise no_rows(self.path)
        return found

    def _counted(self, pieces: Iterable[FramePiece]) -> Iterator[FramePiece]:
        for piece in pieces:
            yield piece
            if self.progress is not None:
                self.progress(len(piece.table))


def no_rows(path: Path) -> TableError:
    """A table without rows cannot be used."""
    return TableError(f"{path.name} has no rows of data")


# -- text ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class TextFrames(Frames):
    """A text file, read by the same rules as one that is read as a whole."""

    dialect: Dialect | None = None

    def pieces(self) -> Iterator[FramePiece]:
        """So many rows at a time; rows without any value are left out."""
        import pandas as pd

        dialect, wanted, first = self._dialect, self.wanted, 0
        options = text_options(dialect, set(wanted.as_text | wanted.verbatim), set(wanted.verbatim))
        with text_errors(self.path, dialect):
            reader = pd.read_csv(self.path, chunksize=wanted.piece_rows, **options)
        with reader:
            while True:
                with text_errors(self.path, dialect):
                    frame = next(reader, None)
                if frame is None:
                    return
                piece = self._piece(frame, first)
                first += len(piece.table)
                yield piece

    @property
    def _dialect(self) -> Dialect:
        return sniff(self.path) if self.dialect is None else self.dialect

    def _piece(self, frame: Any, first: int) -> FramePiece:
        # all columns are read, so that every pass leaves out the same rows
        empty = frame.isna()
        for name in self.wanted.verbatim & set(frame.columns):
            empty[name] |= frame[name] == ""
        kept = ~empty.all(axis=1).to_numpy(dtype=bool)
        rows = frame[kept] if not kept.all() else frame
        if self.wanted.columns:
            rows = rows[list(self.wanted.columns)]
        where = f"{self.path.name}, rows {int(frame.index[0]) + 2} to {int(frame.index[-1]) + 2}"
        return FramePiece(first, Table(rows, self.path), where, int(np.sum(~kept)))


# -- Parquet -------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class ParquetFrames(Frames):
    """One or several Parquet files, in the order of their names."""

    def parts(self) -> list[Part]:
        """What is read together; files that lack a column are refused."""
        return list(find_parts(self.files, self.wanted.columns or self.columns, self.wanted.piece_rows))

    def pieces(self) -> Iterator[FramePiece]:
        """Row groups, cut where they are long; only the wanted columns are read."""
        wanted = replace(self.wanted, columns=self.wanted.columns or tuple(self.columns))
        for part in self.parts():
            yield from read_part(part, wanted)


def read_part(part: Part, wanted: Wanted) -> Iterator[FramePiece]:
    """The pieces of some row groups."""
    start = 0
    for batch in read_batches(part, wanted.columns, wanted.piece_rows):
        frame = batch.to_pandas(ignore_metadata=True)[list(wanted.columns)]
        frame.index = range(part.before + start, part.before + start + len(frame))
        table = Table(as_texts(frame, set(wanted.as_text | wanted.verbatim)), part.file)
        yield FramePiece(part.first_row + start, table, part.where)
        start += len(frame)


# -- which of them -------------------------------------------------------------------------------------
def open_frames(path: Path) -> Frames | None:
    """The table in pieces; None for kinds of files that can only be read as a whole."""
    if is_collection(path):
        return _open_parquet(path, find_files(path))
    kind = check_file(path)
    if kind == "text":
        dialect = sniff(path)
        check_header(path, dialect.header)
        return TextFrames(
            path, dialect.header, path.stat().st_size, [path], notes=dialect.notes, dialect=dialect
        )
    return _open_parquet(path, [path]) if kind == "Parquet" else None


def is_collection(path: Path) -> bool:
    """Whether a path stands for several files: a folder or a pattern."""
    return path.is_dir() or (not path.exists() and has_magic(str(path)))


def _open_parquet(path: Path, files: list[Path]) -> Frames:
    size = n_rows = 0
    for file in files:
        about = open_parquet(file).metadata
        n_rows += about.num_rows
        groups = (about.row_group(g).total_byte_size for g in range(about.num_row_groups))
        size += max(sum(groups), 8 * about.num_rows * about.num_columns)
    if n_rows == 0:
        raise no_rows(path)
    columns = _columns(open_parquet(files[0]).schema_arrow)
    check_header(files[0], columns)
    return ParquetFrames(path, columns, size, files, n_rows)


def _columns(schema: Any) -> list[str]:
    """The names of the columns as pandas has them: a named index first, a nameless one not at all."""
    names = [str(name) for name in schema.names]
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    kept = [name for name in index if isinstance(name, str) and not name.startswith("__index_level_")]
    nameless = {name for name in index if isinstance(name, str)} - set(kept)
    return [*kept, *(name for name in names if name not in kept and name not in nameless)]


def table_bytes(path: Path) -> int:
    """About how much memory a table takes, without reading it: of Parquet files by what they say."""
    if path.exists() and FORMATS.get(path.suffix.lower()) == "Parquet":
        return _open_parquet(path, [path]).size
    return path.stat().st_size if path.exists() else 0
