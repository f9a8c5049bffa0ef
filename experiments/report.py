"""The report of a run: every figure of the paper from the rows, as files and in one self-contained page."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib
import pandas as pd
from jinja2 import Environment, FileSystemLoader
from matplotlib.figure import Figure

from experiments import figures
from experiments.headlines import headlines, random_headlines
from experiments.measures import SIZE_CLASSES, box_table, contradictions, ended_by, measured, read

RATIOS = {"hat": "relative to the true hyperplane", "bar": "relative to the SVM"}
WORDS = {"AC": "accuracy", "PR": "precision", "RE": "recall", "FPR": "false positive rate"}
NOBODY = "No instance belongs here yet."


class Drawing(NamedTuple):
    """A figure to be drawn, and the table behind it."""

    key: str
    caption: str
    rows: pd.DataFrame
    draw: Callable[[pd.DataFrame], Figure]
    table: Callable[[pd.DataFrame], pd.DataFrame]


def write_report(results: Path, out: Path) -> Path:
    """Draw all figures that the rows allow and write the page; return its path."""
    raw = read(results)
    rows = measured(raw)
    out.mkdir(parents=True, exist_ok=True)
    sections = []
    for heading, drawings in _sections(rows):
        shown = [_show(drawing, out) for drawing in drawings]
        sections.append({"heading": heading, "figures": shown})
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    page = environment.get_template("report.html.jinja").render(
        sections=sections, facts=_facts(raw, rows), says=_says(rows), **_troubles(raw, rows)
    )
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


# -- which figures -----------------------------------------------------------------------------------
def _sections(rows: pd.DataFrame) -> Iterator[tuple[str, list[Drawing]]]:
    biased, random = (rows[rows["study"] == study] for study in ("biased", "random"))
    if len(biased):
        yield "Run time and bounds, biased samples", _times(biased)
        yield (
            "Accuracy and precision where CS³VM ended, biased samples",
            _boxes(ended_by(biased), "ended", "AC PR"),
        )
        yield "Accuracy and precision, all instances, biased samples", _boxes(biased, "all", "AC PR")
        yield "Recall and false positive rate, biased samples", _boxes(biased, "all", "RE FPR", ("hat",))
        yield "The same accuracy without the paper's favour for points on the plane", [_honest(biased)]
    if len(random):
        yield "Simple random samples", _boxes(random, "random", "AC PR RE FPR", ("hat",))
    if len(peers := rows[rows["study"] == "peers"]):
        yield "Beside other classifiers", [_peers(peers)]
    if len(sensitive := rows[rows["study"] == "sensitivity"]):
        yield "Sensitivity to the parameters of Table 2", _sensitivity(sensitive)


def _times(rows: pd.DataFrame) -> list[Drawing]:
    drawings = [Drawing("runtime", "Run time, all instances.", rows, figures.runtime_ecdf, _time_table)]
    for key, (_, size) in zip(("runtime-500", "runtime-1500", "runtime-large"), SIZE_CLASSES, strict=True):
        part = rows[rows["size"] == size]
        drawings.append(Drawing(key, f"Run time, {size}.", part, figures.runtime_ecdf, _time_table))
    known = rows[rows["optimum"].notna()]
    caption = "Quality of the upper bounds, on instances with a proven optimum."
    return [*drawings, Drawing("bounds", caption, known, figures.bound_ecdf, _bound_table)]


def _boxes(
    rows: pd.DataFrame, where: str, measures: str, kinds: tuple[str, ...] = ("hat", "bar")
) -> list[Drawing]:
    return [
        Drawing(
            f"{measure.lower()}-{kind}-{where}",
            f"{WORDS[measure].capitalize()} {RATIOS[kind]}. Left: all points, right: unlabelled points. "
            "Behind each name: the number of values.",
            rows,
            lambda part, m=f"{measure}_{kind}": figures.boxes(part, m),
            lambda part, m=f"{measure}_{kind}": box_table(part, m),
        )
        for measure in measures.split()
        for kind in kinds
    ]


def _honest(rows: pd.DataFrame) -> Drawing:
    return Drawing(
        "ac-hat-honest",
        "Accuracy relative to the true hyperplane; a point on the plane is where the method's z puts it, or "
        "on the positive side, never simply right.",
        rows,
        lambda part: figures.boxes(part, "AC_hat", "honest"),
        lambda part: box_table(part, "AC_hat"),
    )


def _peers(rows: pd.DataFrame) -> Drawing:
    return Drawing(
        "peers",
        "Accuracy. Ours see features scaled as in the paper; scikit-learn's standardised ones, with top-τ "
        "also the total.",
        rows,
        lambda part: figures.boxes(part, "AC", "honest"),
        lambda part: box_table(part, "AC"),
    )


def _sensitivity(rows: pd.DataFrame) -> list[Drawing]:
    def table(part: pd.DataFrame) -> pd.DataFrame:
        groups = part.groupby(["settings", "series"], sort=False)
        found = groups.agg(
            instances=("seconds", "size"),
            ended=("ended", "mean"),
            seconds=("seconds", "median"),
            accuracy=("honest_unlabelled_AC", "median"),
        )
        return found.reset_index()

    accuracy = "honest_unlabelled_AC"
    return [
        Drawing(
            "sensitivity-time", "Median run time.", rows, lambda r: figures.sensitivity(r, "seconds"), table
        ),
        Drawing(
            "sensitivity-accuracy",
            "Median accuracy.",
            rows,
            lambda r: figures.sensitivity(r, accuracy),
            table,
        ),
    ]


# -- tables ------------------------------------------------------------------------------------------
def _time_table(rows: pd.DataFrame) -> pd.DataFrame:
    ended = rows.assign(seconds=rows["seconds"].where(rows["ended"]))
    groups = ended.groupby("series", sort=False)
    table = groups.agg(
        instances=("ended", "size"),
        ended=("ended", "sum"),
        share=("ended", "mean"),
        median=("seconds", "median"),
    )
    table = table.assign(failed=groups["error"].agg(lambda errors: (errors != "").sum()))
    return table.rename(columns={"median": "median seconds where it ended"}).reset_index(names="method")


def _bound_table(rows: pd.DataFrame) -> pd.DataFrame:
    groups = rows.groupby("series", sort=False)["excess"]
    table = pd.DataFrame({"instances": groups.size(), "median gap": groups.median()})
    for within in (1e-6, 1e-3, 0.01, 0.2):
        table[f"within {within:g}"] = groups.agg(
            lambda values, most=within: (values <= most * (1 + 1e-9)).mean()
        )
    return table.reset_index(names="method")


def _says(rows: pd.DataFrame) -> list[tuple[str, str, str]]:
    biased, random = (rows[rows["study"] == study] for study in ("biased", "random"))
    found = headlines(biased) if len(biased) else []
    return found + (random_headlines(random) if len(random) else [])


def _facts(raw: pd.DataFrame, rows: pd.DataFrame) -> dict[str, str]:
    def values(name: str) -> str:
        return ", ".join(
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in sorted(set(raw[name].dropna()))
        )

    instances = rows[["dataset", "seed", "sampling", "fraction", "bias"]].drop_duplicates()
    return {
        "rows": str(len(raw)),
        "instances": f"{len(instances)} from {rows['dataset'].nunique()} datasets",
        "seconds per method and instance": values("time_limit"),
        "share labelled": values("fraction"),
        "bias": values("bias"),
        "versions": values("version"),
        "machines": values("machine"),
    }


def _troubles(raw: pd.DataFrame, rows: pd.DataFrame) -> dict[str, object]:
    failed = raw[raw["error"] != ""][["study", "dataset", "seed", "method", "solver", "error"]]
    clashes = contradictions(rows)
    return {
        "failed": _cells(failed.reset_index(drop=True)),
        "clashes": _cells(clashes[["dataset", "seed", "sampling", "lower_bound", "objective"]]),
    }


# -- drawing -----------------------------------------------------------------------------------------
def _show(drawing: Drawing, out: Path) -> dict[str, object]:
    """Save the figure as PNG and SVG; the page holds the SVG itself."""
    if drawing.rows.empty:
        return {"key": drawing.key, "caption": drawing.caption, "missing": NOBODY}
    with matplotlib.rc_context({"svg.hashsalt": "cs3vm", "font.size": 10}):
        figure = drawing.draw(drawing.rows)
        figure.savefig(out / f"{drawing.key}.png", dpi=150)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    (out / f"{drawing.key}.svg").write_bytes(buffer.getvalue())
    picture = f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    return {
        "key": drawing.key,
        "caption": drawing.caption,
        "picture": picture,
        "table": _cells(drawing.table(drawing.rows)),
    }


def _cells(table: pd.DataFrame) -> dict[str, list]:
    """A table as text: numbers with few digits, missing ones as a dash."""
    return {
        "columns": list(table.columns),
        "lines": [[_text(v) for v in line] for line in table.itertuples(index=False)],
    }


def _text(value: object) -> str:
    if isinstance(value, float):
        return "–" if pd.isna(value) else f"{value:.4g}"
    return str(value)
