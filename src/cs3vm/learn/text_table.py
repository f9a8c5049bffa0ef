"""Tables as plain text."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(rows: Sequence[dict[str, str]]) -> str:
    """Plain text, numbers to the right, text to the left."""
    header = list(rows[0])
    width = {name: max(len(name), *(len(row[name]) for row in rows)) for name in header}
    left = {"method", "class", "group", "rule", "status", "feature"}

    def line(cells: dict[str, str]) -> str:
        padded = (c.ljust(width[n]) if n in left else c.rjust(width[n]) for n, c in cells.items())
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width[name] for name in header)
    return "\n".join([line({name: name for name in header}), rule, *(line(row) for row in rows)])
