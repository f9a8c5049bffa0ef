"""The synthetic survey as a file, to try the other commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from ..exceptions import TableError
from ..tables.files import check_outputs


def write_survey(path: Path, rows: int, *, force: bool) -> None:
    """Write the survey, and print the command that fits it."""
    if path.suffix.lower() != ".csv":
        raise TableError(f"{path} is not a CSV file: its name must end in .csv")
    from ..datasets import make_survey
    from ..tables.reading import require_package, write_csv

    require_package("pandas", "the survey")
    survey = make_survey(rows)
    check_outputs([path], force=force)
    write_csv({name: survey.frame[name] for name in survey.frame.columns}, path)
    words = ["cs3vm", "fit", str(path), "--label", survey.label, "--positive", survey.positive]
    words += ["--n-positive", str(survey.n_positive), "--id", "id"]
    answers = rows - int(survey.unlabelled.sum())
    typer.echo(f"{path}: {rows} people, {answers} of whom have answered. Try:\n\n{shlex.join(words)}")
