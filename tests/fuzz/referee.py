"""Judge results: which of their claims are wrong, and which proofs are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from cs3vm import Problem, Result, Status
from cs3vm.model.problem import PLANE_TOLERANCE
from tests.fuzz.exact import ExactProblem, best_value, proven_value, rationals, separable
from tests.fuzz.oracle import Oracle

GAP = 1e-6
#: A bound that is too high by less, relative to it, was not rounded down.
LAST_DIGITS = 1e-13


@dataclass
class Finding:
    """Something to be looked at.

    ``kind`` is "wrong" (refuted in exact arithmetic), "suspect" (only the oracle's floats say so), "missing"
    (a tiny, mild problem without its proof), "slow", or "crash" (an exception that may not be raised).
    """

    kind: str
    message: str
    data: dict[str, Any] = field(default_factory=dict)


def signature(kind: str, message: str) -> str:
    """What findings of the same sort have in common: the message without its numbers."""
    return f"{kind}: " + re.sub(r"[-+]?\d[\w.+-]*", "", message.split("(")[0])


@dataclass
class Answer:
    """A result, the call that gave it, and whether it had every chance to end with a proof."""

    call: dict[str, Any]
    result: Result
    seconds: float
    complete: bool = True
    cutoff: float = np.inf
    tolerance: float = 0.0  #: relative, of the bound: none for our engine, the gap for other solvers


def is_mild(problem: Problem) -> bool:
    """Whether nothing in the scales of the problem excuses a missing proof."""
    rows = np.vstack([problem.X, problem.U])
    rows = rows - np.median(rows, axis=0)
    size = float(np.abs(rows).max(initial=0.0))
    offset = float(np.abs(problem.X).max(initial=0.0))
    prices = np.append(problem.C, problem.totals.penalty)
    return bool(
        (size == 0.0 or 1e-3 <= size <= 1e3)
        and offset <= 1e3
        and prices.min() >= 1e-3
        and prices.max() <= 1e3
        and problem.weights.max(initial=1.0) <= 1e6 * problem.weights.min(initial=1.0)
        and problem.total_weight <= 1e9
        and not nearly_equal(problem.U, problem.side_margin)
    )


def nearly_equal(rows: np.ndarray, margin: float = 0.0) -> bool:
    """Whether two rows agree in the first six digits where they differ, or differ by far less than a margin.

    To part them, a plane is so steep, or needs so much of the tolerance, that the bound and the point differ.
    """
    apart = np.abs(rows[:, None] - rows[None])
    scale = np.abs(rows).max(initial=0.0)
    by_digits = bool(np.any((apart > 0.0) & (apart <= 1e-6 * scale)))
    largest = apart.max(axis=2, initial=0.0)
    return by_digits or bool(np.any((largest > 0.0) & (largest <= 1e-3 * margin)))


def judge(problem: Problem, answers: Iterable[Answer], oracle: Oracle | None) -> list[Finding]:
    """What is wrong with these answers to one problem; without an oracle they judge each other."""
    answers = list(answers)
    findings = []
    for answer in answers:
        findings += [_named(answer, finding) for finding in _consistent(problem, answer)]
    claims = [answer for answer in answers if _claimed(answer) > 0.0]
    highest = max(claims, key=_claimed, default=None)
    if highest is not None:
        refuted = _point_below(problem, _claimed(highest), answers, oracle)
        if refuted is not None:
            findings.append(_named(highest, refuted))
    if oracle is not None:
        for answer in answers:
            findings += [_named(answer, finding) for finding in _missing(problem, answer, oracle)]
    return findings


def _named(answer: Answer, finding: Finding) -> Finding:
    finding.data["call"] = answer.call
    return finding


def _claimed(answer: Answer) -> float:
    """No point lies below this, says the answer."""
    result, claimed = answer.result, answer.result.lower_bound
    if result.status is Status.CUTOFF:
        claimed = max(claimed, answer.cutoff * (1.0 - GAP))
    return claimed * (1.0 - answer.tolerance)


def allowed_violation(problem: Problem, w: np.ndarray, b: float) -> float:
    """As stated: the plane tolerance, and with a margin at most a thousandth of it."""
    rounding = PLANE_TOLERANCE * (1.0 + float(np.max(np.abs(problem.U @ w + b), initial=0.0)))
    return min(rounding, 1e-3 * problem.side_margin) if problem.side_margin > 0.0 else rounding


def _consistent(problem: Problem, answer: Answer) -> list[Finding]:
    result, wrong = answer.result, []

    def claim(holds: bool, message: str) -> None:
        if not holds:
            wrong.append(Finding("wrong", message))

    claim(not np.isnan(result.lower_bound), "the bound is NaN")
    if result.found:
        w, b, z = np.asarray(result.coef), float(result.intercept), np.asarray(result.z)
        finite = bool(np.all(np.isfinite(w)) and np.isfinite(b))
        claim(finite, "the point is not finite")
        if finite:
            claim(bool(np.all((z == 0) | (z == 1))), "z is not 0 or 1")
            claim(
                problem.violation(w, b, z) <= allowed_violation(problem, w, b),
                "its sides contradict its plane",
            )
            exact = ExactProblem(problem).objective((rationals(w), Fraction(b)), z)
            tolerance = 1e-9 * max(1.0, float(problem.C.sum()), abs(float(exact))) + _rounding(problem, w, b)
            claim(abs(result.objective - float(exact)) <= tolerance, "the objective is not that of the point")
        claim(result.lower_bound <= result.objective, "the bound is above the objective")
        claim(
            result.status is not Status.OPTIMAL or result.gap <= GAP,
            f"optimal with a gap of {result.gap:.3g}",
        )
        claim(result.status not in (Status.INFEASIBLE, Status.CUTOFF), f"{result.status.value}, with a point")
        claim(result.objective < answer.cutoff, "a point that is not below the cutoff")
    else:
        claim(
            result.status not in (Status.OPTIMAL, Status.FEASIBLE), f"{result.status.value} without a point"
        )
        if result.status is Status.INFEASIBLE:
            held = problem.side != 0
            possible = problem.side_margin == 0.0 or separable(problem.U[held], problem.side[held])
            claim(not possible, "infeasible, but a plane exists")
    return wrong


def _rounding(problem: Problem, w: np.ndarray, b: float) -> float:
    """What evaluating the hinges in floats may lose."""
    sizes = np.abs(problem.X) @ np.abs(w) + abs(b) + 1.0
    totals = problem.totals
    counts = (
        1e-15
        * (problem.m + 2)
        * (totals.weight + np.where(np.isfinite(totals.high), totals.high, totals.low))
    )
    return float(1e-14 * (problem.C @ sizes)) + float(totals.penalty @ counts)


def _point_below(
    problem: Problem, level: float, answers: list[Answer], oracle: Oracle | None
) -> Finding | None:
    """A point below a level that was claimed to be a bound."""
    suspicion = None
    for other in answers:
        result = other.result
        if result.found and result.objective < level:
            value = proven_value(
                problem, np.asarray(result.coef), float(result.intercept), np.asarray(result.z)
            )
            if value is not None and value < Fraction(level):
                return _refutation(level, float(value), "another answer")
            if suspicion is None or result.objective < suspicion.objective:
                suspicion = result
    found = None
    if oracle is not None:
        try:
            found = oracle.below(level)
        except ArithmeticError:
            found = None
    if found is not None:
        value, point, z = found
        exact = proven_value(problem, point.w, point.b, z)
        if exact is not None and exact < Fraction(level):
            return _refutation(level, float(exact), f"z = {z.tolist()}")
        b = float(point.b)
        value = problem.objective(point.w, b, z)
        passes = problem.violation(point.w, b, z) <= allowed_violation(problem, point.w, b)
        if passes and value < level - oracle.error(value):
            return _decided(problem, level, value, z)
    if suspicion is not None and suspicion.objective < level * (1.0 - 1e-6):
        return _decided(problem, level, suspicion.objective, np.asarray(suspicion.z))
    return None


def _decided(problem: Problem, level: float, value: float, z: np.ndarray) -> Finding | None:
    """Whether a point that is feasible only up to our tolerance has a better one with its sides beside it.

    Where rows that differ in their last digits are to be parted, the tolerance buys a point that no plane
    without it reaches. A bound is one for planes without tolerance, so it may lie above such a point.
    """
    if problem.norm != "l2":
        return Finding("suspect", f"bound {level!r}, but the oracle has {value!r}")
    least = best_value(problem, z)
    if least is None or least >= Fraction(level):
        return None
    return _refutation(level, float(least), f"z = {z.tolist()}, by Lemke's method")


def _refutation(level: float, value: float, where: str) -> Finding:
    excess = (level - value) / max(abs(value), 1e-300)
    if excess <= LAST_DIGITS:
        return Finding("wrong", f"last digits: bound {level!r} above a feasible {value!r} ({where})")
    return Finding("wrong", f"bound {level!r} above a feasible {value!r} by {excess:.3g} ({where})")


def _missing(problem: Problem, answer: Answer, oracle: Oracle) -> list[Finding]:
    """A proof that a tiny problem should have had."""
    result = answer.result
    if not answer.complete or not is_mild(problem):
        return []
    if result.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.CUTOFF):
        return []
    return [Finding("missing", f"{result.status.value} after {answer.seconds:.2f} s, gap {result.gap:.3g}")]
