"""``python -m cs3vm.engine``: what an installation runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_it_lists_the_files_that_hold_the_code():
    command = [sys.executable, "-P", "-m", "cs3vm.engine"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert all(path.is_file() for path in paths)
    compiled = {path.name.split("-")[0] for path in paths if path.suffix == ".nbc"}
    assert {"active_set.solve", "plunge.plunge"} <= compiled
    assert "examine.examine" in compiled  # of the search over boxes
    assert {path.name.split("-")[0] for path in paths if path.suffix == ".nbi"} == compiled
