"""What the report shows of how the labelled rows differ: words, tables, and the love plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..learn.bias import Bias
from .love_plot import drawn
from .words import plain

#: Rows of the table of features.
MOST = 200


def shown_bias(bias: Bias, classes: Sequence[str]) -> dict[str, Any]:
    """What the template needs, with the classes by the reader's names."""
    named = tuple(one._replace(name=name) for one, name in zip(bias.classes, classes, strict=True))
    known = replace(bias, classes=named)
    return {
        "sentence": plain(known.sentence),
        "classes": _plain(known.class_cells()),
        "features": _plain(known.cells(MOST)),
        "n_features": len(bias.features),
        "starred": bool(bias.differing),
        "figure": drawn(known) if bias.features else "",
    }


def _plain(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: plain(value) for name, value in row.items()} for row in rows]
