"""Numbers and names as the report shows them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .figures import format_number

VERSIONED = ("cs3vm", "numpy", "scipy", "scikit-learn", "numba", "pyscipopt", "matplotlib")


def plain(value: Any) -> str:
    """A string that any file can hold: bytes that were no text become question marks."""
    return str(value).encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")


def sentence(note: str) -> str:
    """A note with a capital and a full stop."""
    note = note.strip()
    return note[:1].upper() + note[1:] + ("" if note.endswith((".", "!", "?")) else ".")


def percent(part: float, whole: float) -> str:
    """A share in words."""
    return f"{100 * part / whole:.1f}\N{NO-BREAK SPACE}%" if whole else "–"


def width(part: float, whole: float) -> float:
    """A share as the width of a bar, in per cent."""
    return round(100 * part / whole, 2) if whole else 0.0


def miss(count: float, total: float) -> str:
    """How far a count is from the known total."""
    off = count - total
    if abs(off) < 1e-9:
        return "met"
    return f"{format_number(abs(off))} too {'many' if off > 0 else 'few'}"


def signed(value: float) -> str:
    """A weight with its sign."""
    return f"{value:+.3g}".replace("-", "\N{MINUS SIGN}")


def versions() -> dict[str, str]:
    """Versions of what was used."""
    found = {"Python": platform.python_version()}
    for package in VERSIONED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
