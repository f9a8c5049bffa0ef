"""A table is read back as it was, whatever way it was written; any other file is explained."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs3vm.exceptions import TableError
from cs3vm.tables.dialect import SEPARATORS
from cs3vm.tables.encoding import learn_encoding
from cs3vm.tables.reading import MISSING, read_table, write_csv

STEADY = settings(derandomize=True, deadline=None, max_examples=200)
LETTERS = "abcXYZ"
#: Letters with accents that each of the encodings has.
ACCENTS = "éÉüßñøÃ"
words = st.text(LETTERS + ACCENTS, min_size=1, max_size=6).filter(lambda word: word not in MISSING)
#: Text begins with a letter, as a number does not, and may hold whatever needs quotes.
texts = st.builds(
    str.__add__,
    st.sampled_from(LETTERS),
    st.text(LETTERS + ACCENTS + "".join(SEPARATORS) + "\"'.-#0 \n", max_size=8),
).map(str.rstrip)
numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda value: float(f"{value:.2f}"))


@dataclass(frozen=True)
class Written:
    """A table and how it is to be written."""

    columns: dict[str, list]
    separator: str
    decimal: str
    quoting: int
    ending: str
    encoding: str
    last_ending: bool

    def write(self, path: Path) -> None:
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.separator, quoting=self.quoting, lineterminator=self.ending)
        writer.writerow(self.columns)
        writer.writerows(zip(*(map(self.cell, values) for values in self.columns.values()), strict=True))
        content = text.getvalue()
        path.write_bytes(
            (content if self.last_ending else content.removesuffix(self.ending)).encode(self.encoding)
        )

    def cell(self, value: object) -> str:
        if value is None:
            return ""
        return value if isinstance(value, str) else f"{value:.2f}".replace(".", self.decimal)


@st.composite
def tables(draw: st.DrawFn) -> Written:
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(words, min_size=2, max_size=4, unique=True))
    columns = {}
    for i, name in enumerate(names):
        cells = st.one_of(st.none(), numbers) if draw(st.booleans()) else texts
        columns[name] = draw(st.lists(numbers if i == 0 else cells, min_size=rows, max_size=rows))
    return Written(
        columns,
        draw(st.sampled_from(list(SEPARATORS))),
        draw(st.sampled_from(".,")),
        draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        draw(st.sampled_from(["\n", "\r\n"])),
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])),
        draw(st.booleans()),
    )


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@STEADY
@given(written=tables(), suffix=st.sampled_from([".csv", ".tsv", ".txt"]))
def test_any_dialect_is_read_back(folder, written, suffix):
    path = folder / f"table{suffix}"
    written.write(path)
    text = [name for name, values in written.columns.items() if isinstance(values[0], str)]
    frame = read_table(path, as_text=text).frame
    assert [str(name) for name in frame.columns] == list(written.columns)
    for name, values in written.columns.items():
        for cell, value in zip(frame[name], values, strict=True):
            if value is None:
                assert math.isnan(cell)
            elif isinstance(value, str):
                assert cell == value
            else:
                assert cell == pytest.approx(value, rel=1e-15)


@STEADY
@given(
    columns=st.dictionaries(words, st.lists(st.one_of(st.none(), texts), min_size=3, max_size=3), min_size=1)
)
def test_what_we_write_we_read(folder, columns):
    path = folder / "ours.csv"
    write_csv(columns, path)
    if all(value is None for values in columns.values() for value in values):
        with pytest.raises(TableError, match="no rows of data"):
            read_table(path)
        return
    table = read_table(path, as_text=list(columns))
    for name, values in columns.items():
        kept = [values[i - 2] for i in table.row_numbers(range(len(table)))]
        assert [None if cell != cell else cell for cell in table.frame[name]] == kept


#: Pieces that separators, quotes, encodings and kinds of files are made of.
PIECES = [
    *(b"a", b"1", b"1,5", b"1.234,5", b"NA", b"2024-01-01", b" ", b"'", b"-", b"#", b"{", b"<html", b"PAR1"),
    *(b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b'"', b'""', b"\0", b"\x1a", b"\x81"),
    *(b"\xe9", b"\xc3\xa9", b"\xe2\x82", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80"),
]
contents = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join),
    st.binary(max_size=60),
    st.text(max_size=30).map(lambda text: text.encode("utf-16", "surrogatepass")),
)


@STEADY
@given(content=contents, suffix=st.sampled_from([".csv", ".tsv"]))
def test_any_bytes_are_a_table_or_explained(folder, content, suffix):
    path = folder / f"any{suffix}"
    path.write_bytes(content)
    try:
        table = read_table(path)
        encoding = learn_encoding(table, table.columns, impute=True)
        X = encoding.transform(table)
    except TableError as error:
        fault = str(error)
    else:
        assert X.shape == (len(table), len(encoding.feature_names))
        return
    assert path.name in fault


@settings(STEADY, max_examples=60)
@given(content=st.binary(max_size=60), suffix=st.sampled_from([".parquet", ".feather", ".xlsx"]))
def test_damaged_files_of_other_kinds_are_explained(folder, content, suffix):
    path = folder / f"any{suffix}"
    start = {".parquet": b"PAR1", ".feather": b"ARROW1", ".xlsx": b"PK\x03\x04"}[suffix]
    path.write_bytes(start + content + start)
    with pytest.raises(TableError, match=path.name):
        read_table(path)
