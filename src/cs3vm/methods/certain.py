"""Which sides are certain: the same in every point that is nearly as good as the best one known.

Three things are done, each within its work. Rows are fixed at the root of a tree: a theorem. Of the rows that
are left the nearest to the plane are put on their other side, and the heuristic looks for a point there: what
it finds shows that rows change. And the farthest are put there, and the exact search shows that no such point
exists: a theorem again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._typing import BoolArray, FloatArray, SignArray
from ..exceptions import InvalidProblemError
from ..model.problem import Problem
from ..model.result import Result, answer
from ..model.status import Status

#: How far above the best objective points are looked at.
SHARE = 0.05
#: The work of all, so that every machine does the same: some seconds.
WORK = 4e8
#: What the root may take of it, and the search for points; the proofs of single rows get the rest.
ROOT_PART, FIND_PART = 0.3, 0.6
#: The work of one search for a point, and of one proof.
FIND, PROVE = 1e7, 3e7
#: After so many searches, or proofs, in vain in a row there are no more.
PATIENCE = 12
#: Larger problems are not looked at: even the flips of the root would take too long.
MOST_ROWS = 20_000
#: So many planes of flips are looked at.
MOST_PLANES = 500
#: So many planes near the best one are looked at.
SHAKES = 400
#: The exact search closes nodes this much below its cutoff.
SAFETY = 2e-6


@dataclass(frozen=True, eq=False)
class CertainSides:
    """What is known about the side of each unlabelled row in all points below the cutoff."""

    side: SignArray  #: the side of rows that are certain, 0 for the others
    changes: BoolArray  #: rows on the other side in some point below the cutoff
    share: float
    cutoff: float
    work: float = 0.0
    certified: int = 0  #: rows whose certainty a file proves

    @property
    def certain(self) -> BoolArray:
        """Which rows are certain."""
        return np.asarray(self.side != 0)


def certain_sides(
    best: Result,
    share: float = SHARE,
    *,
    work_limit: float = WORK,
    proof: str | Path | None = None,
    note: str = "",
) -> CertainSides:
    """Find the rows that have one side in every point with an objective below (1 + share) · that of ``best``.

    It is a theorem, in floating point: rounding is allowed for. Rows of which neither this nor the opposite
    is found are unknown.

    Parameters
    ----------
    best
        A result with an answer. It need not be optimal.
    share
        How far above its objective points are looked at.
    work_limit
        Stop after so many numbers touched.
    proof
        Write a proof for :func:`cs3vm.verify` to this file, if any row is certain. Rows for which the plain
        rules of proofs do not suffice are left out of it; ``certified`` counts the others.
    note
        A remark to be kept in the proof.
    """
    if not 0.0 < share < np.inf:
        raise InvalidProblemError(f"share must be a positive number, such as 0.05, got {share!r}")
    problem = best.problem
    nothing = np.zeros(problem.m, dtype=np.int8)
    free = best.objective <= 1e-9 * float(problem.C.sum())  # a share of nothing is nothing
    if not best.found or free or problem.norm != "l2" or not 0 < problem.m <= MOST_ROWS:
        return CertainSides(nothing, nothing > 0, share, best.objective * (1.0 + share))
    from ..engine.exact.certain import RootProver, certificate
    from ..solvers.bnb_ import prepare

    prepare()
    with certificate(proof) as (file, keep):
        prover = RootProver(best, share, ROOT_PART * work_limit, file, note)
        prover.fix_rows()
        search = _Search(best, prover.cutoff, prover.side.copy(), work_limit - prover.work)
        search.look_at(prover.planes())
        search.shake()
        search.find()
        search.prove()
        certified = 0
        if file is not None:
            for j in np.flatnonzero((search.side != 0) & (prover.side == 0)).tolist():
                if prover.work < work_limit:
                    prover.refute(j, -int(search.side[j]), PROVE)
            prover.finish()
            certified = int(np.sum((prover.side != 0) & (problem.side == 0)))
            keep += [True] if certified else []
    side = np.where(problem.side == 0, search.side, problem.side)
    return CertainSides(
        side.astype(np.int8),
        search.changes,
        share,
        prover.cutoff,
        float(prover.work + search.work),
        certified,
    )


class _Search:
    """Looks for points below the cutoff with rows on their other side."""

    def __init__(self, best: Result, cutoff: float, side: SignArray, work_limit: float) -> None:
        assert best.z is not None
        self.best, self.problem, self.cutoff, self.side = best, best.problem, cutoff, side
        self.own = np.asarray(best.z) > 0
        self.changes = np.zeros(self.problem.m, dtype=bool)
        self.work, self.work_limit = 0.0, work_limit

    def look_at(self, planes: FloatArray) -> None:
        """Take planes as answers: rows that they have elsewhere may change."""
        for w in planes[:: max(1, len(planes) // MOST_PLANES)]:
            self._learn(answer(self.problem, w, Status.FEASIBLE))
            self.work += self.problem.m * (self.problem.d + 20.0)
            if self.work >= 0.5 * self.work_limit or not self._any_open():
                break

    def shake(self) -> None:
        """Turn the plane a little, each time another way, and take what comes as an answer.

        Turns become smaller where nothing good comes of them, and larger where much does.
        """
        rng, w = np.random.default_rng(0), np.asarray(self.best.coef)
        size, length = 0.1, float(np.linalg.norm(w))
        for _ in range(SHAKES):
            if self.work >= 0.3 * self.work_limit or not self._any_open():
                break
            turn = rng.normal(size=len(w))
            turn *= size * length / max(float(np.linalg.norm(turn)), 1e-300)
            found = self._learn(answer(self.problem, w + turn, Status.FEASIBLE))
            size = min(1.0, 1.15 * size) if found else max(1e-6, size / 1.05)
            self.work += self.problem.m * (self.problem.d + 20.0)

    def _learn(self, found: Result | None) -> bool:
        """Whether a point is below the cutoff; then the rows that it has elsewhere change."""
        if found is None or found.z is None or not found.objective < self.cutoff or not _fits(found):
            return False
        self.changes |= (np.asarray(found.z) > 0) != self.own
        return True

    def find(self) -> None:
        """Put rows on their other side, the nearest first, and look for a good point there."""
        from .direct import direct

        limit, vain = self.work + FIND_PART * (self.work_limit - self.work), 0
        for j in self._by_distance().tolist():
            if self.work >= limit or vain >= PATIENCE:
                return
            if self._is_open(j):
                start = np.asarray(self.best.coef)
                found = direct(
                    self._with_other_side(j),
                    starts=[start],
                    time_limit=np.inf,
                    work_limit=FIND,
                    patience=1,
                    nodes=0,
                )
                self.work += max(found.work, FIND)
                vain = 0 if self._learn(_without_sides(found, self.problem)) else vain + 1

    def prove(self) -> None:
        """Put rows on their other side, the farthest first, and show that no good point is there."""
        from ..solvers.bnb_ import solve

        vain = 0
        for j in self._by_distance()[::-1].tolist():
            if self.work >= self.work_limit or vain >= PATIENCE:
                return
            if self._is_open(j):
                there = self._with_other_side(j)
                found = solve(
                    there,
                    cutoff=self.cutoff * (1.0 + SAFETY),
                    first_improvement=True,
                    time_limit=np.inf,
                    work_limit=PROVE,
                )
                self.work += max(found.work, 0.1 * PROVE)
                if found.status is Status.CUTOFF and found.lower_bound >= self.cutoff:
                    self.side[j] = -there.side[j]
                    vain = 0
                else:
                    vain = 0 if self._learn(_without_sides(found, self.problem)) else vain + 1

    def _by_distance(self) -> np.ndarray:
        """The rows, nearest to the plane first."""
        scores = self.problem.scores(np.asarray(self.best.coef), self.best.intercept)
        return np.argsort(np.abs(scores), kind="stable")

    def _is_open(self, j: int) -> bool:
        return self.side[j] == 0 and not self.changes[j]

    def _any_open(self) -> bool:
        return bool(np.any((self.side == 0) & ~self.changes))

    def _with_other_side(self, j: int) -> Problem:
        """The problem with the row on its other side; those that are certain stay where they are."""
        side = self.side.copy()
        side[j] = -1 if self.own[j] else 1
        return self.problem.with_side(side)


def _without_sides(found: Result, problem: Problem) -> Result | None:
    """The point that was found, if any, as one of the problem itself."""
    if not found.found:
        return None
    return Result(problem, Status.FEASIBLE, found.coef, found.intercept, found.z)


def _fits(found: Result) -> bool:
    """Whether its sides are those that its plane can have, up to rounding."""
    from ..convex.gate import allowed_violation

    assert found.coef is not None
    return found.violation <= allowed_violation(found.problem, found.coef, found.intercept)
