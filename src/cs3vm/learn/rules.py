"""Models that an answer is compared with, and how to ask for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..exceptions import Note
from .parameters import Parameters


@dataclass(frozen=True)
class Rule:
    """A model by the parameters in which it differs."""

    name: str
    title: str
    changes: dict[str, Any]

    def differs(self, parameters: Parameters) -> bool:
        """Whether these parameters make another model."""
        return any(getattr(parameters, name) != value for name, value in self.changes.items())

    @property
    def how(self) -> Note:
        """What to say to get it, in Python and on the command line."""
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.changes.items())
        return Note(", ".join(f"{name}={value!r}" for name, value in self.changes.items()), options)


TOP_TAU = Rule("top_tau", "SVM + top-τ", {"method": "top_tau"})
LINEAR = Rule("linear", "CS³VM, linear", {"kernel": "linear", "standardize": "zscore", "C": 1.0})
#: The kernel with the highest accuracy in the study, chosen before it on other samples.
RECOMMENDED = Rule(
    "recommended",
    "CS³VM, Laplacian kernel on ranks",
    {"kernel": "laplacian", "standardize": "rank", "C": 3.0},
)
RULES = {rule.name: rule for rule in (TOP_TAU, LINEAR, RECOMMENDED)}
