"""A full disk, a folder that nobody can write to, ``kill -9`` at every access, several runs into one place.

Whatever happens, a file is there as a whole or not at all.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from cs3vm import verify
from cs3vm.cli.app import app
from cs3vm.exceptions import OutputError
from cs3vm.tables.files import all_or_none, write_atomically
from cs3vm.tables.model_file import load_model
from tests.cli.test_fit import make_people
from tests.faults.faulty import NEW, OLD, PROBLEM, fit, prove, words

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a system such as Linux")
NAMES = {"people.labels.csv", "people.model.json", "people.report.html"}
COMMAND = [sys.executable, "-m", "cs3vm"]
FULL = "No space left on device"


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A folder with a table, and the outputs of an earlier run in old/."""
    folder = tmp_path_factory.mktemp("before")
    make_people()[0].to_csv(folder / "people.csv", index=False)
    with pytest.raises(SystemExit) as end:
        fit(folder / "old", OLD)
    assert end.value.code == 0
    return folder


@pytest.fixture
def base(before, tmp_path):
    """The same for one test alone."""
    return Path(shutil.copytree(before, tmp_path / "base"))


def run_all(job: str, kind: str, base: Path) -> list[tuple[Path, int, str]]:
    """Folder, exit code and words of every run; only the last one met no fault."""
    command = [sys.executable, "-m", "tests.faults.faulty", job, kind, str(base)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ends = sorted(base.glob("*.json"), key=lambda path: int(path.stem))
    found = [(path.with_suffix(""), json.loads(path.read_text())) for path in ends]
    return [(folder, end["code"], end["said"]) for folder, end in found]


def positives(folder: Path) -> dict[str, int]:
    """How many rows each output says are positive; fails if one is not complete."""
    labels = pd.read_csv(folder / "people.labels.csv")
    assert len(labels) == 120
    without = labels.given.isna()
    report = (folder / "people.report.html").read_text()
    assert report.rstrip().endswith("</html>")
    (total,) = (n for n in (OLD, NEW) if f"--n-positive {n} " in report)
    return {
        "labels": int((labels.predicted[without] == "yes").sum()),
        "model": int(load_model(folder / "people.model.json").n_positive),
        "report": total,
    }


def leftovers(folder: Path) -> list[str]:
    return sorted({path.name for path in folder.iterdir()} - NAMES)


# -- a full disk -------------------------------------------------------------------------------------
def test_on_a_full_disk_fit_writes_all_or_nothing(base):
    *faults, (last, code, _) = run_all("fit", "full", base)
    assert len(faults) >= 9  # open, write and fsync of three files
    for folder, end, said in faults:
        assert end == 2, said
        assert FULL in said
        assert "cannot write" in said
        assert "Traceback" not in said
        assert set(positives(folder).values()) == {OLD}
        assert leftovers(folder) == []
    assert code == 0
    assert set(positives(last).values()) == {NEW}


def test_on_a_full_disk_the_result_outlives_its_proof(base):
    shutil.rmtree(base / "old")
    (base / "old").mkdir()
    *faults, (last, _, said) = run_all("prove", "full", base)
    assert len(faults) >= 2
    for folder, end, message in faults:
        assert end == 0, message
        assert f"proof.gz: {FULL}" in message
        assert message.rstrip().endswith("False")
        assert list(folder.iterdir()) == []
    assert said.rstrip() == "True"
    assert verify(PROBLEM, last / "proof.gz")


def test_a_real_limit_of_the_size_of_files(base):
    """The system itself refuses what is longer than 2000 bytes."""
    done = subprocess.run(
        [*COMMAND, *words(base / "people.csv", base / "old")],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr
    assert set(positives(base / "old").values()) == {OLD}
    assert leftovers(base / "old") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_what_cannot_be_printed_is_said(base):
    command = [*COMMAND, *words(base / "people.csv", base), "--json", "--no-report"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0
    assert FULL in done.stderr
    assert "Traceback" not in done.stderr


# -- where nothing can be written -----------------------------------------------------------------------
@pytest.mark.parametrize("place", ["/proc", "/proc/outputs", "people.csv", "people.csv/outputs"])
def test_a_folder_that_nobody_can_write_to(base, place, capsys):
    """Root may write anywhere, but not there."""
    with pytest.raises(SystemExit) as end:
        app(words(base / "people.csv", base / place), prog_name="cs3vm")
    assert end.value.code == 2
    assert "cannot write into" in capsys.readouterr().err
    assert sorted(path.name for path in base.iterdir()) == ["old", "people.csv"]


# -- kill -9 -----------------------------------------------------------------------------------------------
def test_killed_at_every_access_no_file_is_half(base):
    *faults, (last, code, said) = run_all("fit", "kill", base)
    assert len(faults) >= 15  # open, write and fsync, before and after it is put in place, of three files
    for folder, end, _ in faults:
        assert end == -signal.SIGKILL
        assert set(positives(folder).values()) <= {OLD, NEW}
        assert all(name.startswith(".people") and name.endswith(".tmp") for name in leftovers(folder))
    assert code == 0, said
    assert set(positives(last).values()) == {NEW}
    assert leftovers(last) == []
    # what a killed run left is not in the way of the next one
    folder = next(folder for folder, _, _ in faults if leftovers(folder))
    with pytest.raises(SystemExit) as again:
        fit(folder)
    assert again.value.code == 0
    assert set(positives(folder).values()) == {NEW}


def test_killed_at_every_access_a_proof_is_whole_or_not_there(base):
    shutil.rmtree(base / "old")
    (base / "old").mkdir()
    *faults, (last, _, said) = run_all("prove", "kill", base)
    assert len(faults) >= 4
    for folder, end, _ in faults:
        assert end == -signal.SIGKILL
        if (folder / "proof.gz").exists():
            assert verify(PROBLEM, folder / "proof.gz")
    assert said.rstrip() == "True"
    assert verify(PROBLEM, last / "proof.gz")


# -- several runs into one place -----------------------------------------------------------------------
def test_several_runs_into_one_place(base):
    runs = []
    for number in range(3):
        n_positive = (OLD, NEW)[number % 2]
        command = [*COMMAND, *words(base / "people.csv", base / "old", n_positive)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        runs.append(subprocess.Popen(command, text=True, **pipes))
    ends = [(*run.communicate(), run.returncode) for run in runs]
    assert [code for *_, code in ends] == [0] * 3, ends
    assert set(positives(base / "old").values()) <= {OLD, NEW}
    assert leftovers(base / "old") == []


def test_several_proofs_into_one_file(tmp_path, capfd):
    children = []
    prove(tmp_path)  # compiles, if need be
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for _ in range(3):
                    prove(tmp_path)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert verify(PROBLEM, tmp_path / "proof.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["proof.gz"]


def write_both(one: Path, two: Path) -> None:
    write_atomically(one, lambda file: file.write("1"))
    write_atomically(two, lambda file: file.write("2"))


def test_files_that_belong_together_wait_for_each_other(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    with pytest.raises(OutputError, match="none"), all_or_none():
        write_both(one, tmp_path / "none" / "two")
    assert list(tmp_path.iterdir()) == []
    with all_or_none():
        write_both(one, two)
        assert not one.exists()
    assert one.read_text() + two.read_text() == "12"
    write_atomically(two, lambda file: file.write("3"))
    assert two.read_text() == "3"
