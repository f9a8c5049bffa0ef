"""A second oracle: all cells of the arrangement, for at most two features and many more rows than 2^m allows.

A plane gives each unlabelled row a sign: +, - or 0. The sign vectors that occur are the faces of an
arrangement of planes in the space of (w, b), and in up to two features there are O(m²) of them. They are
enumerated in exact integer arithmetic, with equal and collinear rows:

- every face has an extreme ray in its closure (if the rows span the plane), which is a line through two
  different rows. Seen from there, a nearby line crosses it in one place, so the rows on it have one sign
  before, the other sign behind, and 0 at that place; or it does not cross it at all;
- rows that are all on one line are ordered along it: signs change once. All of them may be 0.

With ε = 0 the rows with sign 0 count on either side, so a face costs its SVM value (those rows held *on* the
plane) plus the price of the best count that they allow, a subset sum; (w, b) = 0 is the face with zeros
only. With ε > 0 no row has sign 0, and every cell is possible since planes may be scaled: a labeling costs
what the SVM with these sides held at ε costs. So the optimum is the least of finitely many convex values,
each by the independent solver of :mod:`tests.oracle`. Values may be cut by what is known; nothing else is
rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from cs3vm import Problem
from tests.oracle import svm_with_sides

#: More different counts than this, of rows on one plane, are not enumerated.
MAX_COUNTS = 300_000

Signs = tuple[int, ...]


def cells_optimum(problem: Problem, known: float = np.inf) -> float:
    """The optimum of a problem with at most two features, or ``known`` if that is smaller.

    Raises ArithmeticError where the convex solver gives up or weights allow too many counts.
    """
    svm = svm_with_sides(problem, np.zeros(problem.m))
    best = known
    for penalty, signs in priced_faces(problem):
        if svm + penalty >= best:
            break
        best = min(best, face_value(problem, signs) + penalty)
    return best


def priced_faces(problem: Problem) -> list[tuple[float, Signs]]:
    """The faces that can hold an optimum with the price of their best count, cheapest first."""
    counts = _Counts(problem)
    locations = sorted({_exact(row) for row in problem.U})
    places = {location: i for i, location in enumerate(locations)}
    of_row = [places[_exact(row)] for row in problem.U]
    priced: dict[Signs, float | None] = {}

    def price(pattern: Signs) -> float | None:
        if pattern not in priced:
            priced[pattern] = counts.price(tuple(pattern[i] for i in of_row))
        return priced[pattern]

    found: dict[Signs, float] = {}
    for face, around in faces(locations, problem.side_margin > 0.0):
        cost = price(face)
        if cost is None or any(c is not None and c <= cost for c in map(price, around)):
            continue  # a cell around it allows the same count at no more
        found[face] = cost
    expanded = [(cost, tuple(face[i] for i in of_row)) for face, cost in found.items()]
    return sorted(expanded, key=lambda pair: pair[0])


def face_value(problem: Problem, signs: Signs) -> float:
    """The SVM value with rows of sign 0 on the plane and the others on their side."""
    side = np.array(signs, dtype=np.int8)
    if np.all(side != 0):
        return svm_with_sides(problem, side)
    on = np.flatnonzero(side == 0)
    side[on] = 1
    U = np.vstack([problem.U, problem.U[on]])
    doubled = replace(
        problem, U=U, weights=np.ones(len(U)), side=np.zeros(len(U), dtype=np.int8), n_positive=0.0
    )
    return svm_with_sides(doubled, np.append(side, -np.ones(len(on), dtype=np.int8)))


# -- which signs are possible ------------------------------------------------------------------------------
def faces(locations: list[tuple[int, ...]], cells_only: bool = False) -> Iterator[tuple[Signs, list[Signs]]]:
    """Sign vectors of different, sorted rows, each with cells that have it in their closure."""
    if len(locations) == 0:
        yield (), []
        return
    lines = list(_lines(locations)) if len(locations[0]) == 2 else [tuple(range(len(locations)))]
    if len(lines) <= 1:  # all on one line (one row is, too), or one feature
        yield from _around(locations, tuple(range(len(locations))), (0,) * len(locations), cells_only)
        return
    for on in lines:
        signs = tuple(_orientation(locations[on[0]], locations[on[1]], other) for other in locations)
        for base in (signs, tuple(-s for s in signs)):
            yield from _around(locations, on, base, cells_only)
    if not cells_only:
        yield (0,) * len(locations), []  # w = 0 and b = 0


def _around(
    locations: list[tuple[int, ...]], on: tuple[int, ...], base: Signs, cells_only: bool
) -> Iterator[tuple[Signs, list[Signs]]]:
    """The faces that a line with the rows ``on`` and the signs ``base`` of the others touches, and itself."""
    cells: list[list[Signs]] = []
    for s in (1, -1):
        turned = [_with(base, on, [s] * a + [-s] * (len(on) - a)) for a in range(len(on) + 1)]
        cells.append(turned)
        yield from ((cell, []) for cell in turned)
    if cells_only:
        return
    for s, turned in zip((1, -1), cells, strict=True):
        if len(on) > 1:
            for a in range(len(on)):
                signs = [s] * a + [0] + [-s] * (len(on) - a - 1)
                yield _with(base, on, signs), [turned[a], turned[a + 1]]
    yield _with(base, on, [0] * len(on)), cells[0] + cells[1]


def _lines(locations: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """The lines through at least two rows: all their rows, in order along them."""
    for i, j in combinations(range(len(locations)), 2):
        on = tuple(
            k for k, other in enumerate(locations) if _orientation(locations[i], locations[j], other) == 0
        )
        if on[:2] == (i, j):  # each line once; the order of rows is that along any line
            yield on


def _with(base: Signs, places: tuple[int, ...], signs: list[int]) -> Signs:
    changed = list(base)
    for place, sign in zip(places, signs, strict=True):
        changed[place] = sign
    return tuple(changed)


def _orientation(p: tuple[int, ...], q: tuple[int, ...], r: tuple[int, ...]) -> int:
    area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    return (area > 0) - (area < 0)


_SHIFT = 1100  # every double is an integer times 2**-1074


def _exact(row: np.ndarray) -> tuple[int, ...]:
    """The row times 2**1100, in integers: quicker than fractions, and the same geometry."""
    return tuple(int(Fraction(float(value)) * 2**_SHIFT) for value in row)


# -- what a face costs -------------------------------------------------------------------------------------
class _Counts:
    """The price of the best count that a sign vector allows, in exact arithmetic."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weights = [Fraction(float(weight)) for weight in problem.weights]
        self.tau = Fraction(float(problem.n_positive))
        self.side = problem.side.tolist()
        self.sums: dict[tuple[int, ...], set[Fraction]] = {}

    def price(self, signs: Signs) -> float | None:
        """None if a fixed row would be on the wrong side."""
        if any(side and sign == -side for side, sign in zip(self.side, signs, strict=True)):
            return None
        positive = Fraction(0)
        for weight, sign, side in zip(self.weights, signs, self.side, strict=True):
            positive += weight if (sign or side) > 0 else 0
        split = tuple(j for j, sign in enumerate(signs) if sign == 0 and self.side[j] == 0)
        missing = self.tau - positive
        return self.problem.count_penalty * float(min(abs(missing - part) for part in self._sums(split)))

    def _sums(self, rows: tuple[int, ...]) -> set[Fraction]:
        if rows not in self.sums:
            sums = {Fraction(0)}
            for j in rows:
                sums |= {total + self.weights[j] for total in sums}
                if len(sums) > MAX_COUNTS:
                    raise ArithmeticError(f"{len(rows)} rows on the plane allow too many counts")
            self.sums[rows] = sums
        return self.sums[rows]
