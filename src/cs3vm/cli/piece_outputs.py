"""The labels of a table in pieces, written piece by piece, and what is added up while they are written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from ..exceptions import OutputError
from ..large.by_group import GroupAdder
from ..large.calibration import Calibrated
from ..large.exact_sums import ExactSums
from ..large.pieces import Piece
from ..tables.frames import FramePiece
from ..tables.model import Model
from .margins import group_texts
from .outputs import identifiers, probability_columns, score_columns
from .piece_inputs import ToPiece
from .thresholds import model_groups, unknown_groups


@dataclass(eq=False)
class Written:
    """What was written so far."""

    n_rows: int = 0
    n_undecided: int = 0
    counts: dict[str, int] = field(default_factory=dict)  #: rows by the class that was predicted
    groups: dict[Any, ExactSums] = field(default_factory=dict)
    unknown: dict[str, Counter[str]] = field(default_factory=dict)  #: groups without a threshold
    parts: list[tuple[int, str]] = field(default_factory=list)  #: first row and name of the file

    def combine(self, other: Written) -> Written:
        """Both; this one is changed."""
        self.n_rows += other.n_rows
        self.n_undecided += other.n_undecided
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.groups = GroupAdder.combine(self.groups, other.groups)
        for column, names in other.unknown.items():
            self.unknown[column] = self.unknown.get(column, Counter()) + names
        self.parts += other.parts
        return self


def write_part(columns: dict[str, Any], folder: Path, first_row: int, kind: str) -> tuple[int, str]:
    """Write some rows to a file whose name tells their place; done twice, it is the same."""
    import pandas as pd

    frame = pd.DataFrame(columns)
    name = f"part-{first_row:012d}.{kind}"
    temporary = folder / f".{name}.{token_hex(6)}.tmp"
    try:
        if kind == "parquet":
            frame.to_parquet(temporary, index=False)
        else:
            frame.to_csv(temporary, index=False, header=first_row == 0, lineterminator="\n")
        os.replace(temporary, folder / name)
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror or error}") from error
    return first_row, name


def joined(parts: Iterator[Written], folder: Path, target: Path) -> Written:
    """Append text files to one as they come, in the order of their rows."""
    found = Written()
    try:
        with target.open("xb") as file:
            for part in parts:
                for _, name in part.parts:
                    file.write((folder / name).read_bytes())
                    (folder / name).unlink()
                part.parts = []
                found.combine(part)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    return found


def named_rows(piece: FramePiece, id_: str | None, taken: tuple[str, ...], with_file: bool) -> dict[str, Any]:
    """The first columns: the identifiers, or the numbers of the rows in the file and its name."""
    columns = identifiers(piece.table, id_, taken)
    if id_ is None and with_file:
        return {"file": piece.table.path.name, **columns}
    return columns


@dataclass(frozen=True, eq=False)
class WriteLabels:
    """Labels one piece of the table that was fitted, and writes it."""

    to_piece: ToPiece
    calibrated: Calibrated
    folder: Path
    kind: str  #: "csv" or "parquet"
    id: str | None = None
    by: str | None = None
    with_file: bool = False

    def __call__(self, frame: FramePiece) -> Written:
        """What was written."""
        piece, labeller = self.to_piece(frame), self.calibrated.labeller
        labels, classes = labeller(piece), [str(name) for name in labeller.classes.tolist()]
        unlabelled = np.asarray(piece.labels == None)  # noqa: E711 (element by element)
        columns: dict[str, Any] = {
            "given": piece.labels,
            "predicted": labeller.decode(labels.codes),
            "score": labels.scores if labeller.positive == 1 else -labels.scores,  # of the positive class
            **probability_columns(classes, self.calibrated(piece)),
            "undecided": labels.undecided.astype(int),
        }
        first = named_rows(frame, self.id, tuple(columns), self.with_file)
        part = write_part({**first, **columns}, self.folder, piece.first_row, self.kind)
        counts = np.bincount(labels.codes[unlabelled], minlength=2).tolist()
        undecided = int(np.count_nonzero(labels.undecided & unlabelled))
        by_class = dict(zip(classes, counts, strict=True))
        return Written(len(piece), undecided, by_class, self._sums(frame, piece), parts=[part])

    def _sums(self, frame: FramePiece, piece: Piece) -> dict[Any, ExactSums]:
        if self.by is None:
            return {}
        groups = {self.by: group_texts(frame.table, self.by)}
        return GroupAdder(self.calibrated, self.by)(replace(piece, groups={**piece.groups, **groups}))


@dataclass(frozen=True, eq=False)
class WritePredictions:
    """Classifies one piece of new rows, and writes it."""

    model: Model
    allow_unseen: bool
    folder: Path
    kind: str
    id: str | None = None
    with_file: bool = False

    def __call__(self, frame: FramePiece) -> Written:
        """What was written."""
        model = self.model
        groups = model_groups(model, frame.table)
        scores = model.scores(model.encoding.transform(frame.table, allow_unseen=self.allow_unseen), groups)
        labels = model.labels(scores)
        columns = {"predicted": labels, **score_columns(model, scores)}
        probabilities = model.probabilities(scores)
        if probabilities is not None:
            columns |= probability_columns(model.classes, probabilities)
        first = named_rows(frame, self.id, ("given", "undecided", "on_plane", *columns), self.with_file)
        part = write_part({**first, **columns}, self.folder, frame.first_row, self.kind)
        counts = {name: int(np.sum(labels == name)) for name in model.plane_classes}
        return Written(len(frame.table), 0, counts, {}, unknown_groups(model, groups), [part])


def write_all(
    frames: Any, write: Callable[[FramePiece], Written], folder: Path, one_file: Path | None
) -> Written:
    """Write all pieces; text as one file."""
    if one_file is not None:
        return joined(frames.map(write), folder, one_file)
    found: Written = frames.reduce(write, Written.combine)
    return found
