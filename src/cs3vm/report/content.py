"""What the report says: numbers and plain words, no markup."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..learn.labels import as_vector, find_unlabeled
from ..learn.summary import BASELINES, dropped_note, kernel_note, notes_on
from ..methods.front_door import solve
from ..model.result import Result
from ..model.status import Status
from .figures import format_number
from .svg import draw_figures

MAX_SEPARATING = 5  # features named in the warning
MAX_WEIGHTS = 200  # rows of the table of weights
PACKAGES = ("cs3vm", "numpy", "scipy", "scikit-learn", "numba", "pyscipopt", "matplotlib")


class Names(NamedTuple):
    """What the user calls things."""

    features: tuple[str, ...]
    label: str
    positive: str
    negative: str


@dataclass(frozen=True)
class Row:
    """One method in the comparison."""

    title: str
    own: bool
    count: str
    share: str
    met: bool
    miss: str
    changed: str
    objective: str
    seconds: str
    width: float  # of its bar, in per cent


def content(clf: Any, X: Any, y: Any, names: Names, warnings: Sequence[str]) -> dict[str, Any]:
    """Everything that the template shows, apart from the names."""
    result: Result = clf.result_
    problem = result.problem
    method = clf.method if problem.m else "svm"
    answers = {name: solve(problem, name) for name in BASELINES if problem.m and name != method}
    answers[method] = result
    naive = answers.get("svm", result)
    signs, mapped = _signs(clf, y), clf.kernel_map_
    notes = [*warnings, *notes_on(result, method), *dropped_note(clf, names.features)]
    if clf.kernel != "precomputed":  # its columns are no features
        notes += separating(_labelled_rows(X, signs), signs[signs != 0], names)
    return {
        "facts": facts(result, signs),
        "rows": [_row(name, answer, naive, own=name == method) for name, answer in answers.items()],
        "tau_width": _percent_of(problem.n_positive, problem.total_weight),
        "moves": moves(result, naive),
        "certificate": certificate(result, method),
        "certified": [sentence(note) for note in kernel_note(result)],
        "warnings": [sentence(note) for note in dict.fromkeys(notes)],
        "figures": draw_figures(result, naive, names.features, (names.positive, names.negative)),
        "weights": weight_rows(clf, names) if mapped is None else [],
        "kernel": None if mapped is None else mapped.describe(),
        "n_weights": problem.d,
        "settings": {k: repr(v) for k, v in sorted(clf.get_params(deep=False).items())},
        "versions": versions(),
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "has_total": problem.m > 0,
        "method": method,
    }


def _signs(clf: Any, y: Any) -> NDArray[np.int8]:
    """+1 and -1 for labelled rows, 0 for the others."""
    labels = as_vector(y)
    has_total, names = clf.result_.problem.m > 0, clf.classes_.tolist()
    missing = find_unlabeled(labels, unlabeled=clf.unlabeled, has_total=has_total, names=names)
    signs = np.zeros(len(labels), dtype=np.int8)
    signs[~missing] = np.where(labels[~missing] == clf.pos_label_, 1, -1)
    return signs


def _labelled_rows(X: Any, signs: NDArray[np.int8]) -> FloatArray:
    rows = X.to_numpy() if hasattr(X, "to_numpy") else X
    rows = rows[signs != 0]
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=float)


def facts(result: Result, signs: NDArray[np.int8]) -> dict[str, str]:
    """The sizes behind the question."""
    problem = result.problem
    return {
        "n": format_number(len(signs)),
        "labelled": format_number(int(np.sum(signs != 0))),
        "labelled_positive": format_number(int(np.sum(signs > 0))),
        "labelled_negative": format_number(int(np.sum(signs < 0))),
        "labelled_share": percent(int(np.sum(signs > 0)), int(np.sum(signs != 0))),
        "unlabelled": format_number(int(np.sum(signs == 0))),
        "weighted": "" if np.all(problem.weights == 1.0) else format_number(problem.total_weight),
        "tau": format_number(problem.n_positive),
        "tau_share": percent(problem.n_positive, problem.total_weight),
        "d": format_number(problem.d),
        "count": format_number(result.count) if problem.m else "0",
        "on_plane": format_number(result.on_plane),
    }


def moves(result: Result, naive: Result) -> dict[str, str]:
    """How many unlabelled rows left the side where the SVM has them."""
    now, before = np.asarray(result.z) > 0, np.asarray(naive.z) > 0
    up, down = int(np.sum(now & ~before)), int(np.sum(~now & before))
    return {
        "all": format_number(up + down),
        "share": percent(up + down, len(now)),
        "to_positive": format_number(up),
        "to_negative": format_number(down),
    }


def certificate(result: Result, method: str) -> dict[str, str]:
    """How good the answer is proven to be: a kind, a headline and a sentence or two."""
    low, value = result.lower_bound, result.objective
    above = 100 * (value - low) / low if low > 1e-12 * max(1.0, value) else np.inf
    room = (
        f"at most {above:.2g} % above the optimum"
        if above < 100
        else f"at most {value / low:.3g} times the optimum"
        if np.isfinite(above)
        else "any distance above the optimum"
    )
    if result.is_optimal or (method == "svm" and result.problem.m == 0):
        text = "No other hyperplane has a smaller objective, up to the relative gap that was asked for."
        return {"kind": "good", "headline": "Proven optimal", "text": text}
    if method in BASELINES:
        text = (
            "This method is a fixed rule. It does not search for the best hyperplane, so nothing is claimed."
        )
        return {"kind": "none", "headline": "No proof", "text": text}
    if result.status is Status.FEASIBLE:
        text = (
            "This method searches for a good answer and does not try to prove it. From the bound that it "
            f"knows ({low:.4g}), the objective ({value:.4g}) is {room}; a better answer may exist."
        )
        return {"kind": "none", "headline": "No proof", "text": text}
    text = (
        f"The search ended early ({result.status.value}). The objective found is {value:.4g}, and no answer "
        f"can be below {low:.4g}. More time may improve the answer, the proof, or both."
    )
    kind = "part" if above < 100 else "none"
    return {"kind": kind, "headline": room[0].upper() + room[1:], "text": text}


def separating(X: FloatArray, signs: NDArray[np.int8], names: Names) -> list[str]:
    """A warning about features that separate the labelled rows by themselves."""
    positive, negative = X[signs > 0], X[signs < 0]
    if not (len(positive) and len(negative)):
        return []
    above = positive.min(axis=0) > negative.max(axis=0)
    below = positive.max(axis=0) < negative.min(axis=0)
    found = np.flatnonzero(above | below)
    if not len(found):
        return []
    said = [_separation(names, j, positive[:, j], negative[:, j]) for j in found[:MAX_SEPARATING]]
    more = f" and {len(found) - len(said)} more" if len(found) > len(said) else ""
    start = "one feature alone separates" if len(found) == 1 else f"{len(found)} features each separate"
    return [
        f"{start} the labelled rows: {', '.join(said)}{more}. With few labels this can be chance; it can "
        "also be a feature that was recorded with the answer itself, or the way the sample was chosen. "
        "Check before you trust its weight"
    ]


def _separation(names: Names, feature: int, positive: FloatArray, negative: FloatArray) -> str:
    ranges = f"{names.positive}: {_range(positive)}; {names.negative}: {_range(negative)}"
    return f"“{names.features[feature]}” ({ranges})"


def weight_rows(clf: Any, names: Names) -> list[dict[str, str]]:
    """The features by the size of their weight."""
    w = np.asarray(clf.result_.coef)
    original, _ = clf.scaling_.to_original(w, clf.result_.intercept)
    return [
        {
            "name": names.features[j],
            "scaled": signed(w[j]),
            "original": signed(original[j]),
            "side": "" if w[j] == 0 else names.positive if w[j] > 0 else names.negative,
            "kind": "pos" if w[j] > 0 else "neg",
        }
        for j in np.argsort(-np.abs(w), kind="stable")[:MAX_WEIGHTS]
    ]


def versions() -> dict[str, str]:
    """Versions of what was used."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def percent(part: float, whole: float) -> str:
    """A share in words."""
    return f"{100 * part / whole:.1f}\N{NO-BREAK SPACE}%" if whole else "–"


def _row(name: str, answer: Result, naive: Result, *, own: bool) -> Row:
    problem = answer.problem
    miss = answer.count - problem.n_positive
    changed = int(np.sum(np.asarray(answer.z) != np.asarray(naive.z)))
    return Row(
        title=BASELINES.get(name, f"CS³VM ({name})"),
        own=own,
        count=format_number(answer.count),
        share=percent(answer.count, problem.total_weight),
        met=abs(miss) < 1e-9,
        miss=f"{format_number(abs(miss))} too {'many' if miss > 0 else 'few'}"
        if abs(miss) >= 1e-9
        else "met",
        changed="–" if answer is naive else format_number(changed),
        objective=f"{answer.objective:.5g}",
        seconds=f"{answer.seconds:.2f}",
        width=_percent_of(answer.count, problem.total_weight),
    )


def _percent_of(part: float, whole: float) -> float:
    return round(100 * part / whole, 2) if whole else 0.0


def signed(value: float) -> str:
    """A weight with its sign."""
    return f"{value:+.3g}".replace("-", "\N{MINUS SIGN}")


def _range(values: FloatArray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def sentence(note: str) -> str:
    """A note with a capital and a full stop."""
    note = note.strip()
    return note[:1].upper() + note[1:] + ("" if note.endswith((".", "!", "?")) else ".")
