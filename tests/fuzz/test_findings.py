"""What the fuzz found, shrunk, and closed since."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cs3vm import CS3VMClassifier, Problem, Result, Status, solve, verify
from cs3vm.exceptions import InvalidProblemError, ModelFileError, TableError
from cs3vm.solvers.bnb_ import solve as bnb
from cs3vm.tables.encoding import Column, Encoding
from cs3vm.tables.model_file import _checksum, load_model, make_model, save_model
from cs3vm.tables.reading import read_table
from tests.fuzz.certificates import write
from tests.fuzz.exact import separable


@pytest.mark.parametrize(
    "problem",
    [
        Problem(
            [[0.0]], [-1], [[3.0], [3.0]], 2.0, side=[-1, 1], C=0.3, count_penalty=90.0, side_margin=1e-06
        ),
        Problem([[-0.12334]], [1], [[0.0], [1.0], [20000.0]], 3.0, side=[1, -1, 1], side_margin=0.1),
    ],
    ids=["equal rows", "between"],
)
def test_no_point_is_not_feasible(problem):
    assert not separable(problem.U, problem.side)
    result = bnb(problem)
    assert not result.found
    assert result.status is Status.INFEASIBLE


@pytest.mark.parametrize("last_digits", [1, 8])
def test_rows_that_differ_in_the_last_digit_can_be_separated(last_digits):
    U = [[0.0], [1.0], [1.0 + last_digits * 2.0**-52]]
    problem = Problem([[0.0], [2.0]], [-1, 1], U, 1, side=[-1, -1, 1], side_margin=1e-3, C=1e-3)
    assert separable(problem.U, problem.side)
    assert bnb(problem).status is not Status.INFEASIBLE


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", "a,b\n1,2\n".encode("utf-16") + b"\x00", b"a,b\n1,2\n\xc3", b"\xef"],
    ids=["half a character", "an odd byte", "a cut-off letter", "a cut-off mark"],
)
def test_a_table_cut_off_within_a_character(content, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with suppress(TableError):
        read_table(path)


def test_a_result_with_a_huge_integer():
    problem = Problem([[0.0], [1.0]], [-1, 1], [[0.5]], 1)
    document = json.loads(solve(problem, "svm").to_json())
    document["problem"]["U"][0][0] = 10**400
    with pytest.raises(InvalidProblemError):
        Result.from_json(json.dumps(document))


def test_a_model_whose_label_is_half_a_character(tmp_path):
    clf = CS3VMClassifier("top_tau").fit([[0.0], [1.0], [0.4]], [0, 1, None], n_positive=1)
    path = tmp_path / "model.json"
    save_model(make_model(clf.fit_, Encoding((Column("x", "number", (), 0.0),)), "label", {}), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["label"] = "\ud800"
    document["checksum"] = _checksum(document["model"])
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        model = load_model(path)
    except ModelFileError:
        return
    save_model(model, path)


def forged(problem: Problem, path: Path, **header: Any) -> Path:
    """The engine's own proof with another header and a fitting checksum."""
    assert bnb(problem, proof=path).extras["proof"]
    with gzip.open(path, "rb") as file:
        records = [json.loads(line) for line in file][:-1]
    write(path, [records[0] | header, *records[1:]])
    return path


def test_a_proof_with_half_a_side(tmp_path):
    problem = Problem([[0.0], [2.0]], [-1, 1], [[0.2], [1.5]], 1)
    z = bnb(problem).z.tolist()
    assert verify(problem, forged(problem, tmp_path / "honest.gz"))
    assert not verify(problem, forged(problem, tmp_path / "proof.gz", z=[0.5 if s == 0 else s for s in z]))


def test_a_proof_of_nothing_with_small_prices(tmp_path):
    problem = Problem([[0.0], [2.0]], [-1, 1], [[0.2], [1.5]], 1, C=1e-10, count_penalty=1e-10)
    poor = {"coef": [0.0], "intercept": 1.0, "z": [1, 1], "objective": 0.0, "cutoff": 0.0}
    assert problem.objective(np.zeros(1), 1.0, np.array([1, 1])) > bnb(problem).objective * 1.4
    assert not verify(problem, forged(problem, tmp_path / "proof.gz", **poor))


HANGS = """
from cs3vm import Problem
from cs3vm.solvers.highs_ import solve

X = [[-635976.0816363863, -1817230.1315169393], [890366.5142909408, -1118295.4655488858],
     [3434270.8408364863, 139786.93319361072], [-127195.21632727727, 0.0], [0.0, -419360.79958083207]]
U = [[-508780.8653091091, 139786.93319361072], [-2671099.542872823, 2935525.597065825],
     [-2416709.110218268, 559147.7327744429], [0.0, 139786.93319361072]]
weights = [2348659.0, 3878250.0, 2520415.0, 853691.0]
options = {"weights": weights, "C": 92.50904468025702, "side_margin": 0.5, "norm": "max"}
problem = Problem(X, [-1] * 5, U, 4828153.0, **options)
solve(problem, time_limit=1.0)
"""


def test_highs_keeps_its_time_limit():
    pytest.importorskip("highspy")
    subprocess.run([sys.executable, "-c", HANGS], timeout=10.0, check=True)
