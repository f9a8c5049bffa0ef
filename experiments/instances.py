"""The paper's 97 datasets and the instances drawn from them: one sampler for experiments and benchmarks."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from cs3vm import Problem
from cs3vm.scaling import paper_scaling


@dataclass(frozen=True, eq=False)
class Dataset:
    """A cleaned and scaled table with its true classes (+1 or -1)."""

    name: str
    X: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem drawn from a dataset, with what is needed to score an answer."""

    dataset: str
    seed: int
    problem: Problem
    labelled: np.ndarray  # row numbers
    unlabelled: np.ndarray
    true_side: np.ndarray  # of the unlabelled rows


def data_dir(given: str | Path | None = None) -> Path:
    """The folder of the PMLB files: the argument, ``CS3VM_DATA``, or ``../shared/pmlb``."""
    folder = Path(given or os.environ.get("CS3VM_DATA") or "../shared/pmlb")
    if not folder.is_dir():
        raise FileNotFoundError(f"no data folder at {folder}: pass --data or set CS3VM_DATA")
    return folder


@cache
def paper_table() -> list[dict[str, str]]:
    """Table 1 of the paper: id, paper_name, pmlb_name, N, d, rescaled."""
    with open(Path(__file__).with_name("paper_instances.tsv"), newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Load a dataset by the paper's name or PMLB's, cleaned and scaled as in the paper."""
    row = next((r for r in paper_table() if name in (r["paper_name"], r["pmlb_name"])), None)
    if row is None:
        raise KeyError(f"{name!r} is not one of the paper's 97 datasets")
    pmlb = row["pmlb_name"]
    table = pd.read_csv(data_dir(folder) / pmlb / f"{pmlb}.tsv.gz", sep="\t").dropna()
    if len(table) != int(row["N"]):
        table = table.drop_duplicates()
    target = table.pop("target").to_numpy()
    positive = 1 if np.any(target == 1) else target.max()
    X = table.to_numpy(dtype=float)
    return Dataset(row["paper_name"], paper_scaling(X).transform(X), np.where(target == positive, 1, -1))


def biased_rows(y: np.ndarray, seed: int, fraction: float = 0.1, bias: float = 0.85) -> np.ndarray:
    """Rows to label: about ``bias`` of them positive, both classes present (deterministic in the seed)."""
    rng = np.random.default_rng(seed)
    n = max(2, round(fraction * len(y)))
    P, Q = rng.permutation(np.flatnonzero(y > 0)), rng.permutation(np.flatnonzero(y < 0))
    k = min(int(rng.binomial(n, bias)), len(P) - 1, n - 1)
    k = max(k, 1, n - len(Q) + 1)
    return np.append(P[:k], Q[: n - k])


def random_rows(y: np.ndarray, seed: int, fraction: float = 0.1) -> np.ndarray:
    """Rows to label by simple random sampling, redrawn until both classes occur."""
    rng = np.random.default_rng(seed)
    n = max(2, round(fraction * len(y)))
    while True:
        rows = rng.permutation(len(y))[:n]
        if len(np.unique(y[rows])) == 2:
            return rows


def draw(data: Dataset, seed: int, *, sampling: str = "biased", **problem_options: float) -> Instance:
    """The instance of this dataset, seed and sampling; the same for every method."""
    labelled = (biased_rows if sampling == "biased" else random_rows)(data.y, seed)
    unlabelled = np.setdiff1d(np.arange(len(data.y)), labelled)
    truth = data.y[unlabelled]
    problem = Problem(
        data.X[labelled], data.y[labelled], data.X[unlabelled], int((truth > 0).sum()), **problem_options
    )
    return Instance(data.name, seed, problem, labelled, unlabelled, truth)
