"""A table much larger than the memory that a process may have is fitted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("resource")

CODE = """
import resource
import numpy as np
from cs3vm import CS3VMClassifier
from cs3vm.engine.warm_up import warm_up
from cs3vm.large.fitting import fit_pieces
from cs3vm.large.pieces import Piece, PieceSource

BLOCK, BLOCKS, COLUMNS = 20_000, 60, 40

normal = np.random.default_rng(0).standard_normal((BLOCK, COLUMNS))

class Made(PieceSource):
    n_columns, n_rows = COLUMNS, BLOCK * BLOCKS

    def pieces(self):
        for block in range(BLOCKS):
            rng = np.random.default_rng(block)
            truth = rng.random(BLOCK) < 0.3
            X = normal * (1.0 + 0.001 * block)
            X[:, :3] += np.where(truth, 0.8, -0.8)[:, None]
            y = np.full(BLOCK, np.nan)
            y[:5] = truth[:5]
            yield Piece(block * BLOCK, X, y)

warm_up()
source = Made()
whole = 8 * COLUMNS * source.n_rows
now = int(next(s for s in open("/proc/self/status") if s.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (now + whole // 2, -1))
try:
    np.ones((source.n_rows, COLUMNS))
except MemoryError:
    print("too large")
limited = CS3VMClassifier(work_limit=1e8)
fit = fit_pieces(source, limited, n_positive=350_000, sample_rows=20_000, near_rows=5000)
print(fit.counts[0] == 350_000)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and limits the address space")
def test_memory_is_bounded():
    # every thread of the C library's own would reserve 64 MB of addresses, whether it needs them or not
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split("\n")[:2] == ["too large", "True"], done.stderr[-2000:]
