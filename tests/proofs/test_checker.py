"""The checker confirms what the engine proves, and refutes everything else, whatever the file holds."""

from __future__ import annotations

import gzip
import hashlib
import json

import numpy as np
import pytest

from cs3vm import Problem, solve, verify
from cs3vm.engine.exact.proof_writer import write_proof
from cs3vm.proofs.checker import _Checker
from cs3vm.proofs.exact_dual import ExactDual
from cs3vm.proofs.format import digest
from tests.oracle import brute_force, random_problem, svm_with_sides


def proven(seed: int, tmp_path, **options):
    """A solved tiny problem and the file of its proof; None if it has no feasible point."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, **options)
    if rng.random() < 0.3:
        problem = problem.with_side(rng.choice([-1, 0, 0, 1], problem.m))
    result = solve(problem, "auto", time_limit=60)
    if not result.found:
        return None
    path = tmp_path / "proof.gz"
    assert result.is_optimal
    assert write_proof(result, path)
    return problem, result, path


def rewrite(path, change) -> None:
    """Change the records of a proof and give it a fitting checksum again."""
    with gzip.open(path, "rb") as file:
        records = [json.loads(line) for line in file][:-1]
    records = change(records)
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    digest_ = hashlib.sha256(b"".join(lines)).hexdigest()
    with gzip.open(path, "wb") as file:
        file.writelines([*lines, json.dumps({"sha256": digest_}).encode() + b"\n"])


@pytest.mark.parametrize("seed", range(40))
def test_every_certificate_of_a_small_run_is_confirmed(seed, tmp_path):
    made = proven(seed, tmp_path, side_margin=0.2 if seed % 4 == 0 else 0.0)
    if made is None:
        pytest.skip("the fixed sides of this instance conflict")
    problem, result, path = made
    verdict = verify(problem, path)
    assert verdict, verdict.message
    assert verdict.lower_bound <= brute_force(problem) * (1 + 1e-7) + 1e-9
    assert verdict.lower_bound >= result.objective * (1 - 1e-6)
    assert verdict.objective == pytest.approx(result.objective)
    assert verdict.violation <= 1e-7


@pytest.mark.parametrize("seed", range(10))
def test_one_changed_number_is_refuted(seed, tmp_path):
    made = proven(seed, tmp_path)
    if made is None:
        pytest.skip("the fixed sides of this instance conflict")
    problem, _, path = made
    with gzip.open(path, "rb") as file:
        text = file.read()
    digits = [i for i, byte in enumerate(text) if chr(byte).isdigit()]
    rng = np.random.default_rng(seed)
    for i in rng.choice(digits, 5):
        other = b"7" if text[i : i + 1] != b"7" else b"3"
        with gzip.open(path, "wb") as file:
            file.write(text[:i] + other + text[i + 1 :])
        assert not verify(problem, path)


def medium(tmp_path):
    rng = np.random.default_rng(5)
    problem = Problem(rng.normal(size=(8, 2)), [1, -1] * 4, rng.normal(size=(20, 2)), 14)
    result = solve(problem, "auto", time_limit=60)
    path = tmp_path / "proof.gz"
    assert write_proof(result, path)
    assert verify(problem, path)
    return problem, path


def drop_first(kind):
    def change(records):
        first = next(i for i, record in enumerate(records) if record.get("t") == kind)
        return records[:first] + records[first + 1 :]

    return change


def scale_multipliers(records):
    for record in records:
        for pair in record.get("alpha", []):
            pair[1] *= 0.5
    return records


def raise_cutoff(records):
    records[0]["cutoff"] = records[0]["objective"]
    records[0]["objective"] *= 1.5
    return records


def push_a_free_row(records):
    record = next(record for record in records if record.get("t") == "value")
    record["beta"] = [[0, 1.0]]
    return records


def too_large_a_multiplier(records):
    record = next(r for r in records if r.get("t") == "value" and r["alpha"])
    record["alpha"][0][1] = 1.5
    return records


@pytest.mark.parametrize(
    "change",
    [
        lambda records: [record for record in records if "flip" not in record],
        drop_first("branch"),
        drop_first("close"),
        lambda records: records[:-1],
        scale_multipliers,
        raise_cutoff,
        push_a_free_row,
        too_large_a_multiplier,
        lambda records: [*records, {"t": "trust me"}],
        lambda records: [*records[:3], {"t": "close"}],
    ],
)
def test_a_forged_proof_with_a_fitting_checksum_is_refuted(change, tmp_path):
    problem, path = medium(tmp_path)
    rewrite(path, change)
    verdict = verify(problem, path)
    assert not verdict
    assert "refuted" in verdict.message


def test_rewriting_alone_changes_nothing(tmp_path):
    """Otherwise the test above would say nothing."""
    problem, path = medium(tmp_path)
    rewrite(path, lambda records: records)
    assert verify(problem, path)


def test_a_claim_below_the_optimum_cannot_be_forged_by_a_worse_incumbent(tmp_path):
    problem, path = medium(tmp_path)

    def worse(records):
        records[0]["coef"] = [0.0] * problem.d
        return records

    rewrite(path, worse)
    assert "objective" in verify(problem, path).message


def test_other_problem_truncated_file_and_no_file(tmp_path):
    problem, path = medium(tmp_path)
    other = Problem(problem.X, problem.y, problem.U, 13)
    assert digest(other) != digest(problem)
    assert "another problem" in verify(other, path).message
    path.write_bytes(path.read_bytes()[:200])
    assert not verify(problem, path)
    path.write_bytes(b"not a proof")
    assert not verify(problem, path)
    assert "cannot be read" in verify(problem, tmp_path / "missing").message


@pytest.mark.parametrize("seed", range(20))
def test_exact_arithmetic_bounds_the_relaxation(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, side_margin=float(rng.choice([0.0, 0.1])))
    side = rng.choice([-1, 0, 1], problem.m).astype(np.int8)
    optimum = svm_with_sides(problem, side)
    level = max(10.0, min(optimum, 1e6))
    exact = ExactDual(problem, level)
    for _ in range(10):
        alpha = [(i, float(v)) for i, v in enumerate(rng.uniform(0, 1, problem.n) * problem.C)]
        beta = [(int(j), float(side[j] * rng.exponential())) for j in np.flatnonzero(side)]
        assert min(exact.bound(alpha, beta, side), level) <= optimum + 1e-6 * (1 + min(optimum, level))


def test_unfinished_proof_leaves_no_file(tmp_path):
    problem, _ = medium(tmp_path)
    result = solve(problem, "auto", time_limit=60)
    path = tmp_path / "late.gz"
    assert not write_proof(result, path, deadline=0.0)
    assert list(tmp_path.glob("late*")) == []


def test_the_solver_writes_its_proof(tmp_path):
    rng = np.random.default_rng(5)
    problem = Problem(rng.normal(size=(8, 2)), [1, -1] * 4, rng.normal(size=(20, 2)), 14)
    path = tmp_path / "proof.gz"
    result = solve(problem, "auto", proof=path)
    assert result.extras["proof"] is True
    assert verify(problem, path)
    late = solve(problem, "cs3vm", proof=tmp_path / "late.gz", time_limit=0.0)
    assert late.extras["proof"] is False
    assert not (tmp_path / "late.gz").exists()


# -- incumbents that are no solutions ------------------------------------------------------------------
def flipped_sides(problem, header):
    """Another labeling with the same count, and so the same objective, that the plane contradicts."""
    z = np.array(header["z"])
    scores = problem.scores(np.array(header["coef"]), header["intercept"])
    highest, lowest = (
        np.argmax(np.where(z == 1, scores, -np.inf)),
        np.argmin(np.where(z == 0, scores, np.inf)),
    )
    z[highest], z[lowest] = 0, 1
    return {"z": z.tolist()}


FORGERIES = {
    "contradict its plane": flipped_sides,
    "not finite": lambda problem, header: {"coef": [float("nan")] * problem.d},
    "nothing is claimed": lambda problem, header: {"cutoff": 0.0},
    "nothing ever lies": lambda problem, header: {"cutoff": float("-inf")},
    "no point of this problem": lambda problem, header: {"z": header["z"][:-1]},
    "cutoff lies above": lambda problem, header: {"cutoff": 2.0 * header["objective"]},
}


@pytest.mark.parametrize("reason", FORGERIES)
def test_an_incumbent_that_is_no_solution_is_refuted(reason, tmp_path):
    problem, path = medium(tmp_path)
    assert verify(problem, path)
    rewrite(path, lambda records: [records[0] | FORGERIES[reason](problem, records[0]), *records[1:]])
    verdict = verify(problem, path)
    assert not verdict
    assert reason in verdict.message


def test_huge_integer_weights_have_rounded_sums(tmp_path):
    """The optimum is 0.5: all three rows are positive. In floating point two of them seem to be enough."""
    big = 2.0**53
    U, weights = [[4.0], [5.0], [6.0]], [big, 1.0, 1.0]
    problem = Problem([[3.0], [1.0]], [1, -1], U, big + 2.0, weights=weights)
    best = problem.best_intercept(np.ones(1))
    header = {
        "format": "cs3vm-proof",
        "version": 1,
        "note": "",
        "problem": digest(problem),
        "objective": problem.objective(np.ones(1), best.b, best.z),
        "coef": [1.0],
        "intercept": best.b,
        "z": best.z.tolist(),
    }
    checker = _Checker(problem, header | {"cutoff": header["objective"]})
    checker.node.side[:] = [1, 1, 0]
    held = checker._cheapest(checker.node, 2, 1)
    assert held <= 0.5


@pytest.mark.parametrize(
    "content",
    [
        b"[1, 2, 3]\n",
        b"7\n",
        b"null\n",
        b"[" * 100_000 + b"\n",
        b'{"format": "cs3vm-proof", "version": 1}\n',
        b"\xff\xfe\n",
        b"",
    ],
    ids=["a list", "a number", "null", "deep nesting", "no problem", "no text", "nothing"],
)
def test_what_is_no_proof_is_refuted_and_never_raises(content, tmp_path):
    path = tmp_path / "proof.gz"
    path.write_bytes(gzip.compress(content))
    problem = random_problem(np.random.default_rng(0), m=4)
    assert verify(problem, path).message.startswith("refuted")


def test_a_damaged_stream_is_refuted(tmp_path):
    problem, path = medium(tmp_path)
    intact, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(intact)
        for place in rng.integers(10, len(intact), 3):
            damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(damaged))
        assert not verify(problem, path)
    path.write_bytes(intact)
    assert verify(problem, path)
