"""``python -m cs3vm.engine`` compiles all that can be compiled, and lists the files that hold the code."""

from __future__ import annotations

import sys

from .jit import compiled_files
from .warm_up import warm_up


def main() -> None:
    """First what every search needs, then what is compiled when it is first needed."""
    warm_up()
    from .boxes.search import prepare  # its kernels are none of those that the warm-up waits for

    prepare()
    sys.stdout.writelines(f"{path}\n" for path in compiled_files())


if __name__ == "__main__":
    main()
