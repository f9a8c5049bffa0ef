"""Steps on a locally linear count."""

from __future__ import annotations

import numpy as np
import pytest

from cs3vm import Problem, Total, Totals
from cs3vm.engine.heuristic import count_steps
from cs3vm.engine.heuristic.incumbent import Search
from cs3vm.model.budget import Budget


@pytest.mark.parametrize("kind", ["groups", "overlapping", "a group far away"])
def test_rows_near_the_plane_are_found_for_all_totals_at_once(monkeypatch, kind):
    rng = np.random.default_rng(0)
    m = 3000
    U, X = rng.normal(size=(m, 3)), rng.normal(size=(30, 3))
    group = rng.integers(0, 6, m)
    if kind == "a group far away":
        U[group == 2] += 100.0
    totals = [Total(np.flatnonzero(group == g), 100.0) for g in range(6)]
    if kind == "overlapping":
        totals += [Total(None, 500.0), Total(np.arange(0, m, 3), 200.0)]
    problem = Problem(X, rng.choice([-1, 1], 30), U, Totals(totals))
    search = Search(problem, Budget())
    plane = search.plane(rng.normal(size=3))
    by_total = count_steps.linearised_optimum(search, plane, 200)
    monkeypatch.setattr(count_steps, "MANY_ROWS", 1000)
    monkeypatch.setattr(count_steps, "SAMPLE", 100)
    near = count_steps._near_by_total(search, np.abs(plane.unlabelled + plane.b), 200)
    assert [bool(len(rows)) for rows in near[:6]] == [g != 2 or kind != "a group far away" for g in range(6)]
    assert np.allclose(count_steps.linearised_optimum(search, plane, 200), by_total, rtol=1e-12)
