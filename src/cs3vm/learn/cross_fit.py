"""Hide labels and look: labelled rows are treated as unlabelled, a few at a time, and get their label back.

A hidden row counts among the unlabelled ones, and the known total is raised by those hidden rows that it
counts; nothing else is known about them. If labels are biased by class only, a hidden row of a class is like
any unlabelled row of it, so it is labelled rightly as often as those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, RowArray
from ..exceptions import CS3VMError
from ..model.gather import take_rows
from ..model.problem import Problem
from ..model.result import Result
from ..model.status import Status
from .changed_totals import scaled_totals, with_hidden
from .known_counts import middle_of_all
from .planes import assign_classes, both_sides, plane_scores
from .probabilities import HeldOut
from .undecided import meet_totals

#: Of a class with no more labelled rows than this, none is left out.
FEW = 100
#: Solves the problem of a plane.
Search = Callable[[Problem], Result]


@dataclass(frozen=True, eq=False)
class Question:
    """The problems of all planes over the same rows, and what a label in them means."""

    problems: tuple[Problem, ...]
    codes: IntArray  #: class of each labelled row
    weight: FloatArray  #: of each labelled row
    positive: int | None  #: the class of the only plane; None if every class has one
    meets_total: bool = True  #: whether one group of rows that a plane cannot tell apart may be divided
    seed: int = 0
    places: RowArray | None = None  #: where the unlabelled rows, and after them the hidden ones, stand
    members: BoolArray | None = None  #: which labelled rows (columns) each of several totals (rows) counts

    @property
    def first(self) -> Problem:
        """The problem of the first plane, whose rows are those of all."""
        return self.problems[0]

    @property
    def totals(self) -> FloatArray:
        """Of each class among the unlabelled rows."""
        if self.positive is None:
            totals = np.array([middle_of_all(problem.totals) for problem in self.problems])
            return np.asarray(totals * (self.first.total_weight / totals.sum()))
        own = middle_of_all(self.first.totals)
        rest = self.first.total_weight - own
        return np.array([rest, own] if self.positive == 1 else [own, rest])

    def hide(self, hidden: BoolArray) -> Question:
        """The same with some labelled rows anywhere among the unlabelled ones: no order tells them apart."""
        size = self.first.m + int(hidden.sum())
        order = np.random.default_rng(self.seed).permutation(size)
        problems = tuple(_hide(p, hidden, self.weight, order, self.members) for p in self.problems)
        codes, weight = self.codes[~hidden], self.weight[~hidden]
        members = None if self.members is None else self.members[:, ~hidden]
        return replace(
            self, problems=problems, codes=codes, weight=weight, places=np.argsort(order), members=members
        )

    def keep(self, labelled: RowArray) -> Question:
        """The same with some of the labelled rows only, each class at the price of all of its rows."""
        counts = np.bincount(self.codes, minlength=1 + int(self.codes.max()))
        kept = np.bincount(self.codes[labelled], minlength=len(counts))
        dearer = (counts / np.maximum(kept, 1))[self.codes[labelled]]
        problems = tuple(
            replace(p, X=p.X[labelled], y=p.y[labelled], C=p.C[labelled] * dearer) for p in self.problems
        )
        members = None if self.members is None else self.members[:, labelled]
        codes, weight = self.codes[labelled], self.weight[labelled]
        return replace(self, problems=problems, codes=codes, weight=weight, members=members)

    def sample(self, most: int, seed: int) -> Question:
        """The same with at most so many unlabelled rows, totals and the price of a miscount to scale."""
        if self.first.m <= most:
            return self
        rows = draw_unlabelled(self.first.m, most, seed)
        kept = self.first.weights[rows]
        share = float(kept.sum()) / self.first.total_weight
        totals = scaled_totals(self.problems, rows, most if self.positive is None else None)
        problems = tuple(
            replace(
                problem,
                U=problem.U[rows],
                weights=kept,
                side=problem.side[rows],
                n_positive=total,
                count_penalty=problem.count_penalty / share,
            )
            for problem, total in zip(self.problems, totals, strict=True)
        )
        return replace(self, problems=problems)

    def labels(self, results: Sequence[Result]) -> IntArray:
        """The class that planes give to each unlabelled row and then to each hidden one; totals are met."""
        places = slice(None) if self.places is None else self.places
        if self.positive is None:
            return assign_classes(results).labels[places]
        (result,) = results
        above = meet_totals(result, self.seed)[0] if self.meets_total else np.asarray(result.z) > 0
        return np.where(above, self.positive, 1 - self.positive).astype(np.int64)[places]

    def scores(self, results: Sequence[Result]) -> FloatArray:
        """Their scores, a column per class."""
        scores = plane_scores(results)[slice(None) if self.places is None else self.places]
        if self.positive is None:
            return scores
        return both_sides(scores[:, 0], self.positive)


@dataclass(frozen=True, eq=False)
class Seen:
    """What became of the hidden rows: one value for each labelled row, the mean over the repeats."""

    right: FloatArray  #: how often the row got its own label back
    above: FloatArray  #: the share of unlabelled rows that its score for its own class is above
    held_out: tuple[HeldOut, ...] = ()  #: the scores behind it, fold by fold


def draw_folds(codes: IntArray, n_folds: int, n_repeats: int, seed: int) -> list[BoolArray]:
    """Which rows to hide, fold by fold; every row once per repeat, each class spread evenly.

    A class with two rows or more always keeps one. Folds without any row are left out.
    """
    rng = np.random.default_rng(seed)
    folds = []
    for _ in range(n_repeats):
        fold, begin = np.empty(len(codes), dtype=np.int64), 0
        for c in np.unique(codes):
            rows = rng.permutation(np.flatnonzero(codes == c))
            fold[rows] = (begin + np.arange(len(rows))) % n_folds  # where the class before it ended
            begin += len(rows)
        folds += [fold == k for k in range(n_folds) if np.any(fold == k)]
    return folds


def draw_unlabelled(m: int, most: int, seed: int) -> RowArray:
    """At most so many of m rows."""
    if m <= most:
        return np.arange(m)
    return np.sort(np.random.default_rng(seed).choice(m, most, replace=False))


def draw_labelled(codes: IntArray, most: int, seed: int) -> RowArray:
    """At most about so many rows, as large a share of each class, and all of a class with few."""
    rng, share = np.random.default_rng(seed), min(1.0, most / max(len(codes), 1))
    kept = []
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        size = min(len(rows), max(FEW, round(share * len(rows))))
        kept.append(rng.choice(rows, size, replace=False) if size < len(rows) else rows)
    return np.sort(np.concatenate(kept))


def look(question: Question, folds: Sequence[BoolArray], search: Search) -> Seen:
    """Hide each fold, search without its labels, and see which of them come back."""
    right, above, times = (np.zeros(len(question.codes)) for _ in range(3))
    folded = []
    for hidden in folds:
        back, held_out = _look_once(question, hidden, search)
        weights, own = question.first.weights, question.codes[hidden]
        right[hidden] += back
        above[hidden] += _shares_below(held_out.scores, held_out.hidden, own, weights)
        times[hidden] += 1
        folded.append(held_out)
    return Seen(right / times, above / times, tuple(folded))


def _look_once(question: Question, hidden: BoolArray, search: Search) -> tuple[BoolArray, HeldOut]:
    """Which labels of a fold come back, and the scores behind it. Its copy of the rows ends here."""
    asked, m = question.hide(hidden), question.first.m
    results = [search(problem) for problem in asked.problems]
    if any(result.status is Status.INTERRUPTED for result in results):
        raise KeyboardInterrupt  # the search had kept it to itself
    if not all(result.found for result in results):
        raise CS3VMError("no hyperplane was found without some of the labels")
    back = asked.labels(results)[m:] == question.codes[hidden]
    scores, others = asked.scores(results), (question.first.weights, question.totals)
    return back, HeldOut(scores[:m], *others, scores[m:], question.codes[hidden], question.weight[hidden])


def _hide(
    problem: Problem, hidden: BoolArray, weight: FloatArray, order: RowArray, members: BoolArray | None
) -> Problem:
    shown = ~hidden
    return replace(
        problem,
        X=take_rows(problem.X, np.flatnonzero(shown)),
        y=problem.y[shown],
        C=problem.C[shown],
        U=take_rows(np.vstack([problem.U, problem.X[hidden]]), order),
        weights=np.append(problem.weights, weight[hidden])[order],
        side=np.append(problem.side, np.zeros(int(hidden.sum()), dtype=np.int8))[order],
        n_positive=with_hidden(problem, hidden, weight, order, members),
    )


def _shares_below(scores: FloatArray, hidden: FloatArray, own: IntArray, weights: FloatArray) -> FloatArray:
    """The share of unlabelled rows below each hidden one, by the score for its class; ties are half."""
    below = np.empty(len(own))
    for c in np.unique(own):
        order = np.argsort(scores[:, c])
        ranked, cumulated = scores[order, c], np.append(0.0, np.cumsum(weights[order]))
        sides = [np.searchsorted(ranked, hidden[own == c, c], side) for side in ("left", "right")]
        below[own == c] = sum(cumulated[side] for side in sides) / (2.0 * cumulated[-1])
    return below
