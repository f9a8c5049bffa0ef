"""``cs3vm predict``: classify new rows with a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .._files import check_outputs
from . import _options as opt
from ._common import tell


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

    The total is not used: it belongs to the rows that were fitted. Their labels are in people.labels.csv.
    """
    from ..modelfile import load_model
    from ..tables import read_table, write_csv
    from .fit import identifiers

    fitted = load_model(model)
    out = out or table.with_name(f"{table.stem}.predictions.csv")
    categories = [column.name for column in fitted.encoding.columns if column.kind == "category"]
    rows = read_table(table, categories, [id_] if id_ else [])
    if id_ is not None:
        rows.require(id_, "column for --id:")
    scores = fitted.scores(fitted.encoding.transform(rows, allow_unseen=allow_unseen))
    check_outputs([out], force=force, inputs=[table, model])
    tell(rows.notes, quiet=quiet)
    labels = fitted.labels(scores)
    write_csv({**identifiers(rows, id_), "predicted": labels, "score": scores}, out)
    count = int((scores >= 0).sum())
    if as_json:
        summary = {"rows": len(rows), "positive": fitted.positive, "count": count, "file": str(out)}
        typer.echo(json.dumps(summary, ensure_ascii=False))
    elif not quiet:
        typer.echo(f"{count} of {len(rows)} rows are predicted to be {fitted.label}={fitted.positive}")
        typer.echo(f"Written: {out}")
