"""``cs3vm predict``: classify new rows with a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..tables.files import check_outputs
from . import options as opt
from . import piece_options as piece_opt
from .common import check_packages, tell

if TYPE_CHECKING:
    from ..tables.model import Model


def predict(
    model: Annotated[Path, typer.Argument(help="A model file written by cs3vm fit.", show_default=False)],
    table: opt.TableFile,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The output. Default: new.predictions.csv beside new.csv; of large Parquet files a folder."
        ),
    ] = None,
    id_: opt.Id = None,
    allow_unseen: Annotated[
        bool,
        typer.Option("--allow-unseen", help="Take a category unknown to the model as none of the known."),
    ] = False,
    force: opt.Force = False,
    memory: piece_opt.Memory = None,
    cluster: piece_opt.Cluster = None,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Classify the rows of a table by the side of the plane they lie on; on the plane is positive.

    Of several classes, each with its own plane, the highest score decides.

    Beside the score stand the probabilities of the classes, unless an older version wrote the model.

    A model with --group-intercepts reads the groups from the column of the same name; rows of an unknown
    group get the mean threshold, with a note.

    The total is not used: it belongs to the rows that were fitted. Their labels are in people.labels.csv.
    """
    check_packages()
    from ..tables.model_file import load_model
    from ..tables.reading import read_table, write_csv
    from .memory import memory_for_table, needs_pieces
    from .outputs import identifiers, probability_columns, score_columns
    from .thresholds import model_groups, unknown_groups, unknown_notes
    from .words import class_counts

    fitted = load_model(model)
    room = memory_for_table(memory)
    if cluster is not None or needs_pieces(table, room):
        from .piece_predict import predict_in_pieces

        inputs = (model, table)
        target, counts, n_rows = predict_in_pieces(
            fitted,
            inputs,
            out,
            id_,
            room,
            cluster,
            allow_unseen=allow_unseen,
            force=force,
            quiet=quiet or as_json,
        )
        _print(fitted, counts, n_rows, target, quiet=quiet, as_json=as_json)
        return
    out = out or table.with_name(f"{table.stem}.predictions.csv")
    categories = [column.name for column in fitted.encoding.columns if column.kind == "category"]
    rows = read_table(table, categories, [id_] if id_ else [])
    if id_ is not None:
        rows.require(id_, "column for --id:")
    groups = model_groups(fitted, rows)
    scores = fitted.scores(fitted.encoding.transform(rows, allow_unseen=allow_unseen), groups)
    labels = fitted.labels(scores)
    check_outputs([out], force=force, inputs=[table, model])
    tell([*rows.notes, *unknown_notes(unknown_groups(fitted, groups))], quiet=quiet)
    columns = {"predicted": labels, **score_columns(fitted, scores)}
    probabilities = fitted.probabilities(scores)
    if probabilities is not None:
        columns |= probability_columns(fitted.classes, probabilities)
    write_csv({**identifiers(rows, id_, ("given", "undecided", "on_plane", *columns)), **columns}, out)
    counts = class_counts(labels, fitted.plane_classes)
    _print(fitted, counts, len(rows), out, quiet=quiet, as_json=as_json)


def _print(
    fitted: Model, counts: dict[str, int], n_rows: int, out: Path, *, quiet: bool, as_json: bool
) -> None:
    if as_json:
        typer.echo(json.dumps(_prediction_summary(fitted, counts, n_rows, out), ensure_ascii=False))
    elif not quiet:
        for name, count in counts.items():
            typer.echo(f"{count} of {n_rows} rows are predicted to be {fitted.label}={name}")
        typer.echo(f"Written: {out}")


def _prediction_summary(fitted: Model, counts: dict[str, int], n_rows: int, out: Path) -> dict[str, Any]:
    if fitted.is_several:
        return {"rows": n_rows, "counts": counts, "file": str(out)}
    return {
        "rows": n_rows,
        "positive": fitted.positive,
        "count": counts[fitted.positive],
        "file": str(out),
    }
