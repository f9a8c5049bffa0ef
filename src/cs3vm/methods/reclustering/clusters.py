"""Clusters of unlabelled points: the data structure of Algorithms 1 to 3."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...model.problem import PLANE_TOLERANCE, Problem

#: Above this many points the initial clustering uses mini-batches.
MINI_BATCH_SIZE = 50_000


@dataclass(frozen=True, eq=False)
class Clustering:
    """A partition of the unlabelled points; every point keeps its cluster, so nothing is ever lost.

    Clusters are numbered 0 … k-1, none is empty, and no cluster mixes points that are
    fixed to different sides or counted in different totals.
    """

    problem: Problem
    label: NDArray[np.intp]  # the cluster of each point

    @classmethod
    def by_kmeans(cls, problem: Problem, n_clusters: int, random_state: int) -> Clustering:
        """Cluster the unlabelled points by k-means; at most as many clusters as there are distinct points."""
        from sklearn.cluster import KMeans, MiniBatchKMeans
        from sklearn.exceptions import ConvergenceWarning

        if problem.m == 0:
            return cls(problem, np.zeros(0, dtype=np.intp))
        kind = KMeans if problem.m <= MINI_BATCH_SIZE else MiniBatchKMeans
        kmeans = kind(n_clusters=min(n_clusters, problem.m), n_init=1, random_state=random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
            label = kmeans.fit_predict(problem.U, sample_weight=problem.weights)
        cells = problem.totals.cells
        label = label.astype(np.intp) * (int(cells.max()) + 1) + cells
        return cls(problem, _renumber(3 * label + problem.side + 1))

    @property
    def k(self) -> int:
        """Number of clusters."""
        return int(self.label.max(initial=-1)) + 1

    @cached_property
    def weights(self) -> FloatArray:
        """e_j: the weight of each cluster."""
        return np.asarray(np.bincount(self.label, self.problem.weights, minlength=self.k), dtype=float)

    @cached_property
    def centroids(self) -> FloatArray:
        """c^j: the weighted mean of each cluster."""
        mass = self.problem.weights
        sums = [
            np.bincount(self.label, weights=mass * column, minlength=self.k) for column in self.problem.U.T
        ]
        return np.column_stack(sums) / self.weights[:, None] if sums else np.zeros((self.k, 0))

    @cached_property
    def side(self) -> NDArray[np.int8]:
        """The fixed side of each cluster, 0 for most."""
        side = np.zeros(self.k, dtype=np.int8)
        side[self.label] = self.problem.side
        return side

    @cached_property
    def cell(self) -> NDArray[np.int64]:
        """The totals that count each cluster: a number, the same for the same totals."""
        cell = np.zeros(self.k, dtype=np.int64)
        cell[self.label] = self.problem.totals.cells
        return cell

    @cached_property
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        order = np.argsort(self.label, kind="stable")
        return order, np.searchsorted(self.label[order], np.arange(self.k))

    def range_of(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest score in each cluster."""
        if self.k == 0:
            return np.zeros(0), np.zeros(0)
        order, starts = self._order
        return np.minimum.reduceat(scores[order], starts), np.maximum.reduceat(scores[order], starts)

    def split(self, cut: NDArray[np.bool_], apart: NDArray[np.bool_]) -> Clustering:
        """Split each cut cluster into the points that are to be apart and the others."""
        moved = cut[self.label] & apart
        return Clustering(self.problem, _renumber(2 * self.label + moved))


def plane_tolerance(scores: FloatArray) -> float:
    """Scores of at most this size count as on the plane."""
    return PLANE_TOLERANCE * (1.0 + float(np.abs(scores).max(initial=0.0)))


def paper_n_clusters(m: int) -> int:
    """k¹ of Sect. 5.2: 10, 20 or 50 initial clusters."""
    return 10 if m <= 500 else 20 if m <= 1000 else 50


def _renumber(label: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.unique(label, return_inverse=True)[1].reshape(-1).astype(np.intp)
