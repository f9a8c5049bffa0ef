"""What a fit found: planes over the same rows, and what they say together.

Two classes have one plane, that of the positive class; several have one each, against the rest. Everything
that is said about a fit is read from here: by the classifier, its summary, the model file, the command line
and the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, LabelArray
from ..exceptions import Note
from ..model.norms import unused
from ..model.problem import Problem
from ..model.result import Result
from .baselines import solve_baselines
from .bound_totals import Bound
from .certificate import Certificate, certificate, certificate_of_classes, proof_line
from .group_columns import GroupColumns, no_thresholds_error
from .kernel_map import KernelMap
from .known_counts import MetTotal, count_of_all, met_totals, totals_note
from .labels import Labels
from .notes import (
    basis_note,
    class_warnings,
    cut_note,
    dropped_note,
    hurried_note,
    kernel_note,
    one_class_note,
    student_note,
    tied_note,
    undecided_note,
    warnings_about,
)
from .parameters import Parameters
from .planes import Planes, assign_classes, plane_scores, score_rows
from .remembered import Remembered
from .scaling import RankScaling, Scaling
from .sparse_rows import RowBasis
from .student import Lesson, learn_student, student_predicts
from .teachers import further_answers
from .undecided import is_split, meet_totals, shuffle_within
from .verdict import Judgement, judge

if TYPE_CHECKING:
    from .assignment import Assignment


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Remembered):
    """The planes of a fit, the rows they were fitted to, and what follows from both.

    Parameters
    ----------
    labels
        The classes, and the class of every row as it was given.
    weight
        The weight of every row.
    results
        The answer of each plane, in scaled units or mapped features; their problems have the same rows.
    scaling
        From the units of the user to scaled ones.
    kernel_map
        From scaled rows to mapped features; None for the linear kernel.
    parameters
        What the classifier was told.
    features
        The names of the features, if they have any.
    rows
        All rows, in the units of the user.
    profiles
        A number for each unlabelled row that counts, the same for equal rows.
    basis
        Of sparse rows with many columns: the rows by whose span the problem sees them.
    bound
        Totals by group, and the rows that each of them counts; None for one number for all rows.
    group_columns
        The groups with a threshold of their own: the last features of the problem.
    """

    labels: Labels
    weight: FloatArray
    results: tuple[Result, ...]
    scaling: Scaling | RankScaling
    kernel_map: KernelMap | None
    parameters: Parameters
    features: LabelArray | None
    rows: Any
    profiles: IntArray
    basis: RowBasis | None = None
    bound: Bound | None = None
    group_columns: GroupColumns | None = None

    def __repr__(self) -> str:
        rows = f"{self.problem.n} labelled and {self.problem.m} unlabelled rows"
        return f"Fit({len(self.classes)} classes, {rows}, {self.method})"

    # -- the question --------------------------------------------------------------------------------
    @property
    def classes(self) -> LabelArray:
        """The class labels, sorted."""
        return self.labels.classes

    @property
    def is_several(self) -> bool:
        """Whether there are more than two classes."""
        return self.labels.is_several

    @property
    def plane_labels(self) -> list[object]:
        """The class that each plane speaks for."""
        names: list[object] = self.classes.tolist()
        return [names[c] for c in self.labels.plane_classes]

    @property
    def problem(self) -> Problem:
        """The problem of the first plane, whose rows are those of all."""
        return self.results[0].problem

    @property
    def n_features(self) -> int:
        """How many features the rows have, before any kernel."""
        return int(self.rows.shape[1])

    @property
    def rows_left_out(self) -> Any:
        """The unlabelled rows of weight 0, which no problem has, in the units of the user."""
        return self.rows[(self.labels.codes < 0) & (self.weight == 0)]

    @property
    def seconds(self) -> float:
        """How long the search for all planes took."""
        return sum(result.seconds for result in self.results)

    @property
    def method(self) -> str:
        """The method; without unlabelled rows every one is the SVM."""
        return self.parameters.method if self.problem.m else "svm"

    @property
    def unlabelled(self) -> BoolArray:
        """Which rows have no label, and count."""
        return np.asarray((self.labels.codes < 0) & (self.weight > 0))

    @property
    def totals(self) -> FloatArray:
        """The number of each plane's class among the unlabelled rows: known, or nearest to what is known."""
        if self.is_several and not self.problem.one_total:  # rows of groups without totals count, too
            return np.bincount(self.answer, minlength=len(self.classes)).astype(float)
        return np.array([count_of_all(result) for result in self.results])

    @property
    def class_totals(self) -> FloatArray:
        """The known total of each class among the unlabelled rows."""
        if self.is_several:
            return self.totals
        rest = self.problem.total_weight - self.totals[0]
        return np.asarray(np.where(np.arange(2) == self.labels.positive, self.totals[0], rest))

    # -- the planes ----------------------------------------------------------------------------------
    @cached_property
    def planes(self) -> Planes:
        """The planes as rows of X meet them; a higher score speaks for the plane's own class.

        Of several classes the prices are taken from the intercepts: the highest score is then the label that
        the totals ask for.
        """
        normals = np.array([result.coef for result in self.results], dtype=float)
        intercepts = np.array([result.intercept for result in self.results])
        if self.assignment is not None:
            intercepts = intercepts - self.assignment.prices
        return self.in_units(normals, intercepts)

    def in_units(self, normals: FloatArray, intercepts: FloatArray) -> Planes:
        """Planes in the features of the problem as rows of X meet them."""
        normals = self._in_columns(normals)
        if self.kernel_map is not None:
            return Planes(np.array([self.kernel_map.to_landmarks(w) for w in normals]), intercepts)
        assert isinstance(self.scaling, Scaling)  # ranks are for kernels
        pairs = [self.scaling.to_original(w, b) for w, b in zip(normals, intercepts, strict=True)]
        return Planes(np.array([w for w, _ in pairs]), np.array([b for _, b in pairs]))

    def _in_columns(self, normals: FloatArray) -> FloatArray:
        """Normal vectors by scaled columns where the problem has coordinates in a basis; else as they are."""
        normals = normals if self.group_columns is None else self.group_columns.without(normals)
        return normals if self.basis is None else np.array([self.basis.to_columns(w) for w in normals])

    @property
    def normals(self) -> FloatArray:
        """The normal vector of each plane, by scaled columns; with a kernel in mapped features."""
        return self._in_columns(np.array([result.coef for result in self.results], dtype=float))

    def shifts(self, groups: Any, n_rows: int) -> FloatArray:
        """What new rows of these groups have on top of their score for each plane that classifies them."""
        if self.group_columns is None:
            raise no_thresholds_error()
        normals = self.student_planes[0] if self.has_student else [result.coef for result in self.results]
        return self.group_columns.shift_new(groups, n_rows, np.asarray(normals))

    @cached_property
    def assignment(self) -> Assignment | None:
        """Of several classes: the labels that meet all totals, with the highest summed scores."""
        if not self.is_several:
            return None
        return assign_classes(self.results)

    # -- the rule for new rows -----------------------------------------------------------------------
    @property
    def has_student(self) -> bool:
        """Whether a student predicts, and not the planes."""
        return student_predicts(
            self.parameters.predictor,
            self.method,
            has_kernel=self.kernel_map is not None,
            has_unlabelled=self.problem.m > 0,
        )

    @property
    def predictor(self) -> Planes:
        """The planes by which new rows are classified: the student's, or those of the fit itself."""
        return self.in_units(*self.student_planes) if self.has_student else self.planes

    @cached_property
    def student_planes(self) -> tuple[FloatArray, FloatArray]:
        """The student's planes in the features of the problem; learnt when they are first asked for."""
        teachers = [self, *(replace(self, results=results) for results in self._further_answers())]
        lessons = [
            Lesson.of(one._codes_by_problem, one.labels.plane_classes, plane_scores(one.results))
            for one in teachers
        ]
        return learn_student(self.problem, lessons, self.parameters.C, self.parameters.seed)

    def _further_answers(self) -> Iterator[tuple[Result, ...]]:
        """Of the student's other teachers."""
        if self.kernel_map is None:
            return iter(())
        counts, is_labelled = self.weight > 0, self.labels.codes >= 0
        order = np.append(np.flatnonzero(counts & is_labelled), np.flatnonzero(counts & ~is_labelled))
        rows = self.scaling.transform(self.rows[order])
        return further_answers(self.results, rows, self.kernel_map, self.method, self.parameters)

    @property
    def _codes_by_problem(self) -> IntArray:
        """The classes of the rows that count, in the order of the problem: labelled ones first."""
        return np.append(self.labels.codes[(self.labels.codes >= 0) & (self.weight > 0)], self.answer)

    @cached_property
    def n_differing(self) -> int:
        """On how many of the rows that count the student's class is not that of the fit."""
        if not self.has_student:
            return 0
        normals, intercepts = self.student_planes
        parts = (rows @ normals.T + intercepts for rows in (self.problem.X, self.problem.U))
        return int(
            np.sum(np.concatenate([self._by_scores(part) for part in parts]) != self._codes_by_problem)
        )

    @property
    def dropped(self) -> BoolArray:
        """Which features have no weight in any plane; of the linear kernel."""
        return np.asarray(np.all([unused(w) for w in self.normals], axis=0))

    # -- the labels ----------------------------------------------------------------------------------
    @cached_property
    def answer(self) -> IntArray:
        """The class of each unlabelled row that counts, as an index into the classes."""
        if self.assignment is not None:
            return shuffle_within(self.assignment.labels, self.profiles, self.parameters.seed)
        return self._sides(self._divided[0])

    @cached_property
    def _divided(self) -> tuple[BoolArray, BoolArray]:
        """Of two classes: which unlabelled rows are positive, and which of them are drawn."""
        (result,) = self.results
        if self.method == "svm":  # it knows no total
            return np.asarray(result.z) > 0, np.zeros(result.problem.m, dtype=bool)
        return meet_totals(result, self.parameters.seed)

    @cached_property
    def undecided(self) -> BoolArray:
        """For every row whether the planes cannot tell it from rows with another label: theirs are drawn."""
        split = is_split(self.answer, self.profiles)
        if self.assignment is None:
            split |= self._divided[1]
        everybody = np.zeros(len(self.labels.codes), dtype=bool)
        everybody[self.unlabelled] = split
        return everybody

    @cached_property
    def codes(self) -> IntArray:
        """The class of every row: as given, or by the answer, or by the planes for rows of weight 0."""
        codes = self.labels.codes.copy()
        unlabelled = codes < 0
        codes[unlabelled & (self.weight > 0)] = self.answer
        codes[unlabelled & (self.weight == 0)] = self._left_out_codes()
        return codes

    def _left_out_codes(self) -> IntArray:
        scores = score_rows(self.rows_left_out, self.planes, self.scaling, self.kernel_map)
        if self.group_columns is not None:
            left_out = np.flatnonzero((self.labels.codes < 0) & (self.weight == 0))
            scores += self.group_columns.shift(left_out, np.array([result.coef for result in self.results]))
        return self._by_scores(scores)

    def _by_scores(self, scores: FloatArray) -> IntArray:
        """The class of each row by its scores, a column per plane; on the plane is positive."""
        return scores.argmax(axis=1) if self.labels.positive is None else self._sides(scores[:, 0] >= 0)

    def _codes(self, results: Sequence[Result]) -> IntArray:
        """The class that planes give to each unlabelled row without regard to the totals."""
        if self.labels.positive is None:
            return np.asarray(plane_scores(results).argmax(axis=1))
        return self._sides(np.asarray(results[0].z) > 0)

    def _sides(self, positive: BoolArray) -> IntArray:
        own = int(self.labels.positive or 0)
        return np.where(positive, own, 1 - own).astype(np.int64)

    # -- beside the simple rules ---------------------------------------------------------------------
    @cached_property
    def baselines(self) -> dict[str, tuple[Result, ...]]:
        """The plain SVM and, of two classes, the top-τ rule on the same problems; solved once."""
        return solve_baselines(self.results, self.method)

    @cached_property
    def svm_codes(self) -> IntArray:
        """The class that plain SVMs, which know no totals, give to each unlabelled row."""
        return self._codes(self.baselines["svm"])

    @property
    def moves(self) -> IntArray:
        """How many unlabelled rows the SVM has in one class (row) and the answer in another (column)."""
        table = np.zeros((len(self.classes),) * 2, dtype=np.int64)
        np.add.at(table, (self.svm_codes, self.answer), 1)
        return table

    # -- in words ------------------------------------------------------------------------------------
    @property
    def warnings(self) -> list[Note]:
        """What is worth a warning: the answer says less than it seems to."""
        cut = [] if self.kernel_map is None else cut_note(self.kernel_map, self.parameters.time_limit)
        if self.is_several:
            return [*cut, *class_warnings(self.classes, self.results, self.method)]
        return [*cut, *warnings_about(self.results[0], self.method)]

    def notes(self, names: Sequence[str] | None = None) -> list[Note]:
        """All that a reader should know before trusting the answer; ``names`` are those of the features."""
        one_class = [] if self.is_several else one_class_note(self.results[0])
        about = [
            *self.totals_notes,
            *undecided_note(self.undecided),
            *hurried_note(self.results),
            *one_class,
            *tied_note(self.baselines),
            *self.kernel_notes,
            *basis_note(self.basis),
            *self.student_notes,
        ]
        return [*self.warnings, *about, *self.norm_notes(names)]

    @property
    def totals_notes(self) -> list[Note]:
        """Which of several totals are missed."""
        known = self.bound.contradiction if self.bound else 0.0
        return totals_note(self.met_totals, known) if self.method != "svm" else []

    @property
    def met_totals(self) -> list[MetTotal]:
        """Every one of several totals and what the labels give, the worst first."""
        return met_totals(self.labels, self.results, self.answer)

    @property
    def kernel_notes(self) -> list[Note]:
        """What an approximated kernel means for all that is said; nothing if it is exact."""
        return kernel_note(self.results[0])

    @property
    def student_notes(self) -> list[Note]:
        """That a student predicts, and on how many rows of the fit it says something else."""
        return student_note(self.n_differing, self.problem.n + self.problem.m) if self.has_student else []

    def norm_notes(self, names: Sequence[str] | None = None) -> list[Note]:
        """Which features a fit with the 1-norm leaves out; nothing for the other norms."""
        if self.parameters.norm != "l1":
            return []
        return [dropped_note([str(name) for name in self.dropped_names(names)], self.n_features)]

    def dropped_names(self, names: Sequence[str] | None = None) -> LabelArray:
        """The features without weight by name, or by number where they have none."""
        known = self.features if names is None else names
        return np.asarray(range(self.n_features) if known is None else known)[self.dropped]

    @property
    def certificate(self) -> Certificate:
        """How good the answer is proven to be."""
        if self.is_several:
            return certificate_of_classes(self.results)
        return certificate(self.results[0], self.method)

    @property
    def proof_line(self) -> Note:
        """What is proven, in one line."""
        return proof_line(self.results, self.method)

    @property
    def verdict(self) -> Judgement:
        """Whether the answer says anything; what hidden labels say belongs to it once somebody has looked."""
        return judge(self.results, self.method, next(reversed(self.estimated.values()), None))
