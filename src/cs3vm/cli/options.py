"""The options that several commands share, each declared once."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..methods import METHODS, SAFE
from ..solvers import SOLVERS

#: Seconds of search of ``cs3vm compare``.
TIME_LIMIT = 4.0


class Standardize(StrEnum):
    """The scalings by their names on the command line."""

    ZSCORE = "zscore"
    PAPER = "paper"
    RANK = "rank"
    NONE = "none"


class Norms(StrEnum):
    """The norms by their names on the command line."""

    L2 = "l2"
    L1 = "l1"
    MAX = "max"


class Kernels(StrEnum):
    """The kernels by their names on the command line."""

    LINEAR = "linear"
    RBF = "rbf"
    LAPLACIAN = "laplacian"
    POLY = "poly"


class Predictors(StrEnum):
    """What classifies new rows, by its names on the command line."""

    AUTO = "auto"
    PLANE = "plane"
    STUDENT = "student"


class CountedRows(StrEnum):
    """Which rows totals count, by their names on the command line."""

    UNLABELLED = "unlabelled"
    ALL = "all"


class Impute(StrEnum):
    """The ways to fill in missing values."""

    MEDIAN = "median"


def _positive(value: float) -> float:
    if not 0 < value < math.inf:
        raise typer.BadParameter(f"{value:g} is not a positive number")
    return value


def positive_if_given(value: float | None) -> float | None:
    """Refuse numbers that are not positive; None is no number."""
    return None if value is None else _positive(value)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value:g} is not a finite number")
    return value


def _share(value: float | None) -> float | None:
    if value is not None and not 0 <= value <= 1:
        raise typer.BadParameter(f"{value:g} is not between 0 and 1; for a number of rows use --n-positive")
    return value


def _total(text: str) -> Any:
    from .margins import read_total

    try:
        return read_total(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _side_margin(value: str) -> str:
    try:
        is_margin = value == "auto" or 0 <= float(value) < math.inf
    except ValueError:
        is_margin = False
    if not is_margin:
        raise typer.BadParameter(f"{value!r} is neither auto nor a number that is at least 0")
    return value


def _gamma(value: str) -> str:
    if value not in ("scale", "auto"):
        try:
            _positive(float(value))
        except ValueError as error:
            raise typer.BadParameter(f"{value!r} is not scale, auto or a positive number") from error
    return value


DATA, SEARCH, OUTPUT = "The data", "The search", "The output"

TableFile = Annotated[
    Path,
    typer.Argument(
        help="A table with a header row: .csv, .tsv, .parquet, .feather or .xlsx; or a folder or "
        "quoted pattern of .parquet files.",
        show_default=False,
    ),
]
Label = Annotated[
    str,
    typer.Option(
        help="The column to learn: two values, more with --total, and empty cells in rows to be classified.",
        rich_help_panel=DATA,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(help="The value that the total counts. Default: the greater one.", rich_help_panel=DATA),
]
TotalOrRange = Annotated[
    Any,
    typer.Option(
        "--n-positive",
        parser=_total,
        metavar="N|LOW:HIGH",
        help="How many of the rows *without* label are positive: a number, or low:high.",
        rich_help_panel=DATA,
    ),
]
RangeOfTotals = Annotated[
    Any,
    typer.Option(
        "--n-positive-range",
        parser=_total,
        metavar="LOW:HIGH",
        help="See which labels change if the total is another one, from low to high.",
        rich_help_panel=DATA,
    ),
]
TotalsBy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=FILE",
        help="Totals by group: a file with the columns group and total (or low and high, or one per class). "
        "Repeat it for other columns.",
        rich_help_panel=DATA,
    ),
]
TotalsOf = Annotated[
    CountedRows,
    typer.Option(help="Whether totals count rows without label, or all.", rich_help_panel=DATA),
]
Weight = Annotated[
    str | None,
    typer.Option(
        help="A column of survey weights: totals are in their units, and it is no feature.",
        rich_help_panel=DATA,
    ),
]
GroupIntercepts = Annotated[
    bool,
    typer.Option(
        "--group-intercepts",
        help="Give each group of --totals-by a threshold of its own, so that its total can be met.",
        rich_help_panel=SEARCH,
    ),
]
PositiveRate = Annotated[
    float | None,
    typer.Option(
        callback=_share,
        help="Instead: their share among the rows without label, 0 to 1.",
        rich_help_panel=DATA,
    ),
]
TotalPositive = Annotated[
    int | None,
    typer.Option(
        min=0, help="Instead: the positives in the whole table, labelled rows included.", rich_help_panel=DATA
    ),
]
Totals = Annotated[
    Path | None,
    typer.Option(
        help="Of several classes: a table with the columns class and total, for the rows *without* label.",
        rich_help_panel=DATA,
    ),
]
Total = Annotated[
    list[str] | None,
    typer.Option(help="Instead, once for each class: class=number, such as yes=120.", rich_help_panel=DATA),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", help="A column that identifies rows; copied, not learnt from.", rich_help_panel=DATA
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to learn from, separated by commas, or repeat it. Default: all.", rich_help_panel=DATA
    ),
]
Exclude = Annotated[list[str] | None, typer.Option(help="Columns to leave out.", rich_help_panel=DATA)]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns that are categories though they hold numbers, or numbers and text.",
        rich_help_panel=DATA,
    ),
]
ImputeBy = Annotated[
    Impute | None,
    typer.Option(
        "--impute",
        help="Fill missing values: numbers by the median, categories by the most frequent value.",
        rich_help_panel=DATA,
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help=f"One of {', '.join(METHODS)}, or {SAFE}: auto, unless hidden labels speak for another rule.",
        autocompletion=lambda: [*METHODS, SAFE],
        rich_help_panel=SEARCH,
    ),
]
Solver = Annotated[
    str,
    typer.Option(
        help=f"auto, or one of {', '.join(SOLVERS)}; see cs3vm solvers.",
        autocompletion=lambda: ["auto", *SOLVERS],
        rich_help_panel=SEARCH,
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        callback=_positive,
        help="Seconds of search. It ends earlier when the answer is proven; more time gives a better proof.",
        rich_help_panel=SEARCH,
    ),
]
GuardingTimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        callback=positive_if_given,
        help="Seconds of search. It ends earlier when the answer is proven; more time gives a better proof. "
        "Default: by work, about 5 seconds.",
        rich_help_panel=SEARCH,
    ),
]
WorkLimit = Annotated[
    float | None,
    typer.Option(
        callback=positive_if_given,
        help="Numbers that a search may touch: the same answer on every machine. Default: 4e9, unless there "
        "is a time limit.",
        rich_help_panel=SEARCH,
    ),
]
Scaling = Annotated[
    Standardize,
    typer.Option(
        "--standardize",
        help="zscore: mean 0, deviation 1; rank: by ranks, with a kernel; paper: centred, ±100; none.",
        rich_help_panel=SEARCH,
    ),
]
PriceOfSlack = Annotated[
    float, typer.Option("--C", callback=_positive, help="Price of a label's slack.", rich_help_panel=SEARCH)
]
CountPenalty = Annotated[
    float, typer.Option(callback=_positive, help="Price of each miscounted row.", rich_help_panel=SEARCH)
]
SideMargin = Annotated[
    str,
    typer.Option(
        callback=_side_margin,
        help="How far rows must stay off the plane: auto, or a number; 0 is the paper's convention.",
        rich_help_panel=SEARCH,
    ),
]
Kernel = Annotated[
    Kernels,
    typer.Option(help="rbf and laplacian also find classes that no plane separates.", rich_help_panel=SEARCH),
]
Gamma = Annotated[
    str,
    typer.Option(
        callback=_gamma, help="Of the kernel: a number, scale or auto; see the docs.", rich_help_panel=SEARCH
    ),
]
Degree = Annotated[int, typer.Option(min=0, help="Of the kernel poly.", rich_help_panel=SEARCH)]
Coef0 = Annotated[
    float, typer.Option("--coef0", callback=_finite, help="Of the kernel poly.", rich_help_panel=SEARCH)
]
Components = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="The most landmarks of a kernel. Default: exact up to 3000 rows, 300 landmarks beyond.",
        rich_help_panel=SEARCH,
    ),
]
NormOfWeights = Annotated[
    Norms,
    typer.Option(
        "--norm",
        help="What the weights cost: l2 their squares, l1 their sizes (drops features), max the largest.",
        rich_help_panel=SEARCH,
    ),
]
Predictor = Annotated[
    Predictors,
    typer.Option(
        "--predictor",
        help="What classifies new rows: the plane, or a student that learns from all labels; see the docs.",
        rich_help_panel=SEARCH,
    ),
]
NoAccuracy = Annotated[
    bool,
    typer.Option("--no-accuracy", help="Do not estimate how many labels are right.", rich_help_panel=SEARCH),
]
NoCertainty = Annotated[
    bool,
    typer.Option(
        "--no-certainty",
        help="Do not look which labels are certain, and which stay when labels are drawn again.",
        rich_help_panel=SEARCH,
    ),
]
FoldsOfLabels = Annotated[
    int,
    typer.Option(
        "--folds",
        min=2,
        help="Known labels are hidden in so many parts, to see how many come back.",
        rich_help_panel=SEARCH,
    ),
]
RepeatsOfLabels = Annotated[
    int, typer.Option("--repeats", min=1, help="So often, in other parts.", rich_help_panel=SEARCH)
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of the random numbers.", rich_help_panel=SEARCH)
]
By = Annotated[
    str | None,
    typer.Option(
        help="A column: how many rows of each of its values are positive, or of each class, with intervals.",
        rich_help_panel=OUTPUT,
    ),
]
OutDir = Annotated[
    Path | None,
    typer.Option(help="Folder of the output. Default: that of the table.", rich_help_panel=OUTPUT),
]
OutPrefix = Annotated[
    str | None,
    typer.Option(help="Begin of the output's names. Default: the table's name.", rich_help_panel=OUTPUT),
]
Force = Annotated[bool, typer.Option("--force", help="Replace output that exists.", rich_help_panel=OUTPUT)]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.", rich_help_panel=OUTPUT)]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print a machine-readable summary instead of a table.", rich_help_panel=OUTPUT
    ),
]
