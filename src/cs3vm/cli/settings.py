"""How to search, as the options of a command say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..model.status import Callback

if TYPE_CHECKING:
    from ..learn.classifier import CS3VMClassifier
    from ..model.norms import Norm


#: The default: work of about five seconds, so that the same command gives the same labels everywhere, and
#: a guard in seconds, which the summary mentions when it strikes.
WORK_LIMIT, GUARD_SECONDS = 4e9, 60.0
#: The default where work is not counted: with 20,000 rows the whole command then takes under ten seconds.
TIME_LIMIT = 4.0


def search_limits(
    method: str, solver: str, norm: Norm, seconds: float | None, work: float | None
) -> tuple[float, float | None]:
    """The limits in seconds and in work, where one or both of them may be left out."""
    from ..methods import COUNTING, SAFE, SEARCHLESS
    from ..solvers import find_solver

    if seconds is not None:
        return seconds, work
    counted = method in (*COUNTING, *SEARCHLESS, SAFE) and find_solver(solver, norm).counts_work
    if work is None and not counted:
        return TIME_LIMIT, None
    return (
        (GUARD_SECONDS, WORK_LIMIT) if work is None else (max(GUARD_SECONDS, 60.0 * work / WORK_LIMIT), work)
    )


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
    totals_of: str = "unlabelled"
    group_intercepts: bool = False

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
            totals_of=self.totals_of,
            group_intercepts=self.group_intercepts,
        )
