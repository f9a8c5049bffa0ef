"""Workers that run case after case, and a watchdog over them."""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing as mp
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

#: A case that takes longer is ended from outside, and is a finding.
HARD_LIMIT = 90.0
MEMORY = 8 << 30
#: So many files are written for findings that look alike; all are counted.
MAX_ALIKE = 20


def case_rng(seed: int, part: str, index: int) -> np.random.Generator:
    """The random numbers of one case, which its finding names."""
    return np.random.default_rng([seed, *part.encode(), index])


def run_case(part: str, seed: int, index: int, folder: Path) -> Any:
    """One case; whatever it raises is a finding."""
    from tests.fuzz.parts import PARTS, Outcome
    from tests.fuzz.referee import Finding

    try:
        return PARTS[part](case_rng(seed, part, index), folder)
    except Exception as error:
        text = "".join(traceback.format_exception(error)[-3:])
        return Outcome(
            1, Counter(), [Finding("crash", f"{type(error).__name__}: {error}", {"traceback": text})]
        )


def write_finding(out: Path, part: str, seed: int, index: int, number: int, finding: Any) -> None:
    """The finding as JSON, and as a test where it could be made one."""
    name = out / f"{part}-{seed}-{index}-{number}"
    document = {"part": part, "seed": seed, "index": index, **vars(finding)}
    name.with_suffix(".json").write_text(json.dumps(document, indent=1, default=str) + "\n", encoding="utf-8")
    if "script" in finding.data:
        name.with_suffix(".py").write_text(finding.data["script"], encoding="utf-8")


def _work(
    job: int,
    jobs: int,
    parts: list[str],
    seed: int,
    until: float,
    out: str,
    busy: Any,
    queue: Any,
    skip: dict[str, int],
    counts: dict[str, int],
) -> None:
    """One worker: case after case, the part that is most behind its share of the time first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.WARNING)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from cs3vm.engine.boxes.search import prepare
    from cs3vm.engine.warm_up import warm_up
    from tests.fuzz import shrink
    from tests.fuzz.parts import PARTS, SHARES

    if counts:  # findings are only counted
        shrink.ENABLED = False
    warm_up()
    prepare()
    share = {part: SHARES[part] for part in parts}
    spent = dict.fromkeys(parts, 1e-9)
    index = {part: skip.get(part, job) for part in parts}
    names = list(PARTS)
    written: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        while perf_counter() < until:
            left = [name for name in parts if index[name] < counts.get(name, np.inf)]
            if not left:
                break
            part = min(left, key=lambda name: spent[name] / share[name])
            i = index[part]
            index[part] += jobs
            busy[0], busy[1], busy[2] = names.index(part), i, perf_counter()
            began = perf_counter()
            outcome = run_case(part, seed, i, Path(folder))
            seconds = perf_counter() - began
            busy[2] = 0.0
            spent[part] += seconds
            for number, finding in enumerate(outcome.findings):
                alike = (part, finding.kind, finding.message[:40] if finding.kind == "crash" else "")
                written[alike] += 1
                if finding.kind == "wrong" or written[alike] <= MAX_ALIKE:
                    write_finding(Path(out), part, seed, i, number, finding)
            kinds = [(finding.kind, finding.message) for finding in outcome.findings]
            queue.put((part, outcome.n, seconds, dict(outcome.notes), kinds, i))
    queue.put(None)


class Run:
    """Workers, what they have reported, and a watchdog. With ``counts`` a part ends after so many cases."""

    def __init__(
        self,
        parts: list[str],
        minutes: float,
        jobs: int,
        seed: int,
        out: Path,
        counts: dict[str, int] | None = None,
        hard_limit: float = HARD_LIMIT,
    ) -> None:
        self.parts, self.jobs, self.seed, self.out = parts, jobs, seed, out
        self.wanted, self.hard_limit = counts or {}, hard_limit
        self.all: list[tuple[str, int, str, str]] = []
        self.until = perf_counter() + 60.0 * minutes
        self.context = mp.get_context("spawn")
        self.queue = self.context.Queue()
        self.counts: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.notes: dict[str, Counter[str]] = {part: Counter() for part in parts}
        self.findings: dict[str, Counter[str]] = {part: Counter() for part in parts}

    def start(self, job: int, skip: dict[str, int]) -> tuple[Any, Any]:
        busy = self.context.Array("d", 3, lock=False)
        where = (str(self.out), busy, self.queue)
        args = (job, self.jobs, self.parts, self.seed, self.until, *where, skip, self.wanted)
        worker = self.context.Process(target=_work, args=args)
        worker.start()
        return worker, busy

    def run(self) -> int:
        """Returns how many findings there are."""
        workers = {job: self.start(job, {}) for job in range(self.jobs)}
        reached: dict[int, dict[str, int]] = {job: {} for job in workers}
        while workers:
            self.collect(reached)
            for job, (worker, busy) in list(workers.items()):
                since = busy[2]  # read once: the case may end meanwhile
                stuck = since > 0.0 and perf_counter() - since > self.hard_limit
                if stuck:
                    worker.kill()
                    worker.join()
                if worker.is_alive():
                    continue
                worker.join()
                del workers[job]
                if worker.exitcode != 0 and busy[2] == 0.0 and not stuck:
                    raise RuntimeError(f"a worker died with {worker.exitcode} between two cases")
                if stuck or worker.exitcode != 0:
                    self.lost(job, busy, worker.exitcode, stuck, reached)
                    if perf_counter() < self.until:
                        workers[job] = self.start(job, reached[job])
            sleep(0.2)
        self.collect(reached)
        return sum(sum(kinds.values()) for kinds in self.findings.values())

    def lost(
        self, job: int, busy: Any, code: int | None, stuck: bool, reached: dict[int, dict[str, int]]
    ) -> None:
        """A worker was ended, or died: the case it was at is a finding."""
        from tests.fuzz.parts import PARTS
        from tests.fuzz.referee import Finding

        self.collect(reached)
        part, i = list(PARTS)[int(busy[0])], int(busy[1])
        kind = "slow" if stuck else "crash"
        text = f"no end after {self.hard_limit:.0f} s" if stuck else f"the process died with {code}"
        write_finding(self.out, part, self.seed, i, 0, Finding(kind, text))
        self.add(part, i, kind, text)
        reached[job][part] = i + self.jobs

    def add(self, part: str, i: int, kind: str, message: str) -> None:
        self.findings[part][kind] += 1
        self.all.append((part, i, kind, message))
        self.say(f"{part} {i}: {kind}: {message}")

    def collect(self, reached: dict[int, dict[str, int]]) -> None:
        while not self.queue.empty():
            report = self.queue.get()
            if report is None:
                continue
            part, n, seconds, notes, kinds, i = report
            self.counts[part] += n
            self.seconds[part] += seconds
            self.notes[part].update(notes)
            reached.setdefault(i % self.jobs, {})[part] = i + self.jobs
            for kind, message in kinds:
                self.add(part, i, kind, message)

    def say(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def report(self) -> dict[str, Any]:
        """Counts per part."""
        return {
            part: {
                "instances": self.counts[part],
                "per second": round(self.counts[part] / max(self.seconds[part], 1e-9), 2),
                "notes": dict(self.notes[part]),
                "findings": dict(self.findings.get(part, {})),
            }
            for part in self.parts
        }


def main() -> int:
    """The command."""
    from tests.fuzz.parts import PARTS

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Look for wrong claims.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--case", help="repeat one case: part:index")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.case:
        part, index = options.case.split(":")
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_case(part, options.seed, int(index), Path(folder))
        for number, finding in enumerate(outcome.findings):
            write_finding(options.out, part, options.seed, int(index), number, finding)
            sys.stdout.write(f"{finding.kind}: {finding.message}\n")
        return bool(outcome.findings)
    parts = options.parts.split(",")
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}: choose of {', '.join(PARTS)}")
    run = Run(parts, options.minutes, options.jobs, options.seed, options.out)
    found = run.run()
    report = run.report()
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for part, facts in report.items():
        speed = f"{facts['instances']:8} instances, {facts['per second']:8} per second"
        run.say(f"{part:13}{speed}, findings {facts['findings']}, {facts['notes']}")
    return int(found > 0)
