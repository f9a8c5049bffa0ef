"""The parameters of a classifier, read once, so that nobody else needs the classifier."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..exceptions import InvalidProblemError
from ..model.norms import Norm
from .kernel import KernelFunction


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters of :class:`cs3vm.CS3VMClassifier` under their names, as they were when it was fitted."""

    method: str
    solver: str
    C: float
    count_penalty: float
    time_limit: float
    standardize: str | None
    pos_label: Any
    unlabeled: Any
    random_state: Any
    options: dict[str, Any] | None
    kernel: str | KernelFunction
    gamma: str | float
    degree: int
    coef0: float
    n_components: int | None
    exact_kernel_limit: int
    norm: Norm
    side_margin: float | str
    predictor: str
    work_limit: float | None = None
    totals_of: str = "unlabelled"
    group_intercepts: bool = False

    @classmethod
    def of(cls, estimator: BaseEstimator) -> Parameters:
        """Those of an estimator."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    @cached_property
    def seed(self) -> int:
        """A number for everything that draws random ones."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def further_options(self) -> dict[str, Any]:
        """Options of the method and the solver, which must not repeat the parameters."""
        options = dict(self.options or {})
        repeated = sorted(set(options) & {field.name for field in fields(self)})
        if repeated:
            raise InvalidProblemError(
                f"options has {', '.join(map(repr, repeated))}: set it as a parameter of the estimator"
            )
        return options

    def shown(self) -> dict[str, str]:
        """The parameters as text, sorted by name; a callback is no setting."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.options is not None:
            values["options"] = {name: v for name, v in self.options.items() if name != "callback"}
        return {name: repr(values[name]) for name in sorted(values)}
