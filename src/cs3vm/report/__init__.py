"""A report on a fit: one HTML file that needs nothing else, and in which the data cannot become code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Protocol

from ..exceptions import InvalidProblemError, MissingPackageError
from ..learn.accuracy import Accuracy
from ..learn.bias import Bias
from ..learn.certainty import Certainty
from ..learn.fit import Fit
from ..learn.group_totals import GroupTotals
from ..learn.sensitivity import Sensitivity
from .conclusions import Looks
from .content import Names, content
from .words import plain

#: What a report needs besides the package itself.
PACKAGES = ("jinja2", "matplotlib")


class HasFit(Protocol):
    """A fitted classifier."""

    fit_: Fit


def make_report(
    clf: HasFit,
    X: Any,
    y: Any = None,
    *,
    feature_names: Sequence[str],
    label_name: str,
    positive_name: str = "",
    negative_name: str = "",
    source: str,
    command: str,
    warnings: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    for_command_line: bool = False,
    accuracy: Accuracy | None = None,
    bias: Bias | None = None,
    certainty: Certainty | None = None,
    groups: GroupTotals | None = None,
    by: str = "group",
    sensitivity: Sensitivity | None = None,
) -> str:
    """Write a self-contained HTML page about a fitted classifier.

    All names and texts are escaped; the page loads nothing, and its content security policy forbids
    scripts and requests.

    Parameters
    ----------
    clf
        A fitted :class:`cs3vm.CS3VMClassifier`.
    X
        The numeric rows that it was fitted to.
    y
        Not needed: the fit knows its labels.
    feature_names
        One name per column of ``X``.
    label_name
        What the label is called.
    positive_name
        What the positive one of two classes is called. Default: its name in ``clf.classes_``, as for several.
    negative_name
        What the other one is called.
    source
        Where the data come from, such as the name of a file.
    command
        How to get the same report again.
    warnings
        Further warnings for the reader, besides those that the fit itself gives reason for.
    settings
        How the fit was made. Default: the parameters of the classifier.
    for_command_line
        Whether advice is given in the words of the command line instead of Python.
    accuracy
        How many labels are right: ``clf.accuracy()``.
    bias
        How the labelled rows differ: ``clf.bias()``.
    certainty
        Which labels can be relied on: ``clf.certainty()``.
    groups
        Numbers by group: ``clf.totals_by(...)``.
    by
        What the groups are called, such as the name of a column.
    sensitivity
        How labels depend on the total: :func:`cs3vm.learn.sensitivity.sensitivity`.
    """
    _check_packages()
    fit = clf.fit_
    if len(feature_names) != fit.n_features:
        raise InvalidProblemError(
            f"feature_names has {len(feature_names)} names, but the classifier was fitted to "
            f"{fit.n_features} features: give one name per feature"
        )
    names = Names(
        label=plain(label_name),
        features=tuple(map(plain, feature_names)),
        classes=_class_names(fit, str(positive_name), str(negative_name)),
    )
    looks = Looks(accuracy, bias, certainty, groups, by, sensitivity)
    fields = content(fit, X, names, [plain(w) for w in warnings], settings, for_command_line, looks)
    return str(_template().render(fields, source=plain(source), command=plain(command)))


def _class_names(fit: Fit, positive: str, negative: str) -> tuple[str, ...]:
    """The names of the classes, in their order; of two those that were given."""
    names = [plain(name) for name in fit.classes.tolist()]
    if fit.labels.positive is not None:
        own = fit.labels.positive
        names[own], names[1 - own] = plain(positive) or names[own], plain(negative) or names[1 - own]
    return tuple(names)


def _check_packages() -> None:
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise MissingPackageError(
            f"the report needs {' and '.join(missing)}, which is not installed: "
            'get it with pip install "cs3vm[report]"'
        )


def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    folder = files(__name__).joinpath("templates")
    environment.globals["style"] = Markup(folder.joinpath("style.css").read_text("utf-8"))
    return environment.from_string(folder.joinpath("report.html.jinja").read_text("utf-8"))
