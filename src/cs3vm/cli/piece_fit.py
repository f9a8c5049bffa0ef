"""``cs3vm fit`` on a table in pieces: larger than memory, or a folder of files."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import typer

from .. import __version__
from ..exceptions import CS3VMError, CS3VMWarning, Note, OutputError, TableError
from ..large.by_group import group_totals
from ..large.calibration import Calibrated
from ..large.fitting import fit_pieces
from ..large.large_fit import LargeFit
from ..large.rounds import PassDone
from ..learn.calibrating import estimate_probabilities
from ..tables.files import check_outputs
from ..tables.frames import FramePiece, Frames, TextFrames, is_collection, open_frames
from ..tables.model_file import make_model, save_model
from ..tables.reading import write_csv
from ..tables.unfinished import SavedPasses, Unfinished, put_back
from .common import tell
from .inputs import Question
from .looks import Looks, look
from .memory import piece_rows
from .outputs import Outputs, write_report
from .pass_line import PassLine
from .piece_inputs import PieceData, load_pieces
from .piece_outputs import WriteLabels, Written, write_all
from .settings import Settings
from .words import kernel_fields, predictor_fields, printed, summary_fields

#: Searches in memory end by their work; only a time limit that was given ends them earlier.
NO_LIMIT = 1e7
NO_INTERVALS = Note("numbers by group are added up over all rows; only tables in memory have intervals")


@dataclass(frozen=True)
class PieceOptions:
    """How a table in pieces is worked on, and what is written."""

    out: Path
    memory: int
    command: str
    resume: bool = False
    cluster: str | None = None
    force: bool = False
    report: bool = True
    quiet: bool = False
    as_json: bool = False
    accuracy: bool = True
    folds: int = 5
    repeats: int = 1


def fit_in_pieces(question: Question, settings: Settings, options: PieceOptions, timed: bool) -> None:
    """Fit, and write a folder with labels, model and report."""
    _check(settings)
    frames = open_table(question.path)
    check_target(options.out, question.path, frames, force=options.force)
    if not timed:
        settings = replace(settings, time_limit=NO_LIMIT)
    quiet = options.quiet or options.as_json
    line = PassLine(frames.n_rows, quiet=quiet)
    with (
        workers(options.cluster, frames) as on,
        left_behind(options.out, _key(frames, question, settings), options.resume, quiet) as unfinished,
        line,
    ):
        run = _Runner(unfinished, line, on)
        frames = replace(frames, progress=line.read)
        data = load_pieces(frames, question, lambda n: piece_rows(n, options.memory), run)
        line.n_rows = data.n_rows
        tell(data.notes, quiet=options.quiet)
        source = SavedPasses(data.source(on(data.frames)), unfinished)
        found, said = _search(source, data, settings, run)
        looks = look(
            found.classifier,
            data,
            options.folds,
            options.repeats,
            None,
            accuracy=options.accuracy,
            certainty=False,
        )
        hide = bool(looks.accuracy)
        calibrated = found.calibrated(source, hide=hide, callback=run.done)
        looks = looks._replace(probable=estimate_probabilities(found.classifier.fit_, hide=hide))
        written = _write_labels(data, calibrated, question, unfinished.output, run)
        if question.by is not None:
            groups = replace(group_totals(calibrated, written.groups), notes=(NO_INTERVALS,))
            looks = looks._replace(groups=groups, by=question.by)
        notes = [*_about(found, data), *said]
        told = [*notes, *(note.for_command_line() for note in looks.notes)]
        _write_rest(data, found, looks, question, settings, options, notes, unfinished.output)
        unfinished.publish()
    tell(told, quiet=options.quiet)
    _print(data, found, looks, written, question, options, told, line.number - 1)


def open_table(path: Path) -> Frames:
    """The table in pieces."""
    frames = open_frames(path)
    if frames is None:
        raise TableError(f"{path.name} can only be read as a whole: write it as .parquet or .csv")
    return frames


def check_target(out: Path, path: Path, frames: Frames, *, force: bool) -> None:
    """Refuse places where the output cannot be, before the work begins."""
    put_back(out)
    inside = path if path.is_dir() else None
    if inside is not None and inside.resolve() in (out.resolve(), *out.resolve().parents):
        raise OutputError(f"{out} is inside the table {path}: choose another place with --out")
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file, but the output of a table in pieces is a folder: see --out")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise OutputError(f"{out} exists already: add --force to replace it, or write elsewhere (--out)")
    check_outputs([] if out.exists() else [out], inputs=frames.files)


@contextmanager
def left_behind(target: Path, key: str, resume: bool, quiet: bool) -> Iterator[Unfinished]:
    """What a run leaves that ends early: nothing after bad input, else what another can go on from."""
    unfinished = Unfinished(target, key, resume=resume)
    try:
        yield unfinished
    except OutputError:
        unfinished.close()
        raise
    except CS3VMError:
        if resume:
            unfinished.close()
        else:
            unfinished.discard()
        raise
    except BaseException:
        unfinished.close()
        tell(
            [f"{unfinished.target} was not written: the same command with --resume goes on"],
            quiet=quiet,
        )
        raise


@contextmanager
def workers(cluster: str | None, frames: Frames) -> Iterator[Callable[[Frames], Any]]:
    """Who reads the pieces: this process, or a cluster."""
    if cluster is None:
        yield lambda frames: frames
        return
    if isinstance(frames, TextFrames):
        raise TableError(
            f"--cluster needs Parquet files: {frames.path.name} is text, which has to be read from its begin"
        )
    from ..large.dask_client import connect
    from .cluster_frames import ClusterFrames

    with connect(cluster) as client:
        yield lambda frames: ClusterFrames(frames, client)


class _Runner:
    """Runs passes over frames, keeps their results and tells."""

    def __init__(self, unfinished: Unfinished, line: PassLine, on: Callable[[Frames], Any]) -> None:
        self.unfinished, self.line, self.on = unfinished, line, on
        self._resumed = 0

    def __call__(
        self, frames: Frames, function: Callable[[FramePiece], Any], combine: Callable[[Any, Any], Any]
    ) -> Any:
        began = time.perf_counter()
        found = self.unfinished.run(self.on(frames), function, combine)
        self.done(PassDone("columns", time.perf_counter() - began))
        return found

    def done(self, passed: PassDone) -> None:
        """Tell about a pass."""
        kept = self.unfinished.n_resumed > self._resumed
        self._resumed = self.unfinished.n_resumed
        self.line.done(passed.name, passed.seconds, kept=kept)


def _check(settings: Settings) -> None:
    """Refuse, in the words of the command line, what is not possible for rows in pieces."""
    refused = {
        f"--method {settings.method}": settings.method not in ("auto", "direct", "top_tau")
        and "leave it out, use top_tau, or give a sample of the rows that fits into --memory",
        f"--norm {settings.norm}": settings.norm != "l2" and "leave it out",
        "--group-intercepts": settings.group_intercepts and "leave it out",
        "--side-margin 0": settings.side_margin != "auto"
        and float(settings.side_margin) == 0.0
        and "leave it out: no row may lie on the plane",
    }
    for option, advice in refused.items():
        if advice:
            raise TableError(f"{option} is not possible for a table in pieces: {advice}")


def _key(frames: Frames, question: Question, settings: Settings) -> str:
    """Tells this run from those with other data or options."""
    about = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in frames.files]
    asked = {name: repr(value) for name, value in vars(question).items()}
    text = json.dumps([__version__, about, asked, asdict(settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _search(
    source: SavedPasses, data: PieceData, settings: Settings, run: _Runner
) -> tuple[LargeFit, list[str]]:
    other = data.other
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CS3VMWarning)
        found = fit_pieces(
            source,
            settings.classifier(data.positive),
            n_positive=data.known,
            positive_rate=None if other is None else other.positive_rate,
            callback=run.done,
        )
    messages = [warning.message for warning in caught]
    return found, [m.for_command_line() for m in messages if isinstance(m, CS3VMWarning)]


def _write_labels(
    data: PieceData, calibrated: Calibrated, question: Question, output: Path, run: _Runner
) -> Written:
    began = time.perf_counter()
    text = isinstance(data.frames, TextFrames)
    folder = output if text else output / "labels"
    folder.mkdir(exist_ok=True)
    write = WriteLabels(
        data.to_piece,
        calibrated,
        folder.resolve(),
        "csv" if text else "parquet",
        question.id,
        question.by,
        is_collection(question.path),
    )
    written = write_all(run.on(data.frames), write, folder, folder / "labels.csv" if text else None)
    run.line.done("labels", time.perf_counter() - began)
    return written


def _about(found: LargeFit, data: PieceData) -> list[str]:
    """What was computed from all rows, and what was not."""
    drawn = found.classifier.fit_.problem.m
    if drawn >= found.n_unlabelled:
        return ["certain and stable labels are only told of tables that are read as a whole"]
    return [
        f"the table was read in pieces: labels, totals, sums of probabilities and the objective are those of "
        f"all {data.n_rows} rows; accuracy, bias, the comparison of methods and the pictures come from the "
        f"labelled rows and {drawn} others that were drawn and weighted",
        "certain and stable labels are only told of tables that are read as a whole",
    ]


def _write_rest(
    data: PieceData,
    found: LargeFit,
    looks: Looks,
    question: Question,
    settings: Settings,
    options: PieceOptions,
    notes: list[str],
    output: Path,
) -> None:
    fit = found.classifier.fit_
    model = make_model(fit, data.encoding, question.label, asdict(settings), looks.probable.rule)
    files = Outputs.inside(output, options.report, question.by)
    save_model(model, files.model)
    if files.report is not None:
        about = (notes, settings, looks)
        write_report(found.classifier, data, files.report, question.label, options.command, *about)
    if looks.groups is not None and files.groups is not None:
        write_csv(looks.groups.columns(), files.groups)


def _print(
    data: PieceData,
    found: LargeFit,
    looks: Looks,
    written: Written,
    question: Question,
    options: PieceOptions,
    told: list[str],
    n_passes: int,
) -> None:
    if options.as_json:
        summary = _summary(data, found, looks, written, question, options, told)
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
    elif not options.quiet:
        fit = found.classifier.fit_
        for text in printed(fit, data, question.label, looks):
            typer.echo(text)
        if written.n_undecided:
            typer.echo(f"{written.n_undecided} labels were drawn among rows with the same score.")
        typer.echo(f"The table was read {n_passes} times. Written: {options.out}")


def _summary(
    data: PieceData,
    found: LargeFit,
    looks: Looks,
    written: Written,
    question: Question,
    options: PieceOptions,
    told: list[str],
) -> dict[str, Any]:
    fit, names = found.classifier.fit_, data.encoding.feature_names
    return {
        "cs3vm": __version__,
        "table": str(question.path),
        "rows": data.n_rows,
        "label": question.label,
        "method": fit.method,
        "verdict": fit.verdict.kind,
        **looks.as_dict(),
        **summary_fields(fit, data),
        "undecided": written.n_undecided,
        "counts": written.counts,
        "objective": found.objective,
        "kernel": kernel_fields(fit),
        "norm": fit.parameters.norm,
        "predictor": predictor_fields(fit),
        "features": names,
        "notes": [*data.notes, *told],
        "passes": [{"name": one.name, "seconds": round(one.seconds, 3)} for one in found.passes],
        "drawn": fit.problem.m,
        "folder": str(options.out),
    }
