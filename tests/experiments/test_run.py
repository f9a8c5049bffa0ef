"""A study from end to end: killed, resumed, drawn, looked at; and on a Dask cluster that loses a worker."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from experiments import run as runner
from experiments.measures import measured, read
from experiments.progress import Board
from experiments.rows import existing
from experiments.run import RunError, cell_key, run
from experiments.sandbox import Limits
from experiments.studies import Plan, cells
from tests.browser import open_browser

ROOT = Path(__file__).parents[2]
SETS = "builtin_parity5,builtin_mux6,builtin_iris"
METHODS = "svm,top_tau,cs3vm,ircm"
#: A peer that takes its time, so that a kill finds a cell at work; its mark tells how often it began.
SLOW = "sh -c 'echo x >> {mark}; sleep 0.3; sed s/.*/1/ {{unlabelled}} > {{out}}' {{labelled}}"
FIGURES = {
    *("runtime", "runtime-500", "runtime-1500", "runtime-large", "bounds", "ac-hat-honest"),
    *(f"{m}-{kind}-{where}" for m in ("ac", "pr") for kind in ("hat", "bar") for where in ("ended", "all")),
    *("re-hat-all", "fpr-hat-all", *(f"{m}-hat-random" for m in ("ac", "pr", "re", "fpr"))),
}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "experiments", *arguments]


def study(out: Path, mark: Path, study: str = "biased", sets: str = SETS) -> list[str]:
    options = ["--study", study, "--datasets", sets, "--methods", METHODS, "--solver", "scip", "--seeds", "1"]
    peer = f"slow={SLOW.format(mark=mark)}"
    return command("run", *options, "--time-limit", "1", "--jobs", "2", "--peer", peer, "--out", str(out))


def wait_until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def children(pid: int) -> list[int]:
    """Processes whose parent this is; Linux only, as are the limits of a cell."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(text) for text in found.stdout.split()]


def alive(pid: int) -> bool:
    """Whether it still runs; one that nobody has buried yet does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.strip().startswith("Z")


def test_a_study_is_killed_resumed_and_reported(tmp_path: Path):
    out, mark = tmp_path / "results", tmp_path / "mark"
    first = subprocess.Popen(study(out, mark), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: lines(mark) > 1)  # the slow peer is at work on a second dataset
    helpers = children(first.pid)
    first.send_signal(signal.SIGKILL)
    first.wait()
    saved = (out / "rows.csv").read_bytes()
    kept = existing(out / "rows.csv")
    total = 3 * (1 + 4 + 1)
    assert 1 < len(kept) < total
    assert helpers
    wait_until(lambda: not any(alive(pid) for pid in helpers), 10.0)  # nothing goes on behind our back
    began, slow = lines(mark), sum(row["method"] == "slow" for row in kept)

    again = subprocess.run(study(out, mark), cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert again.returncode == 0, again.stderr
    assert f"{total - len(kept)} rows added, 0 of them failed; {len(kept)} were there before" in again.stdout
    assert (out / "rows.csv").read_bytes().startswith(saved)
    rows = existing(out / "rows.csv")
    assert len({cell_key(row) for row in rows}) == len(rows) == total
    assert {row["error"] for row in rows} == {""}
    assert lines(mark) == began + 3 - slow  # only what was running began twice

    other = study(out, mark, "random", "builtin_mux6")
    random = subprocess.run(other, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert random.returncode == 0, random.stderr
    report = command("report", str(out), "--out", str(tmp_path / "report"))
    drawn = subprocess.run(report, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert drawn.returncode == 0, drawn.stderr
    rows = measured(read(out))
    assert rows.groupby("study").size().to_dict() == {
        "biased": total - 3,
        "random": 4 + 1,
    }  # without "true"
    assert rows["honest_unlabelled_AC_hat"].notna().all()
    missing = {"runtime-1500", "runtime-large"}  # no such datasets here; the page says so
    for kind in ("png", "svg"):
        assert {path.stem for path in (tmp_path / "report").glob(f"*.{kind}")} == FIGURES - missing
    look(tmp_path / "report" / "index.html", tmp_path / "profile", missing)


def look(page: Path, profile: Path, missing: set[str]) -> None:
    with open_browser(profile) as browser:
        browser.open(page)
        assert set(browser.ask("[...document.querySelectorAll('figure')].map(f => f.id)")) == FIGURES
        visible = "[...document.images].filter(i => i.naturalWidth > 300).map(i => i.parentElement.id)"
        assert set(browser.ask(visible)) == FIGURES - missing
        assert (
            browser.ask("document.querySelector('#headlines').textContent") == "The paper says, we measured"
        )
        assert browser.console() == []
        assert browser.requests() == [page.as_uri()]


def test_the_display_tells_what_is_done_running_failed_and_left():
    todo = cells(Plan("biased", ["builtin_mux6"], ["svm", "cs3vm"], [0, 1], time_limit=10.0))
    screen = Console(file=io.StringIO(), force_terminal=True, width=150)
    with Board(todo, 3, 2, screen) as board:
        assert "running 2, failed 0, there before 3, about 0:00:12 left" in board.line()
        for cell in todo[:3]:
            board.finished(cell | {"error": "bad" if cell["method"] == "cs3vm" else ""}, 4.0)
    assert board.line() == "running 2, failed 1, there before 3, about 0:00:06 left"
    assert "3/6" in screen.file.getvalue()
    assert "failed 1" in screen.file.getvalue()


def test_only_one_run_at_a_time_writes(tmp_path: Path):
    with runner._locked(tmp_path), pytest.raises(RunError, match="another run writes to"):
        run([], tmp_path)


def test_failed_cells_are_run_again_on_demand(tmp_path: Path):
    flag = tmp_path / "flag"
    template = f"sh -c 'test -e {flag} && sed s/.*/1/ {{unlabelled}} > {{out}}' {{labelled}}"
    plan = Plan("peers", ["builtin_parity5"], ["svm"], [0], time_limit=5.0, commands=(("moody", template),))
    assert run(cells(plan), tmp_path).failed == 1
    flag.touch()
    untouched = run(cells(plan), tmp_path)
    assert (untouched.done, untouched.skipped) == (0, 3)
    again = run(cells(plan), tmp_path, retry_failed=True)
    assert (again.done, again.failed, again.skipped) == (1, 0, 2)
    assert set(read(tmp_path)["error"]) == {""}


def test_wrong_options_are_errors_without_traceback(tmp_path: Path):
    for options, message in (
        (["--study", "nosuch"], "--study must be one of biased, random"),
        (["--datasets", "nosuch"], "'nosuch' is neither one of the paper's 97 datasets"),
        (["--seeds", "many"], "--seeds must be a number or a list"),
    ):
        done = subprocess.run(
            command("run", "--out", str(tmp_path), *options), cwd=ROOT, capture_output=True, text=True
        )
        assert (done.returncode, message in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_the_engine_runs_in_a_cell(tmp_path: Path):
    plan = Plan("biased", ["builtin_parity5"], ["auto"], [0], solver="bnb", time_limit=2.0)
    assert run(cells(plan), tmp_path).failed == 0
    row = read(tmp_path).set_index("method").loc["auto"]
    assert row["status"] == "optimal"
    assert row["objective"] == pytest.approx(1.5)
    assert row["seconds"] < 2.0  # compiling is not part of it


def test_a_dask_cluster_that_loses_a_worker_still_brings_every_row(tmp_path: Path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    mark, out = tmp_path / "mark", tmp_path / "results"
    slow = (("slow", SLOW.format(mark=mark)),)
    todo = cells(Plan("peers", ["builtin_parity5", "builtin_mux6"], ["svm"], [0, 1, 2], commands=slow))
    quiet = {"dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster:
        options = {"scheduler": cluster.scheduler_address, "limits": Limits()}
        work = threading.Thread(target=run, args=(todo, out), kwargs=options)
        work.start()
        wait_until(lambda: lines(mark) > 0)
        victim = next(w.process.pid for w in cluster.workers.values() if children(w.process.pid))
        os.kill(victim, signal.SIGKILL)
        rows_then = len(existing(out / "rows.csv"))
        work.join(90)
    assert rows_then < len(todo)
    rows = existing(out / "rows.csv")
    assert sorted(cell_key(row) for row in rows) == sorted(cell_key(cell) for cell in todo)
    assert {row["error"] for row in rows} == {""}
