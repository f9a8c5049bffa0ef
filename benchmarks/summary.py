"""One table of what makes an answer reliable, from the rows that the parts have stored.

``python -m benchmarks reliable`` prints it after its own tables. Each line names the command whose rows it
reads; a part that has not been run has no line.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import categories, inductive, reliable, text
from experiments.instances import SAMPLINGS
from experiments.rows import Row, existing


class Line(NamedTuple):
    """What is measured, on how many instances, what should come out, and what did."""

    what: str
    instances: int
    wanted: str
    measured: str


def figures(folder: Path) -> str:
    """The table."""
    lines = ["| what | rows of | instances | wanted | measured |", "|---|---|--:|---|---|"]
    for part, make in PARTS.items():
        rows = existing(folder / f"{part}.csv")
        for line in make(rows) if rows else ():
            cells = [line.what, f"`{part}`", str(line.instances), line.wanted, line.measured]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _margin(rows: list[Row]) -> Iterator[Line]:
    proven = {
        margin: {row["dataset"] for row in rows if row["margin"] == margin and row["status"] == "optimal"}
        for margin in ("0", "auto")
    }
    both = {row["dataset"] for row in rows if row["margin"] == "0"} & {
        row["dataset"] for row in rows if row["margin"] == "auto"
    }
    without, with_it = len(proven["0"] & both), len(proven["auto"] & both)
    yield Line("proofs with the automatic margin", len(both), f"{without}, as without", str(with_it))
    touching = sum(int(row["on_plane"]) > 0 for row in rows if row["margin"] == "auto")
    yield Line("planes of these with a row on them", len(both), "0", str(touching))


def _reliable(rows: list[Row]) -> Iterator[Line]:
    for sampling in SAMPLINGS:
        known = [row for row in rows if row["sampling"] == sampling and row["known"] == "1"]
        if known:
            share = statistics.mean(reliable.covers(row, "auto") for row in known)
            what = f"intervals of 90 % that hold the accuracy, {sampling} labels"
            yield Line(what, len(known), ".80 to .97", f"{share:.3f}")
    value = {name: np.array([float(row[name]) for row in rows]) for name in ("auto", "top_tau")}
    taken = np.array([float(row[row["safe"]]) for row in rows])
    better = max(value["auto"].mean(), value["top_tau"].mean())
    yield Line("accuracy of `safe`", len(rows), f"at least {better - 0.002:.4f}", f"{taken.mean():.4f}")
    lost = value["top_tau"] - value["auto"]
    worst = np.argsort(-lost, kind="stable")[: max(1, len(rows) // 10)]
    wanted = f"below {0.5 * lost[worst].mean():.4f}, half of `auto`'s"
    what = "lost by `safe` against `top_tau` where `auto` loses most"
    yield Line(what, len(worst), wanted, f"{(value['top_tau'] - taken)[worst].mean():.4f}")


def _inductive(rows: list[Row]) -> Iterator[Line]:
    means = {name: statistics.mean(float(row[name]) for row in rows) for name in inductive.TITLES}
    what = "accuracy on new rows, recommended kernel, above "
    for rival, wanted in (("extra_trees", "+.030"), ("logistic", "+.030"), ("self_trained", "more")):
        found = means[inductive.CHOSEN] - means[rival]
        yield Line(what + inductive.TITLES[rival], len(rows), wanted, f"{found:+.3f}")


def _text(rows: list[Row]) -> Iterator[Line]:
    values = {
        name: [float(row["accuracy"]) for row in rows if row["method"] == name]
        for name in dict.fromkeys(row["method"] for row in rows)
    }
    simple = max(statistics.mean(values[name]) for name in (text.RIVAL, "SVM + top-τ"))
    for name in ("auto", "safe"):
        if name in values:
            found, wanted = statistics.mean(values[name]), f"at least {simple - 0.01:.3f}"
            yield Line(f"text: accuracy of `{name}`", len(values[name]), wanted, f"{found:.3f}")
    for name in ("auto", "safe"):
        memory = [int(row["peak_mb"]) for row in rows if row["method"] == name]
        if memory:
            yield Line(f"text: peak memory of `{name}`", len(memory), "below 500 MB", f"{max(memory)} MB")


def _categories(rows: list[Row]) -> Iterator[Line]:
    excess = categories.excess(rows)
    good = sum(value <= categories.NEAR for value in excess.values())
    what = "categories: short runs of `direct` within 1 % of the best known"
    yield Line(what, len(excess), f"{0.9 * len(excess):.0f}", str(good))


PARTS: dict[str, Callable[[list[Row]], Iterator[Line]]] = {
    "margin": _margin,
    "reliable": _reliable,
    "inductive": _inductive,
    "text": _text,
    "categories": _categories,
}
