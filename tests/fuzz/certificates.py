"""Forged certificates: whatever is confirmed must be true."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from cs3vm import Problem, Status, verify
from cs3vm.model.problem import PLANE_TOLERANCE
from cs3vm.solvers.bnb_ import solve
from tests.fuzz.exact import proven_value
from tests.fuzz.instances import tiny
from tests.fuzz.oracle import Oracle
from tests.fuzz.referee import Finding
from tests.fuzz.shrink import as_source, fewer

FORGERIES = 40  # of each proof
NUMBERS: tuple[Any, ...] = (
    0,
    1,
    -1,
    0.5,
    2,
    1e-300,
    1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
    2**60,
    "1",
    None,
)
Record = dict[str, Any]
Change = tuple[Any, ...]


def forge_some(rng: np.random.Generator, folder: Path) -> tuple[int, Counter[str], list[Finding]]:
    """One tiny problem with its proof, and many forgeries of it."""
    notes: Counter[str] = Counter()
    problem = tiny(rng, m_max=5)
    path = folder / "proof.gz"
    path.unlink(missing_ok=True)
    result = solve(problem, time_limit=5.0, proof=path)
    if result.status is not Status.OPTIMAL or not result.extras.get("proof"):
        notes["no proof"] += 1
        return 0, notes, []
    try:
        oracle = Oracle(problem)
        optimum = _least(problem, oracle)
    except ArithmeticError:
        notes["no oracle"] += 1
        return 0, notes, []
    with gzip.open(path, "rb") as file:
        records = [json.loads(line) for line in file][:-1]
    findings = []
    verdict = verify(problem, path)
    notes["honest, confirmed" if verdict else "honest, refuted"] += 1
    if not verdict:
        findings.append(Finding("missing", verdict.message, {"problem": as_source(problem)}))
    intact = path.read_bytes()
    worse = _worse_points(problem, rng)
    for _ in range(FORGERIES):
        if rng.random() < 0.15:
            path.write_bytes(_damaged(intact, rng))
            message = _judge(problem, path, optimum, notes)
            if message:
                data = {"problem": as_source(problem), "bytes": path.read_bytes().hex()}
                findings.append(Finding("wrong", message, data))
            continue
        changes = [_change(records, worse, rng) for _ in range(int(rng.integers(1, 5)))]

        def message_of(changes: list[Change]) -> str | None:
            write(path, apply_changes(records, changes))
            return _judge(problem, path, optimum, notes)

        message = message_of(changes)
        if message:
            changes = fewer(changes, lambda kept: message_of(kept) is not None, 10.0)
            forged = apply_changes(records, changes)
            data = {"problem": as_source(problem), "changes": changes, "records": forged}
            findings.append(Finding("wrong", message, data))
    return FORGERIES, notes, findings


def _least(problem: Problem, oracle: Oracle) -> Fraction:
    """The value of an exactly feasible point, as small as the oracle can find one."""
    found = oracle.below(np.inf)
    if found is None:
        raise ArithmeticError("no point")
    _, point, z = found
    value = proven_value(problem, point.w, point.b, z)
    if value is None:
        raise ArithmeticError("no exact point")
    return value


def _judge(problem: Problem, path: Path, optimum: Fraction, notes: Counter[str]) -> str | None:
    """What is wrong with the verdict, if anything."""
    try:
        verdict = verify(problem, path)
    except Exception as error:
        return f"verify raised {type(error).__name__}: {error}"
    notes["forged, confirmed" if verdict else "forged, refuted"] += 1
    if not verdict:
        return None
    if not verdict.lower_bound <= optimum:
        return f"confirmed the bound {verdict.lower_bound!r} above {float(optimum)!r}"
    with gzip.open(path, "rb") as file:
        header = json.loads(file.readline())
    w, b, z = (
        np.array(header["coef"], dtype=float),
        float(header["intercept"]),
        np.array(header["z"], dtype=float),
    )
    if not (np.all(np.isfinite(w)) and np.isfinite(b)):
        return "confirmed a point that is not finite"
    if not np.all((z == 0) | (z == 1)):
        return f"confirmed a point with sides {z.tolist()}"
    tolerance = PLANE_TOLERANCE * (1.0 + float(np.max(np.abs(problem.scores(w, b)), initial=0.0)))
    if not problem.violation(w, b, z.astype(np.int8)) <= tolerance:
        return "confirmed a point whose sides contradict its plane"
    value = problem.objective(w, b, z.astype(np.int8))
    claims = verdict.lower_bound > 0.0 or value <= 0.0
    if not (claims and abs(value - verdict.objective) <= 1e-9 * max(1.0, abs(value))):
        return f"confirmed objective {verdict.objective!r} and bound {verdict.lower_bound!r}, value {value!r}"
    return None


def write(path: Path, records: list[Any]) -> None:
    """A file with a fitting checksum."""
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    sha = hashlib.sha256(b"".join(lines)).hexdigest()
    path.write_bytes(gzip.compress(b"".join(lines) + json.dumps({"sha256": sha}).encode() + b"\n", 1))


def _damaged(content: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(content)
    for place in rng.integers(0, len(damaged), int(rng.integers(1, 5))):
        damaged[place] ^= int(rng.integers(1, 256))
    return bytes(damaged[: int(rng.integers(1, len(damaged)))] if rng.random() < 0.3 else damaged)


def _worse_points(problem: Problem, rng: np.random.Generator) -> list[Record]:
    """Honest points that are not optimal: with them a forged cutoff above the optimum looks possible."""
    made = []
    for _ in range(4):
        w = rng.normal(size=problem.d) * 10.0 ** rng.uniform(-2, 1) / max(problem.radius, 1e-300)
        best = problem.best_intercept(w)
        if best is None:
            continue
        value = problem.objective(w, best.b, best.z)
        made.append(
            {
                "coef": w.tolist(),
                "intercept": best.b,
                "z": best.z.tolist(),
                "objective": value,
                "cutoff": value * float(rng.choice([1.0, 0.999999, 0.99, 0.9, 0.5])),
            }
        )
    return made


# -- changes are plain data, so that a finding can be shrunk and kept ----------------------------------------
def _change(records: list[Record], worse: list[Record], rng: np.random.Generator) -> Change:
    kind = rng.random()
    at = int(rng.integers(1, len(records))) if len(records) > 1 else 0
    if kind < 0.22 and worse:
        return ("header", worse[rng.integers(len(worse))])
    if kind < 0.3:
        factor = float(rng.choice([1.0 + 1e-6, 1.0 + 1e-7, 1.001, 1.1, 2.0]))
        names = ["cutoff"] if rng.random() < 0.5 else ["cutoff", "objective"]
        return ("header", {name: records[0][name] * factor for name in names})
    if kind < 0.38:
        name = str(
            rng.choice(["cutoff", "objective", "intercept", "coef", "z", "version", "note", "problem"])
        )
        return ("header", {name: NUMBERS[rng.integers(len(NUMBERS))]})
    if kind < 0.44:
        z = list(records[0]["z"])
        if z:
            place = int(rng.integers(len(z)))
            z[place] = NUMBERS[rng.integers(len(NUMBERS))] if rng.random() < 0.3 else 1 - z[place]
        return ("header", {"z": z})
    if kind < 0.5:
        return ("swap", at, int(rng.integers(1, len(records))) if len(records) > 1 else 0)
    if kind < 0.56:
        return ("drop", at)
    if kind < 0.62:
        return ("repeat", at, int(rng.integers(1, len(records) + 1)))
    if kind < 0.7:
        m = len(records[0]["z"])
        row, side = int(rng.integers(-1, m + 1)), int(rng.choice([-1, 0, 1, 2]))
        record = [
            {"t": "fix", "row": row, "side": side},
            {"t": "branch", "row": row, "side": side},
            {"t": "close"},
            {"t": "reference", "positive": [row]},
            {"t": "value", "flip": [row, side], "alpha": [], "beta": [[row, 1e6 * side]]},
            {"t": "value", "alpha": [[row, 1e6]], "beta": []},
        ][rng.integers(6)]
        return ("insert", at, record)
    if kind < 0.78:
        return ("flip", at, int(rng.integers(3)))
    if kind < 0.95:
        return (
            "scale",
            at,
            str(rng.choice(["alpha", "beta"])),
            int(rng.integers(64)),
            float(10.0 ** rng.uniform(-3, 3)),
        )
    return (
        "field",
        at,
        str(rng.choice(["row", "side", "t", "alpha", "beta", "flip", "positive"])),
        int(rng.integers(len(NUMBERS))),
    )


def apply_changes(records: list[Record], changes: list[Change]) -> list[Any]:
    """The records with all changes that still fit."""
    made: list[Any] = json.loads(json.dumps(records))
    for kind, *what in changes:
        try:
            if kind == "header":
                made[0].update(what[0])
            elif kind == "swap":
                made[what[0]], made[what[1]] = made[what[1]], made[what[0]]
            elif kind == "drop":
                del made[what[0]]
            elif kind == "repeat":
                made.insert(what[1], json.loads(json.dumps(made[what[0]])))
            elif kind == "insert":
                made.insert(what[0], dict(what[1]))
            elif kind == "flip":
                _turn(made[what[0]], what[1])
            elif kind == "scale":
                pairs = made[what[0]][what[1]]
                pairs[what[2] % len(pairs)][1] *= what[3]
            else:
                made[what[0]][what[1]] = NUMBERS[what[2]]
        except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
            continue
    return made


def _turn(record: Record, how: int) -> None:
    """Another side or row than the one that was proven."""
    if "side" in record:
        record["side"] = -record["side"]
    elif "flip" in record:
        row, side = record["flip"]
        record["flip"] = [row, -side] if how == 0 else [row + (1 if how == 1 else -1), side]
    elif "positive" in record:
        record["positive"] = record["positive"][: len(record["positive"]) // 2]
    elif record.get("beta"):
        record["beta"][0][1] *= -1
