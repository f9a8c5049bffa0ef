"""The benchmark of the criteria: what it counts as chosen, and how its table is made."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import criteria
from cs3vm.selection.criteria import CRITERIA
from experiments.instances import Dataset


def row(dataset, **values):
    """Candidate number i has accuracy 0.i, and every criterion is 0 but for those given."""
    cells = {"dataset": dataset, "sampling": "biased"}
    for i, name in enumerate(criteria.CANDIDATES):
        cells |= {f"{criterion} {name}": "0" for criterion in CRITERIA}
        cells |= {f"{criterion} {name}": str(given[i]) for criterion, given in values.items()}
        cells[f"accuracy {name}"] = f"0.{i}"
    return cells


def test_a_choice_has_the_accuracy_of_the_candidate_with_the_highest_value():
    rows = [row("a", auc=[0, 1, 5, 3, 4, 2]), row("b", auc=[0, 5, 5, 3, 4, 2], consensus=[9, 1, 2, 0, 0, 0])]
    assert criteria.chosen(rows, "auc") == pytest.approx([0.2, 0.2])  # a tie is decided by consensus
    ranks = [row("a", auc=[0, 1, 5, 3, 4, 2], stability=[0, 1, 2, 3, 5, 4])]
    assert criteria.chosen(ranks, "auc+stability") == pytest.approx([0.4])


def test_differences_are_compared_over_datasets():
    differences = np.array([0.1, 0.3, 0.2, 0.2, -0.4])
    mean, p = criteria.compared(differences, ["a", "a", "b", "b", "c"]).split(" | ")
    error = np.std([0.2, 0.2, -0.4], ddof=1) / np.sqrt(3)
    assert mean == f"+0.000 ± {error:.3f}"
    assert float(p) == 1.0


def test_table_has_fixed_candidates_choices_and_hindsight():
    text = criteria.table([row("a", separation=[0, 0, 0, 0, 0, 1]), row("b", separation=[1, 0, 0, 0, 0, 0])])
    lines = {line.split(" | ")[0].strip("| "): line for line in text.splitlines()}
    assert "Random" not in text
    assert lines["always laplacian 1"].startswith("| always laplacian 1 | 0.400 | – | – | +0.300 ± 0.000 |")
    assert lines["chosen by `separation`"].startswith("| chosen by `separation` | 0.250 | -0.150 ± 0.250 |")
    assert lines["the best in hindsight"].startswith("| the best in hindsight | 0.500 |")


def test_a_cell_measures_every_candidate_with_every_criterion(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) < 40, 1, -1)
    data = Dataset("clouds", rng.normal(size=(80, 2)) + 2.0 * y[:, None], y)
    monkeypatch.setattr(criteria, "load", lambda name: data)
    measured = criteria.cell("clouds", 0, "biased", time_limit=0.05)
    assert float(measured["accuracy linear 1"]) > 0.9
    for name in criteria.CANDIDATES:
        assert all(np.isfinite(float(measured[f"{criterion} {name}"])) for criterion in CRITERIA)
    assert criteria._table([measured | {"dataset": "clouds"}])


def test_cells_are_the_small_sets_with_these_seeds():
    cells = criteria.cells(100, range(100, 102), 0.4)
    assert {cell["seed"] for cell in cells} == {100, 101}
    assert {cell["sampling"] for cell in cells} == {"biased", "random"}
    assert len(cells) == 4 * len({cell["dataset"] for cell in cells})
