"""Make a failing case small: fewer rows and columns, plain weights and prices, fewer digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from cs3vm import Problem
from cs3vm.exceptions import CS3VMError
from cs3vm.model.totals import Total, Totals

#: Switched off where findings are only counted.
ENABLED = True

Fails = Callable[[Problem], bool]
T = TypeVar("T")


def shrink(problem: Problem, fails: Fails, seconds: float = 60.0) -> Problem:
    """The smallest problem found, by single simplifications, for which ``fails`` is still true."""
    deadline = perf_counter() + seconds
    progress = ENABLED
    while progress:
        progress = False
        for make in _simplifications(problem):
            if perf_counter() > deadline:
                return problem
            try:
                simpler = make()
                if _same(simpler, problem) or not fails(simpler):
                    continue
            except (CS3VMError, ArithmeticError, ValueError):
                continue
            problem, progress = simpler, True
            break
    return problem


def _simplifications(p: Problem) -> Iterator[Callable[[], Problem]]:
    for j in range(p.m):
        yield lambda j=j: _without_row(p, j)
    if p.n > 1:
        for i in range(p.n):
            keep = np.arange(p.n) != i
            yield lambda keep=keep: replace(p, X=p.X[keep], y=p.y[keep], C=p.C[keep])
    if p.d > 1:
        for k in range(p.d):
            keep = np.arange(p.d) != k
            yield lambda keep=keep: replace(p, X=p.X[:, keep], U=p.U[:, keep])
    yield lambda: replace(p, side=np.zeros(p.m, dtype=np.int8))
    if p.one_total:
        yield lambda: replace(p, weights=np.ones(p.m), n_positive=float(min(round(p.n_positive), p.m)))
    else:
        yield from _simpler_totals(p)
    yield lambda: replace(p, C=np.ones(p.n))
    yield lambda: replace(p, C=np.full(p.n, p.C.max()))
    yield lambda: replace(p, count_penalty=1.0)
    yield lambda: replace(p, side_margin=0.0)
    if p.side_margin > 0.0:
        yield lambda: replace(p, side_margin=1.0)
    for digits in (1, 2, 3, 5, 8):
        numbers = ("X", "U", "C", "weights", "count_penalty", "side_margin", "n_positive")
        for name in numbers if p.one_total else numbers[:-1]:
            yield lambda name=name, digits=digits: replace(p, **{name: _rounded(getattr(p, name), digits)})
    for name in ("X", "U"):
        for place in np.ndindex(getattr(p, name).shape):
            if getattr(p, name)[place] != 0.0:
                yield lambda name=name, place=place: replace(p, **{name: _zeroed(getattr(p, name), place)})


def _without_row(p: Problem, j: int) -> Problem:
    keep = np.arange(p.m) != j
    weights = p.weights[keep]
    if p.one_total:
        known: Any = min(p.n_positive, float(weights.sum()))
    else:
        taken = list(p.totals.taken(np.flatnonzero(keep)))
        known = Totals(replace(t, low=min(t.low, float(weights[t.rows].sum()))) for t in taken)
    return replace(p, U=p.U[keep], weights=weights, side=p.side[keep], n_positive=known)


def _simpler_totals(p: Problem) -> Iterator[Callable[[], Problem]]:
    """One total less; without a price of its own; without one of its ends; in whole numbers."""
    totals = list(p.totals.over(p.totals.rows))
    for g, total in enumerate(totals):
        before, after = totals[:g], totals[g + 1 :]
        others: list[list[Total]] = [
            [],
            [replace(total, penalty=None)],
            [replace(total, low=0.0)],
            [replace(total, high=None)],
            [replace(total, low=float(np.floor(total.low)), high=float(np.ceil(total.interval[1])))],
        ]
        if total.low < total.interval[1] < np.inf:  # else it would become exact and open again for ever
            others.append([replace(total, high=np.inf)])
        for other in others:
            yield lambda other=other, before=before, after=after: replace(
                p, n_positive=Totals([*before, *other, *after])
            )
    yield lambda: replace(p, weights=np.ones(p.m))


def _rounded(value: Any, digits: int) -> Any:
    """To so many significant digits."""
    array = np.asarray(value, dtype=float)
    rounded = np.array([float(f"{v:.{digits - 1}e}") for v in array.ravel()]).reshape(array.shape)
    return rounded if array.ndim else float(rounded)


def _zeroed(array: np.ndarray, place: tuple[int, ...]) -> np.ndarray:
    changed = array.copy()
    changed[place] = 0.0
    return changed


def _same(a: Problem, b: Problem) -> bool:
    return as_source(a) == as_source(b)


def as_source(p: Problem) -> str:
    """The problem as Python source, exactly."""
    fields: dict[str, Any] = {}
    if np.any(p.weights != 1.0):
        fields["weights"] = p.weights.tolist()
    if np.any(p.side != 0):
        fields["side"] = p.side.tolist()
    if np.any(p.C != 1.0):
        fields["C"] = p.C.tolist() if np.any(p.C[0] != p.C) else float(p.C[0])
    if p.count_penalty != 1.0:
        fields["count_penalty"] = p.count_penalty
    if p.side_margin != 0.0:
        fields["side_margin"] = p.side_margin
    if p.norm != "l2":
        fields["norm"] = p.norm
    named = "".join(f", {name}={value!r}" for name, value in fields.items())
    U = repr(p.U.tolist()) if p.m else f"np.zeros((0, {p.d}))"
    known = repr(p.n_positive) if p.one_total else _totals_source(p)
    return f"Problem({p.X.tolist()!r}, {p.y.astype(int).tolist()!r}, {U}, {known}{named})"


def _totals_source(p: Problem) -> str:
    made = []
    for total in p.totals.over(p.totals.rows):
        low, high = (repr(end) if np.isfinite(end) else "np.inf" for end in total.interval)
        made.append(f"Total({np.asarray(total.rows).tolist()!r}, {low}, {high}, {total.penalty!r})")
    return f"Totals([{', '.join(made)}])"


def script(problem: Problem, how: list[dict[str, Any]], message: str) -> str:
    """A test that fails as long as the finding stands."""
    return f'''"""{message}"""

import numpy as np  # noqa: F401

from cs3vm import Problem
from cs3vm.model.totals import Total, Totals  # noqa: F401
from tests.fuzz.calls import call
from tests.fuzz.oracle import Oracle
from tests.fuzz.referee import judge


def test_finding():
    problem = {as_source(problem)}
    answers = [call(problem, how) for how in {how!r}]
    assert judge(problem, answers, Oracle(problem)) == []
'''


def fewer(items: Sequence[T], fails: Callable[[list[T]], bool], seconds: float = 20.0) -> list[T]:
    """A short list of the items for which ``fails`` is still true (delta debugging)."""
    deadline, kept, size = perf_counter() + seconds, list(items), max(1, len(items) // 2)
    if not ENABLED:
        return kept
    while size >= 1 and perf_counter() < deadline:
        start, removed = 0, False
        while start < len(kept) and perf_counter() < deadline:
            attempt = kept[:start] + kept[start + size :]
            if fails(attempt):
                kept, removed = attempt, True
            else:
                start += size
        if not removed or size > 1:
            size //= 2
    return kept
