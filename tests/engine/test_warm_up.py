"""The first call compiles, says so, and leaves the code to later processes."""

from __future__ import annotations

import ast
import gc
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.start import ready
from cs3vm.engine import warm_up as warm


def test_only_the_first_process_compiles_and_it_says_so_once(tmp_path):
    _, first, message = ready(str(tmp_path), cores=2)
    _, later, silence = ready(str(tmp_path), cores=2)
    assert message.count("compiling the exact engine") == 1
    assert silence == ""
    assert later < 0.2 * first


@pytest.mark.parametrize("python", ["", "no-such-python"])
def test_without_a_helper_this_process_compiles_all(python, monkeypatch):
    monkeypatch.setattr(sys, "executable", python)
    assert warm._start_helper() is None


def test_a_helper_or_a_frozen_program_starts_no_helper(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert warm._start_helper() is None
    monkeypatch.delattr(sys, "frozen")
    monkeypatch.setenv(warm._MARK, "1")
    assert warm._start_helper() is None


def test_an_interrupt_while_compiling_is_not_lost(monkeypatch):
    monkeypatch.setattr(warm, "_done", False)
    monkeypatch.setattr(warm.Tree, "run", lambda self: "interrupted")
    with pytest.raises(KeyboardInterrupt):
        warm.warm_up()
    assert not warm._done


def test_garbage_is_collected_again_afterwards():
    with suppress(ZeroDivisionError), warm._no_garbage_collection():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_functions_without_a_python_wrapper_are_called_by_kernels_only():
    """A call from Python would end the process without a message."""
    folder = Path(warm.__file__).parent
    functions = {
        node: {word.id for word in node.decorator_list if isinstance(word, ast.Name)}
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    bare = {"inner", "inlined", "spliced", "compiled_strictly"}
    names = {node.name for node, words in functions.items() if words & bare}
    assert "set_side" in names
    for node, words in functions.items():
        if not words & (bare | {"kernel", "strict_kernel"}):
            called = {call.func.id for call in calls(node) if isinstance(call.func, ast.Name)}
            assert not called & names, f"{node.name} calls {called & names}"


def calls(node: ast.AST) -> list[ast.Call]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Call)]
