"""A report on a fit: one HTML file that needs nothing else, and in which the data cannot become code."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from ..exceptions import InvalidProblemError, MissingPackageError
from .content import Names, content
from .several import content_of_classes

#: What a report needs besides the package itself.
PACKAGES = ("jinja2", "matplotlib")


def make_report(
    clf: Any,
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str],
    label_name: str,
    positive_name: str = "",
    negative_name: str = "",
    source: str,
    command: str,
    warnings: Sequence[str] = (),
) -> str:
    """Write a self-contained HTML page about a fitted classifier.

    All names and texts are escaped; the page loads nothing, and its content security policy forbids
    scripts and requests.

    Parameters
    ----------
    clf
        A fitted :class:`cs3vm.CS3VMClassifier`.
    X, y
        The numeric rows and the labels that it was fitted to.
    feature_names
        One name per column of ``X``.
    label_name, positive_name, negative_name
        What the label and its two classes are called; several classes have the names in ``clf.classes_``.
    source
        Where the data come from, such as the name of a file.
    command
        How to get the same report again.
    warnings
        Further warnings for the reader, besides those that the fit itself gives reason for.
    """
    _check_packages()
    if len(feature_names) != clf.n_features_in_:
        raise InvalidProblemError(
            f"feature_names has {len(feature_names)} names, but the classifier was fitted to "
            f"{clf.n_features_in_} features: give one name per feature"
        )
    names = Names(
        features=tuple(map(_text, feature_names)),
        label=_text(label_name),
        positive=_text(positive_name),
        negative=_text(negative_name),
    )
    notes = [_text(w) for w in warnings]
    several = len(clf.classes_) > 2
    fields = content_of_classes(clf, y, names, notes) if several else content(clf, X, y, names, notes)
    template = _template("several.html.jinja" if several else "report.html.jinja")
    return str(template.render(fields, names=names, source=_text(source), command=_text(command)))


def _check_packages() -> None:
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise MissingPackageError(
            f"the report needs {' and '.join(missing)}, which is not installed: "
            'get it with pip install "cs3vm[report]"'
        )


def _text(value: Any) -> str:
    """A string that any file can hold: bytes that were no text become question marks."""
    return str(value).encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _template(name: str) -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    folder = files(__name__)
    environment.globals["style"] = Markup(folder.joinpath("style.css").read_text("utf-8"))
    return environment.from_string(folder.joinpath(name).read_text("utf-8"))
