"""The accuracy benchmark: what it counts, and how its tables are made."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks import accuracy, optimum
from cs3vm import Problem
from experiments.instances import Dataset, draw
from experiments.peers import self_training


def data():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(120) < 50, 1, -1)  # a file that is sorted by class
    return Dataset("two clouds", rng.normal(size=(120, 3)) * [1, 10, 100] + y[:, None], y)


def rows():
    base = {"sampling": "biased", "n": "10", "dataset": "a"} | dict.fromkeys(accuracy.TITLES, "0.5")
    chosen = accuracy.CHOSEN
    return [base, base | {chosen: "0.7", "n": "30"}, base | {chosen: "0.4", "dataset": "b"}]


def test_instances_are_standardised_and_shuffled_together_with_their_truth():
    instance = draw(data(), 0)
    problem, truth = accuracy.standardised(instance)
    everything = np.vstack([problem.X, problem.U])
    np.testing.assert_allclose(everything.mean(axis=0), 0, atol=1e-8)
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


def test_semi_supervised_models_get_the_unlabelled_rows():
    problem = Problem([[-1.0], [1.0]], [-1, 1], [[-0.5], [0.5], [0.9], [2.0]], 3)
    z = accuracy.top_tau_with_unlabelled(self_training(), problem)
    assert z.tolist() == [False, True, True, True]


def test_a_row_has_the_accuracy_of_every_method(monkeypatch):
    monkeypatch.setattr(accuracy, "load", lambda name: data())
    row = accuracy.cell("two clouds", 0, "biased", 0.2)
    assert all(0 <= float(row[name]) <= 1 for name in accuracy.TITLES)
    assert float(row["linear"]) > 0.7  # the clouds are almost apart


def test_table_compares_the_chosen_kernel_with_the_others():
    lines = accuracy.table(rows()).splitlines()
    forest = next(line for line in lines if line.startswith("| random forest"))
    # dataset a: +0.1 on average of two seeds, b: -0.1
    assert forest == "| random forest + top-τ | 0.500 | 0.500 | +0.000 ± 0.100 | 1 | 0 | 1 | 1 |"
    chosen = next(line for line in lines if line.startswith(f"| {accuracy.TITLES[accuracy.CHOSEN]} |"))
    assert chosen.startswith(f"| {accuracy.TITLES[accuracy.CHOSEN]} | 0.533 | 0.500 | – |")
    assert "Random" not in accuracy.table(rows())


def test_tables_by_size_and_by_dataset():
    assert f"| {accuracy.TITLES[accuracy.CHOSEN]} | 0.450 | 0.700 |" in accuracy.by_size(rows())
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
