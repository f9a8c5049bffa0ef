"""The optimisation problem, once, as data: every model of the paper is a :class:`Problem`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, RowArray
from ..exceptions import InvalidProblemError
from . import norms
from .gather import take_rows
from .intercept import best_intercept
from .line import HingeSum, Intercept
from .norms import NORMS, Norm
from .totals import KnownTotals, Totals, as_totals, bind
from .validation import read_matrix, read_positive_vector, read_scalar, read_signs

#: A point is on the plane when ``|w·u + b|`` is at most this times ``1 + max|w·u + b|``.
PLANE_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Classify unlabelled points with few labels and a known total of positives.

    .. math::

        \min_{w, b, z}\quad & \tfrac12\|w\|^2 + \sum_{i=1}^n C_i \max\{0, 1 - y_i (w^\top x_i + b)\}
              + C_2\,\Bigl|\sum_{j=1}^m e_j z_j - \tau\Bigr| \\
        \text{s.t.}\quad & z_j = 1 \Rightarrow w^\top u_j + b \ge \varepsilon, \qquad
              z_j = 0 \Rightarrow w^\top u_j + b \le -\varepsilon, \\
        & z_j = 1 \text{ where } side_j = +1, \qquad z_j = 0 \text{ where } side_j = -1.

    With ε = 0 a point on the hyperplane counts on either side, as in the paper. The paper's models are
    this one with different fields: P1 has no ``U``; P3 has unit weights; P4 has centroids in ``U`` and
    cluster sizes in ``weights``; P5 and P6 have fixed ``side``. With another ``norm`` the first term is
    ‖w‖₁ or ‖w‖_∞ instead of ½‖w‖².

    Parameters
    ----------
    X, y
        Labelled rows and their labels in {-1, +1}.
    U
        Unlabelled rows; may have none.
    n_positive
        τ, the known total weight of positives among the unlabelled rows; a pair (low, high) where only that
        is known; or :class:`Totals` of groups of rows, which may overlap. Each unit outside an interval costs
        the ``penalty`` of its total.
    weights
        eⱼ > 0: 1 for a point, the size of a cluster, or a survey weight. Default: all 1.
    side
        +1 or -1 for an unlabelled row whose side is fixed, 0 otherwise. Default: all 0.
    C
        C₁ > 0, a scalar or one value per labelled row.
    count_penalty
        C₂ > 0, the price of each miscounted unit of weight.
    side_margin
        ε ≥ 0. A positive value forbids unlabelled points on the hyperplane.
    norm
        What is paid for w: ``"l2"`` is ½‖w‖², ``"l1"`` is ‖w‖₁ (which leaves features out) and ``"max"`` is
        ‖w‖_∞.
    """

    X: FloatArray
    y: FloatArray
    U: FloatArray
    n_positive: float | Totals
    _: KW_ONLY
    weights: FloatArray = None  # type: ignore[assignment]
    side: NDArray[np.int8] = None  # type: ignore[assignment]
    C: FloatArray = 1.0  # type: ignore[assignment]
    count_penalty: float = 1.0
    side_margin: float = 0.0
    norm: Norm = "l2"
    #: ``n_positive``, bound to the rows
    totals: KnownTotals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        X, U = read_matrix(self.X, "X"), read_matrix(self.U, "U")
        if len(X) == 0:
            raise InvalidProblemError("X has no rows: give at least one labelled row")
        if U.size == 0:
            U = U.reshape(0, X.shape[1])
        if U.shape[1] != X.shape[1]:
            raise InvalidProblemError(
                f"X has {X.shape[1]} columns but U has {U.shape[1]}: both need the same features"
            )
        weights = read_positive_vector(1.0 if self.weights is None else self.weights, len(U), "weights")
        fields: dict[str, Any] = {
            "X": X,
            "y": read_signs(self.y, len(X), "y", allowed=(-1, 1)).astype(float),
            "U": U,
            "weights": weights,
            "side": read_signs(0 if self.side is None else self.side, len(U), "side", allowed=(-1, 0, 1)),
            "C": read_positive_vector(self.C, len(X), "C"),
            "count_penalty": read_scalar(self.count_penalty, "count_penalty", positive=True),
            "side_margin": read_scalar(self.side_margin, "side_margin", positive=False),
        }
        if not isinstance(self.norm, str) or self.norm not in NORMS:
            raise InvalidProblemError(f"norm must be one of {', '.join(NORMS)}, got {self.norm!r}")
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        totals = bind(self.n_positive, weights, self.count_penalty)
        object.__setattr__(self, "totals", totals)
        object.__setattr__(self, "n_positive", self._simplest(totals))

    def _simplest(self, totals: KnownTotals) -> float | Totals:
        """A number where there is one total of all rows at the usual price, else the totals."""
        usual = len(totals) == 1 and totals.of_all[0] and totals.penalty[0] == self.count_penalty
        if usual and totals.low[0] == totals.high[0]:
            return float(totals.low[0])
        return as_totals(self.n_positive)

    # -- sizes -----------------------------------------------------------------------------------
    @property
    def n(self) -> int:
        """Number of labelled rows."""
        return len(self.X)

    @property
    def m(self) -> int:
        """Number of unlabelled rows."""
        return len(self.U)

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def one_total(self) -> bool:
        """Whether there is one number for all rows: ``n_positive`` is a float then."""
        return not isinstance(self.n_positive, Totals)

    @cached_property
    def total_weight(self) -> float:
        """Weight of all unlabelled rows."""
        return float(self.weights.sum())

    @cached_property
    def min_miscount(self) -> float:
        """The part of the misses of all totals that the fixed sides alone make unavoidable."""
        return float(self.totals.least_misses(self.side).sum())

    @cached_property
    def least_price(self) -> float:
        """What is paid for the totals at least, because of the fixed sides."""
        return self.price_of_sides(self.side)

    def price_of_sides(self, side: NDArray[np.int8]) -> float:
        """What is paid for the totals at least where rows have these sides: safely rounded down."""
        misses = np.maximum(0.0, self.totals.least_misses(side) - 4.0 * self.totals.rounding)
        return float(self.totals.penalty @ misses) * (1.0 - 2.0**-50)

    @cached_property
    def radius(self) -> float:
        """``max ‖x‖*`` over all rows, in the norm dual to that of w."""
        return float(max(self.dual_norms(A).max(initial=0.0) for A in (self.X, self.U)))

    # -- values ----------------------------------------------------------------------------------
    def svm_value(self, w: FloatArray, b: float) -> float:
        """``½‖w‖² + Σ Cᵢ·hinge``, or with ‖w‖ as the norm says: the objective of P1."""
        slack = np.maximum(0.0, 1.0 - self.y * (self.X @ w + b))
        return norms.price(self.norm, w) + float(self.C @ slack)

    def objective(self, w: FloatArray, b: float, z: NDArray[np.int8]) -> float:
        """The objective of the model. It judges the sides ``z`` as given; see :meth:`violation`."""
        return self.svm_value(w, b) + self.totals.price(self.totals.counts(z))

    def count(self, z: NDArray[np.int8]) -> float:
        """Weight of the unlabelled rows on the positive side."""
        return float(self.weights @ (np.asarray(z) > 0))

    def eta(self, z: NDArray[np.int8]) -> tuple[float, float]:
        """(η₁, η₂): shortfall and excess of the counts, of all totals together."""
        short, over = self.totals.eta(self.totals.counts(z))
        return float(short.sum()), float(over.sum())

    def violation(self, w: FloatArray, b: float, z: NDArray[np.int8]) -> float:
        """How far the worst unlabelled row lies on the wrong side of the plane (infinite for a fixed one)."""
        positive = np.asarray(z) > 0
        if np.any((self.side > 0) & ~positive) or np.any((self.side < 0) & positive):
            return float("inf")
        signed = np.where(positive, 1.0, -1.0) * self.scores(w, b)
        return float(np.max(self.side_margin - signed, initial=0.0))

    def scores(self, w: FloatArray, b: float = 0.0) -> FloatArray:
        """``w·u + b`` of the unlabelled rows."""
        return np.asarray(self.U @ w + b)

    def on_plane(self, w: FloatArray, b: float) -> NDArray[np.bool_]:
        """Which unlabelled rows lie on the hyperplane, up to rounding."""
        distance = np.abs(self.scores(w, b))
        return np.asarray(distance <= PLANE_TOLERANCE * (1.0 + distance.max(initial=0.0)))

    # -- bounds ----------------------------------------------------------------------------------
    def reach(self, value: float) -> float:
        """The largest ‖w‖ of a point whose objective is at most ``value``."""
        return norms.reach(self.norm, value)

    def dual_norms(self, rows: FloatArray) -> FloatArray:
        """‖x‖* of each row, so that ``|w·x| ≤ ‖w‖·‖x‖*``."""
        return norms.dual_norms(self.norm, rows)

    def require_l2(self, what: str, instead: str) -> None:
        """Refuse other norms where the mathematics is that of ½‖w‖²."""
        if self.norm != "l2":
            raise InvalidProblemError(
                f"{what} works with norm='l2' only, but the problem has norm={self.norm!r}: {instead}"
            )

    def best_intercept(self, w: FloatArray, totals: KnownTotals | None = None) -> Intercept | None:
        """The best ``b`` and ``z`` for this ``w``; None if the fixed sides allow no ``b``.

        Other ``totals`` of the same rows may stand in for the problem's own.
        """
        return best_intercept(
            HingeSum(self.X @ w, self.y, self.C),
            self.scores(w),
            self.side,
            self.totals if totals is None else totals,
            self.side_margin,
        )

    @cached_property
    def trivial(self) -> Intercept | None:
        """The best point with ``w = 0``; its cost is the smallest of the three values behind eq. (validM)."""
        return self.best_intercept(np.zeros(self.d))

    def big_m(self, value: float | None = None) -> float:
        """A valid big-M from the ``value`` of any feasible point (Lemma 1, Thm. 2; eqs. validM, BigM 2).

        Without a value it takes the trivial point, which improves on the paper's ``2C₁n₋ + C₂(m-τ)``.
        """
        if value is None:
            if self.trivial is None:
                raise InvalidProblemError("no point with w = 0 fits the fixed sides: give the value of one")
            value = self.trivial.cost
        return float(2.0 * self.reach(value) * self.radius + max(1.0, self.side_margin))

    @property
    def paper_big_m(self) -> float:
        """Eq. (validM) as printed: from the point ``w = 0``, ``b = 1``, which no row may be fixed against."""
        if np.any(self.side < 0) or self.side_margin > 1.0:
            return self.big_m()
        negative = 2.0 * float(self.C[self.y < 0].sum())
        return self.big_m(negative + self.totals.price(self.totals.weight))

    def intercept_bound(self, value: float) -> float:
        """``B ≥ |b|`` for some optimal point wherever :meth:`svm_value` is at most ``value``."""
        reach = self.reach(value)
        from_labels = value / self.C + reach * self.dual_norms(self.X)
        per_class = [float(np.min(from_labels[self.y == s], initial=np.inf)) for s in (-1, 1)]
        if np.all(np.isfinite(per_class)):
            return max(per_class)
        finite = min(per_class)  # with one class only, some optimum has b no larger than this
        return max(finite, float(self.radius * reach + max(1.0, self.side_margin)))

    # -- relatives -------------------------------------------------------------------------------
    def with_side(self, side: ArrayLike) -> Problem:
        """The same problem with other fixed sides (P5, P6)."""
        return replace(self, side=np.array(side, dtype=np.int8))

    def with_rows(self, labelled: RowArray, rows: RowArray) -> Problem:
        """The same problem with its rows in another order."""
        return replace(
            self,
            X=take_rows(self.X, labelled),
            y=self.y[labelled],
            C=self.C[labelled],
            U=take_rows(self.U, rows),
            n_positive=self.n_positive if self.one_total else self.totals.taken(rows),
            weights=self.weights[rows],
            side=self.side[rows],
        )

    def with_clusters(
        self, centroids: FloatArray, weights: FloatArray, side: ArrayLike, cluster: RowArray | None = None
    ) -> Problem:
        """The problem P4 over cluster centroids.

        With several totals it needs the cluster of each row, whose rows must be in the same totals.
        """
        totals = self.n_positive
        if not self.one_total:
            assert cluster is not None
            totals = self.totals.over([np.unique(cluster[rows]) for rows in self.totals.rows])
        return replace(
            self, U=centroids, n_positive=totals, weights=weights, side=np.array(side, dtype=np.int8)
        )
