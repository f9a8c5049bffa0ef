"""Whether a table is read as a whole or in pieces, and how long these are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import typer

from ..exceptions import CS3VMError

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
#: Part of the free memory that a table may take, and part of that of a piece as numbers.
SHARE, PIECES = 4, 16
#: Rows of a piece.
FEWEST, MOST = 1000, 250_000


def read_bytes(text: str) -> int:
    """``2GB``, ``500M``, ``1.5 GiB`` or a number of bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a size such as 500MB or 2GB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def free_memory() -> int:
    """Bytes that programs can have without others being pushed out; a guess where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 << 30


def memory_for_table(given: str | None) -> int:
    """Bytes that a table may have to be read as a whole."""
    return free_memory() // SHARE if given is None else read_bytes(given)


def needs_pieces(path: Path, memory: int) -> bool:
    """Whether a table has to be read in pieces: a folder, a pattern, or a file that is too large."""
    from ..tables.frames import is_collection, table_bytes
    from ..tables.reading import FORMATS

    if is_collection(path):
        return True
    if FORMATS.get(path.suffix.lower()) not in ("text", "Parquet"):
        return False
    try:
        return table_bytes(path) > memory
    except CS3VMError:  # who reads it as a whole has the better message
        return False


def plain_stem(path: Path) -> str:
    """The name of a table, also of a pattern, to begin names of files with."""
    return re.sub(r"[*?\[\]]+", "", path.stem).strip("-_.") or "table"


def piece_rows(n_numbers: int, memory: int) -> int:
    """Rows of a piece with so many numbers each."""
    return max(FEWEST, min(MOST, memory // PIECES // (8 * max(1, n_numbers))))
