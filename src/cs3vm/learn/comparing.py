"""How many labels are right, of an answer and of simpler rules beside it: all see the same hidden rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from .._typing import BoolArray, RowArray
from ..exceptions import CS3VMError, InvalidProblemError
from ..methods.front_door import solve
from ..model.problem import Problem
from ..model.result import Result
from .accuracy import MAJORITY, Accuracy, Estimate, Known, gain, ranking, recalls, share_right, too_few
from .baselines import BASELINES, title_of
from .class_totals import KnownTotals
from .cross_fit import Question, Search, Seen, draw_folds, draw_labelled, draw_unlabelled, look
from .fit import Fit
from .fitting import pose
from .parameters import Parameters
from .rules import LINEAR, RECOMMENDED, Rule

#: The default number of folds, and of times that every labelled row is hidden.
FOLDS, REPEATS = 5, 1
#: A search without some labels gives up after so many vain attempts: more improve the objective, hardly the
#: labels.
PATIENCE = 6
#: The work of all searches of one model together, so that every machine makes the same ones: about 2 seconds.
WORK = 1.6e9
#: The guard beside it, shared out among the searches: so often as long as the fit itself took, or so many
#: seconds, thirty times what the work takes, lest a busy machine estimates something else than an idle one.
GUARD, LEAST_SECONDS = 2.0, 60.0
#: Larger data are represented by a sample: so many rows without and with a label.
MOST_UNLABELLED, MOST_LABELLED = 5000, 2000
#: The kernel of another model has at most so many landmarks: its promise is asked for, not its answer.
LANDMARKS = 100


class Asked(NamedTuple):
    """A rule, what it is asked, and how it searches."""

    rule: str
    title: str
    question: Question
    search: Search
    excess: float = 0.0  #: by how much its count of the second class is above the total; of two classes


def estimate_accuracy(
    fit: Fit, *, n_folds: int = FOLDS, n_repeats: int = REPEATS, level: float = 0.9, others: bool = True
) -> Accuracy:
    """Hide labels of a fit and see how many come back; the same for simpler rules.

    Parameters
    ----------
    fit
        The answer.
    n_folds
        The labelled rows are hidden in so many parts, one after the other.
    n_repeats
        So often, each time in other parts.
    level
        How often the interval is to hold the truth.
    others
        Whether a linear model or the recommended kernel is looked at, too.
    """
    _check(n_folds, n_repeats, level)
    key = (n_folds, n_repeats, level, others)
    if key not in fit.estimated:
        fit.estimated[key] = _estimate(fit, *key)
    return fit.estimated[key]


def _check(n_folds: Any, n_repeats: Any, level: Any) -> None:
    for name, value, least in (("n_folds", n_folds, 2), ("n_repeats", n_repeats, 1)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise InvalidProblemError(f"{name} must be an integer of at least {least}, got {value!r}")
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < float(level) < 1:
        raise InvalidProblemError(f"level must be between 0 and 1, got {level!r}")


def _estimate(fit: Fit, n_folds: int, n_repeats: int, level: float, others: bool) -> Accuracy:
    classes = tuple(str(name) for name in fit.classes.tolist())
    known = _known(fit)
    why_not = too_few(known, classes)
    if why_not:
        return Accuracy(classes, why_not=why_not)
    kept = draw_labelled(known.codes, MOST_LABELLED, fit.parameters.seed)
    known = Known(known.codes[kept], known.weight[kept], known.totals)
    folds = draw_folds(known.codes, n_folds, n_repeats, fit.parameters.seed)
    seen: list[tuple[Asked, Seen]] = []
    for one in _asked(fit, own_question(fit, kept), kept, len(folds) * len(fit.results), others):
        try:
            seen.append((one, look(one.question, folds, one.search)))
        except CS3VMError as error:
            if not seen:
                return Accuracy(classes, why_not=str(error))
    own, ours = seen[0]
    fit.held_out.update({one.rule: (n_repeats, what.held_out) for one, what in seen})
    estimates = []
    for one, what in seen:
        found = recalls(what, known)
        ahead = (0.0, 0.0) if one is own else gain(ours, what, known, (own.excess, one.excess))
        share = share_right(found, known, one.excess, level)
        estimates.append(Estimate(one.rule, one.title, *share, tuple(found.tolist()), *ahead))
    auc = None if fit.is_several else ranking(ours, known)
    simple = _more_frequent(fit, classes, estimates[0].share)
    return Accuracy(classes, (*estimates, simple), auc, level, n_folds, n_repeats)


def hide_labels(fit: Fit) -> str:
    """See to it that the fit knows scores of hidden rows, its own or of an earlier estimate; or why not."""
    if fit.method in fit.held_out:
        return ""
    known = _known(fit)
    why_not = too_few(known, tuple(str(name) for name in fit.classes.tolist()))
    if why_not:
        return why_not
    kept = draw_labelled(known.codes, MOST_LABELLED, fit.parameters.seed)
    folds = draw_folds(known.codes[kept], FOLDS, REPEATS, fit.parameters.seed)
    own = next(_asked(fit, own_question(fit, kept), kept, len(folds) * len(fit.results), others=False))
    try:
        fit.held_out[own.rule] = (REPEATS, look(own.question, folds, own.search).held_out)
    except CS3VMError as error:
        return str(error)
    return ""


def _known(fit: Fit) -> Known:
    is_labelled = (fit.labels.codes >= 0) & (fit.weight > 0)
    return Known(fit.labels.codes[is_labelled], fit.weight[is_labelled], fit.class_totals)


def _more_frequent(fit: Fit, classes: tuple[str, ...], own: float) -> Estimate:
    """Everybody gets the class with the highest total: how many are right then is known."""
    totals = fit.class_totals
    most = int(np.argmax(totals))
    share = float(totals[most] / totals.sum())
    found = tuple(float(c == most) for c in range(len(totals)))
    return Estimate(MAJORITY, f"all “{classes[most]}”", share, share, share, found, share - own)


# -- the questions -----------------------------------------------------------------------------------
def own_question(fit: Fit, kept: RowArray) -> Question:
    """That of the fit, or of a sample of its rows."""
    is_labelled = (fit.labels.codes >= 0) & (fit.weight > 0)
    whole = Question(
        tuple(result.problem for result in fit.results),
        fit.labels.codes[is_labelled],
        # the totals of several classes can be met exactly only by rows that count as one each
        np.ones(int(is_labelled.sum())) if fit.is_several else fit.weight[is_labelled],
        fit.labels.positive,
        meets_total=fit.method != "svm",
        seed=fit.parameters.seed,
        members=_members(fit, is_labelled),
    )
    part = whole if len(kept) == len(whole.codes) else whole.keep(kept)
    return part.sample(MOST_UNLABELLED, fit.parameters.seed)


def _asked(fit: Fit, own: Question, kept: RowArray, searches: int, others: bool) -> Iterator[Asked]:
    """The answer's own rule first, then those that it is compared with."""
    seconds = max(GUARD * fit.seconds, LEAST_SECONDS) / searches
    quick = partial(quick_search, fit.parameters, seconds, WORK / searches)
    if fit.method in BASELINES:
        yield Asked(fit.method, title_of(fit.method), own, partial(solve, method=fit.method), _excess(fit))
    else:
        yield Asked(fit.method, title_of(fit.method), own, quick, _excess(fit))
    if fit.method != "top_tau":
        simple = replace(own, meets_total=True)
        if fit.is_several:  # planes with a margin of their own are not on one scale; see fitting
            simple = replace(own, problems=tuple(replace(p, side_margin=0.0) for p in own.problems))
        yield Asked("top_tau", title_of("top_tau"), simple, partial(solve, method="top_tau"))
    has_features = not callable(fit.parameters.kernel) and fit.parameters.kernel != "precomputed"
    if others and has_features and fit.basis is None and fit.problem.norm == "l2":
        for rule in (LINEAR, RECOMMENDED):
            linear_already = rule is LINEAR and fit.kernel_map is None
            if rule.differs(fit.parameters) and not linear_already:
                with suppress(CS3VMError):  # a kernel that takes too long is no rule to compare with
                    question = _other_question(fit, own, kept, rule)
                    yield Asked(rule.name, rule.title, question, quick)


def _excess(fit: Fit) -> float:
    """By how much the answer's count of the second class is above its total."""
    counts = np.bincount(fit.answer, fit.problem.weights, len(fit.classes))
    return float(counts[1] - fit.class_totals[1])


def quick_search(parameters: Parameters, seconds: float, work: float, problem: Problem) -> Result:
    """A quick answer, as good for labels as a long search; another norm has no quick one."""
    if problem.norm == "l2":
        return solve(
            problem,
            "direct",
            time_limit=seconds,
            work_limit=work,
            random_state=parameters.seed,
            patience=PATIENCE,
            nodes=0,
        )
    return solve(problem, solver=parameters.solver, time_limit=seconds, random_state=parameters.seed)


def _other_question(fit: Fit, own: Question, kept: RowArray, rule: Rule) -> Question:
    """What another model is asked about the same rows."""
    labelled = np.flatnonzero((fit.labels.codes >= 0) & (fit.weight > 0))[kept]
    unlabelled = np.flatnonzero(fit.unlabelled)
    unlabelled = unlabelled[draw_unlabelled(len(unlabelled), MOST_UNLABELLED, fit.parameters.seed)]
    rows = np.sort(np.append(labelled, unlabelled))
    parameters = replace(fit.parameters, n_components=LANDMARKS, **rule.changes)
    labels = fit.labels._replace(codes=fit.labels.codes[rows])
    groups = None if fit.group_columns is None else fit.group_columns.of_rows(rows)
    known = KnownTotals(bound=tuple(problem.n_positive for problem in own.problems), margins=groups)
    posed = pose(parameters, fit.rows[rows], labels, fit.weight[rows], known)
    dearer = own.first.C / fit.problem.C[kept]  # where only a sample of the labelled rows is used
    problems = tuple(
        replace(problem, C=problem.C * dearer, count_penalty=own.first.count_penalty)
        for problem in posed.problems
    )
    return replace(own, problems=problems, meets_total=True)


def _members(fit: Fit, is_labelled: BoolArray) -> BoolArray | None:
    """Which labelled rows (columns) each of several totals (rows) counts."""
    if fit.bound is None or fit.problem.one_total:
        return None
    members = np.zeros((len(fit.bound.counted), len(is_labelled)), dtype=bool)
    for g, rows in enumerate(fit.bound.counted):
        members[g, rows] = True
    return members[:, is_labelled]
