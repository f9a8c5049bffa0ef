"""Write a proof of optimality that :func:`cs3vm.verify` can check without trusting this engine.

Given the optimal value, the tree is searched once more with the plainest rules: relaxations, single flips,
the order-statistic bound, fixings, branching. Every bound that is used is written with its multipliers.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from secrets import token_hex
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray, SignArray
from ...convex.svm import balanced, dual_bound
from ...exceptions import OutputError
from ...model.problem import Problem
from ...model.result import Result
from ...proofs.format import FORMAT, VERSION, digest
from ..core.active_set import TO_THE_END, copy_state, reset, set_sides, solve
from ..core.arrays import INTERCEPT
from ..core.relaxation import Relaxation
from ..jit import NO_ROW

#: Values are compared with the cutoff after losing this much, so that the checker's rounding agrees.
MARGIN = 1e-12
_MAX_PIVOTS = 5000


def write_proof(
    best: Result, path: str | Path, *, note: str = "", gap: float = 1e-6, deadline: float = np.inf
) -> bool:
    """Prove that nothing lies below ``best`` by more than 0.9 × the gap; False if the time was too short."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{token_hex(6)}.tmp")  # of this run only
    try:
        with gzip.open(part, "xb", compresslevel=4) as file:
            prover = _Prover(best, note, file, best.objective * (1.0 - 0.9 * gap), deadline)
            complete = prover.run()
        if complete:
            os.replace(part, path)
        return complete
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


class _Node:
    """Sides, and the best known values of single flips: to the negative (0) and the positive (1) side."""

    def __init__(self, side: SignArray, flip: FloatArray, planes: FloatArray, value: float) -> None:
        self.side, self.flip, self.planes, self.value = side, flip, planes, value
        self.reference: NDArray[np.bool_] = np.zeros(len(side), dtype=bool)
        self.todo: list[int] = []  # sides of the branching row still to be visited
        self.row = -1

    def hold(self, row: int, side: int) -> None:
        """Put a row on a side; its flip value there is one of the node from now on."""
        self.side[row] = side
        self.value = max(self.value, float(self.flip[(side + 1) // 2, row]))

    def child(self, side: int) -> _Node:
        child = _Node(self.side.copy(), self.flip.copy(), self.planes.copy(), self.value)
        child.hold(self.row, side)
        return child


class _Prover:
    def __init__(self, best: Result, note: str, file: gzip.GzipFile, cutoff: float, deadline: float) -> None:
        assert best.coef is not None
        assert best.z is not None
        self.problem, self.level, self.file = best.problem, best.objective, file
        self.cutoff, self.deadline = cutoff, deadline
        self.stop = 1.01 * self.level + 1e-6  # no value beyond it is of use
        self.relaxation = Relaxation(self.problem)
        self.sha = hashlib.sha256()
        self._write(
            {
                "format": FORMAT,
                "version": VERSION,
                "note": note,
                "problem": digest(self.problem),
                "objective": best.objective,
                "cutoff": cutoff,
                "coef": best.coef.tolist(),
                "intercept": best.intercept,
                "z": best.z.tolist(),
            }
        )

    def _write(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        self.sha.update(line)
        self.file.write(line)

    def run(self) -> bool:
        """Visit the tree depth first; False if the deadline came first."""
        m, rank = self.problem.m, self.relaxation.rows.Z.shape[1]
        root = _Node(np.array(self.problem.side), np.zeros((2, m)), np.full((2, m, rank + 1), np.nan), 0.0)
        path = [root]
        open_ = self._examine(root)
        while path:
            if perf_counter() > self.deadline:
                return False
            node = path[-1]
            if open_ and not node.todo and node.row < 0 and not self._choose(node):
                return False  # rounding left a leaf that cannot be closed
            if node.todo:
                side = node.todo.pop()
                self._write({"t": "branch", "row": node.row, "side": side})
                child = node.child(side)
                path.append(child)
                open_ = self._examine(child)
            else:
                self._write({"t": "close"})
                path.pop()
                open_ = False
        self.file.write(json.dumps({"sha256": self.sha.hexdigest()}).encode() + b"\n")
        return True

    # -- one node --------------------------------------------------------------------------------
    def _examine(self, node: _Node) -> bool:
        """Bound and fix until nothing changes; whether the node is still open."""
        while perf_counter() <= self.deadline:
            scores = self._relax(node)
            free = node.side == 0
            node.reference = free & (scores > 0)
            self._write({"t": "reference", "positive": np.flatnonzero(node.reference).tolist()})
            bounds = _Bounds(self.problem, node)
            if bounds.all >= self.cutoff:
                return False
            self._flip(node, bounds.candidates, bounds.to)
            bounds = _Bounds(self.problem, node)
            if bounds.all >= self.cutoff:
                return False
            fixed = self._fix(node, bounds)
            if not fixed:
                return True
        return True

    def _relax(self, node: _Node) -> FloatArray:
        """Solve the relaxation of the node, write its value, return the scores of the unlabelled rows."""
        r = self.relaxation
        n = self.problem.n
        set_sides(r.box, np.arange(n, n + self.problem.m), node.side)
        self.held = n + np.flatnonzero(node.side).astype(np.int64)
        reset(r.base)
        solve(
            r.rows,
            r.box,
            r.base,
            r.tmp,
            self.held,
            len(self.held),
            self.stop,
            _MAX_PIVOTS,
            TO_THE_END,
            NO_ROW,
        )
        node.value = max(node.value, self._record(r.base.c, None))
        return np.asarray(r.rows.Z[n:] @ r.base.w + r.base.value[INTERCEPT])

    def _flip(self, node: _Node, rows: NDArray[np.intp], sides: NDArray[np.intp]) -> None:
        """Evaluate single flips whose known value may have grown since it was computed."""
        r = self.relaxation
        n, rank = self.problem.n, r.rows.Z.shape[1]
        Z, signs = r.rows.Z[self.held], node.side[self.held - n]
        for j, to in zip(rows, sides, strict=True):
            side = (to + 1) // 2
            plane = node.planes[side, j]
            if node.flip[side, j] >= self.cutoff:
                continue
            known = not np.isnan(plane[0])
            if known and np.all(signs * (Z @ plane[:rank] + plane[rank]) >= r.rows.margin - 1e-8):
                continue  # its solution satisfies what was fixed since: the value is the same
            copy_state(r.base, r.spare)
            set_sides(r.box, n + j, to)
            args = r.rows, r.box, r.spare, r.tmp, self.held, len(self.held)
            solve(*args, self.stop, _MAX_PIVOTS, TO_THE_END, n + j)
            node.flip[side, j] = max(node.flip[side, j], self._record(r.spare.c, (int(j), int(to))))
            plane[:rank], plane[rank] = r.spare.w, r.spare.value[INTERCEPT]
            set_sides(r.box, n + j, 0)

    def _record(self, c: FloatArray, flip: tuple[int, int] | None) -> float:
        """Write the multipliers of a relaxation; return the bound they give."""
        problem, n = self.problem, self.problem.n
        alpha = np.clip(problem.y * c[:n], 0.0, problem.C)
        beta = c[n:].copy()
        hi, lo = self.relaxation.box.hi[n:], self.relaxation.box.lo[n:]
        beta = np.clip(beta, lo, hi)
        alpha, beta = balanced(problem, alpha, beta)
        value = dual_bound(problem, alpha, beta, self.level) * (1.0 - MARGIN)
        self._write(
            {
                "t": "value",
                **({} if flip is None else {"flip": flip}),
                "alpha": [(int(i), float(alpha[i])) for i in np.flatnonzero(alpha)],
                "beta": [(int(j), float(beta[j])) for j in np.flatnonzero(beta)],
            }
        )
        return max(0.0, value)

    def _fix(self, node: _Node, bounds: _Bounds) -> bool:
        """Fix candidates that cannot flip, and those that must."""
        fixed = bounds.cannot_flip(self.cutoff)
        for j, side in fixed:
            self._write({"t": "fix", "row": j, "side": side})
            node.hold(j, side)
        while (found := _Bounds(self.problem, node).must_flip(self.cutoff)) is not None:
            row, side = found
            self._write({"t": "fix", "row": row, "side": side})
            node.hold(row, side)
            fixed.append(found)
        return bool(fixed)

    def _choose(self, node: _Node) -> bool:
        """Branch on the candidate whose flip costs most: the flipped child dies soon."""
        bounds = _Bounds(self.problem, node)
        if len(bounds.candidates):
            node.row, to = int(bounds.candidates[-1]), int(bounds.to[-1])
        else:
            free = np.flatnonzero(node.side == 0)
            if len(free) == 0:
                return False
            node.row, to = int(free[np.argmax(node.flip[:, free].max(axis=0))]), 1
        node.todo = [-to, to]  # the flipped side first: it comes off the end
        return True


class _Bounds:
    """The order statistic of a node's single flips (all values ascending)."""

    def __init__(self, problem: Problem, node: _Node) -> None:
        totals, side = problem.totals, node.side
        free = side == 0
        reference = node.reference & free
        counts = totals.counts((side > 0) | reference)
        over, short = counts - totals.high, totals.low - counts
        self.totals, self.value = totals, node.value
        self.sign = np.where(over > 0, 1, np.where(short > 0, -1, 0))
        self.missed = np.maximum(0.0, np.maximum(over, short))
        self.unavoidable = totals.least_misses(side)
        self.slack = 2.0**-49 * (problem.m + 2) * totals.weight
        # a free row is a candidate where its flip mends a total
        mends = np.zeros(problem.m, dtype=bool)
        for sign, rows in zip(self.sign, totals.rows, strict=True):
            if sign != 0:
                mends[rows] |= reference[rows] == (sign > 0)
        candidates = np.flatnonzero(mends & free)
        to = np.where(reference[candidates], -1, 1)  # the side that they flip to
        values = np.maximum(node.flip[(to + 1) // 2, candidates], node.value)
        order = np.argsort(values)
        self.candidates, self.to, self.values = candidates[order], to[order], values[order]
        self.mended = self._mended()
        self.costs = self.values + self.price(np.cumsum(self.mended, axis=1))
        self.none = node.value + float(self.price(np.zeros((len(totals), 1)))[0])
        self.all = min(self.none, float(self.costs.min(initial=np.inf))) * (1.0 - MARGIN)

    def _mended(self) -> FloatArray:
        """By how much each candidate mends each total."""
        mended = np.zeros((len(self.totals), len(self.candidates)))
        place = np.full(len(self.totals.weights), -1)
        place[self.candidates] = np.arange(len(self.candidates))
        for g, rows in enumerate(self.totals.rows):
            own = place[rows][place[rows] >= 0]
            own = own[self.to[own] == -self.sign[g]]
            mended[g, own] = self.totals.weights[self.candidates[own]]
        return mended

    def price(self, gone: FloatArray) -> FloatArray:
        """What the totals cost at least once these weights have gone (one row per total)."""
        missed = np.maximum(self.unavoidable[:, None], self.missed[:, None] - gone)
        return np.asarray(self.totals.penalty @ np.maximum(missed - self.slack[:, None], 0.0))

    def cannot_flip(self, cutoff: float) -> list[tuple[int, int]]:
        """Candidates (and their side) such that every labeling in which they flip costs too much."""
        cheapest = np.minimum.accumulate(self.costs[::-1])[::-1]
        stay = cheapest * (1.0 - MARGIN) >= cutoff
        return [(int(j), -int(to)) for j, to in zip(self.candidates[stay], self.to[stay], strict=True)]

    def must_flip(self, cutoff: float) -> tuple[int, int] | None:
        """The cheapest candidate and where it goes, if every labeling in which it stays costs too much."""
        if len(self.candidates) == 0:
            return None
        rest = self.values[1:] + self.price(np.cumsum(self.mended[:, 1:], axis=1))
        stays = min(self.none, float(rest.min(initial=np.inf))) * (1.0 - MARGIN)
        return (int(self.candidates[0]), int(self.to[0])) if stays >= cutoff else None
