"""Certain sides are a theorem: beside all labelings of tiny problems, and in files that can be checked."""

from __future__ import annotations

from functools import cache
from itertools import product
from shutil import copy

import numpy as np
import pytest

from cs3vm import Problem, solve, verify
from cs3vm.exceptions import InvalidProblemError
from cs3vm.methods.certain import certain_sides
from cs3vm.model.result import Result
from cs3vm.model.status import Status
from tests.oracle import all_held, random_problem, random_several
from tests.proofs.test_checker import rewrite


def cheapest_by_side(problem):
    """The least objective with each row negative (0) and positive (1), over all labelings."""
    best = np.full((2, problem.m), np.inf)
    choices = [(0, 1) if s == 0 else ((1,) if s > 0 else (0,)) for s in problem.side]
    value_of = all_held(problem)
    for labeling in product(*choices):
        z = np.array(labeling)
        value = value_of(2 * z - 1) + problem.totals.price(problem.totals.counts(z))
        best[z, np.arange(problem.m)] = np.minimum(best[z, np.arange(problem.m)], value)
    return best


@cache
def tiny(seed):
    """A tiny problem of some kind, solved; None if its fixed sides conflict."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, m=int(rng.integers(3, 7)), side_margin=(0.0, 1e-3, 0.2)[seed % 3])
    if rng.random() < 0.3:
        problem = problem.with_side(rng.choice([-1, 0, 0, 1], problem.m))
    result = solve(problem, "auto", time_limit=60)
    return result if result.found else None


@pytest.mark.parametrize("seed", range(45))
def test_what_is_certain_and_what_changes_agrees_with_all_labelings(seed):
    result = tiny(seed)
    if result is None:
        pytest.skip("the fixed sides of this instance conflict")
    problem, share = result.problem, (0.01, 0.05, 0.5)[seed // 3 % 3]
    found = certain_sides(result, share)
    best = cheapest_by_side(problem)
    other = best[1 - (np.asarray(result.z) > 0), np.arange(problem.m)]
    assert not np.any(found.certain & found.changes)
    assert np.all(other[found.certain] >= found.cutoff * (1 - 1e-6))
    assert np.all(other[found.changes] <= found.cutoff * (1 + 1e-6))
    fixed = problem.side != 0
    assert np.array_equal(found.side[fixed], problem.side[fixed]) or found.cutoff == 0
    assert np.all((found.side > 0)[found.certain] == (np.asarray(result.z) > 0)[found.certain])
    if found.cutoff == 0:
        assert not np.any(found.certain)


@cache
def tiny_with_totals(seed):
    """A tiny problem with up to three overlapping totals, weights, intervals and fixed sides, solved."""
    rng = np.random.default_rng([17, seed])
    margin = (0.0, 1e-3, 0.2)[seed % 3]
    problem = random_several(rng, m=int(rng.integers(3, 7)), side_margin=margin)
    result = solve(problem, "auto", time_limit=60)
    return result if result.found else None


@pytest.mark.parametrize("chunk", range(6))
def test_the_same_with_several_totals(chunk):
    certain = several = 0
    for seed in range(10 * chunk, 10 * chunk + 10):
        result = tiny_with_totals(seed)
        if result is None:
            continue  # its fixed sides conflict
        problem, share = result.problem, (0.01, 0.05, 0.5)[seed // 3 % 3]
        try:
            best = cheapest_by_side(problem)
        except ArithmeticError:
            continue  # the oracle cannot solve one of the labelings
        found = certain_sides(result, share)
        other = best[1 - (np.asarray(result.z) > 0), np.arange(problem.m)]
        assert not np.any(found.certain & found.changes)
        assert np.all(other[found.certain] >= found.cutoff * (1 - 1e-6)), seed
        assert np.all(other[found.changes] <= found.cutoff * (1 + 1e-6)), seed
        assert np.all((found.side > 0)[found.certain] == (np.asarray(result.z) > 0)[found.certain])
        certain += int(np.sum(found.certain & (problem.side == 0)))
        several += 1
    assert several > 5
    assert certain > 0  # there is something to be wrong about


@pytest.mark.parametrize("seed", range(16))
def test_certificates_with_several_totals(seed, tmp_path):
    result = tiny_with_totals(seed)
    if result is None:
        pytest.skip("the fixed sides of this instance conflict")
    path = tmp_path / "certain.gz"
    found = certain_sides(result, 0.05, proof=path)
    if found.certified == 0:
        assert not path.exists()
        return
    verdict = verify(result.problem, path)
    assert verdict, verdict.message
    shown = verdict.side != 0
    assert np.count_nonzero(shown) == found.certified
    assert np.array_equal(verdict.side[shown], found.side[shown])


def test_fixed_sides_are_certain():
    problem = Problem([[3.0], [-3.0]], [1, -1], [[1.0], [-1.0], [0.3]], 1, side=[1, 0, 0])
    assert certain_sides(solve(problem)).side[0] == 1


def test_an_answer_that_is_not_the_best_has_fewer_certain_rows():
    rng = np.random.default_rng(1)
    problem = Problem(rng.normal(size=(8, 2)), [1, -1] * 4, rng.normal(size=(14, 2)), 9, side_margin=1e-3)
    best = solve(problem, time_limit=60)
    worse = solve(problem, "top_tau")
    assert worse.objective > best.objective
    one, two = certain_sides(best), certain_sides(worse)
    assert not np.any(two.certain & ~one.certain)
    assert not np.any(two.certain & ((np.asarray(best.z) > 0) != (np.asarray(worse.z) > 0)))


def test_equal_rows_are_equally_certain_where_no_row_may_be_on_the_plane():
    rng = np.random.default_rng(3)
    U = np.repeat(rng.normal(size=(5, 2)), 2, axis=0)
    problem = Problem(rng.normal(size=(6, 2)), [1, -1] * 3, U, 4, side_margin=1e-3)
    result = solve(problem, time_limit=60)
    found, best = certain_sides(result), cheapest_by_side(problem)
    other = best[1 - (np.asarray(result.z) > 0), np.arange(10)]
    assert other[::2] == pytest.approx(other[1::2], rel=1e-5)
    assert np.array_equal(found.changes[::2], found.changes[1::2])
    assert np.array_equal(found.certain[::2], found.certain[1::2])


def test_little_work_leaves_rows_open_and_claims_nothing_false():
    rng = np.random.default_rng(5)
    problem = Problem(rng.normal(size=(8, 2)), [1, -1] * 4, 2 * rng.normal(size=(20, 2)), 12)
    result = solve(problem, time_limit=60)
    little, enough = certain_sides(result, work_limit=1.0), certain_sides(result)
    assert not np.any(little.certain & ~enough.certain)
    assert np.sum(little.certain | little.changes) < np.sum(enough.certain | enough.changes)


def test_where_the_engine_cannot_work_nothing_is_known():
    problem = Problem([[1.0], [-1.0]], [1, -1], [[0.5], [2.0]], 1, norm="l1")
    found = certain_sides(solve(problem))
    assert not found.certain.any()
    assert not found.changes.any()
    assert not certain_sides(Result(problem, Status.TIME_LIMIT)).certain.any()


@pytest.mark.parametrize("share", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_share_is_refused(share):
    with pytest.raises(InvalidProblemError, match="share must be a positive number"):
        certain_sides(tiny(0), share)


# -- the certificate -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """What is certain in a tiny problem, and the file that proves it; found once for each seed."""
    folder = tmp_path_factory.mktemp("certified")

    @cache
    def of(seed):
        path = folder / f"{seed}.gz"
        return certain_sides(tiny(seed), 0.05, proof=path), path

    return of


@pytest.mark.parametrize("seed", range(24))
def test_the_certificate_is_confirmed_and_says_the_same(seed, certified):
    result = tiny(seed)
    if result is None:
        pytest.skip("the fixed sides of this instance conflict")
    found, path = certified(seed)
    free = result.problem.side == 0
    if found.certified == 0:
        assert not path.exists()
        return
    verdict = verify(result.problem, path)
    assert verdict, verdict.message
    assert np.count_nonzero(verdict.side) == found.certified
    shown = verdict.side != 0
    assert np.array_equal(verdict.side[shown], found.side[shown])
    assert found.certified >= 0.8 * np.sum(found.certain & free)
    assert f"{found.certified} rows have the same side" in verdict.message
    assert verdict.lower_bound == 0.0  # of the optimum nothing is shown


def test_most_rows_of_tiny_problems_are_decided(certified):
    decided, rows, certain = 0, 0, 0
    for seed in range(24):
        if tiny(seed) is not None:
            found, _ = certified(seed)
            decided += int(np.sum(found.certain | found.changes))
            certain += int(np.sum(found.certain))
            rows += len(found.side) if found.cutoff > 0 else 0
    assert decided > 0.9 * rows
    assert 0.1 * rows < certain < 0.95 * rows


@pytest.fixture(scope="module")
def proven(tmp_path_factory):
    """Some rows are certain at the root, some by a tree, and some change."""
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(8, 2)) + [[0.5, 0.5], [-0.5, -0.5]] * 4, 1.5 * rng.normal(size=(20, 2))
    problem = Problem(X, [1, -1] * 4, U, 7, side_margin=1e-3)
    path = tmp_path_factory.mktemp("proven") / "certain.gz"
    found = certain_sides(solve(problem, time_limit=60), proof=path)
    assert 3 <= found.certified <= 17
    assert found.changes.any()
    assert verify(problem, path)
    return problem, path


@pytest.fixture
def medium(proven, tmp_path):
    """The same, with a copy of the file that may be changed."""
    problem, path = proven
    return problem, copy(path, tmp_path / "certain.gz")


def test_rewriting_alone_changes_nothing(medium):
    problem, path = medium
    rewrite(path, lambda records: records)
    assert verify(problem, path)


def an_open_row(records):
    """One that is not fixed at the root."""
    fixed, depth = set(), 0
    for record in records[1:]:
        depth += {"branch": 1, "close": -1}.get(record["t"], 0)
        fixed |= {record["row"]} if record["t"] == "fix" and depth == 0 else set()
    return next(j for j in range(len(records[0]["z"])) if j not in fixed)


def claim_more(records):
    """Fix a row that is not certain, too."""
    row = an_open_row(records)
    return [*records, {"t": "fix", "row": row, "side": 2 * records[0]["z"][row] - 1}]


def turn_around(records):
    first = next(r for r in records if r.get("t") == "fix")
    first["side"] = -first["side"]
    return records


def raise_the_cutoff(records):
    records[0]["cutoff"] *= 3
    return records


def lower_the_cutoff(records):
    records[0]["cutoff"] = 0.5 * records[0]["objective"]
    return records


def without(kind):
    return lambda records: [record for record in records if record.get("t") != kind]


def settle_without_a_tree(records):
    """Pretend that a child was closed."""
    row = an_open_row(records)
    side = 2 * records[0]["z"][row] - 1
    child = [{"t": "branch", "row": row, "side": -side}, {"t": "close"}]
    return [*records, *child, {"t": "fix", "row": row, "side": side}]


FORGERIES = {
    "one row more": claim_more,
    "the other side": turn_around,
    "a higher cutoff": raise_the_cutoff,
    "a lower cutoff": lower_the_cutoff,
    "an infinite cutoff": lambda records: [records[0] | {"cutoff": float("inf")}, *records[1:]],
    "no values": without("value"),
    "no fixings": without("fix"),
    "an unclosed child": lambda records: [*records, {"t": "branch", "row": 0, "side": 1}],
    "a closed root": lambda records: [*records, {"t": "close"}],
    "a child closed without reason": settle_without_a_tree,
    "called a proof of optimality": lambda records: [
        {k: v for k, v in records[0].items() if k != "kind"} | {"cutoff": records[0]["objective"]},
        *records[1:],
    ],
}


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forged_certificate_is_refuted(how, medium):
    problem, path = medium
    rewrite(path, FORGERIES[how])
    verdict = verify(problem, path)
    assert not verdict
    assert verdict.side is None
    assert "refuted" in verdict.message


def test_a_proof_of_optimality_called_certain_rows_is_refuted(medium):
    from cs3vm.engine.exact.proof_writer import write_proof

    problem, path = medium
    assert write_proof(solve(problem, time_limit=60), path)
    rewrite(path, lambda records: [records[0] | {"kind": "certain rows"}, *records[1:]])
    assert not verify(problem, path)
