"""``cs3vm compare``: several methods on the same table."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import TableError
from . import options as opt
from .common import CtrlC, check_packages, tell
from .settings import Settings

if TYPE_CHECKING:
    from ..model.problem import Problem
    from ..model.result import Result
    from .inputs import Data

COMPARED = ("svm", "top_tau", "ircm", "wircm", "auto")


def compare(
    table: opt.TableFile,
    label: opt.Label,
    positive: opt.Positive = None,
    n_positive: opt.TotalOrRange = None,
    positive_rate: opt.PositiveRate = None,
    total_positive: opt.TotalPositive = None,
    totals_by: opt.TotalsBy = None,
    totals_of: opt.TotalsOf = opt.CountedRows.UNLABELLED,
    weight: opt.Weight = None,
    id_: opt.Id = None,
    features: opt.Features = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    impute: opt.ImputeBy = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Which methods, separated by commas; also logistic, forest and extra_trees, whose highest "
            "scores meet the total.",
            rich_help_panel=opt.SEARCH,
        ),
    ] = ",".join(COMPARED),
    solver: opt.Solver = "auto",
    time_limit: opt.TimeLimit = opt.TIME_LIMIT,
    work_limit: Annotated[
        float | None,
        typer.Option(
            callback=opt.positive_if_given,
            help="Numbers that a search may touch, for the methods that count them (direct, auto, cs3vm).",
            rich_help_panel=opt.SEARCH,
        ),
    ] = None,
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
    seed: opt.Seed = 0,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Solve the same table by several methods and print them side by side; writes no files.

    The limits hold for each method. Ctrl-C ends the method that runs and goes on to the next.
    """
    check_packages()
    from ..learn.top_tau import RIVALS
    from ..methods import get_method
    from .fit import search
    from .inputs import Question, load
    from .margins import read_totals_by
    from .words import headline

    names = [name.strip() for name in methods.split(",") if name.strip()]
    for name in names:
        if name not in RIVALS:
            get_method(name)
    settings = Settings(
        "svm",
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
        work_limit=work_limit,
        totals_of=totals_of.value,
    )
    settings.check()
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
            None,
            read_totals_by(totals_by),
            weight,
            totals_of is opt.CountedRows.ALL,
        )
    )
    if data.positive is None:
        raise TableError("compare takes two classes: give totals of the positive one, and name it --positive")
    tell(data.notes, quiet=quiet)
    svm = search(data, settings, quiet=True).fit.results[0]
    rows = []
    for name in names:
        if name in RIVALS:
            rows.append(_rival_row(name, data, svm, settings))
        else:
            rows.append(_row(name, _solve(name, svm, settings, quiet or as_json), svm))
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
    else:
        typer.echo(headline(data, label))
        _print(rows)


def _solve(name: str, svm: Result, settings: Settings, quiet: bool) -> Result:
    from ..methods import COUNTING
    from ..methods.front_door import solve
    from .progress import ProgressLine

    if name == "svm":
        return svm
    line = ProgressLine(settings.time_limit)
    stop = CtrlC(line)
    with stop, nullcontext() if quiet else line:
        return solve(
            svm.problem,
            name,
            solver=settings.solver,
            time_limit=settings.time_limit,
            random_state=settings.seed,
            callback=stop,
            work_limit=settings.work_limit if name in COUNTING else None,
        )


def _rival_row(name: str, data: Data, svm: Result, settings: Settings) -> dict[str, Any]:
    """A classifier that knows nothing of this package's model: it has labels, and no objective."""
    from ..learn.top_tau import make_rival

    began = time.perf_counter()
    clf = make_rival(name, settings.seed).set_params(pos_label=data.positive, totals_of=settings.totals_of)
    counts = ~data.labelled
    if data.other is None:
        clf.fit(data.X, data.y, n_positive=data.known)
    else:
        rate, groups, weight = data.other.positive_rate, data.other.groups, data.other.weight
        clf.fit(data.X, data.y, data.known, rate, sample_weight=weight, groups=groups)
        counts &= True if weight is None else weight > 0
    called = clf.transduction_[counts] == data.positive
    return {
        "method": name,
        **_counted(svm.problem, called),
        "differ_from_svm": None if svm.z is None else int((called != (svm.z > 0)).sum()),
        **dict.fromkeys(("on_plane", "objective", "lower_bound", "gap", "status")),
        "seconds": round(time.perf_counter() - began, 3),
    }


def _counted(problem: Problem, z: Any) -> dict[str, Any]:
    """How many rows are positive, how many should be, and by how much several totals are missed."""
    from .words import known_fields

    count = {} if z is None else {"count": problem.count(z)}
    known = {**count, "n_positive": known_fields(problem)}
    if z is None or problem.one_total:
        return known
    return {**known, "missed": float(problem.totals.misses(problem.totals.counts(z)).sum())}


def _row(name: str, result: Result, svm: Result) -> dict[str, Any]:
    changed = None if result.z is None or svm.z is None else int((result.z != svm.z).sum())
    return {
        "method": name,
        "count": result.count,
        **_counted(result.problem, result.z),
        "differ_from_svm": changed,
        "on_plane": result.on_plane,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "status": result.status.value,
        "seconds": round(result.seconds, 3),
    }


def _proof_cells(row: dict[str, Any]) -> tuple[str, str, str, str]:
    if row["objective"] is None:
        return "–", "–", "–", "no plane"
    gap = f"{100 * row['gap']:.1f} %"
    return f"{row['objective']:.4f}", f"{row['lower_bound']:.4f}", gap, row["status"]


def _print(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False, collapse_padding=True)
    missed = ["missed"] if any("missed" in row for row in rows) else []
    for name in ("method", "positives", *missed, "≠ SVM", "objective", "bound", "gap", "status", "seconds"):
        shown.add_column(name, justify="left" if name in ("method", "status") else "right", no_wrap=True)
    for row in rows:
        shown.add_row(
            row["method"],
            f"{row['count']:g}",
            *(f"{row[name]:g}" if name in row else "–" for name in missed),
            str(row["differ_from_svm"]),
            *_proof_cells(row),
            f"{row['seconds']:.2f}",
        )
    Console().print(shown)
