"""One cell of a study: an instance, a method, a row."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import cs3vm
from cs3vm import Problem, Result, Status, solve
from experiments import peers
from experiments.datasets import Dataset, load
from experiments.instances import Instance, draw
from experiments.rows import Row
from experiments.scoring import COUNT_COLUMNS, Plane, Sides, classify, counts

#: What makes a cell; rows that agree in these are the same cell.
KEY = (
    "study",
    "dataset",
    "seed",
    "sampling",
    "fraction",
    "bias",
    "method",
    "solver",
    "time_limit",
    "settings",
)
MEASURED = (
    *("n", "m", "d", "n_positive", "status", "seconds", "objective", "lower_bound", "gap", "count"),
    *("on_plane", "labelled_on_plane", "iterations", "nodes"),
)
COLUMNS = (*KEY, "version", "machine", *MEASURED, *COUNT_COLUMNS, "error")

TRUE = "true"  # P1 with all labels: the "true hyperplane"
SOLVERLESS = {TRUE, "svm", "top_tau", "direct"}
TIMELESS = {TRUE, "svm", "top_tau"}
BY_SIGN = {TRUE, "svm"}  # they know nothing of the total, so no z
PROBLEM_OPTIONS = {"C", "count_penalty", "side_margin"}


def make_cell(**fields: Any) -> Row:
    """A cell with its settings as text; what a method does not depend on is left empty."""
    method, settings = fields["method"], fields.pop("settings", {})
    fields["settings"] = json.dumps(settings, sort_keys=True) if settings else ""
    if method in SOLVERLESS or peers.is_peer(method, settings):
        fields["solver"] = ""
    if method in TIMELESS:
        fields["time_limit"] = ""
    if fields["sampling"] == "random":
        fields["bias"] = ""
    return {name: fields[name] for name in KEY}


def measure(cell: Row, data_folder: str | None = None) -> Row:
    """Draw the cell's instance, run its method on it and score the answer."""
    data = _load(cell["dataset"], data_folder)
    settings = json.loads(cell["settings"] or "{}")
    options = {name: settings.pop(name) for name in PROBLEM_OPTIONS & settings.keys()}
    bias = {"bias": float(cell["bias"])} if cell["bias"] != "" else {}
    instance = draw(
        data,
        int(cell["seed"]),
        sampling=cell["sampling"],
        fraction=float(cell["fraction"]),
        shuffled=True,
        **bias,
        **options,
    )
    p = instance.problem
    row: Row = {"n": p.n, "m": p.m, "d": p.d, "n_positive": int(p.n_positive)}
    if peers.is_peer(cell["method"], settings):
        return row | _peer(cell, settings, data, instance)
    if cell["method"] == TRUE:
        return row | _true(data, instance, data_folder, json.dumps(options))
    limit = {} if cell["time_limit"] == "" else {"time_limit": float(cell["time_limit"])}
    result = solve(p, cell["method"], solver=cell["solver"] or "auto", **limit, **settings)
    return row | _numbers(result) | _score(result, cell["method"], data, instance)


@lru_cache(maxsize=2)
def _load(name: str, folder: str | None) -> Dataset:
    return load(name, folder)


def _numbers(result: Result) -> Row:
    return {
        "status": result.status.value,
        "seconds": f"{result.seconds:.4f}",
        "objective": f"{result.objective:.10g}",
        "lower_bound": f"{result.lower_bound:.10g}",
        "gap": f"{result.gap:.4g}",
        "count": f"{result.count:g}",
        "iterations": len(result.iterations),
        "nodes": result.n_nodes,
    }


def _score(result: Result, method: str, data: Dataset, instance: Instance) -> Row:
    if not result.found:
        return {}
    z = None if method in BY_SIGN else result.z
    sides = classify(Plane(result.coef, result.intercept, z), data.X, data.y, instance)
    on_plane = {
        "on_plane": int(sides.on_plane[instance.unlabelled].sum()),
        "labelled_on_plane": int(sides.on_plane[instance.labelled].sum()),
    }
    return on_plane | counts(sides, data.y, instance)


@lru_cache(maxsize=2)
def _true_result(name: str, folder: str | None, options: str) -> Result:
    data = _load(name, folder)
    problem = Problem(data.X, data.y, np.empty((0, data.X.shape[1])), 0, **json.loads(options))
    return solve(problem, "svm")


def _true(data: Dataset, instance: Instance, folder: str | None, options: str) -> Row:
    """The true hyperplane, and how it classifies this instance's rows."""
    result = _true_result(data.name, folder, options)
    row = _numbers(result) | _score(result, TRUE, data, instance)
    sides = classify(Plane(result.coef, result.intercept, None), data.X, data.y, instance)
    return row | {"count": int(sides.honest[instance.unlabelled].sum())}


def _peer(cell: Row, settings: dict[str, Any], data: Dataset, instance: Instance) -> Row:
    found = peers.run(cell["method"], settings, data, instance, float(cell["time_limit"]))
    row: Row = {"status": Status.FEASIBLE.value, "seconds": f"{found.seconds:.4f}"}
    row["count"] = int(found.positive[instance.unlabelled].sum())
    scored = counts(Sides(found.positive, found.positive, found.positive), data.y, instance)
    if not found.labelled_rows:
        scored = {name: value for name, value in scored.items() if "_unlabelled_" in name}
    return row | scored


# -- where a row comes from --------------------------------------------------------------------------
@cache
def provenance() -> Row:
    """The version of the package (with the commit, if this is a checkout) and the kind of machine."""
    return {"version": f"{cs3vm.__version__}{_commit()}", "machine": _machine()}


def _commit() -> str:
    root = Path(cs3vm.__file__).parent
    git = ["git", "-C", str(root)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "."], capture_output=True)
    except OSError:  # no git
        return ""
    if commit.returncode != 0:
        return ""
    return f"+{commit.stdout.strip()}{'.dirty' if changed.returncode else ''}"


def _machine() -> str:
    cpu = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        cpu = names[0] if names else cpu
    return f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}"
