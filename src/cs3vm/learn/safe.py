"""``method="safe"``: the default, unless hidden labels say that a simpler rule or another model is better."""

from __future__ import annotations

from dataclasses import replace

from .._typing import FloatArray, LabelArray
from ..exceptions import CS3VMError
from ..methods import SAFE
from ..model.status import Status
from .class_totals import KnownTotals
from .comparing import estimate_accuracy
from .fit import Fit
from .fitting import make_fit
from .labels import Labels
from .parameters import Parameters
from .rules import RULES, TOP_TAU, Rule
from .sparse_rows import basis_size, is_wide

#: What is fitted first, and kept unless something else is better.
DEFAULT = "auto"
#: Another rule must be better by so many standard errors. With 1 the choices were a little worse, on average
#: and where the default fails, on the samples on which this was chosen and on those of the study.
HYSTERESIS = 0.5
#: These options are about the problem or the run; all others are the default method's own.
COMMON_OPTIONS = ("callback",)


def is_safe(parameters: Parameters, X: FloatArray, labels: Labels, weight: FloatArray) -> bool:
    """Whether hidden labels shall have a say: if asked for, and by default with sparse rows of many columns.

    With a basis of some of the rows nothing can be proven about the model's answer, and on texts it is worse
    than the simple rule more often than not: see ``python -m benchmarks text``.
    """
    if parameters.method == SAFE:
        return True
    default = (parameters.method, parameters.solver) == (DEFAULT, "auto")
    own = set(parameters.options or ()) - set(COMMON_OPTIONS)
    linear = (parameters.kernel, parameters.norm) == ("linear", "l2")
    if not (default and linear and not own and is_wide(X)):
        return False
    counts = weight > 0
    n_rows, n_labelled = int(counts.sum()), int((counts & (labels.codes >= 0)).sum())
    return basis_size(n_labelled, n_rows, parameters.n_components) < n_rows


def make_safe_fit(
    parameters: Parameters,
    X: FloatArray,
    labels: Labels,
    weight: FloatArray,
    known: KnownTotals,
    features: LabelArray | None = None,
) -> Fit:
    """Fit by the default method, hide labels, and fit again by the rule that brings back more of them.

    Another rule must be better by a part of the standard error of the difference, in which both are judged
    by the same hidden labels. Where no label can be hidden, because a class has only one, the simple rule is
    taken: on average the default is a little better then, but where it fails nobody would notice. For the
    parameters see :func:`cs3vm.learn.fitting.make_fit`.
    """
    usual = replace(parameters, method=DEFAULT)
    fit = make_fit(usual, X, labels, weight, known, features)
    if any(result.status is Status.INTERRUPTED for result in fit.results):
        return fit
    try:
        accuracy = estimate_accuracy(fit)
        better = accuracy.ahead_by(HYSTERESIS)
        if fit.problem.m == 0 or (accuracy and better is None):
            return fit
        rule = TOP_TAU if better is None else RULES[better.rule]
        chosen = make_fit(_changed(usual, rule), X, labels, weight, known, features)
    except (KeyboardInterrupt, CS3VMError):  # there is an answer already
        return fit
    key = next(key for key, value in fit.estimated.items() if value is accuracy)
    chosen.estimated[key] = accuracy.seen_from(rule.name, DEFAULT)
    if rule.name in fit.held_out:
        chosen.held_out[chosen.method] = fit.held_out[rule.name]
    return chosen


def _changed(parameters: Parameters, rule: Rule) -> Parameters:
    """The parameters of another rule."""
    given = parameters.options or {}
    options = {name: given[name] for name in COMMON_OPTIONS if name in given}
    return replace(parameters, **rule.changes, options=options if "method" in rule.changes else given)
