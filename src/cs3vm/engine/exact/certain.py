"""Rows that are on the same side in every point below a cutoff, from what it costs to force each one over.

The root of a proof with a cutoff *above* the best point: the same relaxations, single flips and fixings as in
:mod:`cs3vm.engine.exact.proof_writer`, but nothing is closed. What is fixed is the answer: every point with
such a row on the other side costs at least the cutoff. A row that the root cannot fix may still be proven by
a tree below it in which the row is on the other side and every node is closed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from ..._typing import FloatArray, SignArray
from ...exceptions import OutputError
from ...model.problem import Problem
from ...model.result import Result
from ...proofs.format import CERTAIN, FORMAT, VERSION, digest
from ..core.arrays import WORK
from ..core.relaxation import Relaxation
from .proof_writer import MARGIN, _Bounds, _Node, _Prover

#: Bounds are computed for a level so far above the cutoff, so that none of them is cut off right there.
HEADROOM = 1.01
#: So many kinds of rows (by totals and weight) are looked at besides the candidates.
KINDS = 2000


class RootProver(_Prover):
    """Fixes rows at the root of a tree, and writes a proof of it if it has a file."""

    def __init__(
        self, best: Result, share: float, work_limit: float, file: gzip.GzipFile | None = None, note: str = ""
    ) -> None:
        assert best.coef is not None
        assert best.z is not None
        self.best, self.problem, self.sink = best, best.problem, file
        self.cutoff, self.deadline, self.work_limit = cutoff_of(best, share), np.inf, work_limit
        self.level = HEADROOM * self.cutoff + 1e-9
        self.stop = HEADROOM * self.level + 1e-6
        self.relaxation = Relaxation(self.problem)
        self.sha = hashlib.sha256()
        self.waiting: list[dict[str, Any]] | None = None  # records of a tree that may come to nothing
        self._write(
            {
                "format": FORMAT,
                "version": VERSION,
                "kind": CERTAIN,
                "note": note,
                "problem": digest(self.problem),
                "objective": best.objective,
                "cutoff": self.cutoff,
                "coef": best.coef.tolist(),
                "intercept": best.intercept,
                "z": best.z.tolist(),
            }
        )
        m, rank = self.problem.m, self.relaxation.rows.Z.shape[1]
        planes = np.full((2, m, rank + 1), np.nan)
        self.root = _Node(np.array(self.problem.side), np.zeros((2, m)), planes, 0.0)

    @property
    def side(self) -> SignArray:
        """The side of each row that is fixed, and 0 of the others."""
        return self.root.side

    @property
    def work(self) -> int:
        """The numbers touched so far."""
        return int(self.relaxation.tmp.counter[WORK])

    def planes(self) -> FloatArray:
        """Normal vectors of the flip solutions, in the coordinates of the problem."""
        known = self.root.planes.reshape(-1, self.root.planes.shape[2])
        return np.asarray(known[~np.isnan(known[:, 0]), :-1] @ self.relaxation.axes.T)

    # -- the root --------------------------------------------------------------------------------
    def fix_rows(self) -> None:
        """Bound and fix until nothing changes or the work is done."""
        node = self.root
        while self.work < self.work_limit and np.any(node.side == 0):
            scores = self._relax(node)
            node.reference = (node.side == 0) & (scores > 0)
            self._write({"t": "reference", "positive": np.flatnonzero(node.reference).tolist()})
            free = np.flatnonzero(node.side == 0)
            far_first = free[np.argsort(-np.abs(scores[free]), kind="stable")]
            for j in far_first:  # near ones are the least likely to be certain
                if self.work >= self.work_limit:
                    break
                self._flip(node, np.array([j]), np.array([-1 if node.reference[j] else 1]))
            if not self._fix_all(node):
                break

    def _fix_all(self, node: _Node) -> bool:
        """Fix the rows that cannot leave the reference, and candidates that must."""
        cannot = staying(self.problem, node, self.cutoff)
        for j in cannot.tolist():
            self._fix_row(node, j, 1 if node.reference[j] else -1)
        return self._fix(node, _Bounds(self.problem, node)) or len(cannot) > 0

    def _fix_row(self, node: _Node, row: int, side: int) -> None:
        self._write({"t": "fix", "row": row, "side": side})
        node.hold(row, side)

    # -- below the root --------------------------------------------------------------------------
    def refute(self, row: int, side: int, work: float) -> bool:
        """Show by a tree that the row cannot be on this side; False if that takes more than this work."""
        root, limit = self.root, self.work + work
        self.waiting = [{"t": "branch", "row": row, "side": side}]
        root.row = row
        first = root.child(side)
        root.row = -1
        path, open_ = [first], self._examine(first)
        while path:
            node = path[-1]
            spent = self.work >= limit or len(self.waiting) > 20_000
            if spent or (open_ and not node.todo and node.row < 0 and not self._choose(node)):
                self.waiting = None
                return False
            if node.todo:
                to = node.todo.pop()
                self._write({"t": "branch", "row": node.row, "side": to})
                path.append(node.child(to))
                open_ = self._examine(path[-1])
            else:
                self._write({"t": "close"})
                path.pop()
                open_ = False
        records, self.waiting = self.waiting, None
        for record in records:
            self._write(record)
        self._fix_row(root, row, -side)
        return True

    # -- the file --------------------------------------------------------------------------------
    def _write(self, record: dict[str, Any]) -> None:
        if self.sink is None:
            return
        if self.waiting is not None:
            self.waiting.append(record)
            return
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        self.sha.update(line)
        self.sink.write(line)

    def finish(self) -> None:
        """Write the checksum."""
        if self.sink is not None:
            self.sink.write(json.dumps({"sha256": self.sha.hexdigest()}).encode() + b"\n")


def cutoff_of(best: Result, share: float) -> float:
    """The value below which all points are looked at."""
    return best.objective * (1.0 + share)


def staying(problem: Problem, node: _Node, cutoff: float) -> np.ndarray:
    """The free rows such that every labeling in which they leave the reference costs at least the cutoff.

    Candidates, whose flips mend a total: the order statistic. Of the others a flip makes missed totals worse
    by the weight e of the row, which the candidates must make up for: with v the value of its flip, the cost
    is at least that of the cheapest i, max(v, v_i) and what is still missed once all up to i are over.
    """
    bounds, totals = _Bounds(problem, node), problem.totals
    found = [np.array([row for row, _ in bounds.cannot_flip(cutoff)], dtype=np.intp)]
    others = np.setdiff1d(np.flatnonzero(node.side == 0), bounds.candidates)
    to = np.where(node.reference[others], -1, 1)
    values = np.maximum(node.flip[(to + 1) // 2, others], node.value)
    sorted_ = np.append(bounds.value, bounds.values)
    gone = np.column_stack([np.zeros(len(totals)), np.cumsum(bounds.mended, axis=1)])
    kinds = np.column_stack([totals.cells[others], to, problem.weights[others]])
    for number, kind in enumerate(np.unique(kinds, axis=0)):
        rows = np.flatnonzero(np.all(kinds == kind, axis=1))
        own = totals.of(int(others[rows[0]]))
        worse = np.zeros(len(totals))
        worse[own[bounds.sign[own] == kind[1]]] = kind[2]
        price = bounds.price(gone - worse[:, None])
        rest = np.append(np.minimum.accumulate((sorted_ + price)[::-1])[::-1], np.inf)
        cheaper = np.searchsorted(sorted_, values[rows], side="right")  # at least 1: none flips
        cost = np.minimum(values[rows] + price[cheaper - 1], rest[cheaper]) * (1.0 - MARGIN)
        found.append(others[rows[cost >= cutoff]])
        if number >= KINDS:
            break
    return np.sort(np.concatenate(found))


@contextmanager
def certificate(path: str | Path | None) -> Iterator[tuple[gzip.GzipFile | None, list[bool]]]:
    """A file for the proof, which is there in the end only if something was put into the list beside it."""
    keep: list[bool] = []
    if path is None:
        yield None, keep
        return
    path = Path(path)
    part = path.with_name(f".{path.name}.{token_hex(6)}.tmp")  # of this run only
    try:
        with gzip.open(part, "xb", compresslevel=4) as file:
            yield file, keep
        if keep:
            os.replace(part, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
