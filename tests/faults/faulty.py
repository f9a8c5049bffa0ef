"""Run a job again and again, with a fault at its first, second, third … access to the disk.

``python -m tests.faults.faulty JOB FAULT FOLDER`` makes a folder with a number per run, from a copy of
FOLDER/old; what a run printed and how it ended lies beside it as JSON. The last run met no fault.
Packages are loaded once: every run is a fork.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cs3vm import Problem, solve
from cs3vm.cli.app import app

_rng = np.random.default_rng(5)
PROBLEM = Problem(_rng.normal(size=(8, 2)), [1, -1] * 4, _rng.normal(size=(20, 2)), 14)
#: The two answers that a folder may hold: of the run before, and of this one.
OLD, NEW = 40, 50
MOST = 60


def words(table: Path, folder: Path, n_positive: int = NEW) -> list[str]:
    """Of a quick command that writes all its outputs into a folder."""
    options = f"--label cash --id person --positive yes --n-positive {n_positive} --method top_tau --force"
    quick = ["--no-accuracy", "--no-certainty"]  # what is written is the same files
    return ["fit", str(table), *options.split(), *quick, "--out-dir", str(folder)]


def fit(folder: Path, n_positive: int = NEW) -> None:
    """The command, for the table beside the folder."""
    app(words(folder.parent / "people.csv", folder, n_positive), prog_name="cs3vm")


def prove(folder: Path) -> None:
    """A proof of optimality as a file."""
    print(solve(PROBLEM, "cs3vm", proof=folder / "proof.gz").extras["proof"])


JOBS: dict[str, Callable[[Path], None]] = {"fit": fit, "prove": prove}


class Fault:
    """What happens at the k-th access."""

    def __init__(self, kind: str, k: int) -> None:
        self.kind, self.left = kind, k

    def __call__(self, access: str) -> None:
        if self.kind == "full" and access == "replace":
            return  # takes no space
        self.left -= 1
        if self.left == 0 and self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.left <= 0:  # a full disk stays full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class File(io.FileIO):
    """A new file that meets the fault when half of some bytes are written."""

    fault: Fault

    def write(self, data: Any) -> int:
        half = len(data) // 2
        super().write(memoryview(data)[:half])
        self.fault("write")
        return half + (super().write(memoryview(data)[half:]) or 0)


def install(fault: Fault) -> None:
    """Let every new file, every fsync and every replace of this process meet the fault."""
    plain_open, replace, fsync = io.open, os.replace, os.fsync
    File.fault = fault

    def open_(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if "x" not in mode or not str(file).endswith(".tmp"):
            return plain_open(file, mode, *args, **options)
        fault("open")
        binary = io.BufferedWriter(File(file, "xb"))
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding="utf-8", newline="")

    def replace_(*paths: Any) -> None:
        fault("replace")
        replace(*paths)
        fault("replace")

    def fsync_(descriptor: int) -> None:
        fault("fsync")
        fsync(descriptor)

    io.open = builtins.open = open_  # type: ignore[assignment]
    os.replace, os.fsync = replace_, fsync_  # type: ignore[assignment]


def run(job: str, fault: Fault, folder: Path) -> dict[str, Any]:
    """One run as a process of its own."""
    printed = folder.with_suffix(".txt")
    child = os.fork()
    if child == 0:
        descriptor = os.open(printed, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        code = 1
        try:
            install(fault)
            JOBS[job](folder)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"code": code, "said": printed.read_text()}


def main(job: str, kind: str, base: Path) -> None:
    """All runs."""
    import matplotlib.pyplot
    import pandas  # noqa: F401

    matplotlib.pyplot.figure()
    solve(PROBLEM, "svm")
    if job == "prove":
        solve(PROBLEM, "cs3vm")
    for k in range(1, MOST):
        folder = base / str(k)
        shutil.copytree(base / "old", folder)
        end = run(job, Fault(kind, k), folder)
        folder.with_suffix(".json").write_text(json.dumps(end))
        if end["code"] == 0 and (kind == "kill" or "there is no proof" not in end["said"]):
            return
    raise SystemExit("there is no end to the faults")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
