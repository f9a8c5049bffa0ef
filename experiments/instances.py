"""The instances drawn from the datasets: one sampler for experiments and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cs3vm import Problem
from experiments.datasets import Dataset, data_dir, load, paper_table

__all__ = ["Dataset", "Instance", "biased_rows", "data_dir", "draw", "load", "paper_table", "random_rows"]

SAMPLINGS = ("biased", "random")
FRACTION, BIAS = 0.1, 0.85  # the paper's


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem drawn from a dataset, with what is needed to score an answer."""

    dataset: str
    seed: int
    problem: Problem
    labelled: np.ndarray  # row numbers
    unlabelled: np.ndarray
    true_side: np.ndarray  # of the unlabelled rows


def biased_rows(y: np.ndarray, seed: int, fraction: float = FRACTION, bias: float = BIAS) -> np.ndarray:
    """Rows to label: about ``bias`` of them positive, both classes present (deterministic in the seed)."""
    rng = np.random.default_rng(seed)
    n = max(2, round(fraction * len(y)))
    P, Q = rng.permutation(np.flatnonzero(y > 0)), rng.permutation(np.flatnonzero(y < 0))
    k = min(int(rng.binomial(n, bias)), len(P) - 1, n - 1)
    k = max(k, 1, n - len(Q) + 1)
    return np.append(P[:k], Q[: n - k])


def random_rows(y: np.ndarray, seed: int, fraction: float = FRACTION) -> np.ndarray:
    """Rows to label by simple random sampling, redrawn until both classes occur."""
    rng = np.random.default_rng(seed)
    n = max(2, round(fraction * len(y)))
    while True:
        rows = rng.permutation(len(y))[:n]
        if len(np.unique(y[rows])) == 2:
            return rows


def draw(
    data: Dataset,
    seed: int,
    *,
    sampling: str = "biased",
    fraction: float = FRACTION,
    bias: float = BIAS,
    shuffled: bool = False,
    **problem_options: float,
) -> Instance:
    """The instance of this dataset, seed and sampling; the same for every method.

    ``shuffled`` puts the unlabelled rows in random order, the same for every method: where a file is sorted
    by class, no method shall gain by putting equal rows on one side in the order in which they come.
    """
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}")
    if sampling == "biased":
        labelled = biased_rows(data.y, seed, fraction, bias)
    else:
        labelled = random_rows(data.y, seed, fraction)
    unlabelled = np.setdiff1d(np.arange(len(data.y)), labelled)
    if shuffled:
        unlabelled = np.random.default_rng([seed, 1]).permutation(unlabelled)
    truth = data.y[unlabelled]
    problem = Problem(
        data.X[labelled], data.y[labelled], data.X[unlabelled], int((truth > 0).sum()), **problem_options
    )
    return Instance(data.name, seed, problem, labelled, unlabelled, truth)
