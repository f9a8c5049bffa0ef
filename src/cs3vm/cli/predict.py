"""``cs3vm predict``: classify new rows with a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..tables.files import check_outputs
from . import options as opt
from .common import check_packages, tell

if TYPE_CHECKING:
    from ..tables.model import Model
    from ..tables.reading import Table


def predict(
    model: Annotated[Path, typer.Argument(help="A model file written by cs3vm fit.", show_default=False)],
    table: opt.TableFile,
    out: Annotated[
        Path | None, typer.Option(help="The output. Default: new.predictions.csv beside new.csv.")
    ] = None,
    id_: opt.Id = None,
    allow_unseen: Annotated[
        bool,
        typer.Option("--allow-unseen", help="Take a category unknown to the model as none of the known."),
    ] = False,
    force: opt.Force = False,
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
    from .outputs import identifiers, probability_columns, score_columns
    from .words import class_counts

    fitted = load_model(model)
    out = out or table.with_name(f"{table.stem}.predictions.csv")
    categories = [column.name for column in fitted.encoding.columns if column.kind == "category"]
    rows = read_table(table, categories, [id_] if id_ else [])
    if id_ is not None:
        rows.require(id_, "column for --id:")
    groups, notes = _groups(fitted, rows)
    scores = fitted.scores(fitted.encoding.transform(rows, allow_unseen=allow_unseen), groups)
    labels = fitted.labels(scores)
    check_outputs([out], force=force, inputs=[table, model])
    tell([*rows.notes, *notes], quiet=quiet)
    columns = {"predicted": labels, **score_columns(fitted, scores)}
    probabilities = fitted.probabilities(scores)
    if probabilities is not None:
        columns |= probability_columns(fitted.classes, probabilities)
    write_csv({**identifiers(rows, id_, ("given", "undecided", "on_plane", *columns)), **columns}, out)
    counts = class_counts(labels, fitted.plane_classes)
    if as_json:
        typer.echo(json.dumps(_prediction_summary(fitted, counts, len(rows), out), ensure_ascii=False))
    elif not quiet:
        for name, count in counts.items():
            typer.echo(f"{count} of {len(rows)} rows are predicted to be {fitted.label}={name}")
        typer.echo(f"Written: {out}")


def _groups(fitted: Model, rows: Table) -> tuple[dict[str, Any], list[str]]:
    """The groups with thresholds of their own, by column, and a note on those that the fit did not have."""
    from .margins import group_columns

    columns = [one.column for one in fitted.thresholds]
    groups = group_columns(rows, columns, "column of groups, each of which has a threshold in the model:")
    notes = []
    for one in fitted.thresholds:
        cells = groups[one.column]
        unknown = ~one.known(cells)
        if unknown.any():
            names = sorted({"an empty cell" if text is None else repr(text) for text in cells[unknown]})
            more = ", ..." if len(names) > 5 else ""
            notes.append(
                f"{int(unknown.sum())} rows have a group in column {one.column!r} for which the model has no "
                f"threshold ({', '.join(names[:5])}{more}): they get the mean one"
            )
    return groups, notes


def _prediction_summary(fitted: Model, counts: dict[str, int], n_rows: int, out: Path) -> dict[str, Any]:
    if fitted.is_several:
        return {"rows": n_rows, "counts": counts, "file": str(out)}
    return {
        "rows": n_rows,
        "positive": fitted.positive,
        "count": counts[fitted.positive],
        "file": str(out),
    }
