"""The files that the commands write: labels, the model, the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray
from ..tables.files import write_atomically
from .settings import Settings

if TYPE_CHECKING:
    from ..learn.classifier import CS3VMClassifier
    from ..learn.fit import Fit
    from ..learn.sensitivity import Sensitivity
    from ..tables.model import Model
    from ..tables.reading import Table
    from .inputs import Data
    from .looks import Looks
    from .piece_inputs import PieceData


@dataclass(frozen=True)
class Outputs:
    """The files that a fit writes."""

    labels: Path
    model: Path
    report: Path | None
    groups: Path | None = None

    @classmethod
    def beside(
        cls, table: Path, folder: Path | None, prefix: str | None, report: bool, by: str | None = None
    ) -> Outputs:
        """The usual names, beside the table unless said otherwise."""
        start, name = folder or table.parent, prefix or table.stem
        return cls(
            start / f"{name}.labels.csv",
            start / f"{name}.model.json",
            start / f"{name}.report.html" if report else None,
            None if by is None else start / f"{name}.by_{_file_part(by)}.csv",
        )

    @classmethod
    def inside(cls, folder: Path, report: bool, by: str | None = None) -> Outputs:
        """The files of a table in pieces, in a folder of their own."""
        return cls(
            folder / "labels.csv",
            folder / "model.json",
            folder / "report.html" if report else None,
            None if by is None else folder / f"by_{_file_part(by)}.csv",
        )

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        every = (self.labels, self.model, self.report, self.groups)
        return [path for path in every if path is not None]


def _file_part(name: str) -> str:
    """A column's name as a part of a file's name."""
    return re.sub(r"[^\w-]+", "_", name).strip("_") or "group"


def write_answer(
    fit: Fit,
    data: Data,
    outputs: Outputs,
    label: str,
    id_: str | None,
    settings: Settings,
    looks: Looks,
    varied: Sensitivity | None = None,
) -> None:
    """Write the labels of all rows, and the model."""
    from ..tables.model_file import make_model, save_model
    from ..tables.reading import write_csv

    model = make_model(fit, data.encoding, label, asdict(settings), looks.probable.rule)
    columns = {
        "given": data.y,
        "predicted": fit.labels.decode(fit.codes),
        **score_columns(model, model.plane_scores(data.X, None if data.other is None else data.other.groups)),
    }
    columns |= probability_columns([str(name) for name in fit.classes.tolist()], looks.probable.rows)
    columns["undecided"] = fit.undecided.astype(int)
    if looks.certainty is not None:
        columns["certain"], columns["stability"] = looks.certainty.rows, looks.certainty.stability
    if varied is not None:
        columns["stable"] = varied.stable.astype(int)
    if not fit.is_several:
        columns["on_plane"] = _on_plane(fit)
    write_csv({**identifiers(data.table, id_, columns), **columns}, outputs.labels)
    save_model(model, outputs.model)


def _on_plane(fit: Fit) -> Any:
    """1 for the unlabelled rows on the plane, 0 for all others."""
    (result,) = fit.results
    on_plane = np.zeros(len(fit.codes), dtype=int)
    on_plane[fit.unlabelled] = result.problem.on_plane(np.asarray(result.coef), result.intercept)
    return on_plane


def identifiers(table: Table, id_: str | None, taken: Iterable[str]) -> dict[str, Any]:
    """The first column of the output: the identifiers, or the numbers of the rows in the file."""
    if id_ is None:
        return {"row": table.frame.index.to_numpy() + 1 + table.header_rows}
    return {"id" if id_ in taken else id_: table.frame[id_].to_numpy()}


def score_columns(model: Model, scores: FloatArray) -> dict[str, Any]:
    """The scores as one column, or of several classes as one for each."""
    if not model.is_several:
        return {"score": scores}
    return {f"score_{name}": scores[:, c] for c, name in enumerate(model.classes)}


def probability_columns(classes: Sequence[str], probabilities: FloatArray) -> dict[str, Any]:
    """One column for each class."""
    return {f"probability_{name}": probabilities[:, c] for c, name in enumerate(classes)}


def write_report(
    clf: CS3VMClassifier,
    data: Data | PieceData,
    path: Path,
    label: str,
    command: str,
    notes: Sequence[str],
    settings: Settings,
    looks: Looks,
    varied: Sensitivity | None = None,
) -> None:
    """Write the report, in the words of the command line."""
    from ..report import make_report

    html = make_report(
        clf,
        clf.fit_.rows if data.X is None else data.X,
        feature_names=data.encoding.feature_names,
        label_name=label,
        positive_name=data.positive or "",
        negative_name=data.negative or "",
        source=data.table.path.name,
        command=command,
        warnings=(*data.notes, *notes),
        settings=asdict(settings),
        for_command_line=True,
        accuracy=looks.accuracy,
        bias=looks.bias,
        sensitivity=varied,
        certainty=looks.certainty,
        groups=looks.groups,
        by=looks.by,
    )
    write_atomically(path, lambda file: file.write(html))
