"""The score of a row: the same to the last digit, whatever piece it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray
from ..engine.passes import add_scores
from ..learn.kernel_map import KernelMap
from ..learn.scaling import RankScaling, Scaling
from .pieces import as_rows

#: Rows whose features are in memory at once, where there is a kernel.
BLOCK_NUMBERS = 2_000_000


@dataclass(frozen=True, eq=False)
class PlaneScores:
    """Scores of several planes without their intercepts; picklable.

    ``normals`` are in scaled units, a row for each plane; with a kernel they are coefficients of its
    landmarks.
    """

    normals: FloatArray
    scaling: Scaling | RankScaling
    kernel_map: KernelMap | None = None

    def __call__(self, X: NDArray[Any]) -> FloatArray:
        """``scores[t, i]`` of plane t and row i of X, in the units of the user."""
        scores = np.empty((len(self.normals), len(X)))
        if self.kernel_map is None:
            assert isinstance(self.scaling, Scaling)  # ranks are for kernels
            add_scores(as_rows(X), self.scaling.shift, self.normals * self.scaling.factor, scores)
            return scores
        zero, step = np.zeros(self.normals.shape[1]), max(1, BLOCK_NUMBERS // self.normals.shape[1])
        for start in range(0, len(X), step):
            rows = self.scaling.transform(np.asarray(X[start : start + step], dtype=float))
            part = np.empty((len(self.normals), len(rows)))
            add_scores(self._similarities(rows), zero, self.normals, part)
            scores[:, start : start + step] = part
        return scores

    def _similarities(self, rows: FloatArray) -> FloatArray:
        """The kernel with each landmark; products of rows in the order of the columns, too."""
        assert self.kernel_map is not None
        kernel, landmarks = self.kernel_map.kernel, self.kernel_map.landmarks
        if kernel.name != "poly" or kernel.function is not None:
            return np.ascontiguousarray(self.kernel_map.similarities(rows))
        products = np.empty((len(landmarks), len(rows)))
        add_scores(rows, np.zeros(rows.shape[1]), landmarks, products)
        return np.ascontiguousarray(kernel._power(products.T))

    def of(self, normals: FloatArray) -> PlaneScores:
        """The same for other planes."""
        return PlaneScores(np.atleast_2d(normals), self.scaling, self.kernel_map)
