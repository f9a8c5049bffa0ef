"""``python -m tests.fuzz --minutes 10``: run parts of the fuzz for some time and write what they find."""

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzz.runner import main

sys.exit(main())
