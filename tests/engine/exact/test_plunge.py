"""A plunge in compiled code is the search node by node: the same tree, wherever Python takes over."""

from __future__ import annotations

import pytest

from cs3vm.engine.exact import plunge, tree
from cs3vm.solvers.bnb_ import solve
from tests.engine.exact.test_threads import hard_problem


def outline(node_limit: int) -> tuple[object, ...]:
    found = solve(hard_problem(), time_limit=600.0, node_limit=node_limit)
    return found.n_nodes, found.objective, found.lower_bound, found.extras["pivots"]


def test_the_tree_does_not_depend_on_where_python_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = outline(500)
    calls = []
    compiled = plunge.plunge
    monkeypatch.setattr(tree, "plunge", lambda *arguments: calls.append(1) or compiled(*arguments))
    assert outline(500) == whole
    assert len(calls) < 450, "hardly any node was reached without Python: the test shows nothing"
    monkeypatch.setattr(plunge, "LARGEST", 2)  # no room for a second division
    assert outline(500) == whole
    monkeypatch.setattr(tree, "SLICE", 0)  # a look at the clock after every node
    assert outline(500) == whole


def test_a_node_limit_is_exact_with_one_thread() -> None:
    for limit in (1, 2, 57, 130):
        assert outline(limit)[0] == limit


def test_nothing_put_aside_is_lost() -> None:
    """The bound of a stopped search holds for the one that goes on."""
    outlines = [outline(limit) for limit in (60, 90, 130, 300)]
    bounds = [lower_bound for _, _, lower_bound, _ in outlines]
    assert bounds == sorted(bounds)
