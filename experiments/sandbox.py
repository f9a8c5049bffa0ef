"""A process in which cells run one after the other, with bounded memory and time.

Whatever happens to it – a crash, an endless loop, the end of memory – costs one cell, which becomes a row
with its error. It ends by itself, with all that it started, as soon as the process that uses it is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.rows import Row

if TYPE_CHECKING:
    from cs3vm import Problem

ROOT = Path(__file__).parents[1]
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
START_SECONDS = 120.0  # to import everything
WARM_SECONDS = 900.0  # to compile the engine, the first time
WARM_LIMIT = 0.4  # for each small problem of the warm-up


class Limits(NamedTuple):
    """Bounds of a cell. Besides its own time limit it has ``spare`` seconds to load, to stop and to score."""

    data: str | None = None
    memory_mb: int = 6000
    spare: float = 120.0


class SandboxError(RuntimeError):
    """The process died or did not answer in time."""


class Sandbox:
    """The process as seen from outside."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.warm = limits, False
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "experiments.sandbox", "--memory-mb", str(limits.memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
            start_new_session=True,
        )
        self.close = weakref.finalize(self, _end, self.process)
        self._receive(START_SECONDS)

    def run(self, cell: Row) -> Row:
        """The measured part of the cell's row."""
        if not self.warm and (cell["method"] == "direct" or cell["solver"] in ("bnb", "auto")):
            reply = self.ask({"warm": True}, WARM_SECONDS)
            if "error" in reply:
                return reply
            self.warm = True
        own = float(cell["time_limit"] or 0.0)
        return self.ask({"cell": cell, "data": self.limits.data}, own + max(0.5 * own, self.limits.spare))

    def ask(self, message: dict[str, Any], seconds: float) -> Row:
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise SandboxError(self._obituary()) from None
        return self._receive(seconds)

    def _receive(self, seconds: float) -> Row:
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                self.close()
                raise SandboxError(f"stopped: no answer after {seconds:g} seconds")
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise SandboxError(self._obituary())
        return json.loads(line)

    def _obituary(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)  # it is about to end; how, only it can tell
        code = self.process.poll() or 0
        self.close()
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"the process ended {how}"


def _end(process: subprocess.Popen) -> None:
    """End the process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()


_local = threading.local()


def run_cell(cell: Row, limits: Limits) -> Row:
    """The finished row of a cell, from this thread's sandbox; a failure is a row as well."""
    from experiments.cells import COLUMNS, provenance

    row = dict.fromkeys(COLUMNS, "") | cell | provenance()
    try:
        box = getattr(_local, "box", None)
        if box is None or box.limits != limits:
            box = _local.box = Sandbox(limits)
        row |= box.run(cell)
    except SandboxError as error:
        row |= {"status": "error", "error": str(error)}
    if row["error"] and getattr(_local, "box", None) is not None:  # the next cell starts with a clean slate
        _local.box.close()
        _local.box = None
    return row


# -- inside ------------------------------------------------------------------------------------------
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory-mb", type=int, required=True)
    bound = parser.parse_args().memory_mb * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    messages: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()
    import experiments.cells  # noqa: F401  the imports before the first clock starts

    _answer(answers, {})
    while True:
        _answer(answers, _work(json.loads(messages.get())))


def _listen(messages: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        messages.put(line)
    os.killpg(0, signal.SIGKILL)  # nobody is left to answer to


def _answer(answers: Any, row: Row) -> None:
    answers.write(json.dumps(row) + "\n")
    answers.flush()


def _work(message: dict[str, Any]) -> Row:
    from experiments.cells import measure

    try:
        if "warm" in message:
            return warm_up()
        return measure(message["cell"], message["data"])
    except MemoryError:
        return {"status": "error", "error": "MemoryError: more than --memory allows"}
    except Exception as error:  # any failure of a method is a row of the study, not its end
        return {"status": "error", "error": f"{type(error).__name__}: {error}"[:300]}


def warm_up() -> Row:
    """Compile the engine, or load what is compiled, so that no cell's time contains it.

    Problems of several kinds, since each takes other ways through the engine; again as long as a round
    takes longer than its time limits, since what compiles for long leaves no time for what comes after.
    """
    from cs3vm import solve

    problems = warm_up_problems()
    for _ in range(6):
        began = time.perf_counter()
        for problem in problems:
            for method in ("auto", "wircm"):
                solve(problem, method, solver="bnb", time_limit=WARM_LIMIT)
        if time.perf_counter() - began < 1.5 * 2 * len(problems) * WARM_LIMIT:
            break
    return {}


def warm_up_problems() -> list[Problem]:
    """Ordinary, with equal coordinates, wide, and with many rows."""
    import numpy as np

    from cs3vm import Problem

    rng = np.random.default_rng(0)
    found = []
    for rows, columns, decimals in ((120, 4, 9), (60, 5, 0), (60, 80, 9), (3000, 5, 9)):
        y = np.tile([1, -1], rows // 2)
        X = rng.standard_normal((rows, columns)).round(decimals)
        X[:, 0] += 0.7 * y
        n = rows // 10
        found.append(Problem(X[:n], y[:n], X[n:], rows // 3))
    return found


if __name__ == "__main__":
    main()
