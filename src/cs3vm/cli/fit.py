"""``cs3vm fit``: from a table with few labels and a known total to labels, a model and a report."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ..exceptions import MissingPackageError
from ..learn.summary import OFF_THE_PLANE, dropped_note, kernel_note
from ..model.status import Callback, Status
from ..tables.files import check_outputs, write_atomically
from . import options as opt
from . import several as several
from .common import CtrlC, command_line, tell

if TYPE_CHECKING:
    from ..learn.classifier import CS3VMClassifier
    from ..model.norms import Norm
    from .inputs import Data, SeveralData


@dataclass(frozen=True)
class Outputs:
    """The files that a fit writes."""

    labels: Path
    model: Path
    report: Path | None

    @classmethod
    def beside(cls, table: Path, folder: Path | None, prefix: str | None, report: bool) -> Outputs:
        """The usual names, beside the table unless said otherwise."""
        start, name = folder or table.parent, prefix or table.stem
        return cls(
            start / f"{name}.labels.csv",
            start / f"{name}.model.json",
            start / f"{name}.report.html" if report else None,
        )

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        return [path for path in (self.labels, self.model, self.report) if path is not None]


@dataclass(frozen=True)
class Settings:
    """How to search."""

    method: str
    solver: str
    time_limit: float
    standardize: str
    C: float
    count_penalty: float
    side_margin: float
    seed: int
    kernel: str = "linear"
    gamma: str = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: int | None = None
    norm: Norm = "l2"

    def check(self) -> None:
        """Refuse unknown names before anything is read."""
        from ..methods import get_method
        from ..solvers import find_solver

        get_method(self.method)
        find_solver(self.solver, self.norm)

    def classifier(self, positive: str | None, callback: Callback | None = None) -> CS3VMClassifier:
        """The classifier that they describe."""
        from ..learn.classifier import CS3VMClassifier

        return CS3VMClassifier(
            self.method,
            solver=self.solver,
            C=self.C,
            count_penalty=self.count_penalty,
            time_limit=self.time_limit,
            standardize=None if self.standardize == "none" else self.standardize,
            pos_label=positive,
            random_state=self.seed,
            options={"side_margin": self.side_margin, "callback": callback},
            kernel=self.kernel,
            gamma=self.gamma if self.gamma in ("scale", "auto") else float(self.gamma),
            degree=self.degree,
            coef0=self.coef0,
            n_components=self.n_components,
            norm=self.norm,
        )


class Answer(NamedTuple):
    """What a search found."""

    clf: CS3VMClassifier
    notes: list[str]  #: about the run
    warnings: list[str]  #: about the answer; the report gives them itself


def fit(
    ctx: typer.Context,
    table: opt.TableFile,
    label: opt.Label,
    positive: opt.Positive = None,
    n_positive: opt.NPositive = None,
    positive_rate: opt.PositiveRate = None,
    total_positive: opt.TotalPositive = None,
    totals: opt.Totals = None,
    total: opt.Total = None,
    id_: opt.Id = None,
    features: opt.Features = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    impute: opt.ImputeBy = None,
    method: opt.Method = "auto",
    solver: opt.Solver = "auto",
    time_limit: opt.TimeLimit = opt.TIME_LIMIT,
    standardize: opt.Scaling = opt.Standardize.ZSCORE,
    C: opt.PriceOfSlack = 1.0,
    count_penalty: opt.CountPenalty = 1.0,
    side_margin: opt.SideMargin = 0.0,
    kernel: opt.Kernel = opt.Kernels.LINEAR,
    gamma: opt.Gamma = "scale",
    degree: opt.Degree = 3,
    coef0: opt.Coef0 = 0.0,
    components: opt.Components = None,
    norm: opt.NormOfWeights = opt.Norms.L2,
    seed: opt.Seed = 0,
    out_dir: opt.OutDir = None,
    out_prefix: opt.OutPrefix = None,
    force: opt.Force = False,
    no_report: opt.NoReport = False,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Classify the rows without label, so that as many are positive as is known, or of each class.

    Writes people.labels.csv (given label, predicted label, score, whether the row lies on the plane),
    people.model.json (for cs3vm predict) and people.report.html (to look at). Given labels are kept.
    """
    from .inputs import Question, load
    from .totals import read_totals

    settings = Settings(
        method,
        solver,
        time_limit,
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
    )
    settings.check()
    outputs = Outputs.beside(table, out_dir, out_prefix, not no_report)
    _check_report(outputs)
    data = load(
        Question(
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
        )
    )
    check_outputs(outputs.paths, force=force, inputs=[table, *([totals] if totals else [])])
    tell(data.notes, quiet=quiet)
    answer = search(data, settings, quiet=quiet or as_json)
    tell([*answer.notes, *answer.warnings], quiet=quiet)
    _write(answer.clf, data, outputs, label, id_, settings)
    if outputs.report is not None:
        _write_report(answer, data, outputs.report, label, command_line(ctx))
    if as_json:
        typer.echo(json.dumps(_summary(answer, data, outputs, label), ensure_ascii=False, indent=1))
    elif not quiet:
        _print(answer.clf, data, outputs, label)


def search(data: Data | SeveralData, settings: Settings, *, quiet: bool) -> Answer:
    """Fit with a live line; Ctrl-C ends the search and keeps the best answer."""
    from ..exceptions import CS3VMWarning
    from .progress import ProgressLine

    line = ProgressLine(settings.time_limit)
    stop = CtrlC(line)
    clf = settings.classifier(data.positive, stop)
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CS3VMWarning)
        try:
            with stop, nullcontext() if quiet else line:
                _fit(clf, data)
        except KeyboardInterrupt:  # before the method had an answer of its own
            instead = (
                "the labels come from plain SVMs, one for each class, and meet the totals"
                if data.positive is None
                else "the rows with the highest scores of the SVM are taken to be positive"
            )
            notes.append(f"stopped by Ctrl-C before the search had an answer: {instead}")
            clf = settings.classifier(data.positive).set_params(method="top_tau")
            _fit(clf, data)
    results = clf.result_.values() if len(clf.classes_) > 2 else [clf.result_]
    if any(result.status is Status.INTERRUPTED for result in results):
        notes.append("stopped by Ctrl-C: this is the best answer found until then")
    about = [str(warning.message) for warning in caught if issubclass(warning.category, CS3VMWarning)]
    words = OFF_THE_PLANE, "--side-margin 0.01"  # from Python's words to the command's
    return Answer(clf, notes, [text.replace(*words) for text in about])


def _fit(clf: CS3VMClassifier, data: Data | SeveralData) -> None:
    import pandas as pd

    y = pd.Series(pd.Categorical(data.y, categories=data.classes))
    clf.fit(data.X, y, n_positive=data.known)


# -- writing -----------------------------------------------------------------------------------------
def _check_report(outputs: Outputs) -> None:
    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if outputs.report is not None and missing:
        raise MissingPackageError(
            f"the report needs the package {' and '.join(missing)}, which is not installed: "
            'pip install "cs3vm[report]", or leave the report out with --no-report'
        )


def _write(
    clf: CS3VMClassifier,
    data: Data | SeveralData,
    outputs: Outputs,
    label: str,
    id_: str | None,
    settings: Settings,
) -> None:
    import numpy as np

    from ..tables.model_file import make_model, save_model
    from ..tables.reading import write_csv

    model = make_model(clf, data.encoding, label, asdict(settings))
    columns = {
        "given": data.y,
        "predicted": clf.transduction_,
        **several.score_columns(model, model.scores(data.X)),
    }
    if not model.classes:
        on_plane, result = np.zeros(len(data.y), dtype=int), clf.result_
        on_plane[~data.labelled] = result.problem.on_plane(np.asarray(result.coef), result.intercept)
        columns["on_plane"] = on_plane
    write_csv({**identifiers(data.table, id_, columns), **columns}, outputs.labels)
    save_model(model, outputs.model)


def identifiers(table: Any, id_: str | None, taken: Iterable[str]) -> dict[str, Any]:
    """The first column of the output: the identifiers, or the numbers of the rows in the file."""
    if id_ is None:
        return {"row": table.frame.index.to_numpy() + 1 + table.header_rows}
    return {"id" if id_ in taken else id_: table.frame[id_].to_numpy()}


def _write_report(answer: Answer, data: Data | SeveralData, path: Path, label: str, command: str) -> None:
    from ..report import make_report

    html = make_report(
        answer.clf,
        data.X,
        data.y,
        feature_names=data.encoding.feature_names,
        label_name=label,
        positive_name=data.positive or "",
        negative_name=data.negative or "",
        source=data.table.path.name,
        command=command,
        warnings=(*data.notes, *answer.notes),
    )
    write_atomically(path, lambda file: file.write(html))


# -- printing ----------------------------------------------------------------------------------------
def _summary(answer: Answer, data: Data | SeveralData, outputs: Outputs, label: str) -> dict[str, Any]:
    from .. import __version__

    clf = answer.clf
    written = {name: str(path) for name, path in asdict(outputs).items() if path is not None}
    return {
        "cs3vm": __version__,
        "table": str(data.table.path),
        "rows": len(data.table),
        "label": label,
        "method": clf.method,
        **(_about(clf, data) if data.positive is not None else several.summary_fields(clf, data)),
        "kernel": {"kernel": "linear", "exact": True}
        if clf.kernel_map_ is None
        else clf.kernel_map_.describe(),
        "norm": clf.norm,
        "features": data.encoding.feature_names,
        "dropped": [data.encoding.feature_names[j] for j in getattr(clf, "dropped_features_", ())],
        "notes": [*data.notes, *answer.notes, *answer.warnings],
        "files": written,
    }


def _about(clf: CS3VMClassifier, data: Data) -> dict[str, Any]:
    """What the machine-readable summary says about two classes."""
    result = clf.result_
    return {
        "labelled": result.problem.n,
        "unlabelled": result.problem.m,
        "positive": data.positive,
        "negative": data.negative,
        "n_positive": data.n_positive,
        "count": int(result.count),
        "on_plane": result.on_plane,
        "status": result.status.value,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "seconds": round(result.seconds, 3),
    }


def _print(clf: CS3VMClassifier, data: Data | SeveralData, outputs: Outputs, label: str) -> None:
    typer.echo(
        (_headline(clf, data, label) if data.positive is not None else several.headline(data, label)) + "\n"
    )
    typer.echo(str(clf.summary()).split("\n! ")[0])
    typer.echo(f"\n{in_words(clf)}")
    if clf.kernel_map_ is not None:
        typer.echo(f"The {clf.kernel_map_}.")
    for note in dropped_note(clf, data.encoding.feature_names):
        typer.echo(f"{note[0].upper()}{note[1:]}.")
    typer.echo("Written: " + ", ".join(str(path) for path in outputs.paths))


def _headline(clf: CS3VMClassifier, data: Data, label: str) -> str:
    """What was known before the fit."""
    problem = clf.result_.problem
    return (
        f"{data.table.path.name}: {problem.m} rows without label, {data.n_positive} of them known to be "
        f"{label}={data.positive}; {problem.n} rows with label, {int((problem.y > 0).sum())} of them "
        f"{data.positive}"
    )


def in_words(clf: CS3VMClassifier) -> str:
    """What is proven about the answer, and for which kernel."""
    is_several = len(clf.classes_) > 2
    said = several.in_words(clf) if is_several else _proven(clf)
    result = next(iter(clf.result_.values())) if is_several else clf.result_
    return " ".join([said, *(f"Note: {note}." for note in kernel_note(result))])


def _proven(clf: CS3VMClassifier) -> str:
    result = clf.result_
    if clf.method in ("svm", "top_tau"):
        return f"{clf.method} does not search for the best plane; see --method."
    if result.is_optimal:
        return "The answer is proven optimal."
    if result.lower_bound <= 0:
        return f"The best answer found ({result.status.value}); nothing is proven about a better one."
    above = 100 * (result.objective / result.lower_bound - 1)
    return f"The best answer found ({result.status.value}); it is at most {above:.1f} % above the optimum."
