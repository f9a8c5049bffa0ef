"""``python -m fuzz --minutes 10``: look for wrong claims, from the root of the repository (`tests/fuzz`)."""

import runpy

if __name__ == "__main__":
    runpy.run_module("tests.fuzz", run_name="__main__")
