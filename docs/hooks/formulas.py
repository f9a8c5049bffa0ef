"""Formulas as MathML, which browsers show without scripts; and the roles of docstrings as links."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe
from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^( *)\.\. math::\n\n((?:\1 +.*\n|\n)+)", re.MULTILINE)
#: Names that the package loads lazily, so that they are documented where they are defined.
LAZY = {
    "cs3vm.CS3VMClassifier": "cs3vm.learn.classifier.CS3VMClassifier",
    "cs3vm.CS3VMSearch": "cs3vm.selection.search.CS3VMSearch",
    "cs3vm.LabeledKFold": "cs3vm.selection.splitter.LabeledKFold",
}
ROLE = re.compile(r":(?:class|func|data|meth|mod):`(~?)([\w.]+)`")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn ``math`` blocks into formulas."""
    return BLOCK.sub(lambda m: formula(m[1]), markdown)


def formula(latex: str) -> str:
    """One line of MathML per line of the formula; columns are left out."""
    lines = [line.replace("&", " ").strip() for line in latex.strip().split(r"\\")]
    shown = "".join(convert(" ".join(line.split()), display="block") for line in lines)
    return f'\n<div class="formula">{shown}</div>\n'


class Docstrings(griffe.Extension):
    """Translate what docstrings borrow from reStructuredText."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            text = textwrap.dedent(obj.docstring.value)
            text = DIRECTIVE.sub(lambda m: formula(m[2]) + "\n", text)
            obj.docstring.value = ROLE.sub(_link, text)


def _link(match: re.Match[str]) -> str:
    short, target = match[1], match[2]
    shown = target.rsplit(".", 1)[-1] if short else target
    return f'<autoref optional identifier="{LAZY.get(target, target)}"><code>{shown}</code></autoref>'
