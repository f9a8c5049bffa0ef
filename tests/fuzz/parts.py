"""What is fuzzed: each part makes one random case after another and says what it found."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from cs3vm import CS3VMClassifier, Problem, available_solvers
from cs3vm.exceptions import CS3VMError, InvalidProblemError, SolverLicenseError
from cs3vm.learn.assignment import assign
from tests.fuzz import certificates, files
from tests.fuzz.calls import SLOW, call
from tests.fuzz.instances import several, tiny
from tests.fuzz.oracle import Oracle
from tests.fuzz.referee import Answer, Finding, judge, signature
from tests.fuzz.shrink import as_source, script, shrink


@dataclass
class Outcome:
    """How many instances were tried, of which kind, and what was found."""

    n: int = 1
    notes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


Part = Callable[[np.random.Generator, Path], Outcome]


# -- problems ----------------------------------------------------------------------------------------------
def examine(problem: Problem, calls: list[dict[str, Any]], do_shrink: bool = True) -> Outcome:
    """Ask for all answers, judge them, shrink what is wrong."""
    outcome = Outcome()
    answers, oracle = _answers(problem, calls, outcome)
    for finding in judge(problem, answers, oracle):
        finding.data["problem"] = as_source(problem)
        if do_shrink:
            seconds = 5.0 if finding.kind == "missing" else 30.0
            small = shrink(
                problem, partial(_still, calls=calls, like=signature(finding.kind, finding.message)), seconds
            )
            finding.data["small"] = as_source(small)
            finding.data["script"] = script(small, calls, finding.message)
        outcome.findings.append(finding)
    for answer in answers:
        outcome.notes[answer.result.status.value] += 1
        if answer.seconds > SLOW:
            data = {"problem": as_source(problem), "call": answer.call}
            outcome.findings.append(Finding("slow", f"{answer.seconds:.1f} s", data))
    return outcome


def _answers(
    problem: Problem, calls: list[dict[str, Any]], outcome: Outcome
) -> tuple[list[Answer], Oracle | None]:
    answers = []
    for how in calls:
        try:
            answers.append(call(problem, how))
        except SolverLicenseError:
            outcome.notes["no licence"] += 1
        except CS3VMError:  # refused, with advice
            outcome.notes["refused"] += 1
        except Exception as error:
            data = {"problem": as_source(problem), "call": how}
            outcome.findings.append(Finding("crash", f"{type(error).__name__}: {error}", data))
    try:
        return answers, Oracle(problem)
    except ArithmeticError:
        outcome.notes["no oracle"] += 1
        return answers, None


def _still(problem: Problem, calls: list[dict[str, Any]], like: str) -> bool:
    answers, oracle = _answers(problem, calls, Outcome())
    return any(
        signature(finding.kind, finding.message) == like for finding in judge(problem, answers, oracle)
    )


def engine(rng: np.random.Generator, folder: Path) -> Outcome:
    """The engine by itself, and sometimes with limits, cutoffs, threads or inside a method."""
    problem = tiny(rng)
    calls: list[dict[str, Any]] = [{"solver": "bnb"}]
    extra = rng.random()
    if extra < 0.06:
        value = float(problem.C.sum()) * 10.0 ** rng.uniform(-3, 0.5)
        calls = [{"solver": "bnb", "options": {"cutoff": value}}]
    elif extra < 0.09:
        calls.append({"solver": "bnb", "options": {"node_limit": int(rng.integers(1, 4)), "joint": False}})
    elif extra < 0.12:
        calls.append({"solver": "bnb", "options": {"memory_limit": 1.0, "joint": bool(rng.random() < 0.5)}})
    elif extra < 0.14:
        calls.append({"solver": "bnb", "options": {"n_jobs": 2}})
    elif extra < 0.18:
        start = (rng.normal(size=problem.d) * 10.0 ** rng.uniform(-8, 8)).tolist()
        calls.append({"solver": "bnb", "options": {"start": start, "random_state": int(rng.integers(9))}})
    elif extra < 0.20:
        calls.append({"method": "cs3vm"})
    elif extra < 0.22:
        calls.append({"method": "auto"})
    elif extra < 0.24:
        calls.append({"method": "wircm"})
    elif extra < 0.25:
        calls.append({"method": str(rng.choice(["direct", "ircm", "rcm", "svm", "top_tau"]))})
    elif extra < 0.31:
        limit = int(rng.choice([5, 100, 3000]))
        calls.append({"solver": "bnb", "options": {"boxes": True, "node_limit": limit}})
    return examine(problem, calls)


def totals(rng: np.random.Generator, folder: Path) -> Outcome:
    """Up to three totals, by the engine, and sometimes by other solvers and methods."""
    problem = several(rng)
    calls: list[dict[str, Any]] = [{"solver": "bnb"}]
    extra = rng.random()
    if extra < 0.06:
        value = float(problem.C.sum()) * 10.0 ** rng.uniform(-3, 0.5)
        calls = [{"solver": "bnb", "options": {"cutoff": value}}]
    elif extra < 0.10:
        calls.append({"solver": "bnb", "options": {"node_limit": int(rng.integers(1, 4)), "joint": False}})
    elif extra < 0.14:
        calls.append({"solver": str(rng.choice([name for name in available_solvers("l2") if name != "bnb"]))})
    elif extra < 0.22:
        calls.append({"method": str(rng.choice(["cs3vm", "auto", "wircm"]))})
    elif extra < 0.26:
        calls.append({"method": str(rng.choice(["direct", "ircm", "rcm", "svm", "top_tau"]))})
    return examine(problem, calls)


def mip(rng: np.random.Generator, folder: Path) -> Outcome:
    """The MIQP backends, and the engine beside them."""
    problem = tiny(rng, m_max=4)
    names = [name for name in available_solvers("l2") if name != "bnb"]
    options: dict[str, Any] = {"big_m": str(rng.choice(["paper", "tight", "indicator"]))}
    calls: list[dict[str, Any]] = [{"solver": str(rng.choice(names)), "options": options}]
    if rng.random() < 0.1:
        calls.append({"method": str(rng.choice(["wircm", "cs3vm"])), "solver": str(rng.choice(names))})
    return examine(problem, [*calls, {"solver": "bnb"}])


def norms(rng: np.random.Generator, folder: Path) -> Outcome:
    """The 1- and the max-norm with all backends that know them."""
    problem = tiny(rng, norm=str(rng.choice(["l1", "max"])), m_max=4)
    names = available_solvers(problem.norm)
    solver = "highs" if "highs" in names and rng.random() < 0.6 else str(rng.choice(names))
    calls: list[dict[str, Any]] = [{"solver": solver}]
    if rng.random() < 0.15:
        calls.append({"method": str(rng.choice(["auto", "wircm", "cs3vm"]))})
    return examine(problem, calls)


# -- classifiers -------------------------------------------------------------------------------------------
def kernels(rng: np.random.Generator, folder: Path) -> Outcome:
    """A kernel fit against brute force on features made from the kernel matrix in another way."""
    n, m, d = int(rng.integers(2, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    X = rng.normal(size=(n + m, d)) if rng.random() < 0.6 else rng.integers(-2, 3, (n + m, d)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1, 0).tolist()
    y[0], y[1] = 0, 1
    kernel = str(rng.choice(["rbf", "laplacian", "poly"]))
    gamma, degree, coef0 = (
        float(10.0 ** rng.uniform(-1, 1)),
        int(rng.integers(1, 4)),
        float(rng.integers(0, 2)),
    )
    total, C = int(rng.integers(0, m + 1)), float(10.0 ** rng.uniform(-1, 1))
    price = float(10.0 ** rng.uniform(-1, 1))
    clf = CS3VMClassifier(
        str(rng.choice(["cs3vm", "auto", "wircm"])),
        kernel=kernel,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        C=C,
        count_penalty=price,
        time_limit=5.0,
        standardize=None if rng.random() < 0.5 else "zscore",
        side_margin=0.0 if rng.random() < 0.5 else "auto",
    )
    outcome = Outcome()
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clf.fit(X, [*y, *[None] * m], n_positive=total)
        except InvalidProblemError:
            # one kernel is 0 for all pairs of rows: that of rows which are all 0
            if kernel != "poly" or coef0 > 0.0:
                raise
            outcome.notes["refused"] += 1
            return outcome
    seconds = perf_counter() - began
    result = clf.result_
    outcome.notes[result.status.value] += 1
    settings = {
        name: getattr(clf, name) for name in ("method", "kernel", "gamma", "degree", "coef0", "standardize")
    }
    data = {"X": X.tolist(), "y": y, "n_positive": total, "C": C, "count_penalty": price, **settings}
    scaled = clf.scaling_.transform(X)
    extra = {"gamma": gamma} if kernel != "poly" else {"gamma": gamma, "degree": degree, "coef0": coef0}
    values, vectors = np.linalg.eigh(pairwise_kernels(scaled, metric=kernel, **extra))
    mapped = vectors * np.sqrt(np.maximum(values, 0.0))
    signs = np.where(np.array(y) == 1, 1, -1)
    margin = result.problem.side_margin
    other = Problem(mapped[:n], signs, mapped[n:], total, C=C, count_penalty=price, side_margin=margin)
    try:
        optimum = Oracle(other).optimum()
        oracle = Oracle(result.problem)
    except ArithmeticError:
        outcome.notes["no oracle"] += 1
        return outcome
    answer = Answer({"classifier": settings}, result, seconds, complete=False)
    found = judge(result.problem, [answer], oracle)
    # the map drops directions of the size of rounding, so both problems are the same only up to this
    if result.lower_bound > optimum + 1e-5 * optimum + 1e-6 * C * n:
        found.append(Finding("suspect", f"bound {result.lower_bound!r}, by the kernel matrix {optimum!r}"))
    if result.is_optimal and result.objective < optimum - 1e-5 * optimum - 1e-6 * C * n:
        found.append(Finding("suspect", f"objective {result.objective!r}, by the kernel matrix {optimum!r}"))
    for finding in found:
        finding.data |= data
    outcome.findings += found
    return outcome


def classes(rng: np.random.Generator, folder: Path) -> Outcome:
    """Several classes: totals met exactly, and the assignment as good as the best of all."""
    rows, k = int(rng.integers(1, 8)), int(rng.integers(2, 5))
    scores = (
        rng.normal(size=(rows, k)) if rng.random() < 0.5 else rng.integers(-2, 3, (rows, k)).astype(float)
    )
    if rng.random() < 0.3:
        scores = scores * 10.0 ** rng.uniform(-8, 8)
    if rng.random() < 0.2:
        scores = scores + 10.0 ** rng.uniform(0, 8) * rng.normal(size=k)
    labels = rng.integers(0, k, rows)
    totals = np.bincount(labels, minlength=k)
    outcome = Outcome()
    found = assign(scores, totals)
    best = max(scores[np.arange(rows), list(p)].sum() for p in set(permutations(labels.tolist())))
    size = float(np.abs(scores).sum())
    data = {"scores": scores.tolist(), "totals": totals.tolist()}
    if np.any(np.bincount(found.labels, minlength=k) != totals):
        outcome.findings.append(Finding("wrong", "the totals are not met", data))
    if found.value < best - 1e-12 * size:
        outcome.findings.append(Finding("wrong", f"value {found.value!r}, the best is {best!r}", data))
    if best - found.value > found.gap + 1e-12 * size or found.gap > 1e-9 * size:
        outcome.findings.append(Finding("wrong", f"gap {found.gap!r}, true {best - found.value!r}", data))
    if rng.random() < 0.02:
        _several(rng, outcome)
    return outcome


def _several(rng: np.random.Generator, outcome: Outcome) -> None:
    k, m = int(rng.integers(3, 5)), int(rng.integers(3, 9))
    n, d = 2 * k, int(rng.integers(1, 4))
    X = rng.normal(size=(n + m, d))
    y = [*(str(c) for c in np.tile(np.arange(k), 2)), *[None] * m]
    totals = np.bincount(rng.integers(0, k, m), minlength=k)
    margin = 0.0 if rng.random() < 0.5 else "auto"
    clf = CS3VMClassifier(str(rng.choice(["cs3vm", "auto"])), time_limit=5.0, side_margin=margin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y, n_positive={str(c): int(t) for c, t in enumerate(totals)})
    outcome.notes["fits"] += 1
    counts = [int(np.sum(clf.transduction_[n:] == str(c))) for c in range(k)]
    data = {"X": X.tolist(), "totals": totals.tolist()}
    if counts != totals.tolist():
        outcome.findings.append(Finding("wrong", f"counts {counts}, totals {totals.tolist()}", data))
    for name, result in clf.result_.items():
        try:
            oracle = Oracle(result.problem)
        except ArithmeticError:
            outcome.notes["no oracle"] += 1
            continue
        answer = Answer({"classifier": "several", "class": name}, result, result.seconds, complete=False)
        outcome.findings += judge(result.problem, [answer], oracle)


# -- files -------------------------------------------------------------------------------------------------
def tables(rng: np.random.Generator, folder: Path) -> Outcome:
    """Damaged tables are refused with a TableError, or read."""
    note, finding = files.one_table(rng, folder)
    return Outcome(1, Counter([note]), [finding] if finding else [])


def models(rng: np.random.Generator, folder: Path) -> Outcome:
    """Damaged model files and results are refused with their own error, or read."""
    note, finding = files.one_model(rng, folder)
    return Outcome(1, Counter([note]), [finding] if finding else [])


def proofs(rng: np.random.Generator, folder: Path) -> Outcome:
    """Forged certificates are refuted, or prove something that is true."""
    n, notes, findings = certificates.forge_some(rng, folder)
    return Outcome(n, notes, findings)


PARTS: dict[str, Part] = {
    "engine": engine,
    "totals": totals,
    "mip": mip,
    "norms": norms,
    "kernels": kernels,
    "classes": classes,
    "files": tables,
    "models": models,
    "certificates": proofs,
}
#: Of the time of a run that has all parts.
SHARES = {
    "engine": 0.45,
    "totals": 0.1,
    "mip": 0.1,
    "norms": 0.1,
    "kernels": 0.05,
    "classes": 0.05,
    "files": 0.05,
    "models": 0.05,
    "certificates": 0.05,
}
