"""How good an answer is proven to be, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..exceptions import Note
from ..model.result import Result
from ..model.status import Status
from .baselines import BASELINES


class Certificate(NamedTuple):
    """A headline and a sentence or two."""

    kind: Literal["good", "part", "none"]  #: proven, in part, or not at all
    headline: str
    text: str


def certificate(result: Result, method: str) -> Certificate:
    """What is proven about one plane."""
    if result.is_optimal or (method == "svm" and result.problem.m == 0):
        text = "No other hyperplane has a smaller objective, up to the relative gap that was asked for."
        return Certificate("good", "Proven optimal", text)
    if method in BASELINES:
        text = (
            "This method is a fixed rule. It does not search for the best hyperplane, so nothing is claimed."
        )
        return Certificate("none", "No proof", text)
    low, value, room = result.lower_bound, result.objective, _room(result)
    if result.status is Status.FEASIBLE:
        text = (
            "This method searches for a good answer and does not try to prove it. From the bound that it "
            f"knows ({low:.4g}), the objective ({value:.4g}) is {room}; a better answer may exist."
        )
        return Certificate("none", "No proof", text)
    text = (
        f"The search ended early ({result.status.value}). The objective found is {value:.4g}, and no answer "
        f"can be below {low:.4g}. More time may improve the answer, the proof, or both."
    )
    kind: Literal["part", "none"] = "part" if _per_cent_above(result) < 100 else "none"
    return Certificate(kind, room[0].upper() + room[1:], text)


def certificate_of_classes(results: Sequence[Result]) -> Certificate:
    """What is proven about the planes of several classes and the labels they give together."""
    number, proven = len(results), sum(result.is_optimal for result in results)
    text = (
        "Each class has a hyperplane of its own against all others, found with its own total. The labels "
        "then are those with the highest summed scores among all that meet every total; that step is exact."
    )
    kind: Literal["good", "part", "none"] = "good" if proven == number else "part" if proven else "none"
    return Certificate(kind, f"{proven} of {number} hyperplanes proven optimal", text)


def proof_line(results: Sequence[Result], method: str) -> Note:
    """The same in one line."""
    is_several = len(results) > 1
    met = "All totals are met, with the highest summed scores there are. " if is_several else ""
    if method in BASELINES and results[0].problem.m:
        start = f"{method} does not search for the best plane{'s' if is_several else ''}; see "
        return Note(f"{start}the parameter method.", f"{start}--method.").after(met)
    if is_several:
        proven = sum(result.is_optimal for result in results)
        return Note(f"{met}The planes of {proven} of {len(results)} classes are proven optimal.")
    (result,) = results
    if result.is_optimal:
        return Note("The answer is proven optimal.")
    start = f"The best answer found ({result.status.value}); "
    if result.lower_bound <= 0:
        return Note(f"{start}nothing is proven about a better one.")
    above = 100 * (result.objective / result.lower_bound - 1)
    return Note(f"{start}it is at most {above:.1f} % above the optimum.")


def _per_cent_above(result: Result) -> float:
    """How far the answer can be above the optimum."""
    low, value = result.lower_bound, result.objective
    return 100 * (value - low) / low if low > 1e-12 * max(1.0, value) else np.inf


def _room(result: Result) -> str:
    above = _per_cent_above(result)
    if above < 100:
        return f"at most {above:.2g} % above the optimum"
    if np.isfinite(above):
        return f"at most {result.objective / result.lower_bound:.3g} times the optimum"
    return "any distance above the optimum"
