"""What the report says where there are more than two classes: numbers and plain words, no markup."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..learn.labels import as_vector, find_unlabeled
from ..learn.several_classes import OneVsRest, class_scores, plain_machines, summarize_classes
from ..learn.summary import dropped_note, kernel_note
from .content import Names, percent, sentence, signed, versions
from .figures import format_number

MAX_FEATURES = 10  # rows of the table of weights of each class


def content_of_classes(clf: Any, y: Any, names: Names, warnings: Sequence[str]) -> dict[str, Any]:
    """Everything that the template shows, apart from the names."""
    fit = OneVsRest(clf.classes_, tuple(clf.result_.values()))
    summary = summarize_classes(fit, clf.method)
    labels = as_vector(y)
    missing = find_unlabeled(labels, unlabeled=clf.unlabeled, has_total=True, names=clf.classes_.tolist())
    unlabelled, counted = int(missing.sum()), fit.results[0].problem.m  # rows of weight 0 do not count
    notes = [*warnings, *summary.notes, *dropped_note(clf, names.features)]
    return {
        "classes": [_row(row, counted) for row in summary.rows],
        "facts": {
            "n": format_number(len(labels)),
            "labelled": format_number(len(labels) - unlabelled),
            "unlabelled": format_number(unlabelled),
            "k": format_number(len(clf.classes_)),
        },
        "proof": _proof(clf, kernel_note(fit.results[0])),
        "moves": _moves(fit),
        "weights": [] if clf.kernel_map_ is not None else _weights(clf, names.features),
        "kernel": "" if clf.kernel_map_ is None else str(clf.kernel_map_),
        "warnings": [sentence(note) for note in dict.fromkeys(notes)],
        "settings": {k: repr(v) for k, v in sorted(clf.get_params(deep=False).items())},
        "versions": versions(),
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _row(row: Any, counted: int) -> dict[str, str]:
    miss = row.svm_count - round(row.total)
    return {
        **row.cells(),
        "total": format_number(row.total),
        "share": percent(row.total, counted),
        "svm": format_number(row.svm_count),
        "miss": "met" if miss == 0 else f"{format_number(abs(miss))} too {'many' if miss > 0 else 'few'}",
        "width": f"{100 * row.total / max(1, counted):.2f}",
        "svm_width": f"{100 * row.svm_count / max(1, counted):.2f}",
    }


def _proof(clf: Any, notes: Sequence[str]) -> dict[str, str]:
    """How good the answer is proven to be."""
    number, proven = len(clf.result_), sum(result.is_optimal for result in clf.result_.values())
    text = (
        "Each class has a hyperplane of its own against all others, found with its own total. The labels "
        "then are those with the highest summed scores among all that meet every total; that step is exact."
    )
    text = " ".join([text, *map(sentence, notes)])
    kind = "good" if proven == number else "part" if proven else "none"
    return {"kind": kind, "headline": f"{proven} of {number} hyperplanes proven optimal", "text": text}


def _moves(fit: OneVsRest) -> dict[str, Any]:
    """From the class that plain SVMs give to the class in the answer, how many rows that count."""
    now = fit.assignment.labels
    if len(now) == 0:
        return {"changed": "0", "share": percent(0, 1), "table": []}
    before = class_scores(plain_machines(fit)).argmax(axis=1)
    table = np.zeros((len(fit.classes),) * 2, dtype=int)
    np.add.at(table, (before, now), 1)
    changed = int(np.sum(before != now))
    return {
        "changed": format_number(changed),
        "share": percent(changed, len(now)),
        "table": [[format_number(int(count)) for count in row] for row in table],
    }


def _weights(clf: Any, features: Sequence[str]) -> list[list[dict[str, str]]]:
    """For each class the features with the largest weights."""
    return [_largest(np.asarray(result.coef), features) for result in clf.result_.values()]


def _largest(w: FloatArray, features: Sequence[str]) -> list[dict[str, str]]:
    order = np.argsort(-np.abs(w), kind="stable")[:MAX_FEATURES]
    return [
        {"name": features[j], "weight": signed(w[j]), "kind": "pos" if w[j] > 0 else "neg"} for j in order
    ]
