"""The paper's headline figures beside ours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments.measures import INSTANCE, SIZE_CLASSES, ended_by

#: Per size class, Appendix E.
IRCM_ENDS = ("> 75 %", "about 40 %", "about 20 %")
PROVEN = ("> 50 %", "> 10 %", "0 %")
LABELS = {"cs3vm": "CS³VM", "ircm": "IRCM", "wircm": "WIRCM", "auto": "auto (ours)", "svm": "SVM"}


class Headline(NamedTuple):
    claim: str
    paper: str
    ours: str


def headlines(rows: pd.DataFrame) -> list[Headline]:
    """What the paper says about biased samples and what these rows say, for each solver."""
    found: list[Headline] = []
    for solver in filter(None, dict.fromkeys(rows["solver"])):
        chosen = rows[rows["solver"].isin(("", solver))]
        found += [h._replace(claim=f"{h.claim} [{solver}]") for h in (*_ended(chosen), *_better(chosen))]
    return [*_optima(rows), *_medians(rows), *found]


def random_headlines(rows: pd.DataFrame) -> list[Headline]:
    """Appendix C: on simple random samples all are alike."""
    medians = rows.groupby("series", sort=False)["paper_all_AC_hat"].median()
    ours = ", ".join(f"{name} {value:.3f}" for name, value in medians.items())
    return [Headline("median ÂC on simple random samples, all points", "similar for all methods", ours)]


def _medians(rows: pd.DataFrame) -> list[Headline]:
    lines = []
    for scope in ("all", "unlabelled"):
        medians = rows.groupby("series", sort=False)[f"paper_{scope}_AC_hat"].median()
        ours = ", ".join(f"{name} {value:.3f}" for name, value in medians.items())
        lines.append(Headline(f"median ÂC, {scope} points", "CS³VM closer to 1 than the SVM", ours))
    return lines


def _optima(rows: pd.DataFrame) -> list[Headline]:
    instances = rows.drop_duplicates([*INSTANCE, "problem"])
    known = int(instances["optimum"].notna().sum())
    lines = [
        Headline(
            "instances whose optimum is proven by some method",
            "179 of 485 (37 %)",
            _of(known, len(instances)),
        )
    ]
    close = rows[rows["optimum"].notna()]
    for series, group in close[close["method"].isin(("svm", "ircm"))].groupby("series", sort=False):
        method, _, rest = series.partition(" ")
        paper = "90 %" if method == "ircm" else "very far from the optimum"
        within = int((group["excess"] <= 0.2).sum())
        claim = f"{LABELS[method]}{rest and ' ' + rest}: objective within 20 % of a proven optimum"
        lines.append(Headline(claim, paper, _of(within, len(group))))
    return lines


def _ended(rows: pd.DataFrame) -> list[Headline]:
    lines = []
    for method, word, overall, classes in (
        ("ircm", "ends", "57 %", IRCM_ENDS),
        ("cs3vm", "proves optimality", "–", PROVEN),
        ("wircm", "proves optimality", "–", PROVEN),
        ("auto", "proves optimality", "not in the paper", ("–", "–", "–")),
    ):
        group = rows[rows["method"] == method]
        if group.empty:
            continue
        lines.append(_share(f"{LABELS[method]} {word}, all sizes", overall, group["ended"]))
        for (_, size), paper in zip(SIZE_CLASSES, classes, strict=True):
            part = group[group["size"] == size]
            lines.append(_share(f"{LABELS[method]} {word}, {size}", paper, part["ended"]))
    return lines


def _better(rows: pd.DataFrame) -> list[Headline]:
    """Shares of instances with better accuracy than the SVM's (paper) and than top-τ's (ours)."""
    lines = []
    for method in ("cs3vm", "ircm", "wircm", "auto"):
        group = rows[(rows["method"] == method) & rows["paper_all_AC_bar"].notna()]
        paper = "not in the paper" if method == "auto" else "almost 75 %"
        if group.empty:
            continue
        name = LABELS[method]
        lines.append(
            _share(f"{name}: better accuracy than the SVM, all points", paper, group["paper_all_AC_bar"] > 0)
        )
        honest = group["honest_unlabelled_AC_bar"].dropna() > 0
        lines.append(
            _share(f"{name}: the same on unlabelled points, honest convention", "not reported", honest)
        )
        lines += _against_top_tau(rows, method, name)
    ended = ended_by(rows)
    group = ended[(ended["method"] == "cs3vm") & ended["paper_all_AC_bar"].notna()]
    if len(group):
        claim = "CS³VM: better accuracy than the SVM where it ended, all points"
        lines.append(_share(claim, "almost 75 %", group["paper_all_AC_bar"] > 0))
    return lines


def _against_top_tau(rows: pd.DataFrame, method: str, name: str) -> list[Headline]:
    column = "honest_unlabelled_AC"
    pair = rows[rows["method"] == method][[*INSTANCE, column]].merge(
        rows[rows["method"] == "top_tau"][[*INSTANCE, column]], on=INSTANCE, suffixes=("", "_top")
    )
    pair = pair.dropna(subset=[column, f"{column}_top"])
    if pair.empty:
        return []
    difference = np.sign((pair[column] - pair[f"{column}_top"]).to_numpy())
    ours = f"{_of(int((difference > 0).sum()), len(pair))}; equal {int((difference == 0).sum())}"
    return [Headline(f"{name}: better accuracy than top-τ, unlabelled points", "not in the paper", ours)]


def _share(claim: str, paper: str, hits: pd.Series) -> Headline:
    return Headline(claim, paper, _of(int(hits.sum()), len(hits)))


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "no rows"
