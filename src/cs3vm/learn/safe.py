"""``method="safe"``: the default, unless hidden labels say that a simpler rule or another model is better."""

from __future__ import annotations

from dataclasses import replace

from .._typing import FloatArray, LabelArray
from ..exceptions import CS3VMError
from ..model.status import Status
from .class_totals import KnownTotals
from .comparing import estimate_accuracy
from .fit import Fit
from .fitting import make_fit
from .labels import Labels
from .parameters import Parameters
from .rules import RULES, Rule

#: What is fitted first, and kept unless something else is better.
DEFAULT = "auto"
#: These options are about the problem or the run; all others are the default method's own.
COMMON_OPTIONS = ("callback",)


def make_safe_fit(
    parameters: Parameters,
    X: FloatArray,
    labels: Labels,
    weight: FloatArray,
    known: KnownTotals,
    features: LabelArray | None = None,
) -> Fit:
    """Fit by the default method, hide labels, and fit again by the rule that brings back more of them.

    Another rule must be better by more than the standard error of the difference, in which both are judged
    by the same hidden labels. For the parameters see :func:`cs3vm.learn.fitting.make_fit`.
    """
    usual = replace(parameters, method=DEFAULT)
    fit = make_fit(usual, X, labels, weight, known, features)
    if any(result.status is Status.INTERRUPTED for result in fit.results):
        return fit
    try:
        accuracy = estimate_accuracy(fit)
        if accuracy.better is None:
            return fit
        rule = RULES[accuracy.better.rule]
        chosen = make_fit(_changed(usual, rule), X, labels, weight, known, features)
    except (KeyboardInterrupt, CS3VMError):  # there is an answer already
        return fit
    key = next(key for key, value in fit.estimated.items() if value is accuracy)
    chosen.estimated[key] = accuracy.seen_from(rule.name)
    return chosen


def _changed(parameters: Parameters, rule: Rule) -> Parameters:
    """The parameters of another rule."""
    given = parameters.options or {}
    options = {name: given[name] for name in COMMON_OPTIONS if name in given}
    return replace(parameters, **rule.changes, options=options if "method" in rule.changes else given)
