"""Compile the engine while the package is built for this machine, so that nobody waits for that later.

A wheel holds the compiled code beside the modules, where numba looks for it; in an editable installation it
lies beside the sources, until one of them changes. Numba takes it only on the same kind of processor, and we
only with the same version of numba and the same sources; elsewhere the first call compiles. Without hooks
(``HATCH_BUILD_NO_HOOKS=true``) nothing is compiled, and a wheel is one for all machines.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompilingHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled code to a wheel, or puts it beside the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in the sources or, for a wheel, in a copy of them, and put what comes out into it."""
        sources = Path(self.root).resolve() / "src" / "cs3vm"
        if version == "editable":
            self._compiled(sources)
        if version != "standard":
            return
        self._place = TemporaryDirectory()
        package = Path(self._place.name).resolve() / "cs3vm"
        copytree(sources, package)
        files = self._compiled(package)
        if files:
            build_data["force_include"] |= {str(path): f"cs3vm/{path.relative_to(package)}" for path in files}
            build_data["pure_python"], build_data["infer_tag"] = False, True

    def _compiled(self, package: Path) -> list[Path]:
        try:
            return compiled(package)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"not compiled now, but at the first call: {error}")
            return []

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copy."""
        if version == "standard":
            self._place.cleanup()


def compiled(package: Path) -> list[Path]:
    """Compile all kernels of a package there; return the files in it that hold the code."""
    path = os.pathsep.join(filter(None, [str(package.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("NUMBA_CACHE_DIR", None)  # the code has to lie beside the modules
    command = [sys.executable, "-P", "-m", "cs3vm.engine"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = [Path(line).resolve() for line in done.stdout.splitlines()]
    return [path for path in found if path.is_relative_to(package)]
