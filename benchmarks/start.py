"""Seconds of the first call ever, and until a later process is ready to search.

With an empty cache the first call compiles; a wheel that was built on this machine has all compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from hatchling.builders.wheel import WheelBuilder

from experiments.rows import Row, run_cells

ROOT = Path(__file__).parents[1]
PROCESS = """
import time
began = time.perf_counter()
from cs3vm.engine.warm_up import warm_up
imported = time.perf_counter()
warm_up()
print(imported - began, time.perf_counter() - imported)
"""


def ready(cores: int, **variables: str) -> tuple[float, float]:
    """Seconds to import and to load or compile in a new process with these variables of its environment."""

    def limit() -> None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])

    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROCESS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=limit,
    )
    imported, seconds = map(float, done.stdout.split())
    return imported, seconds


def unpacked_wheel(folder: str) -> str:
    """Build a wheel, which compiles, and unpack it there, as an installation would."""
    builder = WheelBuilder(str(ROOT))
    (built,) = builder.build(directory=folder, versions=["standard"])
    with ZipFile(built) as archive:
        archive.extractall(folder)
    return folder


def run(out: Path, runs: int) -> None:
    with TemporaryDirectory() as folder:
        package = unpacked_wheel(folder)

        def cell(cores: int, run: int) -> Row:
            with TemporaryDirectory() as cache:
                _, first = ready(cores, NUMBA_CACHE_DIR=cache)
                imported, later = ready(cores, NUMBA_CACHE_DIR=cache)
            _, installed = ready(cores, PYTHONPATH=package, NUMBA_CACHE_DIR="")
            return {
                "first_call_seconds": f"{first:.1f}",
                "later_import_seconds": f"{imported:.2f}",
                "later_load_seconds": f"{later:.2f}",
                "first_call_of_wheel_seconds": f"{installed:.2f}",
            }

        cells = [{"cores": cores, "run": number} for number in range(runs) for cores in (1, 2)]
        for row in run_cells(out, cells, cell):
            print(
                f"{row['cores']} core(s): compiled in {row['first_call_seconds']} s; a later process imports "
                f"in {row['later_import_seconds']} s and is ready {row['later_load_seconds']} s after that; "
                f"the first one with a wheel is ready after {row['first_call_of_wheel_seconds']} s",
                flush=True,
            )
