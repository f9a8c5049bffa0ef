"""Whether an answer says anything: it may be hardly better than no plane, or rank rows by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..exceptions import Note
from ..model.result import Result
from .accuracy import Accuracy
from .baselines import BASELINES

#: An objective this near to that of the best plane that ignores the features (w = 0) is nearly trivial. In
#: ``python -m benchmarks reliable`` such answers were hardly better than a random draw with the right total.
NEARLY = 0.1


class Judgement(NamedTuple):
    """What an answer is worth: it says something, or nearly nothing, or nobody has looked yet."""

    kind: Literal["informative", "nearly trivial", "no better than chance", "unknown"]
    text: Note


def is_nearly_trivial(result: Result) -> bool:
    """Whether the plane is hardly better than none."""
    return result.of_trivial >= 1.0 - NEARLY


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
