"""A fit in memory that says about totals what the plane gives on all rows.

Its rows are the labelled ones and drawn ones. The weights of the drawn rows of a cell on one side of the
plane add up to the exact weight there, so that every total, and with it the objective, is that of all rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import IntArray
from ..learn.bound_totals import bind_margins
from ..learn.fit import Fit
from ..learn.kernel_map import KernelMap
from ..model.profiles import profiles
from ..model.result import Result
from ..model.status import Status
from .outcome import Outcome
from .representatives import make_table, spread_weights
from .rounds import Judge, Judged
from .sampling import Rows

#: Drawn rows of the fit.
LOCAL_ROWS = 50_000


def local_fit(judge: Judge, best: Judged, outcome: Outcome, first: Result, names: Any) -> Fit:
    """The fit of the labelled and some of the drawn rows.

    ``first`` is the answer of the first search in memory: its bound, which labelled rows alone give, holds
    for all rows, too.
    """
    table, survey, weighing = judge.table, judge.table.survey, judge.counts.weighing
    drawn = _drawn(survey.drawn, outcome.drawn)
    scores = table.plane_scores(best.w)
    positive = scores(drawn.X)[0] + best.chosen.b >= 0.0
    stratum = 2 * drawn.cell + positive
    whole = weighing.values(outcome.weight).ravel()
    weight = spread_weights(drawn, whole, stratum, survey.whole_weights)
    kept = np.flatnonzero(weight > 0.0)
    drawn, weight, positive = drawn.take(kept), weight[kept], positive[kept]
    rows = make_table(survey, table.parameters, table.given, drawn, weight)
    margins = rows.known.margins
    bound = bind_margins(margins, rows.labels, rows.weight) if margins and margins.any else None
    problem = replace(
        table.problem,
        U=table.features(drawn.X),
        n_positive=table.totals_over(drawn.cell, weight),
        weights=weight,
        side=np.zeros(len(drawn), dtype=np.int8),
        side_margin=min(best.chosen.margin, outcome.nearest),
    )
    result = Result(
        problem,
        Status.INTERRUPTED if first.status is Status.INTERRUPTED else Status.FEASIBLE,
        best.w,
        best.chosen.b,
        positive.astype(np.int8),
        lower_bound=first.lower_bound,
        seconds=sum(done.seconds for done in judge.passes.done) + first.seconds,
        work=first.work,
        hurried=first.hurried,
    )
    kernel_map = table.posed.mapped if isinstance(table.posed.mapped, KernelMap) else None
    if kernel_map is not None:
        result = replace(result, extras={"kernel": kernel_map.describe()})
    return Fit(
        rows.labels,
        rows.weight,
        (result,),
        table.posed.scaling,
        kernel_map,
        table.parameters,
        names,
        rows.X,
        profiles(drawn.X),
        None,
        bound,
    )


def _drawn(sample: Rows, strata: Rows) -> Rows:
    """Rows of the sample, and some of each cell and side."""
    if len(sample) > LOCAL_ROWS:
        sample = sample.take(np.sort(np.argsort(sample.hash, kind="stable")[:LOCAL_ROWS]))
    new: IntArray = np.flatnonzero(~np.isin(strata.number, sample.number))
    return sample.joined(strata.take(new)).in_order()
