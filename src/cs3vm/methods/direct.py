"""``direct``: the fast heuristic alone, the everyday answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..intercept import FloatArray
from ..problem import Problem
from ..result import DEFAULT_GAP, Callback, Result, Status


def direct(
    problem: Problem,
    *,
    starts: Sequence[FloatArray] = (),
    time_limit: float = 60.0,
    gap: float = DEFAULT_GAP,
    random_state: int = 0,
    callback: Callback | None = None,
    patience: int | None = None,
    **_: Any,
) -> Result:
    """Search for a good plane; ends by itself when the search stagnates, or at the time limit.

    The answer comes with the SVM's value as an honest lower bound. ``starts`` are vectors w to begin
    from, besides its own; ``patience`` is the number of vain attempts after which it ends.
    """
    problem.require_l2("method 'direct'", "use method='auto', 'ircm' or 'top_tau'")
    from ..bnb.primal import PATIENCE, improve  # compiled code: loaded when first needed
    from ..bnb.warm import warm_up

    warm_up()
    found = improve(
        problem,
        starts,
        time_limit=time_limit,
        random_state=random_state,
        callback=callback,
        patience=PATIENCE if patience is None else patience,
    )
    return replace(found, status=Status.OPTIMAL) if found.gap <= gap else found
