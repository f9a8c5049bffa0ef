r"""Check a proof of optimality. Nothing here shares code with the engine that wrote the proof.

A proof shows that no point of the problem has an objective below ``cutoff``. It is a walk through a tree of
nodes, each holding some unlabelled rows on a side. It states only what the checker can recompute:

- **value** – multipliers of a relaxation (an SVM with the node's sides held, and perhaps one more row). Any
  multipliers give a lower bound by weak duality, which is recomputed in exact integer arithmetic. It holds
  in the node and everywhere below it.
- **reference** – a labeling of the free rows, against which other labelings are measured. With k what its
  count misses of a total, a labeling that flips the rows S misses it by at least k - the weight of those in S
  that bring the count nearer, and costs at least the value of every single flip in it. Several totals add up.
- **fix** – a row must be on a side, because every labeling with it on the other costs at least ``cutoff``.
- **branch**, **close** – the two sides of a row; a node is closed when its bound reaches ``cutoff``, or when
  both its children are closed.

A proof of *certain rows* has a cutoff above the incumbent and never closes its root. What is fixed there is
what it shows: every point below the cutoff has these rows on these sides. A row may then also be fixed
because the child with its other side was closed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ..model.problem import Problem
from .exact_dual import ExactDual, Refuted
from .format import CERTAIN, FORMAT, VERSION, digest

#: How far the incumbent's rows may lie on the wrong side, relative to 1 + the largest score: optimal points
#: have rows exactly on the plane, and rounding decides on which side. ``Verdict.violation`` tells how far.
VIOLATION = 1e-7


@dataclass(frozen=True)
class Verdict:
    """What the checker found."""

    confirmed: bool
    message: str
    lower_bound: float = 0.0  #: no point has a smaller objective (if confirmed)
    objective: float = inf  #: of the incumbent, recomputed
    violation: float = inf  #: δ: how far the incumbent's worst row lies on the wrong side
    n_values: int = 0
    n_fixings: int = 0
    n_nodes: int = 0
    #: of a proof of certain rows, if confirmed: the side of each row in every point below its cutoff, or 0
    side: np.ndarray | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.confirmed


def verify(problem: Problem, proof: str | Path) -> Verdict:
    """Confirm or refute that the proof's incumbent is optimal for this problem, to the proof's cutoff.

    Of a proof of certain rows: that each of them has one side in every point below the proof's cutoff.
    """
    problem.require_l2("a proof for verify()", "its bounds are in Result.lower_bound")
    checker: _Checker | None = None
    try:
        lines = _lines(Path(proof))
        header = next(lines, {})
        if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("version") != VERSION:
            raise Refuted(f"not a proof file of version {VERSION}")
        if header.get("problem") != digest(problem):
            raise Refuted("the proof belongs to another problem")
        checker = (_CertainRows if header.get("kind") == CERTAIN else _Checker)(problem, header)
        for record in lines:
            checker.take(record)
        checker.finish()
    except Refuted as reason:
        return _verdict(checker, False, f"refuted: {reason}")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        return _verdict(checker, False, f"refuted: the file cannot be read ({error})")
    except Exception as error:  # whatever a hostile file makes of us, it proves nothing
        return _verdict(checker, False, f"refuted: malformed record ({type(error).__name__}: {error})")
    note = f"; {header['note']}" if header.get("note") else ""
    return _verdict(checker, True, f"confirmed: {checker.shown}{note}")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records; the last line must be the checksum of all that stands before it."""
    sha = hashlib.sha256()
    end = None
    with gzip.open(path, "rb") as file:
        for line in file:
            if end is not None:
                raise Refuted("there is text after the checksum")
            record = json.loads(line)
            if not isinstance(record, dict):
                raise Refuted("a record is no object")
            if "sha256" in record:
                end = record["sha256"]
                continue
            sha.update(line)
            yield record
    if end != sha.hexdigest():
        raise Refuted("the checksum does not fit: the file is truncated or was changed")


def _verdict(checker: _Checker | None, confirmed: bool, message: str) -> Verdict:
    if checker is None:
        return Verdict(confirmed, message)
    bound = checker.lower_bound if confirmed else 0.0
    counts = checker.n_values, checker.n_fixings, checker.n_nodes
    side = checker.certain if confirmed else None
    return Verdict(confirmed, message, bound, checker.objective, checker.violation, *counts, side)


@dataclass
class _Node:
    """What is known at a node: sides, single-flip values by side, the value with no flip."""

    side: np.ndarray
    flip: np.ndarray  # (2, m): row 0 for the value with the row held negative, row 1 for positive
    value: float = 0.0
    reference: np.ndarray | None = None
    branch: int | None = None
    closed_children: set[int] = field(default_factory=set)

    def hold(self, row: int, side: int) -> None:
        """Put a row on a side: what its flip there costs, every point of the node now costs."""
        self.side[row] = side
        self.value = max(self.value, float(self.flip[(side + 1) // 2, row]))

    def child(self, row: int, side: int) -> _Node:
        child = _Node(self.side.copy(), self.flip.copy(), self.value, self.reference)
        child.hold(row, side)
        return child


class _Checker:
    def __init__(self, problem: Problem, header: dict[str, Any]) -> None:
        self.problem = problem
        self.cutoff, self.level = float(header["cutoff"]), float(header["objective"])
        w, b = np.array(header["coef"], dtype=float), float(header["intercept"])
        z = np.array(header["z"])
        if w.shape != (problem.d,) or z.shape != (problem.m,) or not np.all((z == 0) | (z == 1)):
            raise Refuted("the incumbent is no point of this problem")
        z = z.astype(np.int8)
        self.objective, self.violation = problem.objective(w, b, z), problem.violation(w, b, z)
        self._check_incumbent(w, b)
        self.arithmetic = ExactDual(problem, max(self.level, self.cutoff))
        m = problem.m
        self.path = [_Node(problem.side.astype(np.int8), np.zeros((2, m)))]
        self.closed = False
        self.n_values = self.n_fixings = 0
        self.n_nodes = 1

    def _check_incumbent(self, w: np.ndarray, b: float) -> None:
        """Refute an incumbent that is no solution, or of which nothing is claimed."""
        if not (np.all(np.isfinite(w)) and isfinite(b) and isfinite(self.objective)):
            raise Refuted("the incumbent is not finite")
        if not abs(self.objective - self.level) <= 1e-9 * abs(self.objective):
            raise Refuted(f"the incumbent has the objective {self.objective!r}, not {self.level!r}")
        allowed = VIOLATION * (1.0 + float(np.max(np.abs(self.problem.scores(w, b)), initial=0.0)))
        if not self.violation <= allowed:
            raise Refuted(f"the incumbent's sides contradict its plane by {self.violation:.3g}")
        self._check_cutoff()

    def _check_cutoff(self) -> None:
        if not self.cutoff <= self.level:
            raise Refuted("the cutoff lies above the incumbent")
        if not (self.cutoff > 0.0 or self.level <= 0.0):
            raise Refuted(f"the cutoff is {self.cutoff!r}, below which nothing ever lies: nothing is claimed")

    @property
    def lower_bound(self) -> float:
        """What no point undercuts."""
        return self.cutoff

    @property
    def certain(self) -> np.ndarray | None:
        """The sides that are shown to be certain; of a proof of optimality none are."""
        return None

    @property
    def shown(self) -> str:
        """What the proof shows, in words."""
        return f"no point has an objective below {self.cutoff:.9g}"

    @property
    def node(self) -> _Node:
        if self.closed:
            raise Refuted("a record after the root was closed")
        return self.path[-1]

    def take(self, record: dict[str, Any]) -> None:
        """Check one record."""
        kind = record["t"]
        if kind == "value":
            self._value(record)
        elif kind == "reference":
            reference = np.zeros(self.problem.m, dtype=bool)
            reference[record["positive"]] = True
            self.node.reference = reference
        elif kind == "fix":
            self._fix(int(record["row"]), int(record["side"]))
        elif kind == "branch":
            self._branch(int(record["row"]), int(record["side"]))
        elif kind == "close":
            self._close()
        else:
            raise Refuted(f"unknown record {kind!r}")

    def finish(self) -> None:
        """The proof is complete when the root is closed."""
        if not self.closed:
            raise Refuted("the root was never closed: some sides are not covered")

    def _value(self, record: dict[str, Any]) -> None:
        node, flipped = self.node, record.get("flip")
        side = node.side
        if flipped is not None:
            row, to = int(flipped[0]), int(flipped[1])
            if to not in (-1, 1) or side[row] == -to:
                raise Refuted(f"row {row} cannot be flipped here")
            side = side.copy()
            side[row] = to
        bound = self.arithmetic.bound(record["alpha"], record["beta"], side)
        self.n_values += 1
        if flipped is None:
            node.value = max(node.value, bound)
        else:
            node.flip[(to + 1) // 2, row] = max(node.flip[(to + 1) // 2, row], bound)

    def _fix(self, row: int, side: int) -> None:
        node = self.node
        if side not in (-1, 1) or node.side[row] != 0:
            raise Refuted(f"row {row} cannot be fixed here")
        if self._cheapest(node, row, -side) < self.cutoff:
            raise Refuted(f"row {row} may still be on the other side")
        node.hold(row, side)
        self.n_fixings += 1

    def _branch(self, row: int, side: int) -> None:
        node = self.node
        if node.side[row] != 0 or side not in (-1, 1):
            raise Refuted(f"cannot branch on row {row}")
        if node.branch not in (None, row):
            raise Refuted("a node has one branching row")
        node.branch = row
        self.path.append(node.child(row, side))
        self.n_nodes += 1

    def _close(self) -> None:
        node = self.node
        both = node.branch is not None and node.closed_children == {-1, 1}
        if not both and self._cheapest(node) < self.cutoff:
            raise Refuted("a node was closed whose bound is below the cutoff")
        self.path.pop()
        if self.path:
            parent = self.path[-1]
            assert parent.branch is not None
            parent.closed_children.add(int(node.side[parent.branch]))
        else:
            self.closed = True

    def _cheapest(self, node: _Node, row: int | None = None, side: int = 0) -> float:
        """A lower bound on the objective in this node, with one row on a given side if asked for."""
        problem, sides, least = self.problem, node.side, node.value
        if row is not None:
            sides = sides.copy()
            sides[row] = side
            least = max(least, float(node.flip[(side + 1) // 2, row]))
        free = sides == 0
        reference = free & (node.reference if node.reference is not None else False)
        weights, totals = problem.weights, problem.totals
        # flips in ascending order of their values; of every row the flip away from the reference
        values = np.maximum(np.where(reference, node.flip[0], node.flip[1]), least)
        order = np.flatnonzero(free)
        order = order[np.argsort(values[order])]
        price = np.zeros(len(order) + 1)
        for rows, low, high, penalty in zip(
            totals.rows, totals.low, totals.high, totals.penalty, strict=True
        ):
            inside = np.zeros(problem.m, dtype=bool)
            inside[rows] = True
            total = float(weights[rows].sum())
            up = weights[inside & (sides > 0)].sum()
            down = weights[inside & (sides < 0)].sum()
            unavoidable = max(0.0, up - high, low - (total - down))
            count = up + weights[inside & reference].sum()
            missed = max(0.0, count - high, low - count)
            mends = inside[order] & (reference[order] == (count > high))
            gone = np.append(0.0, np.cumsum(np.where(mends, weights[order], 0.0)))
            numbers = np.concatenate([weights[rows], [end for end in (low, high) if isfinite(end)]])
            exact = bool(np.all(numbers == np.round(numbers))) and total < 2.0**52  # else sums are rounded
            slack = 0.0 if exact else 2.0**-50 * (problem.m + 2) * total
            price += penalty * np.maximum(np.maximum(unavoidable, missed - gone) - slack, 0.0)
        costs = np.append(least, values[order]) + price
        return float(costs.min()) * (1.0 - 2.0**-50 * (1 + len(totals)))  # the few roundings of this function


class _CertainRows(_Checker):
    """Checks that rows are on one side in every point below a cutoff above the incumbent."""

    def _check_cutoff(self) -> None:
        if not (self.level <= self.cutoff < inf and self.cutoff > 0.0):
            raise Refuted("the cutoff of certain rows lies below the incumbent or is not finite")

    @property
    def lower_bound(self) -> float:
        """Of the optimum nothing is shown."""
        return 0.0

    @property
    def certain(self) -> np.ndarray:
        """The sides at the root that the problem itself does not fix."""
        return np.where(self.problem.side == 0, self.path[0].side, 0)

    @property
    def shown(self) -> str:
        """How many rows are certain."""
        number = int(np.count_nonzero(self.certain))
        return f"{number} rows have the same side in every point with an objective below {self.cutoff:.9g}"

    def finish(self) -> None:
        """The proof is complete when the walk is back at the root."""
        if len(self.path) != 1 or self.closed:
            raise Refuted("the walk does not end at the root: some sides are not covered")
        if not np.any(self.certain):
            raise Refuted("no row is fixed: nothing is claimed")

    def _fix(self, row: int, side: int) -> None:
        node = self.node
        if len(self.path) == 1 and node.branch == row and node.closed_children == {-side}:
            if node.side[row] != 0:
                raise Refuted(f"row {row} cannot be fixed here")
            node.branch, node.closed_children = None, set()
            node.hold(row, side)
            self.n_fixings += 1
            return
        super()._fix(row, side)

    def _close(self) -> None:
        if len(self.path) == 1:
            raise Refuted("the root of certain rows is never closed: the incumbent lies below the cutoff")
        super()._close()
