"""Seconds of the first call ever, which compiles, and until a later process is ready to search."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.rows import Row, run_cells

PROCESS = """
import time
began = time.perf_counter()
from cs3vm.engine.warm_up import warm_up
imported = time.perf_counter()
warm_up()
print(imported - began, time.perf_counter() - imported)
"""


def ready(cache: str, cores: int) -> tuple[float, float, str]:
    """Seconds to import and to load or compile in a new process with this cache, and what it says."""

    def limit() -> None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])

    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=limit,
    )
    imported, seconds = map(float, done.stdout.split())
    return imported, seconds, done.stderr


def cell(cores: int, run: int) -> Row:
    with TemporaryDirectory() as cache:
        _, first, _ = ready(cache, int(cores))
        imported, later, _ = ready(cache, int(cores))
    return {
        "first_call_seconds": f"{first:.1f}",
        "later_import_seconds": f"{imported:.2f}",
        "later_load_seconds": f"{later:.2f}",
    }


def run(out: Path, runs: int) -> None:
    cells = [{"cores": cores, "run": number} for number in range(runs) for cores in (1, 2)]
    for row in run_cells(out, cells, cell):
        print(
            f"{row['cores']} core(s): compiled in {row['first_call_seconds']} s; a later process imports in "
            f"{row['later_import_seconds']} s and is ready {row['later_load_seconds']} s after that",
            flush=True,
        )
