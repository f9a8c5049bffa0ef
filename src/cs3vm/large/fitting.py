"""From a source of pieces to a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine.warm_up import warm_up
from ..exceptions import InvalidProblemError
from ..learn.classifier import CS3VMClassifier
from ..learn.fit import Fit
from ..learn.fitting import make_fit
from ..learn.parameters import Parameters
from ..learn.unlabelled import SKLEARN_MARK, is_missing
from .labeller import Labeller, Remembered
from .large_fit import LargeFit
from .local_fit import local_fit
from .order_statistic import NEAREST, Reader
from .outcome import Plane, Summer, divisions, draw_rows
from .pieces import Source
from .representatives import Given, Representatives, in_row_order, represent
from .rounds import TOP_TAU, Judge, PassDone, Passes, known_counts, search
from .survey import Asked, Survey, Surveyor

#: Unlabelled rows that are drawn into memory; a table with no more of them is fitted as a whole.
SAMPLE_ROWS = 150_000
#: Of these at least so many of each combination of groups.
BY_CELL = 200
#: Numbers that the sample may have.
SAMPLE_NUMBERS = 30_000_000


def fit_pieces(
    source: Source,
    classifier: CS3VMClassifier | None = None,
    *,
    n_positive: Any = None,
    positive_rate: Any = None,
    group_columns: tuple[str, ...] | None = None,
    sample_rows: int | None = None,
    near_rows: int = NEAREST,
    callback: Callable[[PassDone], None] | None = None,
) -> LargeFit:
    """Fit a table in pieces: the answer does not depend on where it is cut, nor on who works on it.

    Parameters
    ----------
    source
        The pieces: rows, labels, weights, groups.
    classifier
        Whose parameters are used; it is not changed. The method is always "direct". ``time_limit`` is for
        the searches in memory; reading takes as long as it takes.
    n_positive, positive_rate
        As in :meth:`cs3vm.CS3VMClassifier.fit`.
    group_columns
        Names of the columns of groups that totals are by; all that the source has, if not given.
    sample_rows
        Unlabelled rows that are drawn into memory. Default: :data:`SAMPLE_ROWS`, fewer where there are many
        columns. A table with no more of them is fitted in memory, with the answer of the classifier itself.
    near_rows
        Rows next to the plane that enter one by one.
    callback
        Called after each pass.
    """
    parameters = _parameters(classifier)
    warm_up()
    passes = Passes(source, callback)
    survey = _survey(passes, parameters, _columns(source, group_columns), sample_rows)
    found = represent(survey, parameters, Given(n_positive, positive_rate))
    if len(survey.drawn) == survey.counts.sum():
        return _in_memory(found, source, passes)
    judge = Judge(found, passes, near_rows)
    best, first = search(judge, parameters.time_limit)
    plane = Plane(found.plane_scores(best.w), best.chosen.at, best.chosen.b)
    divided = tuple(draw_rows(passes, judge.reader, plane, divisions(judge, best), parameters.seed))
    summer = Summer(judge.reader, plane, divided, parameters.seed)
    outcome = passes.run("outcome", summer, summer.combine)
    local = local_fit(judge, best, outcome, first, _names(source))
    labels = found.table.labels
    labeller = Labeller(
        labels.classes, int(labels.positive or 0), plane, judge.reader, divided, parameters.seed
    )
    return LargeFit(
        _fitted(parameters, local),
        labeller,
        local.results[0].objective,
        judge.counts.by_total(outcome.labelled),
        np.column_stack([judge.counts.low, judge.counts.high]),
        found.problem.totals.names,
        tuple(passes.done),
        best.chosen.proven,
        min(best.chosen.margin, outcome.nearest),
        survey.n_rows,
        int(survey.counts.sum()),
        judge.counts,
        survey.weights.values()[:, 0],
    )


def _parameters(classifier: CS3VMClassifier | None) -> Parameters:
    """The parameters, if they are possible for rows in pieces."""
    classifier = CS3VMClassifier() if classifier is None else classifier
    classifier._validate_params()
    parameters = Parameters.of(classifier)
    refused = {
        "method": parameters.method not in ("auto", "direct", TOP_TAU)
        and "use method='direct', or 'top_tau' for the simple rule",
        "norm": parameters.norm != "l2" and "use norm='l2'",
        "kernel": parameters.kernel == "precomputed" and "give features and the name of a kernel",
        "group_intercepts": parameters.group_intercepts and "leave it out",
        "side_margin": parameters.side_margin == 0 and "use 'auto': no row may lie on the plane",
    }
    for name, advice in refused.items():
        if advice:
            raise InvalidProblemError(
                f"{name}={getattr(parameters, name)!r} is not possible for rows in pieces: {advice}"
            )
    unknown = sorted(set(parameters.further_options()) - {"callback", "patience"})
    if unknown:
        raise InvalidProblemError(
            f"options has {', '.join(map(repr, unknown))}: rows in pieces know 'patience' and 'callback' only"
        )
    return parameters if parameters.method == TOP_TAU else replace(parameters, method="direct")


def _columns(source: Source, given: tuple[str, ...] | None) -> tuple[str, ...]:
    return source.group_names if given is None else tuple(given)


def _names(source: Source) -> Any:
    return None if source.names is None else np.array(source.names, dtype=object)


def _survey(
    passes: Passes, parameters: Parameters, columns: tuple[str, ...], sample_rows: int | None
) -> Survey:
    """The first pass. -1 marks unlabelled rows unless one has no label at all, which another pass finds."""
    source = passes.source
    if sample_rows is None:
        sample_rows = max(1000, min(SAMPLE_ROWS, SAMPLE_NUMBERS // max(1, source.n_columns)))
    given = parameters.unlabeled is not None and not is_missing(parameters.unlabeled)
    mark = parameters.unlabeled if given else SKLEARN_MARK
    scaled = parameters.standardize == "zscore"
    by_cell = BY_CELL if columns else 0
    asked = Asked(columns, mark, parameters.seed, sample_rows, by_cell, source.n_rows, scaled)
    found = passes.run("survey", Surveyor(asked), Survey.combine)
    if not given and found.n_missing > 0 and found.n_marked > 0:
        asked = asked._replace(mark=None)
        found = passes.run("survey", Surveyor(asked), Survey.combine)
    if len(found.drawn) < min(sample_rows, int(found.counts.sum())):  # most rows are labelled
        found = passes.run("survey", Surveyor(asked._replace(n_rows=None)), Survey.combine)
    return found.finished()


def _fitted(parameters: Parameters, fit: Fit) -> CS3VMClassifier:
    """A classifier with this fit."""
    given = {name: getattr(parameters, name) for name in CS3VMClassifier._get_param_names()}
    classifier = CS3VMClassifier(**given)
    classifier.n_features_in_ = fit.n_features
    if fit.features is not None:
        classifier.feature_names_in_ = np.asarray(fit.features, dtype=object)
    classifier._keep(fit)
    return classifier


def _in_memory(found: Representatives, source: Source, passes: Passes) -> LargeFit:
    """A table whose rows are all in memory is fitted as they are, in their order."""
    survey, parameters = found.survey, found.parameters
    (X, labels, weight, known), numbers = in_row_order(found)
    fit = make_fit(parameters, X, labels, weight, known, _names(source))
    (result,) = fit.results
    mapped = replace(found, posed=found.posed._replace(scaling=fit.scaling, mapped=fit.kernel_map))
    plane = Plane(mapped.plane_scores(np.asarray(result.coef)), -result.intercept, result.intercept)
    counts = known_counts(found)
    reader = Reader(survey.cells, survey.asked.mark, counts.weighing)
    labeller = Labeller(
        labels.classes,
        int(labels.positive or 0),
        plane,
        reader,
        seed=parameters.seed,
        remembered=Remembered(numbers, fit.codes, fit.undecided),
    )
    totals = result.problem.totals
    return LargeFit(
        _fitted(parameters, fit),
        labeller,
        result.objective,
        totals.counts(fit.answer == labels.positive),
        np.column_stack([totals.low, totals.high]),
        totals.names,
        tuple(passes.done),
        True,
        result.problem.side_margin,
        survey.n_rows,
        int(survey.counts.sum()),
        counts,
        survey.weights.values()[:, 0],
    )
