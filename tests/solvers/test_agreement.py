"""The engine agrees with SCIP, and all solvers of another norm agree, on real data cut to a size to prove."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem, available_solvers, solve
from experiments.instances import data_dir, draw, load

try:
    data_dir()
except FileNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)

SETS = (
    "prnn_synth",
    "lupus",
    "haberman",
    "iris",
    "hayes_roth",
    "balance_scale",
    "bupa",
    "tae",
    "new_thyroid",
    "monk1",
    "appendicitis",
    "postoperative_patient_data",
    "pima",
    "glass2",
    "breast_cancer",
    "tic_tac_toe",
    "flare",
    "heart_statlog",
    "hepatitis",
    "sonar",
)


def cut(dataset: str, seed: int) -> Problem:
    """An instance of the dataset with at most 45 unlabelled and 20 labelled rows."""
    problem = draw(load(dataset), seed).problem
    rng = np.random.default_rng(seed)
    size = int(rng.integers(25, 46)) if problem.d <= 4 else 25 if problem.d <= 13 else 15
    m = min(problem.m, size)
    keep = rng.permutation(problem.m)[:m]
    share = problem.n_positive / problem.m
    both = [np.flatnonzero(problem.y == s)[:10] for s in (-1, 1)]
    labelled = np.concatenate(both)
    return Problem(problem.X[labelled], problem.y[labelled], problem.U[keep], round(share * m))


@pytest.mark.parametrize(("dataset", "seed"), [(name, i % 2) for i, name in enumerate(SETS)])
def test_engine_and_scip_agree(dataset, seed):
    problem = cut(dataset, seed)
    assert problem.m <= 45
    ours = solve(problem, "auto", solver="bnb", time_limit=60)
    theirs = solve(problem, "cs3vm", solver="scip", time_limit=30)
    assert ours.is_optimal
    assert ours.lower_bound <= theirs.objective * (1 + 1e-6) + 1e-9
    assert ours.objective <= theirs.objective * (1 + 2e-6) + 1e-7
    if theirs.is_optimal:  # SCIP is right to its tolerances
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-5, abs=1e-6)
    assert theirs.lower_bound <= ours.objective * (1 + 1e-5) + 1e-6


@pytest.mark.parametrize("norm", ["l1", "max"])
@pytest.mark.parametrize("dataset", ["lupus", "haberman", "tae", "bupa", "glass2", "pima"])
def test_solvers_agree_on_other_norms(dataset, norm):
    large = cut(dataset, 0)
    m = min(large.m, 25)
    tau = round(large.n_positive * m / large.m)
    problem = Problem(large.X, large.y, large.U[:m], tau, norm=norm)
    results = [solve(problem, "cs3vm", solver=name, time_limit=30) for name in available_solvers(norm)]
    assert len(results) >= 2
    assert all(result.is_optimal for result in results)
    values = [result.objective for result in results]
    assert max(values) == pytest.approx(min(values), rel=1e-5)
    assert max(result.lower_bound for result in results) <= min(values) * (1 + 1e-6)
