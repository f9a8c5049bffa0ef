"""Text: which package a docstring is from, SciPy or scikit-learn, from 120 biased labels and a known total.

The docstrings are read from the sources of the installed packages, so any machine has them. Their words and
pairs of words are 20,000 sparse columns (tf-idf); the names of both packages are left out.
"""

from __future__ import annotations

import ast
import multiprocessing
import resource
import statistics
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cs3vm import CS3VMClassifier
from cs3vm.exceptions import CS3VMWarning
from experiments.instances import biased_rows
from experiments.peers import highest
from experiments.rows import Row, existing, run_cells

PACKAGES = ("scipy", "sklearn")
COLUMNS, LABELS, LENGTH = 20_000, 120, 200
#: Name in the table → what differs from the estimator's defaults.
OURS: dict[str, dict[str, Any]] = {
    "SVM + top-τ": {"method": "top_tau"},
    "direct": {"method": "direct"},
    "auto": {"method": "auto"},
    "safe": {"method": "safe"},
    "direct, dense z-scores": {"method": "direct"},
}
RIVAL = "logistic regression + top-τ"


def docstrings(package: str) -> list[str]:
    """The longer docstrings of a package's functions, methods and classes, each once, in a fixed order."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    folder, found = Path(spec.submodule_search_locations[0]), {}
    for path in sorted(folder.rglob("*.py")):
        if "tests" in path.parts or "externals" in path.parts or path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                text = ast.get_docstring(node) or ""
                if len(text) >= LENGTH:
                    found[text] = None
    return list(found)


def table_of_words() -> tuple[Any, np.ndarray]:
    """The rows as CSR, and +1 for SciPy, -1 for scikit-learn."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # what is measured does not load it

    texts = [docstrings(package) for package in PACKAGES]
    words = TfidfVectorizer(
        ngram_range=(1, 2), max_features=COLUMNS, stop_words=["scipy", "sklearn", "scikit", "learn"]
    )
    X = words.fit_transform([text for part in texts for text in part])
    return X, np.repeat([1.0, -1.0], [len(part) for part in texts])


# -- the measurement -----------------------------------------------------------------------------------
def instance(X: Any, truth: np.ndarray, seed: int) -> tuple[Any, np.ndarray, np.ndarray, int]:
    """Shuffled rows, their labels with NaN where there is none, the truth, and the total."""
    shuffled = np.random.default_rng(seed).permutation(len(truth))
    X, truth = X[shuffled], truth[shuffled]
    labelled = biased_rows(truth, seed, fraction=LABELS / len(truth))
    y = np.full(len(truth), np.nan)
    y[labelled] = truth[labelled]
    return X, y, truth, int((truth[np.isnan(y)] > 0).sum())


def measure(
    name: str, X: Any, y: np.ndarray, truth: np.ndarray, total: int, time_limit: float, queue: Any
) -> None:
    hidden = np.isnan(y)
    began = time.perf_counter()
    if name == RIVAL:
        from sklearn.linear_model import LogisticRegression  # ours do not load it

        model = LogisticRegression(max_iter=1000).fit(X[~hidden], y[~hidden])
        sides = highest(model.decision_function(X[hidden]), total)
    else:
        clf = CS3VMClassifier(time_limit=time_limit, **OURS[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CS3VMWarning)
            clf.fit(X.toarray() if "dense" in name else X, y, n_positive=total)
        sides = clf.transduction_[hidden] > 0
    queue.put(
        {
            "rows": X.shape[0],
            "columns": X.shape[1],
            "accuracy": f"{np.mean(sides == (truth[hidden] > 0)):.4f}",
            "seconds": f"{time.perf_counter() - began:.2f}",
            "peak_mb": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f}",
        }
    )


def run(out: Path, seeds: int, time_limit: float) -> None:
    X, truth = table_of_words()

    def cell(method: str, seed: int, time_limit: float) -> Row:
        """In a process of its own, so that its peak memory, with the data, is its own."""
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        process = context.Process(target=measure, args=(method, *instance(X, truth, seed), time_limit, queue))
        process.start()
        found: Row = queue.get()
        process.join()
        return found

    cells = [
        {"method": method, "seed": seed, "time_limit": time_limit}
        for seed in range(seeds)
        for method in (RIVAL, *OURS)
    ]
    for row in run_cells(out, cells, cell):
        said = f"{row['accuracy']}  {row['seconds']} s  {row['peak_mb']} MB"
        print(f"{row['method']:<28} {row['seed']}  {said}", flush=True)
    print(table(existing(out)))


def table(rows: list[Row]) -> str:
    """Means over the seeds, and the highest peak; the seconds in the file include loading compiled code."""
    lines = [
        f"| {rows[0]['rows']} texts × {rows[0]['columns']} columns | accuracy | peak memory |",
        "|---|--:|--:|",
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        group = [row for row in rows if row["method"] == method]
        accuracy = statistics.mean(float(r["accuracy"]) for r in group)
        peak = max(int(r["peak_mb"]) for r in group)
        lines.append(f"| {method} | {accuracy:.3f} | {peak} MB |")
    return "\n".join(lines)
