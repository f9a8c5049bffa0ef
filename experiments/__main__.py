"""The paper's study, and ours: ``python -m experiments --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.datasets import BUILTIN, DataNotFoundError, compare, data_dir, ensure
from experiments.instances import BIAS, FRACTION, SAMPLINGS
from experiments.peers import check_template
from experiments.run import RunError
from experiments.run import run as run_cells
from experiments.sandbox import Limits
from experiments.studies import STUDIES, Plan, cells, choose_datasets, choose_methods

app = typer.Typer(help=__doc__, no_args_is_help=True)
Data = Annotated[
    str | None,
    typer.Option(help="Folder of the PMLB files [default: CS3VM_DATA or ../shared/pmlb; else downloads]."),
]
Names = Annotated[str | None, typer.Option(help="Names, comma-separated; 'builtin' needs no files.")]


@app.command()
def datasets(data: Data = None, names: Names = None, all_rows: bool = False) -> None:
    """Compare our N and d with Table 1 of the paper, and explain each difference."""
    try:
        table = compare(data, names.split(",") if names else None)
    except (DataNotFoundError, KeyError) as error:
        raise _wrong(error) from error
    shown = table if all_rows or names else table[table["note"] != ""]
    for row in shown.to_dict("records"):
        print(f"{row['id']:>3} {row['paper_name']:<30} N {row['N']:>6} ({row['paper_N']})", end="  ")
        print(f"d {row['d']:>4} ({row['paper_d']})  {row['note']}")
    same = (table["N"] == table["paper_N"]) & (table["d"] == table["paper_d"])
    print(f"\n{same.sum()} of {len(table)} have the paper's N and d (in brackets). Without files:")
    for name, built in BUILTIN.items():
        print(f"    {name:<24} beside {built.twin}: {built.difference}")


@app.command()
def run(
    out: Annotated[Path, typer.Option(help="Folder of the rows; those that are there are not run again.")],
    study: Annotated[str, typer.Option(help=f"One of {', '.join(STUDIES)}.")] = "biased",
    methods: Annotated[str | None, typer.Option(help="Comma-separated [default: the study's].")] = None,
    solver: str = "bnb",
    time_limit: Annotated[float, typer.Option(min=0.0, help="Seconds for a method on an instance.")] = 60.0,
    seeds: Annotated[str, typer.Option(help="How many (5: seeds 0 to 4), or which (0,3,4).")] = "5",
    fraction: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of labelled rows.")] = FRACTION,
    bias: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of positives among them.")] = BIAS,
    sampling: Annotated[str, typer.Option(help="Of the studies sensitivity and peers.")] = "biased",
    datasets: Names = None,
    max_n: Annotated[int | None, typer.Option(help="Leave out larger datasets.")] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(help="name=command with {labelled}, {unlabelled}, {n_positive}, {out}; repeatable."),
    ] = None,
    data: Data = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cells at a time.")] = 1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://…")] = None,
    memory: Annotated[int, typer.Option(help="Megabytes of address space for a cell.")] = 6000,
    spare: Annotated[float, typer.Option(help="Seconds beyond the limit before a cell is ended.")] = 120.0,
    retry_failed: Annotated[bool, typer.Option(help="Run the cells again whose row is an error.")] = False,
) -> None:
    """Run a study, or what is left of it: a row per dataset, seed and method."""
    try:
        plan = Plan(
            study=_one_of("study", study, STUDIES),
            datasets=choose_datasets(datasets, max_n, study),
            methods=choose_methods(methods, study),
            seeds=_seeds(seeds),
            solver=solver,
            time_limit=time_limit,
            fraction=fraction,
            bias=bias,
            sampling=_one_of("sampling", sampling, SAMPLINGS),
            commands=tuple(_peer(text) for text in peer or ()),
        )
        ensure(plan.datasets, data)
        limits = Limits(_absolute(data), memory, spare)
        board = run_cells(
            cells(plan), out, limits=limits, jobs=jobs, scheduler=scheduler, retry_failed=retry_failed
        )
    except (ValueError, KeyError, RunError, DataNotFoundError) as error:
        raise _wrong(error) from error
    print(f"{board.done} rows added, {board.failed} of them failed; {board.skipped} were there before")


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="Folder of the rows.")],
    out: Annotated[Path, typer.Option(help="Folder of the figures and index.html.")],
) -> None:
    """Draw every figure of the paper from the rows, and a page with all of them."""
    from experiments.report import write_report

    try:
        print(write_report(results, out))
    except FileNotFoundError as error:
        raise _wrong(error) from error


def _absolute(data: str | None) -> str | None:
    """The data folder by a name that holds on other machines of a cluster as well."""
    try:
        return str(data_dir(data).resolve())
    except FileNotFoundError:
        return str(Path(data).resolve()) if data else None


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"--{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def _seeds(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--seeds must be a number or a list such as 0,3,4; got {text!r}") from None
    return numbers if "," in text else list(range(numbers[0]))


def _peer(text: str) -> tuple[str, str]:
    name, sign, template = text.partition("=")
    if not (sign and name):
        raise ValueError(f"--peer must be name=command, got {text!r}")
    check_template(template)
    return name, template


def _wrong(error: Exception) -> typer.Exit:
    message = error.args[0] if isinstance(error, KeyError) else error
    typer.echo(f"error: {message}", err=True)
    return typer.Exit(2)


if __name__ == "__main__":
    app()
