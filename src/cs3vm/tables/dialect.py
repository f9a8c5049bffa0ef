"""How a text file writes its table: encoding, separator and decimal sign, found by looking at it."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ..exceptions import TableError

#: First bytes of the kinds of files that are mistaken for one another.
_MAGIC = {
    b"PK\x03\x04": "Excel",
    b"PAR1": "Parquet",
    b"ARROW1": "Feather",
    b"FEA1": "old Feather",
    b"\xd0\xcf\x11\xe0": "old Excel",
    b"\x1f\x8b": "gzip",
    b"%PDF": "PDF",
}
#: Kinds of content that no suffix stands for, in words.
NOT_TEXT = {
    "old Excel": "an old Excel workbook: open it and save it as .xlsx or .csv",
    "old Feather": "a Feather file of version 1: write it again with a newer program",
    "gzip": "compressed (gzip): unpack it first",
    "PDF": "a PDF document: export the table itself as .csv",
    "HTML": "a web page (HTML): download the table itself",
    "JSON": "JSON: save the table as .csv",
    "binary": "binary data of an unknown kind",
}
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_SAMPLE_LINES = 1000
_CHUNK = 1 << 20  # bytes read at once
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+")
_DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d*),\d+")
_EITHER_COMMA = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True)
class Dialect:
    """How to read a text file, and what a user should know about it."""

    encoding: str
    separator: str
    decimal: str
    thousands: str | None
    header: list[str]
    notes: tuple[str, ...]


def kind_of(start: bytes) -> str:
    """The kind of a file by its first bytes."""
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "text"
    text = start.lstrip(codecs.BOM_UTF8).lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    if text.startswith((b"{", b"[")):
        return "JSON"
    return "binary" if b"\0" in start else "text"


def sniff(path: Path) -> Dialect:
    """Find out how a text file writes its table."""
    encoding, notes = _encoding(path)
    with path.open(encoding=encoding, newline="") as file:
        lines = list(islice(file, _SAMPLE_LINES))
    if not lines:
        raise TableError(f"{path.name} is empty: it needs a header row and at least one row of data")
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    separator = _separator(lines, usual)
    if separator != usual:
        notes.append(f"{path.name} is separated by the {SEPARATORS[separator]}; it was read that way")
    records = list(_records(lines, separator))
    if not records[0]:
        raise TableError(
            f"{path.name}: the first row is empty. It must name the columns, with nothing above it"
        )
    notes += _short_rows(path, encoding, separator)
    decimal, thousands = _decimal(path, records)
    if decimal == ",":
        notes.append(f"{path.name} has decimal commas (such as 1,5); they were read that way")
    return Dialect(
        encoding, separator, decimal, thousands, [name.strip() for name in records[0]], tuple(notes)
    )


def _encoding(path: Path) -> tuple[str, list[str]]:
    """UTF-8 if every byte fits; else the Western European encoding, and a note about it."""
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            if (misfit := _misfit(path, "utf-16")) is not None:
                raise TableError(
                    f"{path.name} begins as UTF-16, but line {misfit.line} (byte {misfit.place}) is not: the "
                    "file is damaged or cut off. Save it again, as UTF-8"
                )
            return "utf-16", []
    misfit = _misfit(path, "utf-8")
    if misfit is None:
        return "utf-8-sig", []
    return "latin-1" if _has_controls(path) else "cp1252", [
        f"{path.name} is not UTF-8 (line {misfit.line}, byte 0x{misfit.value:02x}); it was "
        "read as Latin-1. Check names with accents, or save the file as UTF-8"
    ]


class _Misfit(NamedTuple):
    """The first byte that does not fit an encoding."""

    line: int
    place: int  #: bytes before it
    value: int


def _misfit(path: Path, encoding: str) -> _Misfit | None:
    """Where the file stops to fit; a sequence of bytes that is cut off by its end does not fit either."""
    decoder, line, place = codecs.getincrementaldecoder(encoding)(), 1, 0
    with path.open("rb") as file:
        while True:
            kept, chunk = len(decoder.getstate()[0]), file.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                return _Misfit(line, place - kept + error.start, error.object[error.start])
            if not chunk:
                return None
            line, place = line + chunk.count(b"\n"), place + len(chunk)


def _has_controls(path: Path) -> bool:
    """Whether the file has bytes that the Windows encoding does not define."""
    with path.open("rb") as file:
        return any(
            set(chunk) & {0x81, 0x8D, 0x8F, 0x90, 0x9D} for chunk in iter(lambda: file.read(_CHUNK), b"")
        )


def _records(lines: list[str], separator: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=separator, skipinitialspace=True)
    except csv.Error as error:
        raise TableError(f"the text is no table: {error}") from error


def _separator(lines: list[str], usual: str) -> str:
    """The separator that gives the most columns in most rows."""

    def score(separator: str) -> tuple[float, int, bool]:
        widths = [len(record) for record in islice(_records(lines, separator), 50) if record]
        if not widths or widths[0] < 2:
            return 0.0, 0, separator == usual
        agree = sum(width == widths[0] for width in widths) / len(widths)
        return agree, widths[0], separator == usual

    return max(SEPARATORS, key=score)


def _short_rows(path: Path, encoding: str, separator: str) -> list[str]:
    """A note if rows have fewer cells than the header; a cut-off label would else pass for a missing one."""
    first, number = 0, 0
    with path.open(encoding=encoding, newline="") as file:
        try:
            records = csv.reader(file, delimiter=separator, skipinitialspace=True)
            width = len(next(records))
            for row, record in enumerate(records, 2):
                if 0 < len(record) < width:
                    first, number = first or row, number + 1
        except csv.Error as error:
            raise TableError(f"{path.name} is no table: {error}") from error
    if number == 0:
        return []
    others = f", as have {number - 1} more" if number > 1 else ""
    return [
        f"row {first} of {path.name} has fewer cells than the header{others}; the missing cells were "
        "taken to be empty"
    ]


def _decimal(path: Path, records: list[list[str]]) -> tuple[str, str | None]:
    """The decimal sign and the sign between thousands, from the cells of the first rows."""
    cells = [cell.strip() for record in records[1:] for cell in record]
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    if not commas:
        return ".", None
    grouped = any("." in cell for cell in commas)
    if any(_DECIMAL_POINT.fullmatch(cell) for cell in cells) and not grouped:
        return ".", None  # both signs: columns with commas will be named as mixed
    if all(_EITHER_COMMA.fullmatch(cell) for cell in commas):
        row = next(i for i, record in enumerate(records) if i and commas[0] in map(str.strip, record))
        raise TableError(
            f"{path.name}, row {row + 1} (the header is row 1): {commas[0]!r} may mean "
            f"{commas[0].replace(',', '.')} or {commas[0].replace(',', '')}. Write numbers with a decimal "
            "point and nothing between thousands"
        )
    return ",", "." if grouped else None
