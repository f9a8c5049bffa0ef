"""Whether an answer says anything: it may be hardly better than no plane, or rank rows by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..exceptions import Note
from ..model.result import Result
from .accuracy import Accuracy
from .baselines import BASELINES

#: An objective this near to that of the best plane that ignores the features (w = 0) is nearly trivial.
NEARLY = 0.05


class Judgement(NamedTuple):
    """What an answer is worth: it says something, or nearly nothing, or nobody has looked yet."""

    kind: Literal["informative", "nearly trivial", "no better than chance", "unknown"]
    text: Note


def of_trivial(result: Result) -> float:
    """The objective as a part of that of the best point with w = 0; 0 where there is none to compare with."""
    trivial = result.problem.trivial
    if not result.found or trivial is None or trivial.cost <= 0:
        return 0.0
    return result.objective / trivial.cost


def is_nearly_trivial(result: Result) -> bool:
    """Whether the plane is hardly better than none."""
    return result.is_trivial or of_trivial(result) >= 1.0 - NEARLY


def aims_at_objective(result: Result, method: str) -> bool:
    """Whether the method is to be judged by the objective: a baseline may well miscount."""
    return method not in BASELINES or result.problem.m == 0


def judge(results: Sequence[Result], method: str, accuracy: Accuracy | None) -> Judgement:
    """The verdict on the planes of a fit, with what hidden labels say if somebody has looked."""
    trivial = [is_nearly_trivial(result) and aims_at_objective(result, method) for result in results]
    if any(trivial):
        which = "the answer is" if len(results) == 1 else f"{sum(trivial)} of {len(results)} planes are"
        return Judgement("nearly trivial", Note(f"{which} hardly better than ignoring the features"))
    if not accuracy:
        return Judgement("unknown", Note("no label was hidden to see whether the answer says anything"))
    if accuracy.is_chance:
        return Judgement("no better than chance", accuracy.chance_note)
    return Judgement("informative", Note("the answer is better than chance"))
