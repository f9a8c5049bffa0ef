"""Options about tables that are read in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PIECES = "Tables larger than memory"

Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the output, which is read and written in pieces. Default, where the table is too "
        "large for --memory or a folder: people.fit.",
        rich_help_panel=PIECES,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="A larger table, such as 2GB, is read in pieces. Default: a quarter of what is free.",
        rich_help_panel=PIECES,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on after the last complete pass of a run that ended.", rich_help_panel=PIECES
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="local|ADDRESS",
        help="Read the pieces with Dask: on this machine, or by the scheduler at an address.",
        rich_help_panel=PIECES,
    ),
]
