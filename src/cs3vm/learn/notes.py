"""What a reader should know before trusting an answer, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._typing import BoolArray, LabelArray
from ..exceptions import Note
from ..model.result import Result
from .baselines import BASELINES
from .kernel_map import KernelMap
from .sparse_rows import RowBasis
from .verdict import aims_at_objective, is_nearly_trivial

#: Scores within this range of each other rank nobody: a margin is 1.
SAME_SCORE = 1e-6
#: So many features that the 1-norm leaves out are named.
MAX_DROPPED = 10


def warnings_about(result: Result, method: str) -> list[Note]:
    """The notes on one plane that are worth a warning: the answer says less than it seems to."""
    problem, notes = result.problem, []
    if is_nearly_trivial(result) and aims_at_objective(result, method):
        better, much = ("no", "nothing") if result.is_trivial else ("hardly", "next to nothing")
        start = (
            f"the answer is {better} better than the trivial one, which ignores the features (w = 0)"
            f"{'' if result.is_trivial else f': its objective is {100 * result.of_trivial:.2f} % of that'}: "
            f"the labels {'and the total ' if problem.m else ''}say {much} about other rows. Add labels, or "
            "increase "
        )
        notes.append(Note(f"{start}C", f"{start}--C"))
    if result.on_plane > problem.d + 1:
        start = (
            f"{result.on_plane} of {problem.m} unlabelled rows lie on the hyperplane, more than d + 1 = "
            f"{problem.d + 1}, and may be counted on either side, so their labels are arbitrary: "
        )
        notes.append(_why_on_plane(result).after(start))
    return notes


def _why_on_plane(result: Result) -> Note:
    if np.allclose(np.asarray(result.coef), 0.0, atol=1e-9):
        return Note("the hyperplane ignores the features (w = 0)")
    start = "discrete features do this, and"
    return Note(f"{start} side_margin='auto' forbids it", f"{start} --side-margin auto forbids it")


def tied_note(baselines: Mapping[str, Sequence[Result]]) -> list[Note]:
    """Why the rule of the highest scores misses the total: there are none where all scores tie."""
    result = next(iter(baselines.get("top_tau", ())), None)
    if result is None or not result.problem.one_total:
        return []
    missed, scores = sum(result.eta), result.problem.scores(np.asarray(result.coef))
    if missed == 0.0 or np.ptp(scores) > SAME_SCORE:
        return []
    return [
        Note(
            f"{BASELINES['top_tau']} misses the total by {missed:g}: the plain SVM ignores the features (w = "
            "0), so all scores tie and none is the highest"
        )
    ]


def undecided_note(undecided: BoolArray) -> list[Note]:
    """How many rows are labelled by a draw, where any are."""
    number = int(undecided.sum())
    if number == 0:
        return []
    return [
        Note(
            f"{number} rows are undecided: nothing tells them apart, and the total lies between them; which "
            "of them have which label is drawn"
        )
    ]


def hurried_note(results: Sequence[Result]) -> list[Note]:
    """That a limit in seconds ended a search, so that another machine may give another answer."""
    if not any(result.hurried for result in results):
        return []
    start = "the time limit ended the search, so another machine may find another answer; "
    return [
        Note(
            f"{start}work_limit (such as 4e9) makes it the same everywhere",
            f"{start}--work-limit (such as 4e9) makes it the same everywhere",
        )
    ]


def class_warnings(classes: LabelArray, results: Sequence[Result], method: str) -> list[Note]:
    """The warnings about the planes of several classes."""
    notes = []
    for label, result in zip(classes.tolist(), results, strict=True):
        if not np.any(result.problem.y > 0):
            notes.append(Note(f"the class {label!r} has no label: only the totals speak for it"))
        else:
            notes += [note.after(f"class {label!r}: ") for note in warnings_about(result, method)]
    return notes


def one_class_note(result: Result) -> list[Note]:
    """That all labels are of one of two classes, where they are."""
    y = result.problem.y
    if not np.all(y == y[0]):
        return []
    sign = "positive" if y[0] > 0 else "negative"
    return [Note(f"all labels are of one class (the {sign} one): only the total speaks for the other")]


def kernel_note(result: Result) -> list[Note]:
    """What an approximated kernel means for all that is said about the answer; nothing if it is exact."""
    kernel = result.extras.get("kernel")
    if kernel is None or kernel["exact"]:
        return []
    return [Note(f"{kernel['text']}: objective, bound and proof are those of the approximated kernel")]


def basis_note(basis: RowBasis | None) -> list[Note]:
    """Where the weights of sparse rows were looked for, unless everywhere."""
    if basis is None or basis.is_complete:
        return []
    return [Note(f"sparse rows: the search was for {basis}, and bound and proof are about those alone")]


def cut_note(kernel_map: KernelMap, time_limit: float) -> list[Note]:
    """That the time limit does not allow for the usual map of the kernel, where it does not."""
    if not kernel_map.cut:
        return []
    start = f"the kernel is approximated by {kernel_map.rank} landmarks only: {kernel_map.cut}, and the "
    end = f"is {time_limit:g} s: raise it for a better answer"
    return [Note(f"{start}time_limit {end}", f"{start}--time-limit {end}")]


def student_note(n_differing: int, n_rows: int) -> list[Note]:
    """That new rows are classified by a student, and how often it disagrees with its teacher."""
    about = f"a student classifies new rows: on {n_differing} of the {n_rows} rows of the fit "
    return [
        Note(
            f"{about}predict differs from transduction_; predictor='plane' uses the plane itself",
            f"{about}cs3vm predict would give another class than the labels file; --predictor plane uses the "
            "plane itself",
        )
    ]


def dropped_note(dropped: Sequence[str], n_features: int) -> Note:
    """Which features the 1-norm leaves out."""
    if len(dropped) == 0:
        return Note(f"the 1-norm uses all {n_features} features")
    shown = ", ".join(dropped[:MAX_DROPPED])
    more = f" and {len(dropped) - MAX_DROPPED} more" if len(dropped) > MAX_DROPPED else ""
    return Note(f"the 1-norm leaves out {len(dropped)} of {n_features} features (weight 0): {shown}{more}")
