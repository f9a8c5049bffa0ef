"""Tables from CSV, TSV, Parquet, Feather and Excel files, with errors that name the file, row and column.

Rows are numbered as a spreadsheet shows them: the header is row 1. Parquet and Feather files have no
header row, so their first row is row 1.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..exceptions import MissingPackageError, TableError
from .dialect import NOT_TEXT, Dialect, kind_of, sniff
from .files import write_atomically

#: Cells that mean "missing", besides empty ones.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")
#: What each suffix stands for.
FORMATS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "Parquet",
    ".feather": "Feather",
    ".xlsx": "Excel",
    ".xlsm": "Excel",
}
_NEEDED = {"Parquet": "pyarrow", "Feather": "pyarrow", "Excel": "openpyxl"}
_SHOWN = 5  # so many rows or values are listed in a message


@dataclass(frozen=True, eq=False)
class Table:
    """A data frame, where it came from, and what was noticed while reading it.

    The index of ``frame`` holds the positions of the rows in the file.
    """

    frame: Any
    path: Path
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.frame.columns]

    @property
    def header_rows(self) -> int:
        """How many rows of the file come before the first row of data."""
        return 0 if FORMATS.get(self.path.suffix.lower()) in ("Parquet", "Feather") else 1

    def row_numbers(self, positions: Sequence[int] | Any) -> list[int]:
        """The numbers that the rows at these positions of the frame have in the file."""
        return [int(i) + 1 + self.header_rows for i in self.frame.index[positions]]

    def rows(self, positions: Sequence[int] | Any) -> str:
        """These rows in words: "row 17", or "rows 3, 5, 8 and 12 more"."""
        shown = [str(i) for i in self.row_numbers(positions[:_SHOWN])]
        if len(positions) == 1:
            return f"row {shown[0]}"
        if len(positions) > _SHOWN:
            return f"rows {', '.join(shown)} and {len(positions) - _SHOWN} more"
        return f"rows {', '.join(shown[:-1])} and {shown[-1]}"

    @property
    def convention(self) -> str:
        """How rows are numbered, to be said once in a message."""
        return "the header is row 1" if self.header_rows else "the first row is row 1"

    def require(self, name: str, what: str = "column") -> str:
        """The name itself, if the table has such a column."""
        if name not in self.columns:
            raise TableError(f"{self.path.name} has no {what} {name!r}{suggestion(name, self.columns)}")
        return name

    def split_names(self, values: Iterable[str], option: str) -> list[str]:
        """Column names from an option that may be repeated and may hold several, separated by commas."""
        names: list[str] = []
        for value in values:
            parts = [value] if value in self.columns else [part.strip() for part in value.split(",")]
            names += [self.require(part, f"column for {option}:") for part in parts if part]
        return list(dict.fromkeys(names))


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message: the nearest known name, or all of them."""
    known = list(known)
    folded = {option.casefold(): option for option in reversed(known)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    if near:
        return f". Did you mean {folded[near[0]]!r}?"
    more = ", ..." if len(known) > 2 * _SHOWN else ""
    return f": it has {', '.join(repr(option) for option in known[: 2 * _SHOWN])}{more}"


def read_table(path: Path, as_text: Collection[str] = (), verbatim: Collection[str] = ()) -> Table:
    """Read a table; its format follows from the suffix.

    Parameters
    ----------
    as_text
        Columns to be read as text even where they look like numbers (labels, categories).
    verbatim
        Columns of text in which nothing counts as missing (identifiers).
    """
    kind = check_file(path)
    require_package("pandas", f"reading {path.name}")
    if kind in _NEEDED:
        require_package(_NEEDED[kind], f"reading {kind} files such as {path.name}")
    read = {"text": _read_text, "Excel": _read_excel}.get(kind, _read_arrow)
    table = read(path, {*as_text, *verbatim}, set(verbatim))
    return without_empty_rows(table, verbatim)


def write_csv(columns: dict[str, Any], path: Path) -> None:
    """Write columns to a CSV file in one step."""
    import pandas as pd

    frame = pd.DataFrame(columns)
    write_atomically(path, lambda file: frame.to_csv(file, index=False, lineterminator="\n"))


def require_package(package: str, purpose: str) -> None:
    """Make sure that an optional package can be imported."""
    try:
        import_module(package)
    except ImportError as error:
        raise MissingPackageError(
            f'{purpose} needs the package {package}, which is not installed: pip install "cs3vm[report]"'
        ) from error


def check_file(path: Path) -> str:
    """The kind of the file by its suffix, after a look at its first bytes."""
    suffix = path.suffix.lower()
    if not path.exists():
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], n=1)
        raise TableError(f"there is no file {path}" + (f". Did you mean {near[0]!r}?" if near else ""))
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a table")
    if suffix not in FORMATS:
        hint = "save it as .xlsx or .csv" if suffix == ".xls" else f"use one of {', '.join(FORMATS)}"
        kind = f"with the suffix {suffix}" if suffix else "without a suffix"
        raise TableError(f"{path.name}: files {kind} cannot be read as tables: {hint}")
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise TableError(f"cannot read {path}: {error.strerror or error}") from error
    if not start.strip():
        raise TableError(f"{path.name} is empty: it needs a header row and at least one row of data")
    expected, found = FORMATS[suffix], kind_of(start)
    if found != expected:
        right = "" if found in NOT_TEXT else f": give it the right suffix ({_suffixes(found)})"
        raise TableError(
            f"{path.name} is not what its suffix says: {suffix} means {expected}, but the content is "
            f"{NOT_TEXT.get(found, found)}{right}"
        )
    return expected


def _suffixes(kind: str) -> str:
    return " or ".join(suffix for suffix, meaning in FORMATS.items() if meaning == kind)


# -- one reader per kind -----------------------------------------------------------------------------
def _read_text(path: Path, as_text: set[str], verbatim: set[str]) -> Table:
    import pandas as pd

    dialect: Dialect = sniff(path)
    check_header(path, dialect.header)
    with text_errors(path, dialect):
        frame = pd.read_csv(path, **text_options(dialect, as_text, verbatim))
    return Table(frame, path, dialect.notes)


def text_options(dialect: Dialect, as_text: set[str], verbatim: set[str]) -> dict[str, Any]:
    """How pandas reads a text file, as a whole or in pieces."""
    missing = {name: [] if name in verbatim else list(MISSING) for name in dialect.header}
    return {
        "sep": dialect.separator,
        "decimal": dialect.decimal,
        "thousands": dialect.thousands,
        "encoding": dialect.encoding,
        "dtype": dict.fromkeys(as_text & set(dialect.header), str),
        "keep_default_na": False,
        "na_values": missing,
        "skipinitialspace": True,
        "skip_blank_lines": False,
        "names": dialect.header,
        "header": 0,
        "index_col": False,
        "low_memory": False,
    }


@contextmanager
def text_errors(path: Path, dialect: Dialect) -> Iterator[None]:
    """Say what is wrong with a text file in words that help."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except TableError:
        raise
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        if isinstance(error, pd.errors.ParserWarning):
            reason = "its rows have more cells than the header has names"
        raise TableError(
            f"{path.name} cannot be read as a table with the separator {dialect.separator!r}: {reason}. "
            "Every row needs as many cells as the header; put text that holds the separator in quotes"
        ) from error


def _read_arrow(path: Path, as_text: set[str], verbatim: set[str]) -> Table:
    import pandas as pd

    kind = FORMATS[path.suffix.lower()]
    try:
        frame = (pd.read_parquet if kind == "Parquet" else pd.read_feather)(path)
    except Exception as error:  # pyarrow raises many kinds for a damaged file
        raise TableError(f"{path.name} cannot be read as a {kind} file: {_first_line(error)}") from error
    frame = frame.reset_index(drop=isinstance(frame.index, pd.RangeIndex) or frame.index.name is None)
    check_header(path, [str(name) for name in frame.columns])
    frame.columns = [str(name) for name in frame.columns]
    return Table(as_texts(frame, as_text), path)


def _read_excel(path: Path, as_text: set[str], verbatim: set[str]) -> Table:
    import pandas as pd

    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            frame = pd.read_excel(book, header=None, keep_default_na=False, na_values=list(MISSING))
    except Exception as error:  # openpyxl and zipfile raise many kinds for a damaged file
        raise TableError(f"{path.name} cannot be read as an Excel workbook: {_first_line(error)}") from error
    if frame.empty:
        raise TableError(f"{path.name}: the first sheet, {sheets[0]!r}, is empty")
    header = ["" if pd.isna(name) else str(name).strip() for name in frame.iloc[0]]
    check_header(path, header)
    frame = frame.iloc[1:].reset_index(drop=True).infer_objects()
    frame.columns = header
    others = len(sheets) - 1
    notes = (f"only the first of {others + 1} sheets, {sheets[0]!r}, was read",) if others else ()
    return Table(as_texts(frame, as_text), path, notes)


def as_texts(frame: Any, as_text: set[str]) -> Any:
    """The frame with some columns turned into text, whole numbers without a decimal point."""
    for name in as_text & set(frame.columns):
        column = frame[name]
        frame[name] = column.astype(object).map(plain_text, na_action="ignore")
    return frame


def plain_text(value: Any) -> str:
    """A cell as text: 1.0 is "1"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


# -- checks that all kinds share ----------------------------------------------------------------------
def check_header(path: Path, header: Sequence[str]) -> None:
    """Refuse columns without a name of their own."""
    empty = [i + 1 for i, name in enumerate(header) if not name.strip()]
    if empty:
        raise TableError(
            f"{path.name}: column {empty[0]} has no name in the header row. The first row must name the "
            "columns, with nothing above it"
        )
    repeated = sorted({name for name in header if list(header).count(name) > 1})
    if repeated:
        places = [str(i + 1) for i, name in enumerate(header) if name == repeated[0]]
        raise TableError(
            f"{path.name} has several columns named {repeated[0]!r} (columns {', '.join(places)}): "
            "give each column a name of its own"
        )


def without_empty_rows(table: Table, verbatim: Collection[str]) -> Table:
    """Leave out rows without any value, and make sure that something remains."""
    frame = table.frame
    no_value = frame.isna()
    for name in set(verbatim) & set(frame.columns):
        no_value[name] |= frame[name] == ""
    empty = no_value.all(axis=1).to_numpy(dtype=bool)
    notes = table.notes
    if empty.any():
        notes = (*notes, f"{int(empty.sum())} rows without any value were left out")
        frame = frame[~empty]
    if len(frame) == 0:
        raise TableError(f"{table.path.name} has a header row but no rows of data below it")
    return Table(frame, table.path, notes)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
