"""What the README and the pages print runs; the pages themselves are executed by ``make docs``."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]


def python_blocks(path: Path) -> list[str]:
    """The blocks that a reader sees."""
    return re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def test_readme_example_runs(capsys):
    blocks = python_blocks(ROOT / "README.md")
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(block, names)
    assert "32 of 32" in capsys.readouterr().out
    assert len(names["labels"]) == 100


def test_get_started_has_the_readme_example():
    code = [re.sub(r"\s*#.*|time_limit=\d+", "", python_blocks(ROOT / name)[0]).split() for name in FILES]
    assert code[0] == code[1]


FILES = ("README.md", "docs/get-started.md")


def test_readme_links_resolve():
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / "README.md").read_text())
    missing = [t for t in targets if "://" not in t and not (ROOT / t).exists()]
    assert targets
    assert missing == []


@pytest.fixture
def execute():
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("execute", ROOT / "docs" / "hooks" / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def build(text, **meta):
        page = SimpleNamespace(meta=meta, file=SimpleNamespace(src_uri="page.md"))
        return module.on_page_markdown(text, page=page, config=None, files=[])

    return build


def test_output_follows_its_block(execute):
    page = execute("```python\nprint(6 * 7)\n```\n\n```python\n_ = 1\n```\n", execute=True)
    assert page.index("print(6 * 7)") < page.index("42") < page.index("_ = 1")


def test_blocks_share_their_names_and_folder(execute):
    text = "```python hide\nopen('a.txt', 'w').write('here')\nx = 5\n```\n```python\nx + 1\n```\n"
    page = execute(text + "```console\n$ cat a.txt\n```\n", execute=True)
    assert "open(" not in page
    assert re.search(r"^6$", page, re.MULTILINE)
    assert "$ cat a.txt\nhere" in page


@pytest.mark.parametrize(
    "block",
    ["```python\n1 / 0\n```\n", "```console\n$ exit 3\n```\n", "```source\ncs3vm.solve:gone\n```\n"],
)
def test_a_failing_block_fails_the_build(execute, block):
    from mkdocs.exceptions import PluginError

    with pytest.raises(PluginError, match=r"page\.md"):
        execute(block, execute=True)


def test_other_pages_are_left_alone(execute):
    assert execute("```python\n1 / 0\n```\n") == "```python\n1 / 0\n```\n"


def test_source_blocks_show_the_present_code(execute):
    page = execute("```source\ncs3vm.methods.auto:auto\n```\n")
    assert "def auto(" in page
    assert 'title="src/cs3vm/methods/auto.py"' in page
    assert "Run the heuristic" not in page  # the docstring is left out


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert [p.name for p in (ROOT / "docs").glob("*.md") if p.name not in navigation] == []
