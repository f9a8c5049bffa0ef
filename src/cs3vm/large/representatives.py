"""A small table that stands for all rows: the labelled ones and a sample that weighs as much as the others.

Everything that works on rows in memory works on it: totals are bound to it in their true units, and a plane
is found on it. What is exact is brought in by the passes over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IntArray, LabelArray
from ..exceptions import InvalidProblemError
from ..learn.class_totals import KnownTotals
from ..learn.fitting import Posed, pose
from ..learn.kernel_map import KernelMap
from ..learn.labels import Labels, read_labels
from ..learn.parameters import Parameters
from ..learn.scaling import RankScaling, Scaling, make_scaling, no_scaling, paper_scaling, zscore_of
from ..model.problem import Problem
from ..model.profiles import automatic_margin
from ..model.totals import Total, Totals
from .plane_scores import PlaneScores
from .sampling import Rows
from .survey import Survey


class Given(NamedTuple):
    """Totals as they were given; see :meth:`cs3vm.CS3VMClassifier.fit`."""

    n_positive: Any = None
    positive_rate: Any = None


class Table(NamedTuple):
    """Labelled rows first, then drawn ones, in the units of the user."""

    X: FloatArray
    labels: Labels
    weight: FloatArray  #: those of the drawn rows add up to the weight of the rows that they stand for
    known: KnownTotals  #: as given, with the groups of these rows


@dataclass(frozen=True, eq=False)
class Representatives:
    """The table of the first sample, and the problem that it poses."""

    survey: Survey
    parameters: Parameters
    given: Given
    table: Table
    posed: Posed

    @property
    def problem(self) -> Problem:
        """What is solved on them, in the true units of the totals."""
        return self.posed.problem

    @property
    def cell(self) -> IntArray:
        """The cell of each drawn row."""
        return self.survey.drawn.cell

    @property
    def scores(self) -> PlaneScores:
        """Scores of rows; for no plane yet."""
        kernel_map = self.posed.mapped if isinstance(self.posed.mapped, KernelMap) else None
        return PlaneScores(np.zeros((0, self.table.X.shape[1])), self.posed.scaling, kernel_map)

    def plane_scores(self, normals: FloatArray) -> PlaneScores:
        """Scores of planes that are given in the features of the problem."""
        empty = self.scores
        if empty.kernel_map is None:
            return empty.of(normals)
        return empty.of(np.array([empty.kernel_map.to_landmarks(w) for w in np.atleast_2d(normals)]))

    @property
    def mostly_distinct(self) -> bool:
        """Whether hardly any two rows are equal."""
        return distinct_rows(self.posed.alike, len(self.posed.alike)) > 0.99 * len(self.posed.alike)

    def features(self, X: Any) -> FloatArray:
        """Rows as the problem sees them."""
        rows = self.posed.scaling.transform(np.asarray(X, dtype=float))
        kernel_map = self.scores.kernel_map
        return np.asarray(rows if kernel_map is None else kernel_map.transform(rows))

    @cached_property
    def totals_of_cells(self) -> list[IntArray]:
        """The totals that count the rows of each cell; every cell has drawn rows, unless none counts."""
        totals, cell = self.problem.totals, self.cell
        found: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(self.survey.keys)
        cells, first = np.unique(cell, return_index=True)
        for c, row in zip(cells.tolist(), first.tolist(), strict=True):
            found[c] = totals.of(row)
        return found

    def totals_over(self, cell: IntArray, weights: FloatArray) -> Totals:
        """The totals of other rows of these cells; none asks for more than its rows weigh."""
        totals, of = self.problem.totals, self.totals_of_cells
        members: list[list[int]] = [[] for _ in range(len(totals))]
        for c, own in enumerate(of):
            for g in own.tolist():
                members[g].append(c)
        found = []
        for g, cells in enumerate(members):
            rows = np.flatnonzero(np.isin(cell, cells))
            low = min(float(totals.low[g]), float(weights[rows].sum()))
            high = low if totals.high[g] == totals.low[g] else max(low, float(totals.high[g]))
            found.append(Total(rows, low, high, float(totals.penalty[g]), totals.names[g]))
        return Totals(found)


def represent(survey: Survey, parameters: Parameters, given: Given) -> Representatives:
    """The table of the survey's sample, with the totals bound to it."""
    if len(survey.drawn) == 0:
        raise InvalidProblemError(
            "no unlabelled row has a positive weight: rows in pieces are for many unlabelled rows; fit the "
            "labelled ones with CS3VMClassifier"
        )
    table = make_table(survey, parameters, given, survey.drawn, drawn_weights(survey))
    X, labels, weight, known = table
    margin = parameters.side_margin
    told = parameters if not isinstance(margin, str) else replace(parameters, side_margin=0.0)
    posed = pose(told, X, labels, weight, known, learn_scaling(survey, parameters, X, weight))
    if isinstance(margin, str):
        margin = automatic_margin(distinct_rows(posed.alike, int(survey.counts.sum())))
        posed = posed._replace(problem=replace(posed.problem, side_margin=margin))
    return Representatives(survey, parameters, given, table, posed)


def make_table(
    survey: Survey, parameters: Parameters, given: Given, drawn: Rows, weight: FloatArray
) -> Table:
    """The labelled rows and drawn ones with these weights."""
    labelled = survey.labelled
    groups = _groups(survey, np.append(labelled.cell, drawn.cell))
    known = KnownTotals.of(*given, survey.asked.mark, groups, parameters.totals_of)
    y = np.append(labelled.label, np.full(len(drawn), None))
    labels = read_labels(y, pos_label=parameters.pos_label, has_total=known.given, totals=known.by_class)
    if labels.is_several:
        raise InvalidProblemError(
            "rows in pieces have two classes; with more of them fit a sample with CS3VMClassifier"
        )
    X = np.vstack([labelled.X, drawn.X]).astype(float)
    return Table(X, labels, np.append(labelled.weight, weight), known)


def in_row_order(found: Representatives) -> tuple[Table, IntArray]:
    """The same table with its rows in the order of the source, and their numbers."""
    survey, table = found.survey, found.table
    numbers = np.append(survey.labelled.number, survey.drawn.number)
    order = np.argsort(numbers, kind="stable")
    groups = _groups(survey, np.append(survey.labelled.cell, survey.drawn.cell)[order])
    known = KnownTotals.of(*found.given, survey.asked.mark, groups, found.parameters.totals_of)
    labels = table.labels._replace(codes=table.labels.codes[order])
    return Table(table.X[order], labels, table.weight[order], known), numbers[order]


def _groups(survey: Survey, cell: IntArray) -> Any:
    """The groups of rows by their cells, as an estimator takes them."""
    columns: dict[str, LabelArray] = {}
    for j, name in enumerate(survey.asked.columns):
        values = np.empty(len(survey.keys), dtype=object)
        values[:] = [key[j] for key in survey.keys]
        columns[name] = values[cell]
    return None if not columns else columns[""] if list(columns) == [""] else columns


def drawn_weights(survey: Survey) -> FloatArray:
    """Weights of the drawn rows that add up to that of all rows of their cell; integers where all are."""
    drawn, whole = survey.drawn, survey.weights.values()[:, 0]
    return spread_weights(drawn, whole, drawn.cell, survey.whole_weights)


def spread_weights(drawn: Rows, whole: FloatArray, strata: IntArray, integers: bool) -> FloatArray:
    """Weights in proportion to the rows' own, adding up to ``whole`` in each stratum."""
    order = np.argsort(strata, kind="stable")
    weight = np.empty(len(drawn))
    starts = np.searchsorted(strata[order], np.arange(len(whole) + 1))
    for s in range(len(whole)):
        own = order[starts[s] : starts[s + 1]]
        if len(own) == 0:
            continue
        share = np.cumsum(drawn.weight[own])
        share *= whole[s] / share[-1]
        share[-1] = whole[s]
        weight[own] = np.diff(np.append(0.0, np.round(share) if integers else share))
    return weight


def distinct_rows(alike: Sequence[int] | IntArray, n_rows: int) -> int:
    """About how many different rows there are, by those of a sample."""
    drawn, distinct = len(alike), int(np.max(alike, initial=-1)) + 1
    return distinct if 2 * distinct <= drawn else round(n_rows * distinct / drawn)


def learn_scaling(
    survey: Survey, parameters: Parameters, X: FloatArray, weight: FloatArray
) -> Scaling | RankScaling:
    """The scaling of all rows; ranks, which only kernels use, are those of the representatives."""
    name = parameters.standardize
    if name is None:
        return no_scaling(X)
    ends = np.vstack([survey.lowest, survey.highest])
    if name == "paper":
        return paper_scaling(ends)
    if name != "zscore":
        return make_scaling(name, X, weight)
    whole = survey.whole.exact(0, 0)
    means = [survey.sums.exact(0, j) / whole for j in range(X.shape[1])]
    variances = [survey.sums.exact(1, j) / whole - mean**2 for j, mean in enumerate(means)]
    deviation = np.sqrt([max(0.0, float(v)) for v in variances])
    return zscore_of(np.array([float(m) for m in means]), deviation, np.abs(ends).max(axis=0))
