"""Does the test of "biased by class only" keep its level, and what does it find? A simulation.

Populations of 2,000 rows with two classes, of which few rows get a label: by class only, or more readily the
larger a feature is (``one``), all of them are together (``all``), or the nearer a feature is to its middle
(``spread``). See :mod:`cs3vm.learn.shift`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from cs3vm.datasets import make_survey
from cs3vm.learn.shift import Sample, find_shift
from experiments.rows import Row, existing, run_cells

ROWS, POSITIVE, LEVEL = 2000, 0.3, 0.05
#: Labelled rows of the positive and of the negative class.
LABELS = ("5+15", "20+20", "20+80", "100+400")
FEATURES = (5, 40)
POPULATIONS = ("normal", "skewed", "correlated", "rare", "mixed", "survey")
#: How readily a row is labelled, from the standardised features; None: by class only.
CHOICES: dict[str, Callable[[np.ndarray], np.ndarray] | None] = {
    "class": None,
    "one": lambda Z: Z[:, 0],
    "all": lambda Z: Z.mean(axis=1) / Z.mean(axis=1).std(),
    "spread": lambda Z: -(Z[:, 0] ** 2),
}


def draw_population(kind: str, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes."""
    if kind == "survey":
        return _survey(d, int(rng.integers(2**31)))
    t = rng.random(ROWS) < POSITIVE
    shifted = rng.normal(size=(ROWS, d)) + 0.7 * t[:, None]
    if kind == "normal":
        return shifted, t
    if kind == "skewed":
        return np.exp(1.2 * shifted), t
    if kind == "correlated":
        return shifted @ rng.normal(size=(d, d)) + rng.normal(size=(ROWS, 1)), t
    rates = np.full(d, 0.02) if kind == "rare" else np.linspace(0.02, 0.5, d)
    zeros_and_ones = (rng.random((ROWS, d)) < rates * (1 + 0.5 * t[:, None])).astype(float)
    if kind == "rare":
        return zeros_and_ones, t
    half = d // 2  # numbers whose spread differs between the classes, and categories
    numbers = rng.normal(size=(ROWS, half)) * (1 + 2 * t[:, None])
    return np.hstack([numbers, zeros_and_ones[:, half:]]), t


def _survey(d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    survey = make_survey(ROWS, random_state=seed)
    frame = pd.get_dummies(survey.frame.drop(columns=["id", "pays_cash"]), dtype=float)
    return frame.to_numpy()[:, :d], np.asarray(survey.truth == "yes")


def cell(population: str, labels: str, d: int, choice: str, repeats: int) -> Row:
    """How often a difference is found."""
    rng = np.random.default_rng([POPULATIONS.index(population), LABELS.index(labels), d])
    wanted = [int(number) for number in labels.split("+")]
    found, detectable = 0, []
    for _ in range(repeats):
        X, t = draw_population(population, d, rng)
        labelled = _draw(X, t, wanted, choice, rng)
        rest = np.setdiff1d(np.arange(ROWS), labelled)
        share = float(t[rest].mean())
        shift = find_shift(
            Sample(X[labelled], np.ones(len(labelled))),
            t[labelled].astype(np.int64),
            Sample(X[rest], np.ones(len(rest))),
            np.array([1 - share, share]),
            LEVEL,
        )
        found += shift.p_value < LEVEL
        detectable.append(shift.detectable)
    return {"found": f"{found / repeats:.4f}", "detectable": f"{np.median(detectable):.3f}"}


def _draw(
    X: np.ndarray, t: np.ndarray, wanted: list[int], choice: str, rng: np.random.Generator
) -> np.ndarray:
    """The labelled rows: of each class so many, the readiest with the largest keys."""
    ready = CHOICES[choice]
    eager = 0.0 if ready is None else ready((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12))
    key = eager + rng.gumbel(size=len(X))
    kept = []
    for number, own in zip(wanted, (t, ~t), strict=True):
        rows = np.flatnonzero(own)
        kept.append(rows[np.argsort(-key[rows])[:number]])
    return np.concatenate(kept)


def cells(repeats: int) -> list[Row]:
    return [
        {"population": kind, "labels": labels, "d": d, "choice": choice, "repeats": repeats}
        for choice in CHOICES
        for kind in POPULATIONS
        for d in FEATURES
        for labels in LABELS
    ]


def run(out: Path, repeats: int, jobs: int) -> None:
    for row in run_cells(out, cells(repeats), cell, jobs):
        print(" ".join(str(value) for value in row.values()), flush=True)
    print(size(existing(out)), power(existing(out)), sep="\n\n")


def size(rows: list[Row]) -> str:
    """How often a difference is found where there is none; at most 5 % is right."""
    lines = ["| labelled rows | " + " | ".join(POPULATIONS) + " |", "|---|" + "--:|" * len(POPULATIONS)]
    rows = [row for row in rows if row["choice"] == "class"]
    for labels in LABELS:
        for d in FEATURES:
            own = {r["population"]: r for r in rows if r["labels"] == labels and int(r["d"]) == d}
            shares = [
                f"{100 * float(own[kind]['found']):.1f} %" if kind in own else "" for kind in POPULATIONS
            ]
            lines.append(f"| {labels}, {d} features | " + " | ".join(shares) + " |")
    return "\n".join(lines)


def power(rows: list[Row]) -> str:
    """How often a difference is found where there is one, means over the populations."""
    kinds = [choice for choice in CHOICES if choice != "class"]
    titles = {"one": "one feature", "all": "all features a little", "spread": "the spread of one"}
    lines = [
        "| labelled rows | " + " | ".join(titles[kind] for kind in kinds) + " | detectable in one feature |",
        "|---|" + "--:|" * (len(kinds) + 1),
    ]
    for labels in LABELS:
        for d in FEATURES:
            own = [r for r in rows if r["labels"] == labels and int(r["d"]) == d]
            means = []
            for kind in kinds:
                # zeros and ones that few rows have cannot differ in spread
                found = [
                    float(r["found"])
                    for r in own
                    if r["choice"] == kind and not (kind == "spread" and r["population"] == "rare")
                ]
                means.append(f"{100 * np.mean(found):.0f} %" if found else "")
            least = [float(r["detectable"]) for r in own if r["choice"] == "class"]
            shown = f"{np.median(least):.2f} sd" if least else ""
            lines.append(f"| {labels}, {d} features | " + " | ".join(means) + f" | {shown} |")
    return "\n".join(lines)
