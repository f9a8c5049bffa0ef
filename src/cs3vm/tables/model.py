"""What is needed to classify new rows of a table; :mod:`.model_file` keeps it as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import BoolArray, FloatArray, LabelArray
from ..exceptions import ModelFileError
from ..learn.kernel import Kernel
from ..learn.known_counts import MET_FIELDS, MetTotal, met_by
from ..learn.planes import Planes, both_sides
from ..learn.probabilities import Calibration
from ..learn.scaling import RankScaling, Scaling
from .encoding import Encoding
from .schema import KERNELS
from .thresholds import Thresholds, shift_by, thresholds_of

if TYPE_CHECKING:
    from ..learn.fit import Fit
    from ..model.result import Result


@dataclass(frozen=True, eq=False)
class Model:
    """What is needed to classify new rows of a table, and what is known about the fit.

    Of two classes the second is positive and has the one plane; of several each has one. With a kernel,
    ``coef`` belongs to the landmarks instead of the features. They are all that scores need, so a file has
    rank·(features + 1) numbers and no kernel matrix.
    """

    label: str  #: the column that was learnt
    classes: tuple[str, ...]
    totals: tuple[float, ...]  #: one per plane
    encoding: Encoding
    coef: FloatArray  #: a row per plane, in the units of the encoded features
    intercept: FloatArray  #: one per plane
    scaling: Scaling | RankScaling  #: of the fit: for kernels, otherwise kept for the record
    result: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    library: str = ""
    kernel: Kernel | None = None  #: None: linear
    landmarks: FloatArray | None = None  #: in scaled units
    student: Planes | None = None  #: classifies new rows instead of the planes; in the same units
    calibration: Calibration | None = None  #: from what classifies new rows to probabilities
    thresholds: tuple[Thresholds, ...] = ()  #: of groups that have one of their own, by column

    @property
    def is_several(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.classes) > 2

    @property
    def plane_classes(self) -> tuple[str, ...]:
        """The classes that have a plane."""
        return self.classes if self.is_several else self.classes[1:]

    @property
    def positive(self) -> str:
        """The class that a score above 0 means; of two."""
        return self.classes[1]

    @property
    def negative(self) -> str:
        """The other one of two classes."""
        return self.classes[0]

    @property
    def known_totals(self) -> dict[str, list[MetTotal]]:
        """Several totals of each class with a plane, as they were given and met; empty for one number."""
        facts = [self.result[name] for name in self.classes] if self.is_several else [self.result]
        return {
            name: [MetTotal(**{field: one[field] for field in MET_FIELDS}) for one in fact["totals"]]
            for name, fact in zip(self.plane_classes, facts, strict=True)
            if "totals" in fact
        }

    @property
    def n_positive(self) -> float:
        """The total of the positive one of two classes."""
        return self.totals[0]

    def scores(self, X: FloatArray, groups: Mapping[str, Any] | None = None) -> FloatArray:
        """What classifies encoded rows, by the student if there is one; of several classes a column each.

        ``groups`` has the texts in the columns of the :attr:`thresholds`, None where a cell is empty. Rows of
        a group that the fit did not have get the mean threshold, and without groups all do.
        """
        if self.student is None:
            return self.plane_scores(X, groups)
        return self._shaped(
            self._scores(X, self.student) + shift_by(self.thresholds, groups, of_planes=False)
        )

    def plane_scores(self, X: FloatArray, groups: Mapping[str, Any] | None = None) -> FloatArray:
        """The scores by the planes of the fit, which gave its rows their labels."""
        scores = self._scores(X, Planes(self.coef, self.intercept))
        return self._shaped(scores + shift_by(self.thresholds, groups, of_planes=True))

    def _scores(self, X: FloatArray, planes: Planes) -> FloatArray:
        """``coef·x + intercept`` or its kernel form, a column per plane."""
        if self.kernel is None or self.landmarks is None:
            return np.asarray(X @ planes.coef.T + planes.intercept)
        scaled = self.scaling.transform(X)
        return np.asarray(self.kernel.scores(scaled, self.landmarks, planes.coef.T) + planes.intercept)

    def _shaped(self, scores: FloatArray) -> FloatArray:
        return scores if self.is_several else scores[:, 0]

    def labels(self, scores: FloatArray) -> LabelArray:
        """The class of each score; a row on the plane is positive. Of several classes the highest counts."""
        chosen = scores.argmax(axis=1) if self.is_several else (scores >= 0).astype(np.intp)
        return np.asarray(np.array(self.classes, dtype=object)[chosen])

    def probabilities(self, scores: FloatArray) -> FloatArray | None:
        """The probability of each class (column) by scores of :meth:`scores`; older files have none."""
        if self.calibration is None:
            return None
        return self.calibration.probabilities(scores if self.is_several else both_sides(scores, 1))


def make_model(
    fit: Fit, encoding: Encoding, label: str, settings: dict[str, Any], rule: Calibration | None = None
) -> Model:
    """The model of a fit, each plane turned towards its own class; ``rule`` makes probabilities of scores."""
    from .. import __version__

    mapped = fit.kernel_map
    if mapped is not None and mapped.kernel.name not in KERNELS:
        raise ModelFileError(
            f"a model with a {mapped.kernel.name} kernel cannot be written to a model file, which holds no "
            f"code: use one of {', '.join(KERNELS)}, or keep the classifier itself with pickle or joblib"
        )
    names = [str(name) for name in fit.classes.tolist()]
    if rule is not None and fit.labels.positive == 0:
        rule = rule._replace(shifts=rule.shifts[::-1])
    facts = [
        _facts(result, fit.answer == c)
        for c, result in zip(fit.labels.plane_classes, fit.results, strict=True)
    ]
    return Model(
        label=label,
        classes=tuple(names[::-1] if fit.labels.positive == 0 else names),
        totals=tuple(map(float, fit.totals)),
        encoding=encoding,
        coef=fit.planes.coef,
        intercept=fit.planes.intercept,
        scaling=fit.scaling,
        result=dict(zip(names, facts, strict=True)) if fit.is_several else facts[0],
        settings=settings,
        library=__version__,
        kernel=None if mapped is None else mapped.kernel,
        landmarks=None if mapped is None else mapped.landmarks,
        student=fit.predictor if fit.has_student else None,
        calibration=rule,
        thresholds=thresholds_of(fit),
    )


def _facts(result: Result, own: BoolArray) -> dict[str, Any]:
    """What is known about the fit of one hyperplane, to whose class these unlabelled rows belong."""
    kernel = result.extras.get("kernel")
    return {
        "status": result.status.value,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "count": result.count,
        "on_plane": result.on_plane,
        "labelled": result.problem.n,
        "unlabelled": result.problem.m,
        "seconds": round(result.seconds, 3),
        **({} if kernel is None else {"kernel": kernel}),
        **({} if result.problem.one_total else {"totals": [one.as_dict() for one in met_by(result, own)]}),
    }
