"""Benchmarks: ``python -m benchmarks --help``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Side-by-side measurements in one run. Rows are appended; a killed run resumes.")
Data = Annotated[str, typer.Option(help="Folder of the PMLB files.")]
Jobs = Annotated[int, typer.Option(help="Cells run at the same time.")]
RESULTS = Path(__file__).parent / "results"


@app.callback()
def main() -> None:
    """Keep the name of the command even while there is only one."""


@app.command()
def methods(
    datasets: str = "lupus,iris,tae,haberman,glass2,prnn_synth",
    solver: str = "scip",
    time_limit: float = 60.0,
    data: Data = "../shared/pmlb",
    jobs: Jobs = 1,
    out: Path | None = None,
) -> None:
    """The paper's methods side by side on a few datasets (seed 0)."""
    from benchmarks import methods as bench

    os.environ["CS3VM_DATA"] = data  # the workers of the pool read it
    bench.run(out or RESULTS / f"methods_{solver}.csv", datasets.split(","), solver, time_limit, jobs)


if __name__ == "__main__":
    app()
