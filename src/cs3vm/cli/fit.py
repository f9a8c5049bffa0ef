"""``cs3vm fit``: from a table with few labels and a known total to labels, a model and a report."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ..exceptions import CS3VMWarning, TableError
from ..model.status import Status
from ..tables.files import all_or_none, check_outputs
from . import options as opt
from . import piece_options as piece_opt
from .common import CtrlC, check_packages, command_line, tell
from .looks import Looks, look
from .memory import memory_for_table, needs_pieces, plain_stem
from .outputs import Outputs, write_answer, write_report
from .settings import Settings, search_limits
from .varied import check_range, vary_total
from .words import kernel_fields, predictor_fields, printed, summary_fields

if TYPE_CHECKING:
    from ..learn.classifier import CS3VMClassifier
    from ..learn.fit import Fit
    from .inputs import Data


class Answer(NamedTuple):
    """What a search found."""

    clf: CS3VMClassifier
    notes: list[str]  #: about the run
    warnings: list[str]  #: about the answer; the report gives them itself

    @property
    def fit(self) -> Fit:
        """The fit itself."""
        return self.clf.fit_


def fit(
    ctx: typer.Context,
    table: opt.TableFile,
    label: opt.Label,
    positive: opt.Positive = None,
    n_positive: opt.TotalOrRange = None,
    positive_rate: opt.PositiveRate = None,
    total_positive: opt.TotalPositive = None,
    totals: opt.Totals = None,
    total: opt.Total = None,
    n_positive_range: opt.RangeOfTotals = None,
    totals_by: opt.TotalsBy = None,
    totals_of: opt.TotalsOf = opt.CountedRows.UNLABELLED,
    weight: opt.Weight = None,
    id_: opt.Id = None,
    features: opt.Features = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    impute: opt.ImputeBy = None,
    method: opt.Method = "auto",
    solver: opt.Solver = "auto",
    time_limit: opt.GuardingTimeLimit = None,
    work_limit: opt.WorkLimit = None,
    standardize: opt.Scaling = opt.Standardize.ZSCORE,
    C: opt.PriceOfSlack = 1.0,
    count_penalty: opt.CountPenalty = 1.0,
    side_margin: opt.SideMargin = "auto",
    kernel: opt.Kernel = opt.Kernels.LINEAR,
    gamma: opt.Gamma = "scale",
    degree: opt.Degree = 3,
    coef0: opt.Coef0 = 0.0,
    components: opt.Components = None,
    norm: opt.NormOfWeights = opt.Norms.L2,
    predictor: opt.Predictor = opt.Predictors.AUTO,
    group_intercepts: opt.GroupIntercepts = False,
    seed: opt.Seed = 0,
    no_accuracy: opt.NoAccuracy = False,
    no_certainty: opt.NoCertainty = False,
    folds: opt.FoldsOfLabels = 5,
    repeats: opt.RepeatsOfLabels = 1,
    by: opt.By = None,
    out: piece_opt.Out = None,
    out_dir: opt.OutDir = None,
    out_prefix: opt.OutPrefix = None,
    force: opt.Force = False,
    no_report: opt.NoReport = False,
    memory: piece_opt.Memory = None,
    resume: piece_opt.Resume = False,
    cluster: piece_opt.Cluster = None,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Classify the rows without label, so that as many are positive as is known, or of each class.

    Writes people.labels.csv (given label, predicted label, score, probabilities, how certain it is),
    people.model.json (for cs3vm predict) and people.report.html (to look at). Given labels are kept. With
    --by region, people.by_region.csv has the numbers of each region.
    """
    check_packages(report=not no_report)
    from ..tables.reading import write_csv
    from .inputs import Question, load
    from .margins import read_totals_by
    from .totals import read_totals

    seconds, work = search_limits(method, solver, norm.value, time_limit, work_limit)
    settings = Settings(
        method,
        solver,
        seconds,
        standardize.value,
        C,
        count_penalty,
        side_margin,
        seed,
        kernel.value,
        gamma,
        degree,
        coef0,
        components,
        norm.value,
        predictor.value,
        work,
        totals_of.value,
        group_intercepts,
    )
    settings.check()
    by_group = read_totals_by(totals_by)
    question = Question(
        table,
        label,
        positive,
        n_positive,
        positive_rate,
        total_positive,
        id_,
        features or (),
        exclude or (),
        categorical or (),
        impute is not None,
        read_totals(totals, total),
        by_group,
        weight,
        totals_of is opt.CountedRows.ALL,
        by,
    )
    room = memory_for_table(memory)
    if resume or cluster is not None or out is not None or needs_pieces(table, room):
        from .piece_fit import PieceOptions, fit_in_pieces

        if n_positive_range is not None:
            raise TableError("--n-positive-range needs a table in memory: leave it out, or raise --memory")
        options = PieceOptions(
            out or (out_dir or table.parent) / f"{out_prefix or plain_stem(table)}.fit",
            room,
            command_line(ctx),
            resume,
            cluster,
            force,
            not no_report,
            quiet,
            as_json,
            not no_accuracy,
            folds,
            repeats,
        )
        fit_in_pieces(question, settings, options, time_limit is not None)
        return
    outputs = Outputs.beside(table, out_dir, out_prefix, not no_report, by)
    data = load(question)
    check_range(n_positive_range, data)
    inputs = [table, *([totals] if totals else []), *(one.path for one in by_group)]
    check_outputs(outputs.paths, force=force, inputs=inputs)
    tell(data.notes, quiet=quiet)
    answer = search(data, settings, quiet=quiet or as_json)
    looks = look(answer.clf, data, folds, repeats, by, accuracy=not no_accuracy, certainty=not no_certainty)
    varied = None if n_positive_range is None else vary_total(answer.fit, n_positive_range)
    told = [*answer.notes, *answer.warnings, *(note.for_command_line() for note in looks.notes)]
    tell(told, quiet=quiet)
    with all_or_none():
        write_answer(answer.fit, data, outputs, label, id_, settings, looks, varied)
        if outputs.report is not None:
            command = command_line(ctx)
            about = (answer.notes, settings, looks, varied)
            write_report(answer.clf, data, outputs.report, label, command, *about)
        if looks.groups is not None and outputs.groups is not None:
            write_csv(looks.groups.columns(), outputs.groups)
    if as_json:
        summary = _summary(answer, data, outputs, label, looks, told)
        summary |= {} if varied is None else {"sensitivity": varied.as_dict()}
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
    elif not quiet:
        for line in printed(answer.fit, data, label, looks):
            typer.echo(line)
        if varied is not None:
            typer.echo(f"\n{varied}\n")
        typer.echo("Written: " + ", ".join(str(path) for path in outputs.paths))


def search(data: Data, settings: Settings, *, quiet: bool) -> Answer:
    """Fit with a live line; Ctrl-C ends the search and keeps the best answer."""
    from .progress import ProgressLine

    line = ProgressLine(settings.time_limit)
    stop = CtrlC(line)
    clf = settings.classifier(data.positive, stop)
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CS3VMWarning)
        try:
            with stop, nullcontext() if quiet else line:
                _fit_table(clf, data)
        except KeyboardInterrupt:  # before the method had an answer of its own
            instead = (
                "the labels come from plain SVMs, one for each class, and meet the totals"
                if data.positive is None
                else "the rows with the highest scores of the SVM are taken to be positive"
            )
            notes.append(f"stopped by Ctrl-C before the search had an answer: {instead}")
            clf = settings.classifier(data.positive).set_params(method="top_tau")
            _fit_table(clf, data)
    if any(result.status is Status.INTERRUPTED for result in clf.fit_.results):
        notes.append("stopped by Ctrl-C: this is the best answer found until then")
    messages = [warning.message for warning in caught]
    about = [message.for_command_line() for message in messages if isinstance(message, CS3VMWarning)]
    return Answer(clf, notes, about)


def _fit_table(clf: CS3VMClassifier, data: Data) -> None:
    import pandas as pd

    y = pd.Series(pd.Categorical(data.y, categories=data.classes))
    if data.other is None:
        clf.fit(data.X, y, n_positive=data.known)
    else:
        rate, groups, weight = data.other.positive_rate, data.other.groups, data.other.weight
        clf.fit(data.X, y, n_positive=data.known, positive_rate=rate, sample_weight=weight, groups=groups)


def _summary(
    answer: Answer,
    data: Data,
    outputs: Outputs,
    label: str,
    looks: Looks,
    told: Sequence[str],
) -> dict[str, Any]:
    """The machine-readable summary."""
    from .. import __version__

    fit, names = answer.fit, data.encoding.feature_names
    return {
        "cs3vm": __version__,
        "table": str(data.table.path),
        "rows": len(data.table),
        "label": label,
        "method": fit.method,
        "verdict": fit.verdict.kind,
        **looks.as_dict(),
        **summary_fields(fit, data),
        "kernel": kernel_fields(fit),
        "norm": fit.parameters.norm,
        "predictor": predictor_fields(fit),
        "features": names,
        "dropped": fit.dropped_names(names).tolist() if fit.kernel_map is None else [],
        "notes": [*data.notes, *told],
        "files": {name: str(path) for name, path in asdict(outputs).items() if path is not None},
    }
