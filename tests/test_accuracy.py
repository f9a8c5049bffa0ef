"""The accuracy benchmark: what it counts, and how its tables are made."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks import accuracy, optimum
from cs3vm import Problem
from experiments.instances import Dataset, draw


def data():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(120) < 50, 1, -1)  # a file that is sorted by class
    return Dataset("two clouds", rng.normal(size=(120, 3)) * [1, 10, 100] + y[:, None], y)


def rows():
    base = {"sampling": "biased", "n": "10", "dataset": "a"} | dict.fromkeys(accuracy.TITLES, "0.5")
    return [base, base | {"direct": "0.7", "n": "30"}, base | {"direct": "0.4", "dataset": "b"}]


def test_instances_are_standardised_and_shuffled_together_with_their_truth():
    instance = draw(data(), 0)
    problem, truth = accuracy.standardised(instance)
    everything = np.vstack([problem.X, problem.U])
    np.testing.assert_allclose(everything.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(everything.std(axis=0), 1)
    assert truth.sum() == problem.n_positive
    assert np.any(np.diff(truth.astype(int)) > 0)  # no longer sorted
    positive = instance.problem.U[instance.true_side > 0].sum(axis=0)
    spread = instance.problem.U.std(axis=0) / problem.U.std(axis=0)
    mean = instance.problem.U.mean(axis=0) - spread * problem.U.mean(axis=0)
    np.testing.assert_allclose((problem.U[truth] * spread + mean).sum(axis=0), positive)


def test_top_tau_takes_as_many_as_are_known():
    rng = np.random.default_rng(1)
    problem = Problem([[-1.0], [1.0]], [-1, 1], rng.normal(size=(20, 1)), 7)
    z = accuracy.top_tau(LogisticRegression(), problem)
    assert z.sum() == 7
    assert problem.U[z].min() > problem.U[~z].max()


def test_table_compares_with_top_tau():
    line = next(line for line in accuracy.table(rows()).splitlines() if line.startswith("| `direct` |"))
    assert line == "| `direct` | 0.533 | 0.500 | +0.033 ± 0.088 | 1 | 1 | 1 |"
    assert "Random" not in accuracy.table(rows())


def test_tables_by_size_and_by_dataset():
    assert "| `direct` | 0.450 | 0.700 |" in accuracy.by_size(rows())
    assert "better on 1 datasets, worse on 1" in accuracy.against(rows())


def test_optimum_table_counts_what_the_heuristic_missed():
    row = {
        "direct": "0.5",
        "auto": "0.6",
        "direct_objective": "2",
        "auto_objective": "2",
        "status": "optimal",
    }
    table = optimum.table([row, row | {"direct_objective": "3"}, row | {"status": "time limit"}])
    assert "| proven optimal | 2 | 0.500 | 0.600 |" in table
    assert "missed by `direct` | 1 |" in table
