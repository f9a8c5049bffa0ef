"""The command line. It uses the public API only, and loads heavy packages only when a command needs them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from .common import EXIT_CODES, Commands
from .compare import compare
from .fit import fit
from .predict import predict
from .survey import write_survey

if TYPE_CHECKING:
    from ..learn.classifier import CS3VMClassifier
    from .demo import Sample

PICTURE_FORMATS = (".png", ".svg", ".pdf")

EPILOG = f"""
**Examples**

`cs3vm demo` shows what a known total changes, as a table and as the picture demo.png

`cs3vm demo --out figures/demo.pdf --time-limit 10` writes the picture elsewhere, in another format

`cs3vm demo --survey people.csv` writes a table to try the next ones, and says how

`cs3vm fit people.csv --label cash --positive yes --n-positive 1250` classifies the rows whose cell is empty

`cs3vm predict people.model.json new.csv` classifies new rows

`cs3vm solvers` lists the solvers and how to get those that are missing

{EXIT_CODES}
"""

FIT_EPILOG = f"""
**Examples**

`cs3vm fit people.csv --label cash --positive yes --n-positive 1250`

`cs3vm fit people.xlsx --label cash --positive yes --total-positive 1300 --id person --impute median`

`cs3vm fit people.parquet --label cash --positive-rate 0.42 --features age,income --time-limit 60 --json`

`cs3vm fit people.csv --label pays --total cash=800 --total card=950 --total phone=250` has three classes

`cs3vm fit people.csv --label pays --totals totals.csv` reads them from the columns class and total

{EXIT_CODES}
"""

PREDICT_EPILOG = f"""
**Examples**

`cs3vm predict people.model.json new.csv`

`cs3vm predict people.model.json new.xlsx --id person --out new.labels.csv --force`

{EXIT_CODES}
"""

COMPARE_EPILOG = f"""
**Examples**

`cs3vm compare people.csv --label cash --positive yes --n-positive 1250`

`cs3vm compare people.csv --label cash --positive-rate 0.4 --methods svm,top_tau,auto --time-limit 30`

{EXIT_CODES}
"""

app = typer.Typer(
    cls=Commands,
    help="Classification with few, biased labels and a known total of positives.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command(epilog=FIT_EPILOG)(fit)
app.command(epilog=PREDICT_EPILOG)(predict)
app.command(epilog=COMPARE_EPILOG)(compare)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"cs3vm {__version__}")
        raise typer.Exit()


def _check_format(out: Path) -> Path:
    if out.suffix.lower() not in PICTURE_FORMATS:
        raise typer.BadParameter(f"{out} is not a picture: its name must end in {', '.join(PICTURE_FORMATS)}")
    return out


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Classification with few, biased labels and a known total of positives."""


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(callback=_check_format, help="The picture: .png, .svg or .pdf.")
    ] = Path("demo.png"),
    time_limit: Annotated[float, typer.Option(min=0.0, help="Seconds for CS³VM.")] = 30.0,
    survey: Annotated[
        Path | None,
        typer.Option(help="Instead: write a synthetic survey to this CSV file, to try cs3vm fit."),
    ] = None,
    rows: Annotated[int, typer.Option(help="Rows of the survey.")] = 2000,
    force: Annotated[bool, typer.Option("--force", help="Replace a survey that exists.")] = False,
) -> None:
    """Solve a small sample in the plane by an SVM and by CS³VM, and draw both hyperplanes."""
    if survey is not None:
        write_survey(survey, rows, force=force)
        return
    from rich.console import Console

    from .demo import fit_sample, load_sample

    console = Console()
    sample = load_sample()
    console.print(
        f"{int(sample.unlabelled.sum())} unlabelled points, {sample.n_positive} known to be positive; "
        f"{int((~sample.unlabelled).sum())} labels, {int((sample.y == 1).sum())} of them positive",
        markup=False,
    )
    with console.status("solving"):
        fits = fit_sample(sample, time_limit)
    console.print(_demo_table(sample, fits))
    try:
        from .demo import draw_demo

        figure = draw_demo(sample, fits)
    except ImportError:
        console.print(
            'No picture: matplotlib is missing. Get it with: pip install "cs3vm[report]"', markup=False
        )
        return
    _save(figure, out)
    console.print(f"Picture written to {out}", markup=False)


@app.command()
def solvers() -> None:
    """List the solvers: which are installed, and how to get the others."""
    from rich.console import Console
    from rich.markup import escape  # an extra's brackets are no markup
    from rich.table import Table

    from .. import available_solvers
    from ..solvers import SOLVERS

    installed = available_solvers()
    table = Table("solver", "what it is", "installed", "how to get it")
    for name, info in SOLVERS.items():
        ready = name in installed
        table.add_row(name, info.description, "yes" if ready else "no", "" if ready else escape(info.install))
    Console().print(table)


def _demo_table(sample: Sample, fits: dict[str, CS3VMClassifier]) -> Any:
    """All fits side by side, in 80 columns; the truth is known, so the share of correct labels is too."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False, collapse_padding=True)
    for name in ("method", "positives", "correct", "objective", "bound", "gap", "status", "seconds"):
        table.add_column(name, justify="left" if name in ("method", "status") else "right", no_wrap=True)
    for title, fitted in fits.items():
        result = fitted.result_
        table.add_row(
            title,
            f"{result.count:g} of {sample.n_positive}",
            f"{100 * sample.accuracy(fitted.transduction_):.0f} %",
            f"{result.objective:.4f}",
            f"{result.lower_bound:.4f}",
            f"{100 * result.gap:.1f} %",
            result.status.value,
            f"{result.seconds:.2f}",
        )
    return table


def _save(figure: Any, out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(out, dpi=150)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {out}: {error}", param_hint="--out") from error
