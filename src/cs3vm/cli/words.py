"""What ``cs3vm fit`` prints about an answer, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import LabelArray

if TYPE_CHECKING:
    from ..learn.fit import Fit
    from ..model.problem import Problem
    from ..model.result import Result
    from .inputs import Data
    from .looks import Looks
    from .piece_inputs import PieceData


def class_counts(labels: LabelArray, classes: tuple[str, ...]) -> dict[str, int]:
    """How many rows have each class."""
    return {name: int(np.sum(labels == name)) for name in classes}


# -- for people --------------------------------------------------------------------------------------
def printed(fit: Fit, data: Data | PieceData, label: str, looks: Looks) -> Iterator[str]:
    """The lines that a fit prints."""
    from ..learn.design import kish
    from ..learn.known_counts import totals_table
    from ..learn.notes import hurried_note, undecided_note
    from ..learn.summary import summarize

    yield f"{headline(data, label)}\n"
    if looks.accuracy is not None:
        yield f"{looks.accuracy}\n"
    if looks.bias is not None:
        yield f"{looks.bias.sentence}\n"
    if looks.certainty is not None:
        yield f"{looks.certainty}\n"
    if looks.groups is not None:
        yield f"By {looks.by}:\n{looks.groups}\n"
    summary = summarize(fit)
    yield summary.table
    if summary.totals:
        yield f"\n{totals_table(summary.totals)}"
    design = None if data.X is None else kish(fit.weight)  # drawn rows weigh as many as they stand for
    if design is not None:
        yield f"\n{design.sentence}."
    yield f"\n{fit.proof_line.for_command_line()}"
    if fit.kernel_map is not None:
        said = [note.for_command_line() for note in fit.kernel_notes] or [str(fit.kernel_map)]
        yield f"The {said[0]}."
    names = data.encoding.feature_names
    about = [*fit.totals_notes, *undecided_note(fit.undecided), *hurried_note(fit.results)]
    for note in (*about, *fit.student_notes, *fit.norm_notes(names)):
        words = note.for_command_line()
        yield f"{words[0].upper()}{words[1:]}."


def headline(data: Data | PieceData, label: str) -> str:
    """What was known before the fit."""
    labels = data.labels
    labelled = labels.labelled
    start = f"{data.table.path.name}: {labels.unlabelled} rows without label, "
    if data.other is not None:
        start = f"{start}of which {data.other.words} are known"
        which = "" if data.positive is None else f" ({label}={data.positive})"
        return f"{start}{which}; {labelled} rows with label"
    if data.positive is None:
        known = ", ".join(f"{total} {name}" for name, total in data.totals.items())
        return f"{start}of which {label} is known to be {known}; {labelled} rows with label"
    return (
        f"{start}{data.totals[data.positive]} of them known to be {label}={data.positive}; {labelled} rows "
        f"with label, {labels.by_value.get(data.positive, 0)} of them {data.positive}"
    )


# -- for programs ------------------------------------------------------------------------------------
def summary_fields(fit: Fit, data: Data | PieceData) -> dict[str, Any]:
    """What the machine-readable summary says about the classes."""
    labels = data.labels
    sizes = {
        "labelled": labels.labelled,
        "unlabelled": labels.unlabelled,
        "undecided": int(fit.undecided.sum()),
    }
    if data.positive is not None:
        (result,) = fit.results
        count = float(result.problem.weights @ (fit.answer == fit.labels.positive))
        counted = {"n_positive": known_fields(result.problem), "count": _plain(count)}
        names = {"positive": data.positive, "negative": data.negative}
        return {**sizes, **names, **counted, **_totals_fields(fit), **_proof_fields(result)}
    found = class_counts(fit.labels.decode(fit.codes)[fit.labels.codes < 0], data.classes)
    classes = {
        name: {
            "labelled": labels.by_value.get(name, 0),
            "total": _plain(total),
            "count": found[name],
            **_proof_fields(result),
        }
        for name, result, total in zip(data.classes, fit.results, fit.totals.tolist(), strict=True)
    }
    return {**sizes, "classes": classes, **_totals_fields(fit)}


def _plain(number: float) -> float | int:
    return int(number) if number == round(number) else number


def known_fields(problem: Problem) -> Any:
    """The known number of positives; a pair where it is known no better."""
    from ..learn.known_counts import interval_of_all

    low, high = map(_plain, interval_of_all(problem.totals))
    return low if low == high else [low, high]


def _totals_fields(fit: Fit) -> dict[str, Any]:
    """Several totals with what the labels give, and what unequal weights cost."""
    from ..learn.design import kish

    design, met = kish(fit.weight), [one.as_dict() for one in fit.met_totals]
    weights = {} if design is None else {"effective_size": design.effective, "design_effect": design.effect}
    return {**({"totals": met} if met else {}), **({"weights": weights} if weights else {})}


def kernel_fields(fit: Fit) -> dict[str, Any]:
    """What the machine-readable summary says about the kernel."""
    if fit.kernel_map is None:
        return {"kernel": "linear", "exact": True}
    return fit.kernel_map.describe()


def predictor_fields(fit: Fit) -> dict[str, Any]:
    """What the machine-readable summary says about the rule for new rows."""
    return {"kind": "student" if fit.has_student else "plane", "differs": fit.n_differing}


def _proof_fields(result: Result) -> dict[str, Any]:
    return {
        "on_plane": result.on_plane,
        "status": result.status.value,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "seconds": round(result.seconds, 3),
    }
