"""What the fuzz found, shrunk. A test that fails today says why; who closes it takes the mark away."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress

import numpy as np
import pytest

from cs3vm import Problem, Result, Status, solve, verify
from cs3vm.exceptions import InvalidProblemError, TableError
from cs3vm.solvers.bnb_ import solve as bnb
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
    [b"\xff\xfe\x00", "a,b\n1,2\n".encode("utf-16") + b"\x00", b"a,b\n1,2\n\xc3"],
    ids=["half a character", "an odd byte", "a cut-off letter"],
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


def test_a_proof_with_half_a_side(tmp_path):
    problem = Problem([[0.0], [2.0]], [-1, 1], [[0.2], [1.5]], 1)
    path = tmp_path / "proof.gz"
    assert bnb(problem, proof=path).extras["proof"]
    with gzip.open(path, "rb") as file:
        records = [json.loads(line) for line in file][:-1]
    records[0]["z"] = [0.5 if side == 0 else side for side in records[0]["z"]]
    assert np.any(np.array(records[0]["z"]) == 0.5)
    write(path, records)
    assert not verify(problem, path)
