"""What the README and the pages print runs; the pages themselves are executed by ``make docs``."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

import cs3vm

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


def test_readme_commands_run_as_printed(tmp_path):
    """One after the other, in an empty folder."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (cs3vm .+)$", text, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["demo", "fit", "predict"]
    for command in commands:
        words = shlex.split(command, comments=True)
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    written = {"people.csv", "people.labels.csv", "people.model.json", "people.report.html", "scores.csv"}
    assert {path.name for path in tmp_path.iterdir()} == written


def test_readme_says_how_to_install():
    assert 'pip install ".[report]"' in (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_figures_are_those_of_the_stored_rows():
    """What can be computed from the files in the repository is compared with what is printed."""
    pytest.importorskip("pandas")
    from benchmarks.versus import table
    from experiments.headlines import headlines
    from experiments.measures import measured, read
    from experiments.rows import existing

    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    line = table(existing(ROOT / "benchmarks" / "results" / "versus.csv"), ["scip"], 300.0)
    either, ours_done, scip_done, ratio = re.match(
        r"scip: (\d+) instances finished by at least one \(bnb (\d+), scip (\d+)\); .* scip/bnb: (\d+)", line
    ).groups()
    assert "disagreements: none" in line
    assert f"we finish {ours_done} and SCIP {scip_done}" in text
    assert f"On the {either} that at least one of us finished SCIP takes {ratio} times as long" in text
    ours = {found.claim: found.ours for found in headlines(measured(read(ROOT / "experiments" / "results")))}
    svm = ours["auto (ours): the same on unlabelled points, honest convention [bnb]"]
    top_tau = ours["auto (ours): better accuracy than top-τ, unlabelled points [bnb]"]
    assert (svm, top_tau) == ("165 of 194 (85%)", "113 of 194 (58%); equal 28")
    for printed in (
        "the SVM on 165 of the 194 (85 %)",
        "`top_tau` on 113 (58 %), equal on 28, worse on 53 (27 %)",
    ):
        assert printed in text


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
    plt.close("all")  # pictures that are open are drawn, also those of other tests
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
    [
        "```python\n1 / 0\n```\n",
        "```console\n$ exit 3\n```\n",
        "```source\ncs3vm.methods.front_door:gone\n```\n",
    ],
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
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page not in navigation] == []


WRITTEN = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "RELEASING.md")]
WRITTEN += sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: path.name)
def test_files_that_a_page_names_exist(page):
    """A path may be short, such as ``exact/tree.py``."""
    named = set(re.findall(r"`([\w/]+/[\w]+\.(?:py|md|csv|tsv))`", page.read_text(encoding="utf-8")))
    here = {path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")}
    here |= {path.name for path in ROOT.glob("*.md")}
    assert [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in here)] == []


FOLDERS = ("src", "tests", "docs", "experiments", "benchmarks")


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md", "decisions/0001-numba.md"])
def test_modules_that_a_page_names_exist(name):
    source = Path(cs3vm.__file__).parent
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    rooms = {path.name for path in source.iterdir() if path.is_dir()}
    named = {word for word in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text) if word.split(".")[0] in rooms}
    assert len(named) > 0
    places = {word: source.joinpath(*word.split(".")) for word in named}
    assert [
        w for w, place in places.items() if not place.is_dir() and not place.with_suffix(".py").exists()
    ] == []


def test_every_old_path_is_in_the_changelog():
    from cs3vm._aliases import MOVED

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [old for old in MOVED if f".{old.split('.')[-1]}`" not in text] == []
