"""``--n-positive-range``: which labels change if the total is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..exceptions import TableError

if TYPE_CHECKING:
    from ..learn.fit import Fit
    from ..learn.sensitivity import Sensitivity
    from .inputs import Data


def check_range(given: Any, data: Data) -> None:
    """Refuse what cannot be, before the search."""
    if given is None:
        return
    if not isinstance(given, tuple):
        raise TableError(f"--n-positive-range is {given:g}: give low:high, such as 900:1100")
    if data.positive is None:
        raise TableError("--n-positive-range needs two classes: with more, fit again with other totals")


def vary_total(fit: Fit, ends: tuple[float, float]) -> Sensitivity | None:
    """Fit again with totals from the lowest to the highest; Ctrl-C leaves it out."""
    from ..learn.sensitivity import sensitivity, spread_totals

    try:
        return sensitivity(fit, spread_totals(*ends, fit.problem.weights))
    except KeyboardInterrupt:
        return None
