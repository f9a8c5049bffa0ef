"""What the report says first: a figure for each question that people ask, and a line above each part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import Note
from ..learn.accuracy import MAJORITY, Accuracy, per_cent
from ..learn.bias import Bias
from ..learn.certainty import CERTAIN, CHANGES, STABLE, UNKNOWN, Certainty
from ..learn.fit import Fit
from ..learn.group_totals import GroupTotals
from ..learn.rules import TOP_TAU
from ..learn.sensitivity import Sensitivity
from .figures import format_number
from .totals import known_total, missed
from .words import percent, plain, width

#: Cards in a row.
MOST_CARDS = 4
#: Features named in the line above the hyperplane.
MOST_NAMED = 3


#: The rules that a card sets beside the answer.
SIMPLE = (TOP_TAU.name, MAJORITY)


class Card(NamedTuple):
    """One of the figures at the top."""

    title: str
    number: str
    text: str
    tone: str = ""  #: "hit" if it is the known total, "off" if it should be


class Looks(NamedTuple):
    """What was looked at besides the answer itself; None for what nobody asked for."""

    accuracy: Accuracy | None = None
    bias: Bias | None = None
    certainty: Certainty | None = None
    groups: GroupTotals | None = None
    by: str = "group"  #: what the groups are called
    sensitivity: Sensitivity | None = None

    @property
    def notes(self) -> list[Note]:
        """What they give reason to say."""
        looks = (self.accuracy, self.bias, self.certainty)  # groups give theirs themselves
        return [note for look in looks if look is not None for note in look.notes]


def answer_count(fit: Fit) -> float:
    """Of two classes: the weight of the unlabelled rows that are labelled positive, drawn ones included."""
    return float(fit.problem.weights @ (fit.answer == fit.labels.positive))


# -- the figures -------------------------------------------------------------------------------------
def cards(fit: Fit, classes: Sequence[str], looks: Looks) -> list[Card]:
    """The totals, how many labels are right, what is certain, how the labelled rows differ."""
    if fit.problem.m == 0:
        return []
    shown = [
        _total_card(fit, classes),
        *_accuracy_card(looks.accuracy),
        *_certainty_card(fit, looks.certainty),
        *_bias_card(looks.bias),
    ]
    return shown if len(shown) >= MOST_CARDS else [*shown, _moved_card(fit)]


def _total_card(fit: Fit, classes: Sequence[str]) -> Card:
    if fit.is_several:
        return Card("known totals that the answer meets", str(len(classes)), f"of {len(classes)}", "hit")
    wanted, found = known_total(fit.problem)[0], answer_count(fit)
    said = missed(fit.problem, found)
    share = percent(found, fit.problem.total_weight)
    text = f"as many as wanted, {share} of the unlabelled" if said == "met" else f"{said}: wanted are "
    text += "" if said == "met" else wanted
    own = classes[int(fit.labels.positive or 0)]
    return Card(f"rows labelled “{own}”", format_number(found), text, "hit" if said == "met" else "off")


def _accuracy_card(accuracy: Accuracy | None) -> list[Card]:
    if not accuracy:
        return []
    own = accuracy.own
    between = f"{100 * accuracy.level:g} % interval: {100 * own.low:.0f} to {per_cent(own.high)}"
    simple = [one for one in accuracy.estimates[1:] if one.rule in SIMPLE]
    beside = [f"; {plain(one.title)}: {per_cent(one.share)}" for one in simple]
    return [Card("labels that are right, estimated", per_cent(own.share), f"{between}{''.join(beside)}")]


def _certainty_card(fit: Fit, certainty: Certainty | None) -> list[Card]:
    if certainty is None:
        return []
    number = int(certainty.unlabelled.sum())
    drawn = int(fit.undecided.sum())
    undecided = f"; {format_number(drawn)} undecided" if drawn else ""
    stable = f"{format_number(certainty.stable)} ({percent(certainty.stable, number)})"
    if certainty.why_not:
        if not certainty.n_resamples:
            return []
        return [
            Card("labels that are stable", stable.split(" (")[0], f"of {format_number(number)}{undecided}")
        ]
    text = f"of {format_number(number)}; stable: {stable}" if certainty.n_resamples else f"of {number}"
    return [Card("labels that are certain", format_number(certainty.count(CERTAIN)), f"{text}{undecided}")]


def _bias_card(bias: Bias | None) -> list[Card]:
    if bias is None or not bias.effective:
        return []
    beyond = "not tested" if bias.p_value is None else "found" if bias.is_found else "none found"
    text = f"as the {format_number(bias.labelled)} there are; bias beyond class: {beyond}"
    tone, title = "off" if bias.is_found else "", "labels without bias would tell as much"
    return [Card(title, format_number(round(bias.effective)), text, tone)]


def _moved_card(fit: Fit) -> Card:
    moved = int(fit.moves.sum() - np.trace(fit.moves))
    share = percent(moved, int(fit.moves.sum()))
    return Card("labels that a plain SVM has otherwise", format_number(moved), f"{share} of the unlabelled")


# -- a line for each part ----------------------------------------------------------------------------
def lines(fit: Fit, classes: Sequence[str], features: Sequence[str], looks: Looks) -> dict[str, str]:
    """What stands beside the title of each folded part."""
    accuracy, bias, certainty = looks.accuracy, looks.bias, looks.certainty
    said = {"search": fit.certificate.headline, "plane": _heaviest(fit, features)}
    if accuracy is not None:
        said["right"] = _how_many(accuracy)
    if fit.problem.m:
        said["totals"] = _met(fit, classes)
    if bias is not None:
        found = "by more than class" if bias.is_found else "no sign that it is by more than class"
        said["bias"] = "by class; whether by more is not known" if bias.p_value is None else found
    if looks.groups is not None:
        said["groups"] = _spread(looks.groups)
    if certainty is not None:
        said["certain"] = _reliable(fit, certainty)
    if looks.sensitivity is not None:
        said["other"] = f"{int(np.sum(~looks.sensitivity.stable))} labels would change"
    return said


def _how_many(accuracy: Accuracy) -> str:
    """The answer's share of right labels beside that of the best other rule."""
    if not accuracy:
        return "not known"
    others = accuracy.estimates[1:]
    best = max(others, key=lambda one: one.share, default=None)
    beside = (
        "" if best is None else f"; best of the other rules: {per_cent(best.share)} ({plain(best.title)})"
    )
    return f"about {per_cent(accuracy.own.share)}{beside}"


def _met(fit: Fit, classes: Sequence[str]) -> str:
    svm = np.bincount(fit.svm_codes, fit.problem.weights, len(classes))
    if fit.is_several:
        met = int(np.sum(np.abs(svm - fit.totals) < 1e-9))
        return f"all {len(classes)} are met; plain SVMs would meet {met}"
    own = int(fit.labels.positive or 0)
    wanted = known_total(fit.problem)[0]
    return f"{format_number(answer_count(fit))} of {wanted}; a plain SVM would say {format_number(svm[own])}"


def _spread(groups: GroupTotals) -> str:
    """From the least share to the greatest, of the groups that have unlabelled rows."""
    known = [row for row in groups.rows if row.weight > 0]
    if not known:
        return "no group has unlabelled rows"
    if len({str(row.label) for row in known}) > 1:
        return f"{len({str(row.group) for row in known})} groups"
    least, most = (pick(known, key=lambda row: row.share) for pick in (min, max))
    ends = (f"{per_cent(row.share)} in “{plain(row.group)}”" for row in (least, most))
    return f"of “{plain(least.label)}” " + " to ".join(ends) if len(known) > 1 else next(ends)


def _reliable(fit: Fit, certainty: Certainty) -> str:
    parts = [] if certainty.why_not else [f"{format_number(certainty.count(CERTAIN))} certain"]
    parts += [f"{format_number(certainty.stable)} stable"] if certainty.n_resamples else []
    return ", ".join([*parts, f"{format_number(int(fit.undecided.sum()))} undecided"])


def _heaviest(fit: Fit, features: Sequence[str]) -> str:
    """The features with the largest weights."""
    if fit.kernel_map is not None:
        return f"in the features of the kernel {fit.kernel_map.kernel}"
    size = np.abs(fit.normals).max(axis=0)
    order = [j for j in np.argsort(-size, kind="stable")[:MOST_NAMED] if size[j] > 0]
    return f"what counts most: {', '.join(features[j] for j in order)}" if order else "no feature counts"


# -- what can be relied on ---------------------------------------------------------------------------
def shown_certainty(fit: Fit, certainty: Certainty) -> dict[str, Any]:
    """Sentences and bars about what is certain, stable and undecided."""
    rows, stays = certainty.unlabelled, certainty.stability
    number = int(rows.sum())
    proven = {
        "certain, by proof": certainty.count(CERTAIN),
        "changes in an answer nearly as good": certainty.count(CHANGES),
        "neither is known": certainty.count(UNKNOWN),
    }
    stable = {
        f"stays in {100 * STABLE:.0f} to 100 % of the draws": certainty.stable,
        f"in 80 to {100 * STABLE:.0f} %": int(np.sum(rows & (stays >= 0.8) & (stays < STABLE))),
        "in fewer": int(np.sum(rows & (stays < 0.8))),
    }
    drawn = int(fit.undecided.sum())
    return {
        "proven": certainty.proven,
        "resampled": certainty.resampled,
        "proven_bars": [] if certainty.why_not else _bars(proven, number),
        "stable_bars": _bars(stable, number) if certainty.n_resamples else [],
        "drawn": format_number(drawn) if drawn else "",
    }


def _bars(counts: dict[str, int], whole: int) -> list[dict[str, Any]]:
    return [
        {
            "title": title,
            "text": f"{format_number(n)} ({percent(n, whole)})",
            "width": width(n, whole),
            "own": i == 0,
        }
        for i, (title, n) in enumerate(counts.items())
    ]
