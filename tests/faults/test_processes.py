"""Several fits at once in threads, forks and new processes; many one after the other; little memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.faults.work import fit

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a system such as Linux")
MB = 2**20
QUICK = "--work-limit 1e7 --folds 2 --repeats 1 --no-certainty"


def work(name: str) -> str:
    done = subprocess.run([sys.executable, "-m", "tests.faults.work", name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fits_in_threads_are_those_of_one():
    alone = [fit(seed) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fit, range(6))) == alone


def test_forks_and_new_processes_after_a_fit():
    assert work("processes").split("\n")[:-1] == ["fork True", "spawn True", "here True"]


def test_500_fits_take_no_more_memory_and_no_descriptors():
    (early, opened), (late, still_open) = json.loads(work("loop"))
    assert late - early < 20 * MB
    assert still_open == opened


# -- ulimit -v ---------------------------------------------------------------------------------------------
def fit_table(folder: Path, n_rows: int, n_columns: int, memory: int) -> subprocess.CompletedProcess[str]:
    """Fit with so much memory; every column has up to 1000 categories, each of 8 bytes per row."""
    x = np.random.default_rng(0).normal(size=n_rows).round(3)
    frame = pd.DataFrame({f"c{j}": [f"n{i % 1000}" for i in range(j, n_rows + j)] for j in range(n_columns)})
    frame["x"], frame["y"] = x, np.where(np.arange(n_rows) < 20, np.where(x > 0, "yes", "no"), None)
    names = ",".join(f"c{j}" for j in range(n_columns))
    frame.to_csv(folder / "table.csv", index=False)
    options = f"--label y --positive yes --n-positive {n_rows // 3} --categorical {names} --no-report"
    return subprocess.run(
        [sys.executable, "-m", "cs3vm", "fit", "table.csv", *options.split(), *QUICK.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )


def test_a_limit_of_memory_that_suffices(tmp_path):
    done = fit_table(tmp_path, 60, 1, 2500 * MB)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(tmp_path / "table.labels.csv")) == 60


@pytest.mark.parametrize("megabytes", [1000, 1500, 2000])
def test_too_little_memory_ends_with_a_message(tmp_path, megabytes):
    done = fit_table(tmp_path, 20_000, 20, megabytes * MB)
    assert done.returncode == 1, done.stderr
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
