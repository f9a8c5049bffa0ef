"""``cs3vm predict`` on a table in pieces."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from ..exceptions import OutputError
from ..tables.files import check_outputs
from ..tables.frames import TextFrames, is_collection
from ..tables.model import Model
from ..tables.unfinished import Unfinished
from .common import tell
from .memory import piece_rows, plain_stem
from .pass_line import PassLine
from .piece_fit import check_target, open_table, workers
from .piece_outputs import WritePredictions, write_all
from .thresholds import unknown_notes


def predict_in_pieces(
    model: Model,
    inputs: tuple[Path, Path],
    out: Path | None,
    id_: str | None,
    memory: int,
    cluster: str | None,
    *,
    allow_unseen: bool,
    force: bool,
    quiet: bool,
) -> tuple[Path, dict[str, int], int]:
    """Classify the rows of a table; where they were written, how many of each class there are, and of all."""
    file, table = inputs
    frames = open_table(table)
    text = isinstance(frames, TextFrames)
    out = out or table.with_name(f"{plain_stem(table)}.predictions{'.csv' if text else ''}")
    naming = frames.naming
    if id_ is not None:
        naming.require(id_, "column for --id:")
    for column in model.encoding.columns:
        naming.require(column.name)
    grouped = [one.column for one in model.thresholds]
    for name in grouped:
        naming.require(name, "column of groups, each of which has a threshold in the model:")
    if text:
        check_outputs([out], force=force, inputs=[table, file])
    elif out.suffix == ".csv":
        raise OutputError(f"{out} is a file, but Parquet files in pieces become a folder: see --out")
    else:
        check_target(out, table, frames, force=force)
    tell(frames.notes, quiet=quiet)
    names = [column.name for column in model.encoding.columns]
    n_features = len(model.encoding.feature_names)
    line = PassLine(frames.n_rows, quiet=quiet)
    frames = replace(
        frames.reading(
            columns=tuple(dict.fromkeys([*names, *grouped, *([id_] if id_ else [])])),
            as_text=frozenset(c.name for c in model.encoding.columns if c.kind == "category"),
            verbatim=frozenset([id_] if id_ else []),
            piece_rows=piece_rows(n_features, memory),
        ),
        progress=line.read,
    )
    unfinished = Unfinished(out)
    try:
        with workers(cluster, frames) as on, line:
            began = time.perf_counter()
            write = WritePredictions(
                model,
                allow_unseen,
                unfinished.output.resolve(),
                "csv" if text else "parquet",
                id_,
                is_collection(table),
            )
            one_file = unfinished.output / "predictions" if text else None
            written = write_all(on(frames), write, unfinished.output, one_file)
            line.done("predictions", time.perf_counter() - began)
        if text:
            unfinished.publish_file("predictions")
        else:
            unfinished.publish()
    except BaseException:
        unfinished.discard()
        raise
    tell(unknown_notes(written.unknown), quiet=quiet)
    return out, written.counts, written.n_rows
