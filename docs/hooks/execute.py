"""Run the code of the pages while the site is built; a block that fails, fails the build.

In pages with ``execute: true`` in their front matter

- ``python`` blocks run in order in one namespace, and what they print, warn and draw is put below them;
- ``python hide`` blocks run unseen, and what they print is Markdown;
- ``console`` blocks run each ``$ command`` as it stands, and its output is put below it.

All blocks of a page share one temporary folder. In every page ``source`` blocks name a function of the
package and show its present code, without the docstring.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import logging
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(python|console|source)( hide)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND_TIMEOUT = 900  # a guard only: a busy machine may be slow
SCREEN_DPI = 80
logger = logging.getLogger("mkdocs.hooks.execute")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace every block by itself and its output."""
    if not page.meta.get("execute"):
        return FENCE.sub(lambda m: _source(m[3], page) if m[1] == "source" else m[0], markdown)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, _working_in(folder):
        finished = FENCE.sub(Runner(page, config, files).run, markdown)
    logger.info("%s: its code took %.1f s", page.file.src_uri, time.perf_counter() - began)
    return finished


class Runner:
    """The blocks of one page."""

    def __init__(self, page: Any, config: Any, files: Any) -> None:
        self.page, self.config, self.files = page, config, files
        self.names: dict[str, Any] = {"__name__": "__page__"}
        self.figures = 0

    def run(self, match: re.Match[str]) -> str:
        """One block and what comes of it."""
        kind, hidden, code = match[1], bool(match[2]), match[3]
        if kind == "source":
            return _source(code, self.page)
        if kind == "console":
            return _console(code, self.page)
        printed = self.execute(code if not hidden else f"{code}\nNone")  # no value of a hidden block is shown
        if hidden:
            return printed
        return "\n".join([f"```python\n{code}```\n", _output(printed), *self.draw()])

    def execute(self, code: str) -> str:
        """Run Python code; show a last line that is an expression, as a notebook does."""
        printed = io.StringIO()
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                exec(compile(tree, self.page.file.src_uri, "exec"), self.names)
                if last is not None:
                    expression = compile(ast.Expression(last.value), self.page.file.src_uri, "eval")
                    value = eval(expression, self.names)
                    if value is not None and "matplotlib" not in type(value).__module__:
                        print(value)  # noqa: T201 - into the page
        except Exception as error:
            raise PluginError(f"{self.page.file.src_uri}: {error!r} in the block\n\n{code}") from error
        notes = [f"{w.category.__name__}: {w.message}" for w in caught if "CS3VM" in w.category.__name__]
        return printed.getvalue() + "".join(textwrap.fill(note, 100) + "\n" for note in notes)

    def draw(self) -> list[str]:
        """Save the open figures as files of the site."""
        plt = sys.modules.get("matplotlib.pyplot")
        lines = []
        for number in plt.get_fignums() if plt else []:
            self.figures += 1
            name = f"{Path(self.page.file.src_uri).stem}-{self.figures}.png"
            picture = io.BytesIO()
            figure = plt.figure(number)
            figure.savefig(picture, dpi=160, bbox_inches="tight")
            self.files.append(File.generated(self.config, f"figures/{name}", content=picture.getvalue()))
            alt = figure.get_suptitle() or next(
                (ax.get_title() for ax in figure.axes if ax.get_title()), name
            )
            width = round(SCREEN_DPI * figure.get_figwidth())
            lines.append(f'\n![{alt}](figures/{name}){{ width="{width}" }}\n')
            plt.close(figure)
        return lines


def _console(block: str, page: Any) -> str:
    """Run each command of a console block; its output follows it."""
    shown = []
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue
        env = os.environ | {"COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(ROOT / "src")}
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
        done = subprocess.run(
            line[2:],
            shell=True,
            env=env,
            text=True,
            capture_output=True,
            timeout=COMMAND_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise PluginError(f"{page.file.src_uri}: exit code {done.returncode}: {line}\n{done.stderr}")
        shown.append(f"{line}\n{done.stdout}".rstrip())
    return "```console\n" + "\n\n".join(shown) + "\n```"


def _output(printed: str) -> str:
    return f'```text {{ .output title="Output" }}\n{printed.rstrip()}\n```\n' if printed.strip() else ""


def _source(name: str, page: Any) -> str:
    """The present code of ``module:function``, without its docstring."""
    module, _, qualified = name.strip().partition(":")
    try:
        thing: Any = importlib.import_module(module)
        for part in qualified.split("."):
            thing = getattr(thing, part)
    except (ImportError, AttributeError) as error:
        raise PluginError(f"{page.file.src_uri} shows the code of {name.strip()}: {error}") from error
    thing = inspect.unwrap(thing)  # compiled functions
    code = textwrap.dedent(inspect.getsource(thing))
    body = ast.parse(code).body[0].body  # type: ignore[attr-defined]
    lines = code.splitlines()
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del lines[body[0].lineno - 1 : body[0].end_lineno]
    path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(ROOT)
    return f'```python {{ title="{path}" }}\n' + "\n".join(lines) + "\n```"


@contextlib.contextmanager
def _working_in(folder: str) -> Any:
    os.environ.setdefault("MPLBACKEND", "Agg")
    before = os.getcwd()
    sys.path.insert(0, str(ROOT))
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path.remove(str(ROOT))
