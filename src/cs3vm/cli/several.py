"""What ``cs3vm fit`` writes and prints where there are more than two classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray

if TYPE_CHECKING:
    from ..learn.classifier import CS3VMClassifier
    from ..tables.model_file import Model
    from .inputs import SeveralData


def score_columns(model: Model, scores: FloatArray) -> dict[str, Any]:
    """The scores as one column, or of several classes as one for each."""
    if not model.classes:
        return {"score": scores}
    return {f"score_{name}": scores[:, c] for c, name in enumerate(model.classes)}


def class_counts(labels: Any, classes: Sequence[str]) -> dict[str, int]:
    """How many rows have each class."""
    return {name: int(np.sum(np.asarray(labels) == name)) for name in classes}


def summary_fields(clf: CS3VMClassifier, data: SeveralData) -> dict[str, Any]:
    """What the machine-readable summary says about the classes."""
    predicted = class_counts(clf.transduction_[~data.labelled], data.classes)
    given = class_counts(data.y, data.classes)
    return {
        "labelled": int(data.labelled.sum()),
        "unlabelled": int((~data.labelled).sum()),
        "classes": {
            name: {
                "labelled": given[name],
                "total": data.totals[name],
                "count": predicted[name],
                "on_plane": result.on_plane,
                "status": result.status.value,
                "objective": result.objective,
                "lower_bound": result.lower_bound,
                "gap": result.gap,
                "seconds": round(result.seconds, 3),
            }
            for name, result in clf.result_.items()
        },
    }


def headline(data: SeveralData, label: str) -> str:
    """What is known before the fit."""
    known = ", ".join(f"{total} {name}" for name, total in data.totals.items())
    unlabelled = int((~data.labelled).sum())
    return (
        f"{data.table.path.name}: {unlabelled} rows without label, of which {label} is known to be {known}; "
        f"{len(data.y) - unlabelled} rows with label"
    )


def in_words(clf: CS3VMClassifier) -> str:
    """What is certain about the answer."""
    met = "All totals are met, with the highest summed scores there are."
    if clf.method in ("svm", "top_tau"):
        return f"{met} {clf.method} does not search for the best planes; see --method."
    proven = sum(result.is_optimal for result in clf.result_.values())
    return f"{met} The planes of {proven} of {len(clf.result_)} classes are proven optimal."
