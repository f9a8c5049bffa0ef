"""The paper's 97 datasets by name, cleaned and scaled as in the paper, and six that need no files."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from cs3vm.learn.scaling import paper_scaling
from experiments.builtin import BUILTIN, builtin_table

DEFAULT_FOLDER = "../shared/pmlb"
CACHE = "~/.cache/cs3vm/pmlb"  # where downloads go when no folder is given


@dataclass(frozen=True, eq=False)
class Dataset:
    """A cleaned and scaled table with its true classes (+1 or -1)."""

    name: str
    X: np.ndarray
    y: np.ndarray


class DataNotFoundError(FileNotFoundError):
    """A dataset is neither in the folder nor to be downloaded."""


def data_dir(given: str | Path | None = None) -> Path:
    """The folder of the PMLB files: the argument, ``CS3VM_DATA``, or ``../shared/pmlb``."""
    folder = Path(given or os.environ.get("CS3VM_DATA") or DEFAULT_FOLDER)
    if not folder.is_dir():
        raise FileNotFoundError(f"no data folder at {folder}: pass --data or set CS3VM_DATA")
    return folder


@cache
def paper_table() -> list[dict[str, str]]:
    """Table 1 of the paper: id, paper_name, pmlb_name, N, d, rescaled."""
    with open(Path(__file__).with_name("paper_instances.tsv"), newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def paper_row(name: str) -> dict[str, str]:
    """The row of Table 1 with this name, the paper's or PMLB's."""
    row = next((r for r in paper_table() if name in (r["paper_name"], r["pmlb_name"])), None)
    if row is None:
        raise KeyError(
            f"{name!r} is neither one of the paper's 97 datasets nor one of {', '.join(sorted(BUILTIN))}"
        )
    return row


def size(name: str) -> int:
    """The number of rows, without loading the file: that of Table 1."""
    return BUILTIN[name].rows if name in BUILTIN else int(paper_row(name)["N"])


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Load a dataset by the paper's name, PMLB's, or that of a built-in one."""
    if name in BUILTIN:
        return _finish(name, builtin_table(name))
    row = paper_row(name)
    table = raw_table(row["pmlb_name"], folder).dropna()
    if len(table) != int(row["N"]):
        table = table.drop_duplicates()
    return _finish(row["paper_name"], table)


def _finish(name: str, table: pd.DataFrame) -> Dataset:
    table = table.copy()
    target = table.pop("target").to_numpy()
    positive = 1 if np.any(target == 1) else target.max()
    X = table.to_numpy(dtype=float)
    return Dataset(name, paper_scaling(X).transform(X), np.where(target == positive, 1, -1))


def ensure(names: Iterable[str], folder: str | Path | None = None) -> None:
    """Download what is not there, before many processes need it at once."""
    for name in names:
        if name not in BUILTIN and not _file(paper_row(name)["pmlb_name"], folder).is_file():
            raw_table(paper_row(name)["pmlb_name"], folder)


def raw_table(pmlb_name: str, folder: str | Path | None = None) -> pd.DataFrame:
    """PMLB's table as it is: from the folder, else through the ``pmlb`` package, which downloads it."""
    file = _file(pmlb_name, folder)
    return pd.read_csv(file, sep="\t") if file.is_file() else _download(pmlb_name, file.parents[1])


def _file(pmlb_name: str, folder: str | Path | None) -> Path:
    try:
        place = data_dir(folder)
    except FileNotFoundError:
        place = Path(folder or os.environ.get("CS3VM_DATA") or Path(CACHE).expanduser())
    return place / pmlb_name / f"{pmlb_name}.tsv.gz"


def _download(pmlb_name: str, place: Path) -> pd.DataFrame:
    help_text = (
        f"get PMLB's files into a folder and pass --data or set CS3VM_DATA, "
        f"or use a dataset that needs none: {', '.join(sorted(BUILTIN))}"
    )
    try:
        from pmlb import fetch_data
    except ImportError:
        raise DataNotFoundError(
            f"{pmlb_name} is not in {place}, and the package pmlb, which could download it, "
            f'is not installed (pip install "cs3vm[experiments]"); {help_text}'
        ) from None
    try:
        return fetch_data(pmlb_name, local_cache_dir=str(place), dropna=False)
    except (OSError, ValueError) as error:  # no network, no such file, or no writable cache
        raise DataNotFoundError(
            f"{pmlb_name} is not in {place} and could not be downloaded ({type(error).__name__}); {help_text}"
        ) from error


# -- how our sizes compare with Table 1 --------------------------------------------------------------
def compare(folder: str | Path | None = None, names: list[str] | None = None) -> pd.DataFrame:
    """Our N and d beside the paper's, with the reason for each difference."""
    rows = [paper_row(name) for name in names] if names else paper_table()
    return pd.DataFrame([_compare(row, folder) for row in rows])


def _compare(row: dict[str, str], folder: str | Path | None) -> dict[str, object]:
    raw = raw_table(row["pmlb_name"], folder)
    complete = raw.dropna()
    data = load(row["paper_name"], folder)
    N, d = data.X.shape
    return {
        "id": int(row["id"]),
        "paper_name": row["paper_name"],
        "pmlb_name": row["pmlb_name"],
        "paper_N": int(row["N"]),
        "N": N,
        "paper_d": int(row["d"]),
        "d": d,
        "file_rows": len(raw),
        "positives": int((data.y > 0).sum()),
        "note": _note(row, raw, complete, N, d),
    }


def _note(row: dict[str, str], raw: pd.DataFrame, complete: pd.DataFrame, N: int, d: int) -> str:
    notes = []
    if row["paper_name"] != row["pmlb_name"]:
        notes.append("another name at PMLB")
    if len(complete) < len(raw):
        notes.append(f"rows with missing values dropped: {len(raw) - len(complete)}")
    if len(complete) > N:
        notes.append(f"repeated rows dropped: {len(complete) - N}")
    if int(row["N"]) != N:
        notes.append(
            f"DIFFERENT from the paper's N = {row['N']}: the file has {len(complete)} complete rows, "
            f"{N} of them distinct, and no cleaning that the paper describes gives {row['N']}"
        )
    if int(row["d"]) != d:
        notes.append(f"DIFFERENT from the paper's d = {row['d']}")
    return "; ".join(notes)
