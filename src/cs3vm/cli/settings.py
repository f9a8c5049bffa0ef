"""How to search, as the options of a command say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..model.status import Callback

if TYPE_CHECKING:
    from ..learn.classifier import CS3VMClassifier
    from ..model.norms import Norm


@dataclass(frozen=True)
class Settings:
    """How to search."""

    method: str
    solver: str
    time_limit: float
    standardize: str
    C: float
    count_penalty: float
    side_margin: str
    seed: int
    kernel: str = "linear"
    gamma: str = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: int | None = None
    norm: Norm = "l2"
    predictor: str = "auto"
    work_limit: float | None = None

    def check(self) -> None:
        """Refuse unknown names before anything is read."""
        from ..methods import SAFE, get_method
        from ..solvers import find_solver

        if self.method != SAFE:
            get_method(self.method)
        find_solver(self.solver, self.norm)

    def classifier(self, positive: str | None, callback: Callback | None = None) -> CS3VMClassifier:
        """The classifier that they describe."""
        from ..learn.classifier import CS3VMClassifier

        return CS3VMClassifier(
            self.method,
            solver=self.solver,
            C=self.C,
            count_penalty=self.count_penalty,
            time_limit=self.time_limit,
            standardize=None if self.standardize == "none" else self.standardize,
            pos_label=positive,
            random_state=self.seed,
            side_margin="auto" if self.side_margin == "auto" else float(self.side_margin),
            options={"callback": callback},
            kernel=self.kernel,
            gamma=self.gamma if self.gamma in ("scale", "auto") else float(self.gamma),
            degree=self.degree,
            coef0=self.coef0,
            n_components=self.n_components,
            norm=self.norm,
            predictor=self.predictor,
            work_limit=self.work_limit,
        )
