"""What the report says, for two classes or several: numbers and plain words, no markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from .._typing import IntArray
from ..exceptions import Note
from ..learn.accuracy import Accuracy
from ..learn.baselines import title_of
from ..learn.fit import Fit
from ..learn.summary import ClassRow, summarize
from ..model.result import Result
from .bias import shown_bias
from .conclusions import Looks, answer_count, cards, lines, shown_certainty
from .figures import format_number
from .groups import shown_groups
from .planes import shown_planes
from .separating import separating
from .total_curve import shown_sensitivity
from .totals import known_total, missed, shown_totals, weights_words
from .words import miss, percent, plain, sentence, versions, width


class Names(NamedTuple):
    """What the user calls things."""

    label: str
    features: tuple[str, ...]
    classes: tuple[str, ...]  #: in the order of those of the fit


@dataclass(frozen=True)
class Bar:
    """A count beside the known total."""

    title: str
    text: str
    width: float  #: in per cent
    total: float  #: where the known total is
    own: bool = False


@dataclass(frozen=True)
class MethodRow:
    """One method in the comparison of two classes."""

    title: str
    own: bool
    count: str
    share: str
    miss: str
    changed: str
    objective: str
    seconds: str


def content(
    fit: Fit,
    X: Any,
    names: Names,
    warnings: Sequence[str],
    settings: Mapping[str, Any] | None,
    for_command_line: bool,
    looks: Looks,
) -> dict[str, Any]:
    """Everything that the template shows."""
    accuracy, bias, certainty = looks.accuracy, looks.bias, looks.certainty
    notes = [*warnings, *fit.notes(names.features), *looks.notes]
    if fit.parameters.kernel != "precomputed" and not fit.is_several:  # its columns are no features
        notes += separating(X, fit.labels.signs, names.features, _pair(fit, names.classes))
    said = [n.for_command_line() if for_command_line and isinstance(n, Note) else n for n in notes]
    return {
        "names": names,
        "for_command_line": for_command_line,
        "several": fit.is_several,
        "has_total": fit.problem.m > 0,
        "positive": "" if fit.is_several else _pair(fit, names.classes)[0],
        "negative": "" if fit.is_several else _pair(fit, names.classes)[1],
        "facts": _sizes(fit),
        "given": _given(fit, names.classes),
        "cards": cards(fit, names.classes, looks),
        "lines": {k: plain(v) for k, v in lines(fit, names.classes, names.features, looks).items()},
        "certainty": None if certainty is None else shown_certainty(fit, certainty),
        "accuracy": "" if accuracy is None else plain(accuracy.sentence),
        "rules": [] if accuracy is None else _rules(accuracy),
        "bias": None if bias is None else shown_bias(bias, names.classes),
        "groups": shown_groups(looks.groups, looks.by, for_command_line),
        "warnings": [sentence(note) for note in dict.fromkeys(said)],
        "certificate": fit.certificate,
        "bars": _class_bars(fit, names.classes) if fit.is_several else _method_bars(fit),
        "methods": [] if fit.is_several else _methods(fit),
        "rows": _class_table(fit, names.classes) if fit.is_several else [],
        "totals": shown_totals(fit),
        "sensitivity": None if looks.sensitivity is None else shown_sensitivity(looks.sensitivity),
        "moves": _moves(fit),
        "planes": shown_planes(fit, names.classes, names.features, certainty),
        "intervals": certainty is not None and certainty.weights is not None,
        "kernel": None if fit.kernel_map is None else fit.kernel_map.describe(),
        "n_weights": fit.n_features,
        "settings": fit.parameters.shown() if settings is None else {k: repr(v) for k, v in settings.items()},
        "versions": versions(),
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "method": fit.method,
    }


def _pair(fit: Fit, classes: Sequence[str]) -> tuple[str, str]:
    """The names of the positive and of the negative one of two classes."""
    own = int(fit.labels.positive or 0)
    return classes[own], classes[1 - own]


def _sizes(fit: Fit) -> dict[str, str]:
    """The sizes behind the question."""
    codes, problem = fit.labels.codes, fit.problem
    weighted = not np.all(problem.weights == 1.0)
    return {
        "n": format_number(len(codes)),
        "labelled": format_number(int(np.sum(codes >= 0))),
        "unlabelled": format_number(int(np.sum(codes < 0))),
        "weighted": format_number(problem.total_weight) if weighted else "",
        "tau": known_total(problem)[0],
        "tau_share": known_total(problem)[1],
        "design": weights_words(fit),
        "k": format_number(len(fit.classes)),
    }


def _given(fit: Fit, classes: Sequence[str]) -> list[dict[str, str]]:
    """How many labels each class has; of two the positive one comes first."""
    codes = fit.labels.codes
    order = (
        range(len(classes)) if fit.labels.positive is None else [fit.labels.positive, 1 - fit.labels.positive]
    )
    counts = [int(np.sum(codes == c)) for c in order]
    return [
        {"name": classes[c], "count": format_number(count), "share": percent(count, sum(counts))}
        for c, count in zip(order, counts, strict=True)
    ]


# -- beside the simple rules -------------------------------------------------------------------------
def _rules(accuracy: Accuracy) -> list[dict[str, str]]:
    """How often each rule is right, a row for each."""
    return [{plain(name): plain(value) for name, value in row.items()} for row in accuracy.cells()]


def _svm_counts(fit: Fit) -> IntArray:
    """How many unlabelled rows plain SVMs give to each class."""
    return np.bincount(fit.svm_codes, minlength=len(fit.classes))


def _answers(fit: Fit) -> dict[str, Result]:
    """The answers to the one problem of two classes, by method."""
    return {name: results[0] for name, results in {**fit.baselines, fit.method: fit.results}.items()}


def _counts(fit: Fit) -> dict[str, float]:
    """How many rows each method calls positive; of the answer by its labels, drawn ones included."""
    return {name: result.count for name, result in _answers(fit).items()} | {fit.method: answer_count(fit)}


def _method_bars(fit: Fit) -> list[Bar]:
    whole, total = fit.problem.total_weight, float(fit.totals[0])
    return [
        Bar(
            title_of(name),
            f"{format_number(count)} ({percent(count, whole)})",
            width(count, whole),
            width(total, whole),
            name == fit.method,
        )
        for name, count in _counts(fit).items()
    ]


def _class_bars(fit: Fit, classes: Sequence[str]) -> list[Bar]:
    counts, whole = _svm_counts(fit).tolist(), fit.problem.m
    return [
        Bar(
            f"“{name}”",
            f"{format_number(count)} of {format_number(total)}: {miss(count, total)}",
            width(count, whole),
            width(total, whole),
        )
        for name, count, total in zip(classes, counts, fit.totals.tolist(), strict=True)
    ]


def _methods(fit: Fit) -> list[MethodRow]:
    naive, counts = fit.baselines["svm"][0], _counts(fit)
    own, rows = fit.answer == fit.labels.positive, []
    for name, result in _answers(fit).items():
        z = own if name == fit.method else np.asarray(result.z) > 0
        changed, count = int(np.sum(z != (np.asarray(naive.z) > 0))), counts[name]
        rows.append(
            MethodRow(
                title=title_of(name),
                own=name == fit.method,
                count=format_number(count),
                share=percent(count, result.problem.total_weight),
                miss=missed(result.problem, count),
                changed="–" if result is naive else format_number(changed),
                objective=f"{result.objective:.5g}",
                seconds=f"{result.seconds:.2f}",
            )
        )
    return rows


def _class_table(fit: Fit, classes: Sequence[str]) -> list[dict[str, str]]:
    """The classes of several with what is known and proven about each."""
    rows = [row for row in summarize(fit).rows if isinstance(row, ClassRow)]
    return [
        {
            **row.cells(),
            "class": name,
            "total": format_number(row.total),
            "share": percent(row.total, fit.problem.m),
        }
        for name, row in zip(classes, rows, strict=True)
    ]


def _moves(fit: Fit) -> dict[str, Any]:
    """How many unlabelled rows left the class where the SVM has them, and for which."""
    table = fit.moves
    changed = int(table.sum() - np.trace(table))
    own = int(fit.labels.positive or 0)
    return {
        "all": format_number(changed),
        "share": percent(changed, int(table.sum())),
        "table": [[format_number(int(count)) for count in row] for row in table],
        "to_positive": format_number(int(table[1 - own, own])),
        "to_negative": format_number(int(table[own, 1 - own])),
    }
