"""Paths of earlier releases import what they always did, and warn."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import cs3vm
from cs3vm._aliases import MOVED

#: What the API page of the first release named.
DOCUMENTED = {
    "assignment": ("assign", "Assignment"),
    "bnb.proof": ("write_proof",),
    "criteria": ("Evidence", "Fit", "Refit"),
    "estimator": ("CS3VMClassifier",),
    "kernels": ("Kernel", "KernelMap", "fit_kernel_map"),
    "methods.ircm": ("ircm",),
    "methods.rcm": ("rcm",),
    "methods.wircm": ("wircm",),
    "model_selection": ("LabeledKFold",),
    "plots": ("score_histogram", "projection", "weights", "convergence"),
    "progress": ("ProgressLine",),
    "result": ("Result", "Status", "TracePoint", "Iteration"),
    "search": ("CS3VMSearch",),
    "solve": ("solve",),
    "verify": ("verify", "Verdict"),
}


def python(code: str, *options: str) -> str:
    return subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_every_old_path_is_listed():
    assert set(MOVED) == {*DOCUMENTED, "bnb"}


@pytest.mark.parametrize("old", sorted(DOCUMENTED))
def test_an_old_path_has_its_names_and_warns(old):
    code = (
        "import importlib, warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        f"    module = importlib.import_module('cs3vm.{old}')\n"
        f"for name in {DOCUMENTED[old]!r}: getattr(module, name)\n"
        "print([str(w.message) for w in caught if w.category is DeprecationWarning])"
    )
    assert f"cs3vm.{old} has moved to cs3vm.{MOVED[old].split()[0]}" in python(code)


def test_a_module_with_the_name_of_a_function_can_still_be_called():
    code = (
        "import cs3vm, cs3vm.verify, cs3vm.solve\n"
        "problem = cs3vm.Problem([[3.0], [1.0]], [1, -1], [[0.0]], 0)\n"
        "print(cs3vm.verify.Verdict.__name__, bool(cs3vm.verify(problem, 'no such file')))\n"
        "print(round(cs3vm.solve(problem, 'svm').objective, 6))"
    )
    assert python(code, "-W", "ignore").split() == ["Verdict", "False", "0.5"]


def test_other_names_are_still_unknown():
    with pytest.raises(ModuleNotFoundError):
        __import__("cs3vm.no_such_module")
    with pytest.raises(AttributeError):
        cs3vm.no_such_name  # noqa: B018


def test_a_classifier_pickled_under_the_old_path_is_read():
    text = pickle.dumps(cs3vm.CS3VMClassifier(C=3.0), protocol=0)
    old = text.replace(b"cs3vm.learn.classifier", b"cs3vm.estimator")
    assert old != text
    sys.modules.pop("cs3vm.estimator", None)
    with pytest.warns(DeprecationWarning, match="has moved"):
        read = pickle.loads(old)
    assert read.C == 3.0
