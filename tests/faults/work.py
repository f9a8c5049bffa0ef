"""Fits for other threads and processes, and programs of their own: ``python -m tests.faults.work NAME``."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import sys
from pathlib import Path

import numpy as np

from cs3vm import CS3VMClassifier


def data(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """A small sample with few labels, and how many of the others are positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    truth = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1, -1)
    y = np.where(np.arange(40) < 12, truth, 0)
    y[:2] = 1, -1
    return X, y, int((truth[12:] == 1).sum())


def fit(seed: int) -> list[int]:
    """The labels that the exact engine gives."""
    X, y, n_positive = data(seed)
    clf = CS3VMClassifier(method="cs3vm", time_limit=60, unlabeled=0).fit(X, y, n_positive=n_positive)
    return [int(label) for label in clf.transduction_]


def processes() -> None:
    """Fit here, in forks and in new processes, and print whether all agree."""
    here = [fit(seed) for seed in range(4)]
    for start in ("fork", "spawn"):
        with multiprocessing.get_context(start).Pool(2) as pool:
            print(start, pool.map_async(fit, range(4)).get(timeout=120) == here)
    print("here", [fit(seed) for seed in range(4)] == here)


def loop() -> None:
    """500 fits: memory in bytes and the number of open descriptors after 100 and after all."""
    used = []
    for k in range(500):
        fit(k % 10)
        if k in (99, 499):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            used.append([pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))])
    print(json.dumps(used))


def once() -> None:
    """One fit, with what is logged, and how many kernels were compiled."""
    logging.basicConfig(format="%(message)s")
    labels = fit(0)
    from cs3vm.engine.jit import KERNELS

    print(json.dumps([labels, sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS)]))


if __name__ == "__main__":
    {"processes": processes, "loop": loop, "once": once}[sys.argv[1]]()
