"""Types that many modules share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: -1, 0 or +1 per row; the sides ``z`` of an answer are 0 or 1.
SignArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]
#: Row numbers.
RowArray = NDArray[np.intp]
#: Class labels of any type.
LabelArray = NDArray[Any]
