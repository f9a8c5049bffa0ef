"""Paths of earlier releases. They import what they always did, and warn, for one more release."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

#: Where the modules of the API page have gone, some of them to several places.
MOVED = {
    "assignment": "learn.assignment",
    "bnb": "engine",
    "bnb.proof": "engine.exact.proof_writer",
    "criteria": "selection.criteria",
    "estimator": "learn.classifier",
    "kernels": "learn.kernel_map",
    "methods.ircm": "methods.reclustering.ircm",
    "methods.rcm": "methods.reclustering.rcm",
    "methods.wircm": "methods.reclustering.wircm",
    "model_selection": "selection.splitter",
    "plots": "report.figures",
    "progress": "cli.progress",
    "result": "model.result model.status",
    "search": "selection.search",
    "solve": "methods.front_door",
    "verify": "proofs.checker",
}
_PACKAGE = __name__.rpartition(".")[0]


class _Alias(ModuleType):
    """A module under its old name; where a function has that name now, it can be called like it."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **options)


class _Finder(MetaPathFinder, Loader):
    """Finds the old names after everybody else has failed to."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for a path that has moved."""
        old = fullname.removeprefix(f"{_PACKAGE}.")
        if old == fullname or old not in MOVED:
            return None
        return spec_from_loader(fullname, self, is_package=old == "bnb")

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module of our own kind."""
        return _Alias(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Fill it with what its successor has."""
        places = MOVED[module.__name__.removeprefix(f"{_PACKAGE}.")].split()
        new = [f"{_PACKAGE}.{place}" for place in places]
        warnings.warn(
            f"{module.__name__} has moved to {' and '.join(new)}; the old path goes with the next release",
            DeprecationWarning,
            stacklevel=2,
        )
        for place in new:
            names = vars(import_module(place))
            module.__dict__.update({name: names[name] for name in names if not name.startswith("__")})


def install() -> None:
    """Make the old paths importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
