"""Classification with few, biased labels and a known total of positives.

The rooms of the house. Each may import from those above it, never from those below:

    _typing           array types that many modules share
    exceptions        every error and warning class
    _aliases          paths of earlier releases, which warn
    model             the problem as data, and the answer: objective, big-M, intercept, norms, result
    datasets          a synthetic survey to try things on
    convex            the SVM with held rows: interior point, linear programme, safe dual bounds
    proofs            proofs of optimality as files, and their checker
    engine.jit        decorators that compile, and the cache
    engine.compiling  who compiles, and that others wait
    engine.core       what both searches share: arrays, node solver, safe bounds, relaxation
    engine.passes     rows in pieces: scores, bins and sums of one piece
    engine.heuristic  good planes fast: starts, count steps, cells, subsamples
    engine.exact      the tree: frontier, nodes, flips, pairs, groups, incumbent, proof writer
    engine.boxes      few features: boxes of directions, cuts, counts in a box, the search over boxes
    engine.warm_up    what is compiled first
    engine.__main__   compiles all that can be, while the package is installed
    solvers           one function ``Problem -> Result`` per backend: bnb, scip, gurobi, highs
    methods           the paper's algorithms and ours, over solvers: svm, rcm, ircm, wircm, direct, auto
    learn             scikit-learn's side: labels, totals, scaling, kernels, the fit, the classifier
    large             rows in pieces: more data than memory holds
    selection         choosing a model without more labels
    tables            tables and models as files: dialects, encoding, model files
    report            one HTML page about a fit, and its figures
    cli               the command line

``tests/test_imports.py`` reads this table.
"""

from importlib import import_module
from typing import Any

from . import _aliases
from .methods.front_door import solve
from .model.problem import Problem
from .model.result import Result
from .model.status import Status
from .model.totals import Total, Totals
from .proofs.checker import Verdict, verify
from .solvers import available_solvers

__all__ = [
    "CS3VMClassifier",
    "CS3VMSearch",
    "LabeledKFold",
    "Problem",
    "Result",
    "Status",
    "TopTau",
    "Total",
    "Totals",
    "Verdict",
    "available_solvers",
    "solve",
    "verify",
]
__version__ = "0.1.0"

_LAZY = {  # these load scikit-learn
    "CS3VMClassifier": "learn.classifier",
    "CS3VMSearch": "selection.search",
    "LabeledKFold": "selection.splitter",
    "TopTau": "learn.top_tau",
}

_aliases.install()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
