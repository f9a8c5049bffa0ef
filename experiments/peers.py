"""Other semi-supervised classifiers, scored on the same instances.

The scikit-learn peers get features with mean 0 and standard deviation 1 over all rows, without which they
are far worse. Those called ``…_top_tau`` also know the total: the τ rows with the highest probability are
positive. A peer of any kind can be given as a command.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.datasets import Dataset
from experiments.instances import Instance

TOP_TAU = "_top_tau"
MODELS = ("self_training", "label_spreading")
PEERS = (*MODELS, *(name + TOP_TAU for name in MODELS))
FIELDS = ("{labelled}", "{unlabelled}", "{n_positive}", "{out}")


class Found(NamedTuple):
    """Which rows of the dataset are called positive; the labelled ones only if ``labelled_rows``."""

    positive: np.ndarray
    labelled_rows: bool
    seconds: float


class PeerError(RuntimeError):
    """A command failed or wrote something else than one number per unlabelled row."""


def is_peer(method: str, settings: dict[str, Any]) -> bool:
    return method in PEERS or "command" in settings


def run(method: str, settings: dict[str, Any], data: Dataset, instance: Instance, time_limit: float) -> Found:
    began = time.perf_counter()
    if "command" in settings:
        positive, complete = _command(settings["command"], instance, len(data.y), time_limit), False
    else:
        positive, complete = _model(method, data, instance), True
    return Found(positive, complete, time.perf_counter() - began)


def _model(method: str, data: Dataset, instance: Instance) -> np.ndarray:
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(data.X)
    y = np.full(len(X), -1)  # scikit-learn's mark for rows without a label
    y[instance.labelled] = data.y[instance.labelled] > 0
    model = self_training() if method.startswith("self_training") else label_spreading()
    model.fit(X, y)
    probability = model.predict_proba(X)[:, list(model.classes_).index(1)]
    positive = probability > 0.5
    if method.endswith(TOP_TAU):
        positive[instance.unlabelled] = highest(probability[instance.unlabelled], instance.problem.n_positive)
    return positive


def self_training() -> Any:
    """Logistic regression that labels the rows it is sure of."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    return SelfTrainingClassifier(LogisticRegression(max_iter=1000))


def label_spreading() -> Any:
    """On the graph of the seven nearest neighbours; with distances the default width spreads nothing."""
    from sklearn.semi_supervised import LabelSpreading

    return LabelSpreading(kernel="knn", n_neighbors=7, max_iter=200)


def highest(scores: np.ndarray, count: float) -> np.ndarray:
    """The given number of highest scores; ties are broken by chance, since a file may be sorted by class."""
    chance = np.random.default_rng(0).permutation(len(scores))
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[np.lexsort((chance, -scores))[: int(count)]] = True
    return chosen


# -- commands ----------------------------------------------------------------------------------------
def check_template(template: str) -> None:
    """A template must say where its input and output are."""
    missing = [field for field in FIELDS if field not in template and field != "{n_positive}"]
    if missing:
        raise ValueError(
            f"the command {template!r} lacks {', '.join(missing)}: it gets CSV files of the labelled rows "
            "(last column: +1 or -1) as {labelled} and of the others as {unlabelled}, their total "
            "as {n_positive}, and writes one number per unlabelled row to {out}, above zero for positive"
        )


def _command(template: str, instance: Instance, rows: int, time_limit: float) -> np.ndarray:
    p = instance.problem
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(Path(folder) / f"{name}.csv") for name in ("labelled", "unlabelled", "out")}
        np.savetxt(paths["labelled"], np.column_stack([p.X, p.y]), delimiter=",", fmt="%.17g")
        np.savetxt(paths["unlabelled"], p.U, delimiter=",", fmt="%.17g")
        fields = paths | {"n_positive": str(int(p.n_positive))}
        _call([_fill(word, fields) for word in shlex.split(template)], time_limit)
        sides = _read(Path(paths["out"]), p.m)
    positive = np.zeros(rows, dtype=bool)
    positive[instance.unlabelled] = sides > 0
    return positive


def _fill(word: str, fields: dict[str, str]) -> str:
    for name, value in fields.items():
        word = word.replace("{" + name + "}", value)
    return word


def _call(command: list[str], time_limit: float) -> None:
    """Run it; what it leaves running ends with the sandbox, which no failed cell outlives."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=time_limit
        )
    except subprocess.TimeoutExpired:
        raise PeerError(f"no answer within {time_limit:g} seconds") from None
    if done.returncode != 0:
        raise PeerError(f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")


def _read(path: Path, expected: int) -> np.ndarray:
    if not path.exists():
        raise PeerError("the command wrote no answer to {out}")
    sides = np.loadtxt(path, ndmin=1)
    if sides.shape != (expected,) or not np.all(np.isfinite(sides)):
        raise PeerError(
            f"expected {expected} finite numbers, one per unlabelled row, got shape {sides.shape}"
        )
    return sides
