"""A search over planes on a grid: normal vectors of small whole numbers.

In such units every row has a whole score. Rows are counted by score, the plane lies on the score where the
wanted total is reached, or near it, and the length of the normal vector is the minimum of a convex function
of one variable. So a plane is judged in a microsecond or two per thousand rows, without a ranking or a
programme, and annealing over single columns and pairs can look at ten thousands of them.
Rows on the plane count on either side: where they may not lie there the plane is tilted later.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IntArray, RowArray
from ...model.profiles import profiles
from ..jit import strict_kernel
from .incumbent import Plane, Search

#: Different scores that a plane may give, and the largest number in it.
LEVELS, LARGEST = 512, 40
#: How many half steps from the wanted total's score planes are looked for.
BESIDE = 6
#: Starts are rounded to whole numbers up to this.
ROUNDED = 6
#: Random numbers that a step of the annealing uses.
DRAWS = 6
#: Temperatures of a round, first and last, relative to its best value.
HOT, COLD = 0.03, 0.0005
#: Steps of a round, for each column; rounds; and how many of them in a row may be in vain.
ROUND, ROUNDS, VAIN = 150, 200, 16
#: How many different planes a search returns.
KEPT = 6
#: How many sums and differences of two columns it begins with.
PAIRS = 6
#: The work of a search: at most so much, and this share of what is left.
EFFORT, SHARE = 1e8, 0.1
#: How many numbers count for a row of a plane that is judged, and for each of its levels.
PER_ROW, PER_LEVEL = 1.5, 1.0


class Found(NamedTuple):
    """A plane: its value by the rows looked at, its numbers, and what one of them stands for."""

    value: float
    numbers: IntArray
    length: float


class GridSearch:
    """Anneals whole numbers; there is nothing to do where columns are on no grid, or totals are several."""

    def __init__(self, search: Search, rng: np.random.Generator) -> None:
        self.search, self.problem, self.rng = search, search.problem, rng
        self.grid = search.grid
        ranking = search.ranking
        self.exists = len(self.grid.columns) > 1 and not ranking.several and not ranking.any_fixed
        if not self.exists:
            return
        grid, problem, size = self.grid, self.problem, len(self.grid.columns)
        number = profiles(grid.unlabelled_places.T.astype(float))  # equal rows are one, with their weight
        _, first = np.unique(number, return_index=True)
        self.unlabelled = np.ascontiguousarray(grid.unlabelled_places[:, first])
        weights = np.bincount(number, weights=problem.weights[grid.unlabelled]).astype(float)
        self.weights: FloatArray = weights * (problem.total_weight / weights.sum())
        self.price = (problem.C * problem.y)[grid.labelled]
        self.price *= problem.C.sum() / problem.C[grid.labelled].sum()
        self.squares = 1.0 / grid.step**2
        self.found: dict[bytes, Found] = {}
        self.scores = np.zeros((2, self.unlabelled.shape[1] + len(self.price)), dtype=np.int64)
        self.counts = np.zeros((3, LEVELS))
        self.best, self.current = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.outcome, self.work = np.zeros(2), np.zeros(1)

    def _spend(self, steps: int) -> None:
        """Count so many planes: passes over the rows, and what kernels have counted of passes over levels."""
        self.search.spend(PER_ROW * steps * self.scores.shape[1] + PER_LEVEL * float(self.work[0]))
        self.work[0] = 0.0

    def run(self, starts: Sequence[FloatArray], share: float = SHARE) -> list[Plane]:
        """Anneal for that share of what is left, or the usual work; the best planes, best first."""
        if not self.exists:
            return []
        size, budget = len(self.grid.columns), self.search.budget
        effort = min(EFFORT, share * (budget.limit - budget.work))
        end, planes_at_most = budget.work + effort, int(effort / (PER_ROW * self.scores.shape[1]))
        steps = min(ROUND * size, planes_at_most // 2)
        if steps < size:
            return []
        begin = [*self._pairs(planes_at_most // 2), *(self._rounded(w) for w in starts)]
        begin = [k for k in begin if k.any()]
        vain, value = 0, np.inf
        for turn in range(ROUNDS):
            kept = self._kept()
            vain, value = (0, kept[0].value) if kept and kept[0].value < value else (vain + 1, value)
            if self.search.expired or budget.work >= end or vain > VAIN:
                break
            if turn < len(begin):
                self.current[:] = begin[turn]
            elif turn % 2 == 0 and kept:
                self.current[:] = kept[turn // 2 % len(kept)].numbers
            else:
                self.current[:] = self.rng.integers(-1, 2, size) * (self.rng.random(size) < self.rng.random())
            self._anneal(steps)
        planes = [self._plane(one) for one in self._kept()]
        return sorted(planes, key=lambda plane: plane.value)

    def _pairs(self, most: int) -> list[IntArray]:
        """The best sums and differences of two columns, of so many.

        If there are more, they are of the columns that the labels depend on most.
        """
        size = len(self.grid.columns)
        chosen = np.argsort(-self._dependence(), kind="stable")[: max(2, int((most / 2) ** 0.5))]
        table = np.full((2, 2, 2, size, size), np.inf)
        survey(
            self.unlabelled,
            self.weights,
            self.grid.labelled_places,
            self.price,
            self.squares,
            self.search.ranking.target,
            float(self.problem.count_penalty),
            self.scores,
            self.counts,
            np.sort(chosen),
            table,
            self.work,
        )
        self._spend(2 * len(chosen) ** 2)
        values, lengths = table
        found = []
        for at in np.argsort(values, axis=None, kind="stable")[:PAIRS]:
            one, other, i, j = np.unravel_index(at, values.shape)
            k = np.zeros(size, dtype=np.int64)
            k[i] += 1 - 2 * int(one)
            k[j] += (1 - 2 * int(other)) * int(i != j)
            self._keep(float(values.flat[at]), k, float(lengths.flat[at]))
            found.append(k)
        return found

    def _dependence(self) -> FloatArray:
        """How far the mean places of the two classes are apart in each column, in standard deviations."""
        places, positive = self.grid.labelled_places, self.price > 0.0
        if positive.all() or not positive.any():
            return np.zeros(len(places))
        apart = np.abs(places[:, positive].mean(axis=1) - places[:, ~positive].mean(axis=1))
        return np.asarray(apart / np.maximum(places.std(axis=1), 1e-9))

    def _anneal(self, steps: int) -> None:
        draws = self.rng.random((steps, DRAWS))
        anneal(
            self.unlabelled,
            self.weights,
            self.grid.labelled_places,
            self.price,
            self.squares,
            self.search.ranking.target,
            float(self.problem.count_penalty),
            self.current,
            self.best,
            self.scores,
            self.counts,
            draws,
            self.outcome,
            self.work,
        )
        self._spend(steps)
        divisor = max(gcd(*(int(k) for k in self.best)), 1)
        self._keep(float(self.outcome[0]), self.best // divisor, float(self.outcome[1]) * divisor)

    def _keep(self, value: float, k: IntArray, length: float) -> None:
        if length > 0.0 and np.isfinite(value):
            self.found[k.tobytes()] = Found(value, k, length)

    def _kept(self) -> list[Found]:
        return sorted(self.found.values(), key=lambda one: (one.value, one.numbers.tolist()))[:KEPT]

    def _rounded(self, w: FloatArray) -> IntArray:
        """The whole numbers up to ``ROUNDED`` that are nearest to a normal vector, the smaller the better."""
        numbers = np.asarray(w, dtype=float)[self.grid.columns] * self.grid.step
        size = float(np.abs(numbers).max(initial=0.0))
        numbers = numbers / (size if size > 0.0 else 1.0)
        errors = [float(np.abs(numbers - np.rint(k * numbers) / k).sum()) for k in range(1, ROUNDED + 1)]
        largest = 1 + next(k for k, error in enumerate(errors) if error <= 1.1 * min(errors) + 0.01)
        return np.asarray(np.rint(largest * numbers), dtype=np.int64)

    def _plane(self, found: Found) -> Plane:
        w = np.zeros(self.problem.d)
        w[self.grid.columns] = found.length * found.numbers / self.grid.step
        return self.search.plane(w)


@strict_kernel
def anneal(
    unlabelled: IntArray,
    weights: FloatArray,
    labelled: IntArray,
    price: FloatArray,
    squares: FloatArray,
    target: float,
    penalty: float,
    current: IntArray,
    best: IntArray,
    scores: IntArray,
    counts: FloatArray,
    draws: FloatArray,
    outcome: FloatArray,
    work: FloatArray,
) -> None:
    """Change one or two numbers at a time; worse planes are taken with ever smaller probability."""
    size, m, n = unlabelled.shape[0], unlabelled.shape[1], labelled.shape[1]
    scores[:] = 0
    for j in range(size):
        best[j] = current[j]
        for i in range(m):
            scores[0, i] += current[j] * unlabelled[j, i]
        for i in range(n):
            scores[0, m + i] += current[j] * labelled[j, i]
    here, least, length = np.inf, np.inf, 0.0
    steps = draws.shape[0]
    for step in range(-1, steps):
        first, second, up, also = 0, 0, 0, 0
        if step >= 0:
            first = int(draws[step, 0] * size)
            kind = draws[step, 1]
            up = 1 if draws[step, 2] < 0.5 else -1
            if kind < 0.1:
                up = -current[first]
            elif kind < 0.15:
                up = -2 * current[first]
            elif kind < 0.25:
                up *= 2
            elif kind > 0.6:
                second = int(draws[step, 3] * size)
                if second == first:
                    continue
                also = 1 if draws[step, 4] < 0.5 else -1
                if kind > 0.9:  # exchange them
                    up, also = current[second] - current[first], current[first] - current[second]
            if up == 0 and also == 0:
                continue
            if abs(current[first] + up) > LARGEST or abs(current[second] + also) > LARGEST:
                continue
        line, other = unlabelled[first], unlabelled[second]
        now, then = scores[0], scores[1]
        low, high = now[0] + up * line[0] + also * other[0], now[0] + up * line[0] + also * other[0]
        for i in range(m):
            s = now[i] + up * line[i] + also * other[i]
            then[i] = s
            low, high = min(low, s), max(high, s)
        line, other = labelled[first], labelled[second]
        for i in range(n):
            s = now[m + i] + up * line[i] + also * other[i]
            then[m + i] = s
            low, high = min(low, s), max(high, s)
        value, at = np.inf, 0.0
        square = 0.0
        if high - low < LEVELS and high > low:
            for j in range(size):
                k = current[j] + (up if j == first else 0) + (also if j == second else 0)
                square += k * k * squares[j]
            value, at = least_value(
                then, m, weights, price, square, low, high - low, target, penalty, counts, work
            )
        if step < 0:
            here = value
        else:
            heat = HOT * (COLD / HOT) ** (step / steps)
            if not value < here - heat * least * np.log(max(draws[step, 5], 1e-300)) and not (
                value < np.inf and here == np.inf
            ):
                continue
            here = value
            current[first] += up
            current[second] += also
            for i in range(m + n):
                now[i] = then[i]
        if here < least:
            least, length = here, at
            for j in range(size):
                best[j] = current[j]
    outcome[0], outcome[1] = least, length


@strict_kernel
def survey(
    unlabelled: IntArray,
    weights: FloatArray,
    labelled: IntArray,
    price: FloatArray,
    squares: FloatArray,
    target: float,
    penalty: float,
    scores: IntArray,
    counts: FloatArray,
    chosen: RowArray,
    table: FloatArray,
    work: FloatArray,
) -> None:
    """The value and the length of each sum and difference of two columns; one with itself stands alone."""
    m, n = unlabelled.shape[1], labelled.shape[1]
    then = scores[1]
    for a in range(len(chosen)):
        for b in range(a, len(chosen)):
            i, j = chosen[a], chosen[b]
            for one in range(2):
                for other in range(2 if j > i else 1):
                    up, also = 1 - 2 * one, 1 - 2 * other
                    if i == j:
                        also = 0
                    low, high = up * unlabelled[i, 0], up * unlabelled[i, 0]
                    for r in range(m):
                        s = up * unlabelled[i, r] + also * unlabelled[j, r]
                        then[r] = s
                        low, high = min(low, s), max(high, s)
                    for r in range(n):
                        s = up * labelled[i, r] + also * labelled[j, r]
                        then[m + r] = s
                        low, high = min(low, s), max(high, s)
                    if low < high < low + LEVELS:
                        square = squares[i] + (squares[j] if i != j else 0.0)
                        value, length = least_value(
                            then, m, weights, price, square, low, high - low, target, penalty, counts, work
                        )
                        table[0, one, other, i, j], table[1, one, other, i, j] = value, length


@strict_kernel
def least_value(
    scores: IntArray,
    m: int,
    weights: FloatArray,
    price: FloatArray,
    square: float,
    low: int,
    highest: int,
    target: float,
    penalty: float,
    counts: FloatArray,
    work: FloatArray,
) -> tuple[float, float]:
    """The value of the best plane with these scores that lies near the wanted total, and its length."""
    count, positive, negative = counts[0], counts[1], counts[2]
    for level in range(highest + 1):
        count[level] = 0.0
        positive[level] = 0.0
        negative[level] = 0.0
    for i in range(m):
        count[scores[i] - low] += weights[i]
    mass, pull, balance = 0.0, 0.0, 0.0
    for i in range(len(price)):
        level = scores[m + i] - low
        pull += price[i] * level
        balance += price[i]
        if price[i] > 0.0:
            positive[level] += price[i]
            mass += price[i]
        else:
            negative[level] -= price[i]
            mass -= price[i]
    above, level = 0.0, highest
    while level > 0 and above + count[level] < target:
        above += count[level]
        level -= 1
    value, length = np.inf, 0.0
    touched = 4 * (highest + 1)
    for turn in range(2):  # down from there, then up
        total, place = above, 2 * level
        for _ in range(BESIDE):
            if turn == 1:
                place += 1
                if place > 2 * highest:
                    break
                if place % 2 == 0:
                    total -= count[place // 2]
            on = count[place // 2] if place % 2 == 0 else 0.0
            cost = penalty * max(0.0, total - target, target - total - on)
            if cost < value:
                touched += 2 * highest
                found, size = shortest(
                    positive, negative, mass, pull - 0.5 * place * balance, place, highest, square
                )
                if found + cost < value:
                    value, length = found + cost, size
            if turn == 0:
                if place % 2 == 0:
                    total += count[place // 2]
                place -= 1
                if place < 0:
                    break
    work[0] += touched
    return value, length


@strict_kernel
def shortest(
    positive: FloatArray,
    negative: FloatArray,
    mass: float,
    pull: float,
    place: int,
    highest: int,
    square: float,
) -> tuple[float, float]:
    """The least value of a plane at that place, in half steps, over its length; and that length.

    ``mass`` is the price of the labelled rows within their margins, at first of all, and ``pull`` what a unit
    of length is worth to them; as it grows rows meet their margins, those farthest on their own side first.
    """
    farthest = max(place, 2 * highest - place)
    length = 0.0
    for t in range(farthest - (farthest + place) % 2, 0, -2):
        met = 0.0
        if place + t <= 2 * highest:
            met += positive[(place + t) // 2]
        if place - t >= 0:
            met += negative[(place - t) // 2]
        if met == 0.0:
            continue
        if pull <= square * (2.0 / t):
            break
        length = 2.0 / t
        pull -= met * 0.5 * t
        mass -= met
        if pull <= square * length:
            return 0.5 * square * length * length + mass - length * pull, length
    length = max(pull / square, 0.0)
    return 0.5 * square * length * length + mass - length * pull, length
