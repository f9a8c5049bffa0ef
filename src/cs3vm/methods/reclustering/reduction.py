"""Which clusters take part in P4, and which are discarded into a residual cluster (Sect. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..._typing import FloatArray
from ...model.problem import Problem
from ...model.result import Result
from .clusters import Clustering, plane_tolerance


@dataclass(frozen=True, eq=False)
class Reduction:
    """A clustering of which some clusters are discarded: their weight is carried by a residual cluster.

    ``home[j]`` is the cluster whose side decides for cluster j: j itself while it is active, the residual
    of its side once it is discarded.
    """

    clusters: Clustering
    home: NDArray[np.intp]

    @classmethod
    def of(cls, clusters: Clustering) -> Reduction:
        """All clusters active."""
        return cls(clusters, np.arange(clusters.k))

    @property
    def discarded(self) -> NDArray[np.bool_]:
        """G^t: the discarded clusters."""
        return np.asarray(self.home != np.arange(self.clusters.k))

    def problem(self) -> Problem:
        """P4 over the active clusters; a residual weighs what is discarded into it as well."""
        active = ~self.discarded
        weights = np.zeros(self.clusters.k)
        np.add.at(weights, self.home, self.clusters.weights)
        place = np.cumsum(active) - 1  # of the active clusters in P4
        return self.clusters.problem.with_clusters(
            self.clusters.centroids[active],
            weights[active],
            self.clusters.side[active],
            place[self.home[self.clusters.label]],
        )

    def look(self, step: Result) -> View:
        """Everything Algorithm 2 asks about the clusters once P4 is solved."""
        return View(self, step)

    def next(self, view: View, discard: NDArray[np.bool_], reactivate: NDArray[np.bool_]) -> Reduction:
        """Split the cut clusters, discard and reactivate, and choose the residuals anew."""
        clusters = self.clusters.split(view.cut, view.fitting_points)
        origin = np.empty(clusters.k, dtype=np.intp)  # the cluster each new one comes from
        origin[clusters.label] = self.clusters.label
        stays_out = (self.discarded & ~reactivate)[origin]
        out = stays_out | discard[origin]

        centroid_scores = clusters.centroids @ view.w + view.b
        positive = np.where(np.abs(centroid_scores) > view.tolerance, centroid_scores > 0, view.z[origin] > 0)
        home = np.arange(clusters.k)
        for side, cell in product((True, False), np.unique(clusters.cell)):
            here = (positive == side) & (clusters.cell == cell)  # what is counted together
            candidates = np.flatnonzero(~stays_out & here)
            if len(candidates) == 0:  # with no cluster there is no residual: nothing is discarded there
                continue
            residual = candidates[np.argmax(np.abs(centroid_scores[candidates]))]
            out[residual] = False
            home[out & here] = residual
        return Reduction(clusters, home)


class View:
    """The clusters as seen from the plane of the current iteration.

    A point *fits* if it lies on the side that its cluster is counted on: not strictly opposite, and with a
    ``side_margin`` not inside the strip either. Points on the plane fit both sides.
    """

    def __init__(self, reduction: Reduction, step: Result) -> None:
        assert step.coef is not None
        assert step.z is not None
        clusters, discarded = reduction.clusters, reduction.discarded
        self.w, self.b = step.coef, step.intercept
        scores = clusters.problem.scores(self.w, self.b)
        self.tolerance = plane_tolerance(scores)
        z_active = np.zeros(clusters.k, dtype=np.int8)
        z_active[~discarded] = step.z
        self.z = z_active[reduction.home]
        signed = np.where(self.z[clusters.label] > 0, scores, -scores)
        self.fitting_points = signed >= clusters.problem.side_margin - self.tolerance
        worst, best = clusters.range_of(self.fitting_points.astype(float))
        self.distance, _ = clusters.range_of(np.abs(scores))
        #: clusters with points that fit and points that do not
        self.cut = (worst == 0.0) & (best == 1.0)
        #: J^t: discarded clusters with a point strictly opposite to the side they are counted on
        self.opposite = discarded & (worst == 0.0)
        self.centroid_distance: FloatArray = np.abs(clusters.centroids[~discarded] @ self.w + self.b)
