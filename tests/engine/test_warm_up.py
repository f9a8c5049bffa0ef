"""What is compiled: every kernel, once, and the same for the first process as for all later ones."""

from __future__ import annotations

from collections import Counter

import numba
import pytest

from cs3vm.engine import jit
from cs3vm.engine import warm_up as warm

from .test_compiling import one_has_it_compiled, start

#: Searches that end by work: another last digit anywhere, and they end elsewhere.
SEARCHES = """
warm_up()
import numpy as np
from cs3vm import Problem, solve
for seed in range(8):
    rng = np.random.default_rng(seed)
    d = (3, 9, 20, 40)[seed % 4]
    X, U = rng.normal(size=(60, d)), rng.normal(size=(300, d))
    y = np.sign(X[:, 0] + rng.normal(size=60))
    problem = Problem(X, y, U, 110)
    for method in ("direct", "cs3vm"):
        result = solve(problem, method, work_limit=1e8)
        print(result.objective.hex(), result.lower_bound.hex(), result.work)
"""


def test_a_later_process_finds_every_kernel_and_no_second_kind_of_arguments():
    warm.warm_up()
    folder = numba.config.CACHE_DIR
    done = start(folder) if folder else start("", NUMBA_CACHE_DIR="")
    compiled, several, _ = done.communicate()[0].split("\n")
    assert compiled == "0"
    assert several == "['add_scores']"  # rows in pieces are single or double precision


def test_each_kernel_is_compiled_once_and_found_by_the_first_process_too(tmp_path):
    """The whole engine, cold: it takes a minute, so ``make faults`` runs it."""
    found = one_has_it_compiled(tmp_path, SEARCHES)
    assert len(set(found)) == 1  # also that nobody but a helper compiled anything
    # an argument with a literal type, or one of another layout, would make a second file; rows in pieces are
    # single or double precision
    files = Counter(path.name.split("-")[0] for path in tmp_path.rglob("*.nbc"))
    assert {name for name, number in files.items() if number > 1} == {"groups._fill", "passes.add_scores"}
    assert len(files) == len(jit.KERNELS)


def test_an_interrupt_while_compiling_is_not_lost(monkeypatch):
    monkeypatch.setattr(warm, "_done", False)
    monkeypatch.setattr(warm.Tree, "run", lambda self: "interrupted")
    with pytest.raises(KeyboardInterrupt):
        warm.warm_up()
    assert not warm._done


def test_a_helper_compiles_for_the_arguments_of_the_search():
    warm.warm_up()
    warm.compile_tree()
    before = set(warm.pair_values.signatures)
    inner_kernels = (warm.to_evaluate, warm.tighten)
    missed = [sum(inner.stats.cache_misses.values()) for inner in inner_kernels]
    warm.compile_early()
    assert len(before) == 1
    assert set(warm.pair_values.signatures) == before
    for inner, number in zip(inner_kernels, missed, strict=True):  # found on disk, and there once
        assert len(inner.signatures) == 1
        assert sum(inner.stats.cache_misses.values()) == number
        assert len(jit._index(inner)._load_index()) == 1
