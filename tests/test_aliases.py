"""Paths of earlier releases import what they always did, and warn."""

from __future__ import annotations

import json
import os
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


#: Each path in a process of its own, which has loaded the packages that cs3vm needs and nothing of cs3vm.
EACH = """
import importlib, json, os, warnings
import matplotlib.pyplot, numba, rich.live, scipy.optimize, sklearn.base
for old, names in {documented!r}.items():
    child = os.fork()
    if child == 0:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = importlib.import_module("cs3vm." + old)
        missing = [name for name in names if not hasattr(module, name)]
        said = [str(w.message) for w in caught if w.category is DeprecationWarning]
        print(json.dumps([old, missing, said]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def each():
    """The names that each old path lacks, and what it says."""
    lines = python(EACH.format(documented=DOCUMENTED)).splitlines()
    return {old: (missing, said) for old, missing, said in map(json.loads, lines)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system such as Linux")
@pytest.mark.parametrize("old", sorted(DOCUMENTED))
def test_an_old_path_has_its_names_and_warns(old, each):
    missing, (*_, said) = each[old]
    assert missing == []
    assert f"cs3vm.{old} has moved to cs3vm.{MOVED[old].split()[0]}" in said


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
